// A file of section 22 of docs/protocol.md as bytes: hands, ranges of the log, and signed notes.

import { Refused, insist } from './entropyd.mjs';
import { checkHandFile } from './hands.mjs';
import { openNote, parseKey, readNote, readReceipt, readSeatNote } from './log.mjs';
import { checkLogFile } from './log_file.mjs';

const CHECKS = { 'hand/v1': checkHandFile, 'log/v1': checkLogFile };

/** Takes the bytes of a file or throws Refused. */
export function verifyBytes(bytes, trusted = [], witnesses = []) {
  for (const [start, read] of [['entropyd-receipt: ', readReceipt], ['entropyd-note: ', readSeatNote]]) {
    if (bytes.subarray(0, start.length).toString('latin1') === start) return verifyNote(bytes, read, trusted);
  }
  insist(bytes.length <= 32 * 2 ** 20, 'file', 'is larger than 32 MiB');
  const file = parse(bytes);
  insist(Object.hasOwn(CHECKS, file?.entropyd ?? ''), 'file', 'is of no kind that is known here');
  return CHECKS[file.entropyd](file, trusted, witnesses);
}

function verifyNote(bytes, read, trusted) {
  const { log } = read(readNote(bytes).text);
  const keys = trusted.map(parseKey).filter(({ name, type }) => name === `${log}/receipts` && type === 1);
  return openNote(bytes, keys);
}

function parse(bytes) {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    throw new Refused('file', String(error));
  }
}

/** Whether the bytes are taken; anything but a refusal is an error of the verifier. */
export function isTaken(bytes, trusted, witnesses) {
  try {
    verifyBytes(bytes, trusted, witnesses);
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
  return true;
}
