// JSON from strangers, read so that one text has one meaning, or refused by name.
//
// JSON.parse takes the last of two equal names and any number, which another reader may not. Both
// are refused here before anything is looked up. Spec: docs/protocol.md, "Files"; RFC 7493.

import { Refusal, insist } from './refusal.mjs';

// Ten times the largest raffle: 100,000 entries in 1 MiB, whose escapes make six bytes of one.
export const MAX_BYTES = 32 * 2 ** 20;
// The file, its outcome, the wins of all grids, those of one grid, a symbol with its cells.
const MAX_DEPTH = 5;

// White space, a bracket, comma or colon, or anything else up to the next of these or a string.
const TOKEN = /\s+|[[\]{},:]|[^"[\]{},:\s]+/y;
const WHOLE_NUMBER = /^(?:0|-?[1-9][0-9]{0,15})$/;

// How long a check may keep the page from anything else: what people do not notice.
const MOST_MS = 50;
const TOKENS_BETWEEN_LOOKS = 4096; // some milliseconds

/** The object that a text holds. */
export async function parseObject(text) {
  insist(text.trim() !== '', 'empty');
  insist(text.length <= MAX_BYTES, 'large', '', MAX_BYTES);
  let value;
  try {
    await checkTokens(text);
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new Refusal('json', '', error.message);
    throw error;
  }
  insist(isObject(value), 'object');
  return value;
}

/** Depth, names that stand twice, and numbers that not every reader has exactly. */
async function checkTokens(text) {
  const open = []; // for each bracket the names seen in it, null for a list
  let before = '';
  let [count, since] = [0, performance.now()];
  for (const token of tokensOf(text)) {
    count += 1;
    if (count % TOKENS_BETWEEN_LOOKS === 0 && performance.now() - since > MOST_MS) {
      await new Promise((done) => { setTimeout(done); });
      since = performance.now();
    }
    if (token === '{' || token === '[') {
      open.push(token === '{' ? new Set() : null);
      insist(open.length <= MAX_DEPTH, 'deep', '', MAX_DEPTH);
    } else if (token === '}' || token === ']') open.pop();
    else if (token[0] === '"' && (before === '{' || before === ',')) noteName(open.at(-1), token);
    else if (/[-0-9]/.test(token[0])) checkNumber(token);
    before = token;
  }
}

/**
 * The tokens of a text without its white space. Strings are cut out by hand: a pattern for them
 * overflows the stack of some engines when one has millions of characters.
 */
function* tokensOf(text) {
  for (let at = 0; at < text.length;) {
    let end;
    if (text[at] === '"') end = endOfString(text, at);
    else {
      TOKEN.lastIndex = at;
      TOKEN.exec(text);
      end = TOKEN.lastIndex;
    }
    const token = text.slice(at, end);
    if (!/^\s/.test(token)) yield token;
    at = end;
  }
}

/** Behind the quotation mark that ends a string: the first behind an even number of backslashes. */
function endOfString(text, start) {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at;
    while (text[before - 1] === '\\') before -= 1;
    if ((at - before) % 2 === 0) return at + 1;
  }
  return text.length;
}

function noteName(names, token) {
  if (!(names instanceof Set)) return; // an item of a list
  const name = JSON.parse(token);
  insist(!names.has(name), 'twice', name.slice(0, 40));
  names.add(name);
}

function checkNumber(token) {
  const safe = WHOLE_NUMBER.test(token) && Number.isSafeInteger(Number(token));
  insist(safe, 'number', token.slice(0, 20));
}

export const isObject = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
