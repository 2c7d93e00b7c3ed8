// Comparing what was computed with the fields of a vector: all of them, and no other.

import { Refused } from './entropyd.mjs';

export class Difference extends Error {
  constructor(field, expected, got) {
    super(`${field}\n  expected ${expected}\n  got      ${got}`);
  }
}

/** What a field is in JSON: byte strings as hex, integers as numbers, lists of both. */
export function plain(value) {
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'bigint') return exactNumber(Number(value));
  return value;
}

export function exactNumber(value) {
  if (!Number.isSafeInteger(value)) throw new Error(`a vector holds ${value}, above 2^53 - 1`);
  return value;
}

export function agree(field, expected, got) {
  const [wanted, found] = [JSON.stringify(expected), JSON.stringify(plain(got))];
  if (wanted !== found) throw new Difference(field, wanted, found);
}

/** Compares every result with the vector's and counts them. No field of the vector is left over. */
export function agreeOnResults(vector, inputs, results) {
  const fields = Object.keys(results);
  agreeOnNames(vector, [...inputs, ...fields]);
  for (const field of fields) agree(field, vector[field], results[field]);
  return fields.length;
}

export function agreeOnNames(vector, names) {
  const unknown = Object.keys(vector).filter((name) => !names.includes(name));
  const missing = names.filter((name) => !Object.hasOwn(vector, name));
  if (unknown.length > 0) throw new Error(`unknown fields: ${unknown.join(', ')}`);
  if (missing.length > 0) throw new Error(`missing fields: ${missing.join(', ')}`);
}

export function hex(text) {
  if (!/^([0-9a-f]{2})*$/.test(text)) throw new Error('not lower-case hex');
  return Buffer.from(text, 'hex');
}

export const mapValues = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));

/** The field that is refused, or null if nothing is. */
export function refusedField(action) {
  try {
    action();
  } catch (error) {
    if (error instanceof Refused) return error.field;
    throw error;
  }
  return null;
}
