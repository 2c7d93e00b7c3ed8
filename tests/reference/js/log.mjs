// Receipts, notes, keys, checkpoints and proofs: sections 19 and 20 of docs/protocol.md, written from
// the document alone, as entropyd.mjs is. Texts are Buffers where a signature or a hash is over them.

import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';

import { DECIMAL, Refused, ascii, cat, insist, lp, merkleRoot, sha256, u32 } from './entropyd.mjs';

export const EMPTY = sha256().toString('hex');
const MOST_U64 = 2n ** 64n - 1n;

/** A text that breaks a rule of section 19, at a line and byte from 1; 0 where they do not apply. */
export class BadText extends Refused {
  constructor(complaint, line = 0, byte = 0) {
    super('text', complaint);
    Object.assign(this, { line, byte });
  }
}

// ---- 19.1 Kinds of values: each throws BadText with a position from 0 in `byte` ------------------

function need(condition, complaint, at = 0) {
  if (!condition) throw new BadText(complaint, 0, at);
}

const isWord = (...words) => (text) => need(words.includes(text), 'is no such word');
const isId = (text) => need(/^[!-~]{1,128}$/.test(text), 'is no id');

function isOrigin(text) {
  isId(text);
  need(!text.includes('+'), 'has a +');
}

const isDecimal = (least, most) => (text) => {
  need(DECIMAL.test(text) && text.length <= 20, 'is no decimal');
  need(BigInt(text) >= least && BigInt(text) <= most, 'is outside its range');
};

function isHash(text) {
  const wrong = text.search(/[^0-9a-f]/);
  need(wrong < 0, 'is no lower-case hex', wrong);
  need(text.length === 64, 'is not 32 bytes');
}

function isTime(text) {
  const match = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.\d{3}Z$/.exec(text);
  need(match !== null, 'is no time');
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number);
  need(year >= 1970 && month >= 1 && month <= 12, 'is no date');
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  need(day >= 1 && day <= days[month - 1], 'is no day');
  need(hour < 24 && minute < 60 && second < 60, 'is no hour');
}

const standsForItself = (byte) => byte >= 0x21 && byte <= 0x7e && byte !== 0x25;

const isOutside = (least = 1) => (text) => {
  const bytes = [];
  for (let at = 0; at < text.length; at += text[at] === '%' ? 3 : 1) {
    if (text[at] !== '%') {
      need(standsForItself(text.charCodeAt(at)), 'is not percent-encoded', at);
      bytes.push(text.charCodeAt(at));
      continue;
    }
    const digits = text.slice(at + 1, at + 3);
    need(/^[0-9A-F]{2}$/.test(digits), 'is no percent-encoding', at);
    need(!standsForItself(parseInt(digits, 16)), 'is needlessly percent-encoded', at);
    bytes.push(parseInt(digits, 16));
  }
  need(bytes.length >= least && bytes.length <= 1024, 'has another length');
  need(utf8(Buffer.from(bytes)) !== null, 'is no UTF-8');
};

function within(check, text, start) {
  try {
    check(text);
  } catch (error) {
    if (!(error instanceof BadText)) throw error;
    throw new BadText(error.message, 0, start + error.byte);
  }
}

function isSetting(text) {
  const match = /^([a-z0-9_.]{1,64}) (.*)$/s.exec(text);
  need(match !== null, 'is no setting');
  within(isOutside(), match[2], match[1].length + 1);
}

function isKey(text) {
  need(/^[!-~]+$/.test(text) && parseKey(text) !== null, 'is no key');
}

const U64 = isDecimal(0n, MOST_U64);
const CLASSES = ['hardware', 'cover', 'user', 'os'].flatMap((name) => [name, `batch-${name}`]);
const SOURCE = [
  ['class', isWord(...CLASSES)],
  ['kind', isWord('hardware', 'os', 'mock', 'replay', 'user')],
  ['driver', isOutside(0)],
  ['serial', isOutside(0)],
  ['samples', U64],
  ['credited', U64],
  ['age', U64],
  ['health', isWord('none', 'lost', 'startup', 'assessing', 'healthy', 'failed')],
];

function isSource(text) {
  const parts = text.split(' ');
  const named = SOURCE.every(([name], i) => parts[i]?.startsWith(`${name}=`));
  need(parts.length === SOURCE.length && named, 'is not its eight parts');
  let start = 0;
  SOURCE.forEach(([name, check], i) => {
    within(check, parts[i].slice(name.length + 1), start + name.length + 1);
    start += parts[i].length + 1;
  });
}

// ---- 19.1 Lines ----------------------------------------------------------------------------------

const EVENTS = ['table', 'open', 'roll', 'seal', 'close', 'void', 'draw', 'policy', 'key', 'health', 'build'];
const FROM_ONE = isDecimal(1n, MOST_U64);
const COUNT = isDecimal(0n, 2n ** 32n - 1n);
const each = (names, check) => names.split(' ').map((name) => [name, check]);

/** The lines of a receipt in their order. */
const LINES = new Map([
  ['entropyd-receipt', isWord('v1')],
  ['log', isOrigin],
  ['index', isDecimal(0n, 2n ** 63n - 2n)],
  ['event', isWord(...EVENTS)],
  ...each('tenant table hand match draw raffle', isId),
  ...each('sequence number', FROM_ONE),
  ['rules', isHash],
  ['n', isDecimal(1n, 2n ** 32n - 1n)],
  ...each('entries C D A O', isHash),
  ['contributions', COUNT],
  ['R', isHash],
  ['deadline', isTime],
  ...each('escrow parent replaces', isHash),
  ['delivery', isWord('whole-deck')],
  ['dealt', COUNT],
  ['deals', isHash],
  ...each('reason policy', isOutside()),
  ['setting', isSetting],
  ...each('key previous', isKey),
  ['version', isOutside()],
  ['digest', isHash],
  ['source', isSource],
  ['seeds', isWord('computational')],
  ['degraded', isWord('yes')],
  ['time', isTime],
]);
const SEAT_NOTE_LINES = new Map([
  ['entropyd-note', isWord('v1')],
  ['log', isOrigin],
  ['O', isHash],
  ['seat', isId],
  ['leaf', isHash],
  ['outcome', isWord('accepted', 'refused')],
  ['reason', isOutside()],
]);
const REPEATED = ['setting', 'source'];

/** The lines of a text as [name, value], or BadText. */
function readLines(text, kinds) {
  if (text.length > 65535) throw new BadText('is too long');
  const lines = text.toString('latin1').split('\n');
  lines.forEach((line, i) => {
    const wrong = line.search(/[^\x20-\x7e]/);
    if (wrong >= 0) throw new BadText('is no printable ASCII', i + 1, wrong + 1);
  });
  if (lines.pop() !== '' || lines.length === 0) throw new BadText('does not end', lines.length + 1);
  const order = [...kinds.keys()];
  let before = -1;
  return lines.map((line, i) => {
    const match = /^(.*?): (.+)$/.exec(line);
    if (match === null) throw new BadText('is not name: value', i + 1, 1);
    const [, name, value] = match;
    const place = order.indexOf(name);
    const follows = place > before || (place === before && REPEATED.includes(name));
    if (place < 0 || !follows) throw new BadText('has no place here', i + 1, 1);
    before = place;
    try {
      kinds.get(name)(value);
    } catch (error) {
      if (!(error instanceof BadText)) throw error;
      throw new BadText(error.message, i + 1, name.length + 3 + error.byte);
    }
    return [name, value];
  });
}

// ---- 19.3 Events ---------------------------------------------------------------------------------

const ALWAYS = ['entropyd-receipt', 'log', 'index', 'event', 'time'];
const HAND = 'tenant table hand sequence O';
const FORMS = {
  table: ['tenant table policy', 'setting'],
  open: [`${HAND} rules n C D A policy source`, 'deadline escrow parent replaces degraded'],
  roll: [`${HAND} contributions R deadline`, ''],
  seal: [`${HAND} contributions R`, ''],
  'seal raffle': ['tenant raffle rules entries', ''],
  close: [`${HAND} dealt deals`, ''],
  'close whole': [`${HAND} rules n C D A delivery dealt policy source`, 'escrow replaces degraded'],
  void: ['tenant table hand dealt reason', 'sequence O deals'],
  draw: ['tenant match draw number C D policy source', 'rules seeds degraded'],
  'draw raffle': ['tenant raffle rules entries C D policy source', 'seeds degraded'],
  policy: ['policy', 'tenant table reason setting'],
  key: ['key', 'previous reason'],
  health: ['reason source', ''],
  build: ['version', 'digest reason'],
};

function formOf({ event, delivery, raffle }) {
  if (event === 'close' && delivery !== undefined) return FORMS['close whole'];
  return FORMS[raffle !== undefined && `${event} raffle` in FORMS ? `${event} raffle` : event];
}

/** What a receipt says, or BadText: name to value, of a repeated line the first; `settings`, all of them. */
export function readReceipt(text) {
  const lines = readLines(text, LINES);
  const [says, lineOf] = [{}, {}];
  lines.forEach(([name, value], i) => {
    says[name] ??= value;
    lineOf[name] ??= i + 1;
  });
  const must = (condition, name) => {
    if (!condition) throw new BadText(name, lineOf[name] ?? 0);
  };
  for (const name of ALWAYS) must(name in says, name);
  const [required, optional] = formOf(says).map((names) => names.split(' '));
  for (const name of LINES.keys()) {
    if (name in says) must([...ALWAYS, ...required, ...optional].includes(name), name);
    else must(!required.includes(name), name);
  }
  checkSays(says, lines, must);
  says.settings = lines.filter(([name]) => name === 'setting').map(([, value]) => value);
  return says;
}

function checkSays(says, lines, must) {
  for (const [count, root] of [['contributions', 'R'], ['dealt', 'deals']]) {
    if (root in says) must((says[count] === '0') === (says[root] === EMPTY), root);
  }
  if ('delivery' in says) {
    must(says.dealt === says.n, 'dealt');
    must(says.A === EMPTY, 'A');
  }
  if (says.event === 'void') {
    const opened = ['sequence', 'O', 'deals'].filter((name) => name in says).length;
    must(opened === 0 || opened === 3, 'O');
    must(opened === 3 || says.dealt === '0', 'dealt');
  }
  const settings = lines.filter(([name]) => name === 'setting').map(([, value]) => value.split(' ')[0]);
  must(settings.every((name, i) => i === 0 || settings[i - 1] < name), 'setting');
  for (const [, value] of lines.filter(([name]) => name === 'setting')) {
    const [name, number] = value.split(' ');
    if (says.event === 'table' && name === 'hands_before') {
      must(DECIMAL.test(number) && BigInt(number) >= 1n && BigInt(number) < MOST_U64, 'setting');
    }
  }
  const names = [says.log, `${says.log}/receipts`];
  for (const name of ['key', 'previous'].filter((name) => name in says)) {
    const key = parseKey(says[name]);
    must(key.type === 1 && names.includes(key.name), 'key');
  }
  if ('previous' in says) {
    const same = parseKey(says.key).name === parseKey(says.previous).name;
    must(same && says.key !== says.previous, 'previous');
  }
}

/** 19.4 */
export function readSeatNote(text) {
  const lines = readLines(text, SEAT_NOTE_LINES);
  const says = Object.fromEntries(lines);
  for (const name of SEAT_NOTE_LINES.keys()) {
    if (name !== 'reason' && !(name in says)) throw new BadText(`${name} is missing`);
  }
  const refused = says.outcome === 'refused';
  if (refused !== 'reason' in says) {
    throw new BadText('reason', lines.findIndex(([name]) => name === 'reason') + 1);
  }
  return says;
}

/** 19.2: the leaf of a receipt's text. */
export const receiptLeaf = (text) => text.subarray(0, -1);

// ---- 20.1, 20.2 Notes and keys -------------------------------------------------------------------

function utf8(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The bytes of canonical base64, or null. */
function unbase64(text) {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

const isKeyName = (name) => name !== '' && !/[+\p{White_Space}\x00-\x1f]/u.test(name);

export const keyId = (name, type, key) =>
  sha256(Buffer.from(name), ascii('\n'), Buffer.of(type), key).subarray(0, 4);

export const keyText = (name, type, key) =>
  `${name}+${keyId(name, type, key).toString('hex')}+${cat(Buffer.of(type), key).toString('base64')}`;

/** { name, id, type, key } of a verifier key, or null. */
export function parseKey(text) {
  const match = /^([^+]*)\+([0-9a-f]{8})\+(.*)$/s.exec(text);
  const bytes = match === null ? null : unbase64(match[3]);
  if (bytes === null || !isKeyName(match[1]) || bytes.length !== 33) return null;
  const [type, key] = [bytes[0], bytes.subarray(1)];
  const id = keyId(match[1], type, key);
  if ((type !== 1 && type !== 4) || id.toString('hex') !== match[2]) return null;
  return { name: match[1], id, type, key, text };
}

const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

export const ed25519 = {
  verify(key, message, signature) {
    if (key.length !== 32 || signature.length !== 64) return false;
    const spki = createPublicKey({ key: cat(SPKI, key), format: 'der', type: 'spki' });
    return verify(null, message, spki, signature);
  },
  private: (seed) => createPrivateKey({ key: cat(PKCS8, seed), format: 'der', type: 'pkcs8' }),
  sign: (seed, message) => sign(null, message, ed25519.private(seed)),
  publicKey: (seed) =>
    createPublicKey(ed25519.private(seed)).export({ format: 'der', type: 'spki' }).subarray(-32),
};

/** Text and signature lines of a note, none of them checked. */
export function readNote(note) {
  insist(note.length <= 1000000, 'note', 'is too long');
  const shown = utf8(note);
  insist(shown !== null, 'note', 'is no UTF-8');
  insist(!/[\x00-\x09\x0b-\x1f]/.test(shown), 'note', 'has a control character');
  const end = shown.lastIndexOf('\n\n');
  insist(end >= 0 && shown.endsWith('\n'), 'note', 'has no signatures, or does not end');
  const lines = shown.slice(end + 2, -1).split('\n');
  insist(lines.length <= 100, 'note', 'has too many signatures');
  return { text: Buffer.from(shown.slice(0, end + 1)), signatures: lines.map(signatureOf) };
}

function signatureOf(line) {
  const match = /^\u2014 ([^ ]*) (.*)$/.exec(line);
  const bytes = match === null ? null : unbase64(match[2]);
  insist(bytes !== null && isKeyName(match[1]), 'note', 'has a line that is no signature');
  insist(bytes.length >= 5, 'note', 'has a signature of nothing');
  return { name: match[1], id: bytes.subarray(0, 4), value: bytes.subarray(4) };
}

/** [key, value] for the lines that name one of the keys. */
function linesOf(signatures, keys) {
  const found = signatures.flatMap(({ name, id, value }) =>
    keys.filter((key) => key.name === name && key.id.equals(id)).map((key) => [key, value]));
  const texts = found.map(([key]) => key.text);
  insist(new Set(texts).size === texts.length, 'note', 'a key signs twice');
  return found;
}

/** The text of a note and those of the keys that signed it; somebody did. */
export function openNote(note, keys) {
  const { text, signatures } = readNote(note);
  const found = linesOf(signatures, keys);
  for (const [{ type, key }, value] of found) {
    insist(type === 1 && ed25519.verify(key, text, value), 'note', 'has a false signature');
  }
  insist(found.length > 0, 'note', 'is signed by nobody known');
  return { text, signers: found.map(([key]) => key) };
}

// ---- 20.4, 20.5 Checkpoints and proofs -----------------------------------------------------------

export function readCheckpoint(text) {
  const [origin, size, encoded, ...more] = utf8(text).split('\n');
  insist(more.pop() === '' && [origin, ...more].every((line) => line !== ''), 'checkpoint', 'lines');
  insist(DECIMAL.test(size) && BigInt(size) < 2n ** 63n, 'checkpoint', 'has no size');
  const root = unbase64(encoded);
  insist(root !== null && root.length === 32, 'checkpoint', 'has no root');
  insist((size === '0') === (root.toString('hex') === EMPTY), 'checkpoint', 'root of another size');
  return { origin, size: BigInt(size), root };
}

const cosigned = (text, time) => cat(ascii(`cosignature/v1\ntime ${time}\n`), text);

/** What a log's checkpoint says and which of the witnesses saw it. */
export function openCheckpoint(note, keys, witnesses = []) {
  const { text, signers } = openNote(note, keys);
  const says = readCheckpoint(text);
  insist(signers.every((key) => key.name === says.origin), 'checkpoint', 'is of another log');
  const seenBy = linesOf(readNote(note).signatures, witnesses).map(([{ name, type, key }, value]) => {
    insist(type === 4 && value.length === 72, 'checkpoint', 'has no cosignature');
    const time = value.readBigUInt64BE();
    insist(time >= 1n && time < 2n ** 63n, 'checkpoint', 'has another time');
    const good = ed25519.verify(key, cosigned(text, time), value.subarray(8));
    insist(good, 'checkpoint', 'has a false cosignature');
    return { witness: name, time };
  });
  return { ...says, seenBy };
}

const node = (left, right) => sha256(Buffer.of(1), left, right);
const areHashes = (hashes) => hashes.every((hash) => hash.length === 32);

/** Calls `step(isRight, hash)` for the hashes of a proof from place f of l + 1 upwards. */
function climb(f, l, hashes, step) {
  for (const hash of hashes) {
    insist(l > 0n, 'proof', 'has a hash too many');
    const right = f % 2n === 1n || f === l;
    step(right, hash);
    while (right && f % 2n === 0n && f > 0n) [f, l] = [f / 2n, l / 2n];
    [f, l] = [f / 2n, l / 2n];
  }
  insist(l === 0n, 'proof', 'has a hash too few');
}

/** 20.4; indices and sizes are BigInts. */
export function verifyInclusion(leaf, i, s, path, root) {
  insist(i >= 0n && i < s && areHashes([leaf, root, ...path]), 'proof', 'is of another form');
  let h = leaf;
  climb(i, s - 1n, path, (right, p) => (h = right ? node(p, h) : node(h, p)));
  insist(h.equals(root), 'proof', 'leads elsewhere');
}

/** 20.4 */
export function verifyConsistency(o, s, oldRoot, root, proof) {
  insist(o >= 1n && o <= s && areHashes([oldRoot, root, ...proof]), 'proof', 'is of another form');
  if (o === s) {
    insist(proof.length === 0 && oldRoot.equals(root), 'proof', 'joins two roots of one size');
    return;
  }
  const [first, ...hashes] = (o & (o - 1n)) === 0n ? [oldRoot, ...proof] : proof;
  insist(first !== undefined, 'proof', 'is empty');
  let [f, l] = [o - 1n, s - 1n];
  while (f % 2n === 1n) [f, l] = [f / 2n, l / 2n];
  let [a, b] = [first, first];
  climb(f, l, hashes, (right, p) => {
    if (right) a = node(p, a);
    b = right ? node(p, b) : node(b, p);
  });
  insist(a.equals(oldRoot) && b.equals(root), 'proof', 'leads elsewhere');
}

/** 21.6 */
export const dealsRoot = (o, recipients) =>
  merkleRoot(recipients.map((to, p) => cat(lp('entropyd/deal/v1'), lp(o), u32(p), lp(to))));

/** 20.7: the root of the perfect subtrees at the left, [size, root] each, and leaves behind them. */
export function grownRoot(subtrees, leafHashes) {
  const row = [...subtrees];
  for (const hash of leafHashes) {
    row.push([1n, hash]);
    while (row.length > 1 && row.at(-1)[0] === row.at(-2)[0]) {
      const [[size, left], [, right]] = row.splice(-2);
      row.push([2n * size, node(left, right)]);
    }
  }
  return row.map(([, root]) => root).reduceRight((others, root) => node(root, others));
}
