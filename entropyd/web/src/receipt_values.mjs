// The kinds of values that lines of receipts have, each with its one spelling. Section 19.1.
//
// A check takes the text of a value and returns where it is wrong, from 0, or -1 if it is right.

const MOST_64_BITS = 2n ** 64n - 1n;
const MOST_OUTSIDE_BYTES = 1024;
const RIGHT = -1;

const matches = (pattern) => (text) => (pattern.test(text) ? RIGHT : 0);

export const word = (...words) => (text) => (words.includes(text) ? RIGHT : 0);
export const anId = matches(/^[!-~]{1,128}$/);
export const anOrigin = matches(/^[!-*,-~]{1,128}$/); // without +

export const aDecimal = (least, most) => (text) => {
  const written = /^(?:0|[1-9][0-9]{0,19})$/.test(text);
  return written && BigInt(text) >= least && BigInt(text) <= most ? RIGHT : 0;
};

export function aHash(text) {
  const wrong = text.search(/[^0-9a-f]/);
  if (wrong >= 0) return wrong;
  return text.length === 64 ? RIGHT : 0;
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.\d{3}Z$/;

export function aTime(text) {
  const match = TIME.exec(text);
  if (match === null) return 0;
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number);
  const date = year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month);
  return date && hour < 24 && minute < 60 && second < 60 ? RIGHT : 0;
}

function daysOf(year, month) {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
}

const standsForItself = (byte) => byte >= 0x21 && byte <= 0x7e && byte !== 0x25;

/** Text of others, percent-encoded: what may stand for itself does. */
export const outsideText = (least) => (text) => {
  const bytes = [];
  for (let at = 0; at < text.length;) {
    const encoded = text[at] === '%';
    const digits = text.slice(at + 1, at + 3);
    if (encoded && !/^[0-9A-F]{2}$/.test(digits)) return at;
    const byte = encoded ? Number.parseInt(digits, 16) : text.charCodeAt(at);
    if (standsForItself(byte) === encoded) return at;
    bytes.push(byte);
    at += encoded ? 3 : 1;
  }
  const fits = bytes.length >= least && bytes.length <= MOST_OUTSIDE_BYTES;
  return fits && isUtf8(bytes) ? RIGHT : 0;
};

function isUtf8(bytes) {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

const someText = outsideText(1);

export function aSetting(text) {
  const [, name, value] = /^([a-z0-9_.]{1,64}) (.*)$/.exec(text) ?? [];
  if (name === undefined) return 0;
  const wrong = someText(value);
  return wrong < 0 ? RIGHT : name.length + 1 + wrong;
}

const CLASSES = ['hardware', 'cover', 'user', 'os'].flatMap((name) => [name, `batch-${name}`]);
const any64 = aDecimal(0n, MOST_64_BITS);
const SOURCE_PARTS = [
  ['class', word(...CLASSES)],
  ['kind', word('hardware', 'os', 'mock', 'replay', 'user')],
  ['driver', outsideText(0)],
  ['serial', outsideText(0)],
  ['samples', any64],
  ['credited', any64],
  ['age', any64],
  ['health', word('none', 'lost', 'startup', 'assessing', 'healthy', 'failed')],
];

export function aSource(text) {
  const parts = text.split(' ');
  const named = SOURCE_PARTS.every(([name], i) => parts[i]?.startsWith(`${name}=`));
  if (!named || parts.length !== SOURCE_PARTS.length) return 0;
  let start = 0;
  for (const [i, [name, check]] of SOURCE_PARTS.entries()) {
    const wrong = check(parts[i].slice(name.length + 1));
    if (wrong >= 0) return start + name.length + 1 + wrong;
    start += parts[i].length + 1;
  }
  return RIGHT;
}

export const fromOne64 = aDecimal(1n, MOST_64_BITS);
export const someHands = aDecimal(1n, MOST_64_BITS - 1n); // a number is left for the next hand
export const upTo32 = (least) => aDecimal(least, 2n ** 32n - 1n);
export const anIndex = aDecimal(0n, 2n ** 63n - 2n);
