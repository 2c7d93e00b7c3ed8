// Server seed, client seed, nonce, and the stream of a round. Sections 18.1 and 18.2.

import { hex, lp, u32, u64, unhex, utf8 } from './bytes.mjs';
import { hmac, sha256 } from './crypto.mjs';
import { MOST_TRIES, WORDS } from './keystream.mjs';
import { insist } from './refusal.mjs';

export const isServerSeed = (text) => /^[0-9a-f]{64}$/.test(text);
export const isClientSeed = (text) => /^[\x21-\x39\x3b-\x7e]{1,64}$/.test(text);

/** Which hash of a seed in hex each name stands for. `bytes` is published by no profile alone. */
export const SERVER_HASHES = {
  v1: (seed) => sha256(utf8(seed)),
  v2: (seed) => sha256(lp('entropyd/server-seed/v2'), lp(unhex(seed))),
  bytes: (seed) => sha256(unhex(seed)),
};

export const serverHash = async (name, seed) => hex(await SERVER_HASHES[name](seed));

/**
 * A function from c to block c. `key` says what the HMAC's key is: `text`, the 64 characters, or
 * `bytes`, what they stand for; it is the profile's own unless a mistake is being looked for.
 */
export async function blocksOf(profile, { seed, clientSeed, nonce, rulesHash }, key) {
  const asText = (key ?? (profile === 'v1' ? 'text' : 'bytes')) === 'text';
  const mac = await hmac('SHA-256', asText ? utf8(seed) : unhex(seed));
  if (profile === 'v1') return (c) => mac(utf8(`${clientSeed}:${nonce}:${c}`));
  const head = [lp('entropyd/round/v2'), lp(clientSeed), u64(nonce), lp(rulesHash)];
  return (c) => mac(...head, u32(c));
}

/** Draws one number after another from the blocks, into a trace. */
export class Words {
  #blocks;
  #block = new Uint8Array(0);
  #at = 0;

  constructor(blocks, trace) {
    this.#blocks = blocks;
    this.trace = trace;
  }

  async below(n) {
    const limit = WORDS - (WORDS % n);
    this.trace.begin(n);
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const word = await this.#word();
      this.trace.take(word);
      if (word < limit) {
        this.trace.end(word % n);
        return word % n;
      }
    }
    insist(false, 'tries');
    return undefined;
  }

  async #word() {
    if (this.#at === this.#block.length) {
      const number = this.trace.blocks.length;
      this.#block = await this.#blocks(number);
      this.trace.blocks.push({ segment: null, number, bytes: this.#block });
      this.#at = 0;
    }
    const { buffer, byteOffset } = this.#block;
    this.#at += 4;
    return new DataView(buffer, byteOffset).getUint32(this.#at - 4);
  }
}
