// SHA-2 and HMAC, as the browser has them. There is no other implementation in the page: where
// WebCrypto is missing, nothing is checked and the page says so.

import { cat } from './bytes.mjs';

/** Browsers give WebCrypto to https, to localhost and to files, and to nobody else. */
export const hasCrypto = () => globalThis.crypto?.subtle !== undefined;

export async function sha256(...parts) {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', cat(...parts)));
}

/** A function from messages to their HMAC under one key; `hash` is SHA-256 or SHA-512. */
export async function hmac(hash, key) {
  const algorithm = { name: 'HMAC', hash };
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign']);
  return async (...parts) =>
    new Uint8Array(await crypto.subtle.sign('HMAC', imported, cat(...parts)));
}
