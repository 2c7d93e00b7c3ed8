// A file of section 22 of docs/protocol.md as bytes: hands, ranges of the log, and signed notes.

import { Refused, insist } from './entropyd.mjs';
import { checkHandFile } from './hands.mjs';
import { readJson } from './json.mjs';
import { openCheckpoint, openNote, parseKey, readNote, readReceipt, readSeatNote } from './log.mjs';
import { checkLogFile } from './log_file.mjs';

const CHECKS = { 'hand/v1': checkHandFile, 'log/v1': checkLogFile };

/** Takes the bytes of a file or throws Refused. */
export function verifyBytes(bytes, trusted = [], witnesses = []) {
  for (const [start, read] of [['entropyd-receipt: ', readReceipt], ['entropyd-note: ', readSeatNote]]) {
    if (bytes.subarray(0, start.length).toString('latin1') === start) return verifyNote(bytes, read, trusted);
  }
  insist(bytes.length <= 32 * 2 ** 20, 'file', 'is larger than 32 MiB');
  const text = textOf(bytes);
  if (!/^[ \t\n\r]*\{/.test(text) && text.includes('\n\n\u2014 ')) {
    return verifyCheckpoint(bytes, trusted.map(parseKey), witnesses.map(parseKey));
  }
  const file = readJson(text);
  insist(Object.hasOwn(CHECKS, file?.entropyd ?? ''), 'file', 'is of no kind that is known here');
  return CHECKS[file.entropyd](file, trusted, witnesses);
}

function verifyNote(bytes, read, trusted) {
  const { log } = read(readNote(bytes).text);
  const keys = trusted.map(parseKey).filter(({ name, type }) => name === `${log}/receipts` && type === 1);
  return openNote(bytes, keys);
}

function verifyCheckpoint(bytes, trusted, witnesses) {
  const [origin] = readNote(bytes).text.toString().split('\n');
  const keys = trusted.filter(({ name, type }) => name === origin && type === 1);
  return openCheckpoint(bytes, keys, witnesses);
}

function textOf(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
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
