// SHA-2, HMAC and Ed25519, as the browser has them. There is no other implementation in the page:
// where WebCrypto is missing, nothing is checked and the page says so.

import { cat, unhex } from './bytes.mjs';
import { insist } from './refusal.mjs';

/** Browsers give WebCrypto to https, to localhost and to files, and to nobody else. */
export const hasCrypto = () => globalThis.crypto?.subtle !== undefined;

const digested = (hash) => async (...parts) =>
  new Uint8Array(await crypto.subtle.digest(hash, cat(...parts)));

export const sha256 = digested('SHA-256');
export const sha512 = digested('SHA-512');

/** A function from messages to their HMAC under one key; `hash` is SHA-256 or SHA-512. */
export async function hmac(hash, key) {
  const algorithm = { name: 'HMAC', hash };
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign']);
  return async (...parts) =>
    new Uint8Array(await crypto.subtle.sign('HMAC', imported, cat(...parts)));
}

const ed25519Key = (key) => crypto.subtle.importKey('raw', key, 'Ed25519', false, ['verify']);

// RFC 8032, section 7.1, the public key of test 1: a browser that has the algorithm takes it.
const ANY_KEY = unhex('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a');

let ed25519; // a promise of whether the browser has it, once somebody asked

/** Refuses where the browser has no Ed25519: what it cannot verify is not taken unverified. */
export async function insistEd25519() {
  ed25519 ??= ed25519Key(ANY_KEY).then(() => true, () => false);
  insist(await ed25519, 'no_ed25519');
}

/** Whether a key of 32 bytes made a signature of 64 over a message. */
export async function verifies(key, signature, message) {
  await insistEd25519();
  if (key.length !== 32 || signature.length !== 64) return false;
  try {
    return await crypto.subtle.verify('Ed25519', await ed25519Key(key), signature, message);
  } catch (error) {
    if (error.name === 'DataError') return false; // 32 bytes that are no point of the curve
    throw error;
  }
}
