// Signed notes, the keys that sign them, and checkpoints. Sections 20.1, 20.2, 20.4 and 20.5.

import { cat, hex, utf8 } from './bytes.mjs';
import { sha256, verifies } from './crypto.mjs';
import { Refusal, insist } from './refusal.mjs';

const MOST_NOTE_BYTES = 1_000_000;
const MOST_SIGNATURES = 100;
const MOST_SIZE = 2n ** 63n - 1n;
const SIGNS_TEXTS = 1; // types of keys
const SIGNS_AS_WITNESS = 4;
// SHA-256 of nothing: the root of a tree without leaves.
export const EMPTY_ROOT = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** The bytes of canonical base64, or null. A pattern of groups of four overflows the stack. */
function unbase64(text) {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  const binary = atob(text);
  return btoa(binary) === text ? Uint8Array.from(binary, (c) => c.charCodeAt(0)) : null;
}

const isKeyName = (name) => name !== '' && !/[+\p{White_Space}\x00-\x1f]/u.test(name);

/** { name, id, type, key, text } of a verifier key, or null. */
export async function parseKey(text) {
  const [, name, id, encoded] = /^([^+]*)\+([0-9a-f]{8})\+([^+].*)$/s.exec(text) ?? [];
  const bytes = encoded === undefined ? null : unbase64(encoded);
  if (bytes === null || bytes.length !== 33 || !isKeyName(name)) return null;
  const type = bytes[0];
  if (type !== SIGNS_TEXTS && type !== SIGNS_AS_WITNESS) return null;
  const digest = await sha256(utf8(`${name}\n`), bytes);
  if (hex(digest.subarray(0, 4)) !== id) return null;
  return { name, id, type, key: bytes.subarray(1), text };
}

/**
 * The keys to look at notes with: those that somebody gave, and if there are none those that the
 * file itself names, for whom nobody vouches.
 */
export class KeyRing {
  constructor(named, given) {
    this.named = named;
    this.given = given;
    this.trusted = given.length > 0;
  }

  of(name) {
    return (this.trusted ? this.given : this.named).filter((key) => signsTexts(key, name));
  }

  get witnesses() {
    return this.given.filter(({ type }) => type === SIGNS_AS_WITNESS);
  }
}

export const signsTexts = (key, name) => key.name === name && key.type === SIGNS_TEXTS;

/** Text and signature lines of a note; nothing of it is believed yet. */
export function readNote(note) {
  insist(utf8(note).length <= MOST_NOTE_BYTES, 'large', '', MOST_NOTE_BYTES);
  insist(!/[\x00-\x09\x0b-\x1f]/.test(note), 'note.control');
  const end = note.lastIndexOf('\n\n');
  insist(end >= 0, 'note.unsigned');
  insist(note.endsWith('\n'), 'note.end');
  const lines = note.slice(end + 2, -1).split('\n');
  insist(lines.length <= MOST_SIGNATURES, 'note.many', '', MOST_SIGNATURES);
  return { text: note.slice(0, end + 1), signatures: lines.map(readSignature) };
}

function readSignature(line) {
  const [, name, encoded] = /^\u2014 ([^ ]*) (.*)$/.exec(line) ?? [];
  const bytes = encoded === undefined ? null : unbase64(encoded);
  insist(bytes !== null && bytes.length > 4 && isKeyName(name), 'note.signature');
  return { name, id: hex(bytes.subarray(0, 4)), value: bytes.subarray(4) };
}

/** [key, value] of each line that names one of the keys. */
const linesOf = (signatures, keys) => signatures.flatMap(({ name, id, value }) =>
  keys.filter((key) => key.name === name && key.id === id).map((key) => [key, value]));

const namesTwice = (lines) => new Set(lines.map(([key]) => key.text)).size < lines.length;

/**
 * Who of `keys` signed a note: { signers, fault }. The fault is null, or why the note must not be
 * believed: `signed_twice`, `false_signature`, `unknown_signer`.
 */
export async function signersOf({ text, signatures }, keys) {
  const lines = linesOf(signatures, keys);
  const signers = lines.map(([key]) => key);
  if (namesTwice(lines)) return { signers: [], fault: 'signed_twice' };
  for (const [{ type, key }, value] of lines) {
    const good = type === SIGNS_TEXTS && (await verifies(key, value, utf8(text)));
    if (!good) return { signers: [], fault: 'false_signature' };
  }
  return { signers, fault: signers.length === 0 ? 'unknown_signer' : null };
}

/** Origin, size and root of the text of a checkpoint. Further lines mean nothing. */
export function readCheckpoint(text) {
  const lines = text.split('\n');
  const whole = lines.pop() === '' && lines.length >= 3 && lines.every((line) => line !== '');
  insist(whole, 'checkpoint');
  const [origin, size, encoded] = lines;
  insist(/^(?:0|[1-9][0-9]{0,18})$/.test(size) && BigInt(size) <= MOST_SIZE, 'checkpoint');
  const root = unbase64(encoded);
  insist(root !== null && root.length === 32, 'checkpoint');
  insist((size === '0') === (hex(root) === EMPTY_ROOT), 'checkpoint');
  return { origin, size: BigInt(size), root };
}

/** What a checkpoint says, who signed it, which witnesses saw it, and its fault as of any note. */
export async function openCheckpoint(note, keys, witnesses) {
  const opened = readNote(note);
  const { signers, fault } = await signersOf(opened, keys);
  if (fault !== null) return { fault };
  const says = readCheckpoint(opened.text);
  if (signers.some(({ name }) => name !== says.origin)) return { fault: 'other_log' };
  const lines = linesOf(opened.signatures, witnesses);
  if (namesTwice(lines)) return { fault: 'signed_twice' };
  const seenBy = [];
  for (const [key, value] of lines) {
    const time = await cosignedAt(opened.text, key, value);
    if (time === null) return { fault: 'false_witness' };
    seenBy.push({ witness: key.name, time });
  }
  return { ...says, signers, seenBy, fault: null };
}

/** When a witness saw a checkpoint, by its clock in seconds since 1970; null if it did not sign. */
async function cosignedAt(text, { type, key }, value) {
  if (type !== SIGNS_AS_WITNESS || value.length !== 72) return null;
  const time = new DataView(value.buffer, value.byteOffset).getBigUint64(0);
  if (time < 1n || time > MOST_SIZE) return null;
  const message = cat(utf8(`cosignature/v1\ntime ${time}\n`), utf8(text));
  return (await verifies(key, value.subarray(8), message)) ? time : null;
}

/** The keys that a person gave, one a line; who pastes one twice gave it once. */
export async function readGivenKeys(text) {
  const lines = text.split('\n').map((line) => line.trim());
  const keys = await Promise.all(lines.map(parseKey));
  keys.forEach((key, i) => insist(key !== null || lines[i] === '', 'key.given', '', i + 1));
  return keys.filter((key, i) => key !== null && lines.indexOf(key.text) === i);
}

// Two in force, two before them, and the witnesses. Each is compared with each signature.
const MOST_KEYS = 16;

/** The keys that a file names. */
export async function readNamedKeys(fields) {
  const texts = fields.texts('keys');
  insist(texts.length <= MOST_KEYS, 'count', 'keys', `0 … ${MOST_KEYS}`);
  const keys = await Promise.all(texts.map(parseKey));
  keys.forEach((key, i) => insist(key !== null, 'key', `keys[${i}]`));
  return keys;
}

/** Says of what `action` refuses where in the file it stands. */
export async function located(field, action) {
  try {
    return await action();
  } catch (error) {
    if (error instanceof Refusal) {
      const within = error.field === '' || error.field === field ? '' : `: ${error.field}`;
      error.field = `${field}${within}`;
    }
    throw error;
  }
}
