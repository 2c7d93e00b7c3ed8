// Bytes, hashes, trees and the cut of docs/protocol.md, sections 1 and 7 to 12, by WebCrypto: the
// same in Node and in a browser. Numbers below 2^53 are Numbers, others BigInts.

/** A check failed. `check` is its name. */
export class Failed extends Error {
  constructor(check, why) {
    super(why);
    this.check = check;
  }
}

/** Go on only where something holds. */
export function need(condition, check, why) {
  if (!condition) throw new Failed(check, why);
}

/** A member that is a list. */
export function listed(message, name) {
  need(Array.isArray(message[name]), 'form', `${name} is no list`);
  return message[name];
}

const { subtle } = globalThis.crypto;
const encoder = new TextEncoder();

export const range = (n) => Array.from({ length: n }, (_, i) => i);

export function cat(...parts) {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export const text = (string) => encoder.encode(string);

export function u32(x) {
  need(Number.isInteger(x) && x >= 0 && x <= 0xffffffff, 'form', `${x} does not fit u32`);
  return Uint8Array.of(x >>> 24, x >>> 16, x >>> 8, x);
}

export const u64 = (x) => {
  const wide = BigInt(x);
  return cat(u32(Number(wide >> 32n)), u32(Number(wide & 0xffffffffn)));
};

export const lp = (value) => {
  const bytes = typeof value === 'string' ? text(value) : value;
  return cat(u32(bytes.length), bytes);
};

export const hex = (bytes) => [...bytes].map((b) => b.toString(16).padStart(2, '0')).join('');

/** The bytes of lower-case hex, the only spelling that is taken. */
export function unhex(digits) {
  need(typeof digits === 'string' && /^([0-9a-f]{2})*$/.test(digits), 'form', 'no lower-case hex');
  return Uint8Array.from(digits.match(/../g) ?? [], (byte) => parseInt(byte, 16));
}

export const equal = (a, b) => hex(a) === hex(b);
export const compare = (a, b) => (hex(a) < hex(b) ? -1 : hex(a) > hex(b) ? 1 : 0);

const digest = (algorithm) => async (...parts) =>
  new Uint8Array(await subtle.digest(algorithm, cat(...parts)));
export const sha256 = digest('SHA-256');
export const sha512 = digest('SHA-512');

// ---- RFC 6962 ----------------------------------------------------------------------------------

export const leafHash = (leaf) => sha256(Uint8Array.of(0), leaf);
const nodeHash = (left, right) => sha256(Uint8Array.of(1), left, right);

/** The largest power of two below n, which is above 1. */
function split(n) {
  let k = 1;
  while (2 * k < n) k *= 2;
  return k;
}

export async function rootOfHashes(hashes) {
  if (hashes.length === 0) return sha256();
  if (hashes.length === 1) return hashes[0];
  const k = split(hashes.length);
  return nodeHash(await rootOfHashes(hashes.slice(0, k)), await rootOfHashes(hashes.slice(k)));
}

export const rootOf = async (leaves) => rootOfHashes(await Promise.all(leaves.map(leafHash)));

/** The root that a path leads to from leaf `index` of `size`; null if it has another length. */
export async function rootOfPath(hash, index, size, path) {
  if (size === 1) return path.length === 0 ? hash : null;
  if (path.length === 0) return null;
  const k = split(size);
  const [rest, last] = [path.slice(0, -1), path.at(-1)];
  const within = index < k
    ? await rootOfPath(hash, index, k, rest)
    : await rootOfPath(hash, index - k, size - k, rest);
  if (within === null) return null;
  return index < k ? nodeHash(within, last) : nodeHash(last, within);
}

// ---- Keystream, draws, shuffle -----------------------------------------------------------------

const MOST_TRIES = 128;
const SEGMENT_BITS = 249;
const bitsOf = (k) => Math.ceil(Math.log2(k)); // exact for the k <= 432 that are drawn here

/** The bits of one segment. */
class Bits {
  #key;
  #prefix;
  #block = 0;
  #bits = [];

  constructor(key, binding, segment) {
    this.#key = key;
    this.#prefix = cat(lp('entropyd/stream/v1'), lp(binding), u32(segment));
  }

  async take(count) {
    while (this.#bits.length < count) {
      const message = cat(this.#prefix, u64(this.#block));
      const bytes = new Uint8Array(await subtle.sign('HMAC', this.#key, message));
      for (const byte of bytes) {
        for (let bit = 7; bit >= 0; bit -= 1) this.#bits.push((byte >> bit) & 1);
      }
      this.#block += 1;
    }
    return this.#bits.splice(0, count).reduce((value, bit) => 2 * value + bit, 0);
  }
}

async function drawBelow(k, sampler, bits) {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    if (sampler === 'masked') {
      const value = await bits.take(bitsOf(k));
      if (value < k) return value;
    } else {
      const word = await bits.take(32);
      if (word < 2 ** 32 - (2 ** 32 % k)) return word % k;
    }
  }
  throw new Failed('cut', 'a draw was rejected 128 times: the hand is void');
}

/** Shuffle of n items where every segment has the same 64-byte seed. */
async function shuffle(n, seed, binding, sampler) {
  const algorithm = { name: 'HMAC', hash: 'SHA-512' };
  const key = await subtle.importKey('raw', seed, algorithm, false, ['sign']);
  const a = range(n);
  let [segment, sum] = [0, 0];
  let bits = new Bits(key, binding, segment);
  for (let i = n - 1; i >= 1; i -= 1) {
    if (sum + bitsOf(i + 1) > SEGMENT_BITS) {
      [segment, sum] = [segment + 1, 0];
      bits = new Bits(key, binding, segment);
    }
    sum += bitsOf(i + 1);
    const j = await drawBelow(i + 1, sampler, bits);
    [a[i], a[j]] = [a[j], a[i]];
  }
  return a;
}

/** For every place of the deal the leaf of D that is dealt there; `leaves` in sorted order. */
export async function cutOf(openHash, n, leaves, root, sampler) {
  if (leaves.length === 0) return range(n);
  const counted = cat(lp('entropyd/cut/v1'), lp(openHash), u32(leaves.length), lp(root));
  return shuffle(n, await sha512(counted, ...leaves.map(lp)), openHash, sampler);
}

// ---- Ed25519 -----------------------------------------------------------------------------------

// RFC 8410, section 7: what stands before the 32 bytes of a private key in PKCS #8.
const PKCS8 = unhex('302e020100300506032b657004220420');

/** A seat's key from the 32 secret bytes of RFC 8032. */
export async function signingKey(seed) {
  need(seed.length === 32, 'form', 'a seed of another length than 32');
  const key = await subtle.importKey('pkcs8', cat(PKCS8, seed), 'Ed25519', true, ['sign']);
  const { x } = await subtle.exportKey('jwk', key);
  const publicKey = unbase64(x.replaceAll('-', '+').replaceAll('_', '/') + '=');
  const sign = async (message) => new Uint8Array(await subtle.sign('Ed25519', key, message));
  return { publicKey, sign };
}

export async function hasSigned(publicKey, signature, message) {
  const key = await subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
  return signature.length === 64 && subtle.verify('Ed25519', key, signature, message);
}

/** The bytes of standard base64 in its one spelling. */
export function unbase64(encoded) {
  let bytes;
  try {
    bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  } catch {
    throw new Failed('signature', 'no base64');
  }
  need(btoa(String.fromCharCode(...bytes)) === encoded, 'signature', 'not canonical base64');
  return bytes;
}
