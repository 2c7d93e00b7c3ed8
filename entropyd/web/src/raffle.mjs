// A raffle: the published entries, their hash, and who was drawn. Section 17.

import { compareBytes, lp, u32, utf8 } from './bytes.mjs';
import { sha256 } from './crypto.mjs';
import { insist } from './refusal.mjs';

const MOST_ENTRIES = 100_000;
const MOST_BYTES = 2 ** 20;
const SPACE = '\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const EDGE = new RegExp(`^[${SPACE}]|[${SPACE}]$`);
const REFUSED = /[\p{Cc}\p{Cs}\p{Co}\p{Cn}\u2028\u2029]/u;

/** Refuses a list that is not canonical, in byte order and each once; returns their bytes. */
export function checkEntries(entries, field) {
  const some = entries.length >= 1 && entries.length <= MOST_ENTRIES;
  insist(some, 'count', field, `1 … ${MOST_ENTRIES}`);
  const bytes = entries.map(utf8);
  let total = 0;
  entries.forEach((entry, i) => {
    const where = `${field}[${i}]`;
    const { length } = bytes[i];
    total += length;
    const canonical = entry.normalize('NFC') === entry && !EDGE.test(entry);
    insist(canonical && length >= 1 && length <= 256 && !REFUSED.test(entry), 'entry', where);
    insist(i === 0 || compareBytes(bytes[i - 1], bytes[i]) < 0, 'entry.order', where);
  });
  insist(total <= MOST_BYTES, 'large', field, MOST_BYTES);
  return bytes;
}

/** E of section 17.1. */
export const entriesHash = (bytes) =>
  sha256(lp('entropyd/raffle-entries/v1'), u32(bytes.length), ...bytes.map((entry) => lp(entry)));
