// Byte strings: what every hash of the protocol is made over. Sections 1 and 2.

import { Refusal } from './refusal.mjs';

const encoder = new TextEncoder();

/** The UTF-8 of a text. Where the protocol says ASCII, the text was checked before. */
export const utf8 = (text) => encoder.encode(text);

export function cat(...parts) {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function u32(x) {
  const out = new Uint8Array(4);
  new DataView(out.buffer).setUint32(0, x);
  return out;
}

/** Takes a Number without a fraction or a BigInt, 0 to 2^64 - 1. */
export function u64(x) {
  const out = new Uint8Array(8);
  new DataView(out.buffer).setBigUint64(0, BigInt(x));
  return out;
}

/** LP of bytes, or of the bytes of a text. */
export function lp(value) {
  const bytes = typeof value === 'string' ? utf8(value) : value;
  return cat(u32(bytes.length), bytes);
}

/** The bytes of many integers of one width, joined. */
export function joined(values, width) {
  const out = new Uint8Array(values.length * width);
  const view = new DataView(out.buffer);
  values.forEach((value, i) => {
    if (width === 8) view.setBigUint64(8 * i, BigInt(value));
    else view.setUint32(4 * i, Number(value));
  });
  return out;
}

const DIGITS = Array.from({ length: 256 }, (_, b) => b.toString(16).padStart(2, '0'));

export const hex = (bytes) => Array.from(bytes, (b) => DIGITS[b]).join('');

/** The bytes of lower-case hex; the caller has checked that it is some. */
export function unhex(text) {
  const out = new Uint8Array(text.length / 2);
  for (let i = 0; i < out.length; i += 1) {
    out[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
  }
  return out;
}

/** -1, 0 or 1, in the byte order of section 1. */
export function compareBytes(a, b) {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i += 1) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return Math.sign(a.length - b.length);
}

/** Refuses text that is no id of section 2. Nothing is trimmed. */
export function checkId(text, field) {
  if (!/^[\x21-\x7e]{1,128}$/.test(text)) throw new Refusal('id', field);
  return text;
}
