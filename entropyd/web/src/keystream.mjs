// The keystream of a draw and the two samplers. Sections 8, 9 and 10.

import { lp, u32, u64 } from './bytes.mjs';
import { hmac } from './crypto.mjs';
import { insist } from './refusal.mjs';
import { bitsOf } from './rules.mjs';

export const MOST_TRIES = 128; // section 9: the 128th rejection voids the draw
export const WORDS = 2 ** 32;

/** The bits of one segment. `ready` makes blocks; `take` is then at hand without waiting. */
export class Keystream {
  #key;
  #prefix;
  #block = new Uint8Array(0);
  #bit = 0; // of the present block
  #next = 0; // number of the next block

  constructor(key, x, segment, trace) {
    this.#key = key;
    this.#prefix = [lp('entropyd/stream/v1'), lp(x), u32(segment)];
    this.trace = trace;
    this.segment = segment;
  }

  static async of(seed, x, segment, trace) {
    return new Keystream(await hmac('SHA-512', seed), x, segment, trace);
  }

  /** Whether a take of so many bits (at most 64) needs a block that is not there yet. */
  lacks(bits) {
    return 8 * this.#block.length - this.#bit < bits;
  }

  /** Makes the next block and puts it behind what is left of the present one. */
  async grow() {
    const made = await this.#key(...this.#prefix, u64(this.#next));
    this.trace.blocks.push({ segment: this.segment, number: this.#next, bytes: made });
    const left = this.#block.subarray(this.#bit >> 3);
    const joined = new Uint8Array(left.length + made.length);
    joined.set(left);
    joined.set(made, left.length);
    this.#block = joined;
    this.#bit &= 7;
    this.#next += 1;
  }

  /** The next bits as a Number up to 32 of them, above that as a BigInt. Most significant first. */
  take(bits) {
    if (bits <= 32) return this.#number(bits);
    return (BigInt(this.#number(bits - 32)) << 32n) | BigInt(this.#number(32));
  }

  #number(bits) {
    let value = 0;
    for (let left = bits; left > 0;) {
      const some = Math.min(left, 8 - (this.#bit & 7));
      const byte = this.#block[this.#bit >> 3];
      const part = (byte >> (8 - (this.#bit & 7) - some)) & ((1 << some) - 1);
      value = value * 2 ** some + part;
      this.#bit += some;
      left -= some;
    }
    return value;
  }
}

/** What a sampler does with a bound: bits of a try, the values accepted, what they mean. */
const SAMPLERS = {
  masked: (k) => ({ bits: bitsOf(k), limit: k, result: (v) => v }),
  word32: (k) => ({
    bits: 32,
    limit: WORDS - (WORDS % Number(k)),
    result: (v) => v % Number(k),
  }),
};

/** Draws below each of the bounds of `rules`, from the seed of its segment, into `trace`. */
export async function drawAll(rules, x, seeds, trace) {
  const sampler = SAMPLERS[rules.sampler];
  for (const [s, first] of rules.starts.entries()) {
    const end = rules.starts[s + 1] ?? rules.draws;
    if (first === end) continue;
    const stream = await Keystream.of(seeds[s], x, s, trace);
    for (let t = first; t < end; t += 1) {
      await drawBelow(rules.bound(t), sampler, stream, trace);
    }
  }
}

async function drawBelow(k, sampler, stream, trace) {
  const { bits, limit, result } = sampler(k);
  trace.begin(k);
  if (bits === 0) return trace.end(0);
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    if (stream.lacks(bits)) await stream.grow();
    const value = stream.take(bits);
    trace.take(value);
    if (value < limit) return trace.end(result(value));
  }
  insist(false, 'tries');
  return undefined;
}

/**
 * What the swaps of a list 0, ..., n - 1 leave: for an order the whole list, for a sample its last
 * places, the last one first. Only places that were swapped are held, because n may be 2^32.
 */
export function swapped({ n, order }, draws) {
  const moved = new Map();
  const at = (place) => moved.get(place) ?? place;
  draws.forEach((j, t) => {
    const i = n - 1 - t;
    const item = at(j);
    moved.set(j, at(i));
    moved.set(i, item);
  });
  if (order) return Array.from({ length: n }, (_, i) => at(i));
  return draws.map((_, t) => at(n - 1 - t));
}
