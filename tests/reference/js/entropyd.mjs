// The entropyd protocol, version 1, written from docs/protocol.md alone.
//
// A third implementation, in another language, that shares no code and no author's habit with the
// daemon or with the Python reference: where the three agree, the document says enough. It favours
// the wording of the document over speed. Section numbers are those of docs/protocol.md.
//
// Byte strings are Buffers and text is ASCII. Drawn integers are BigInts until they index an array;
// the Numbers besides are counts and places, far below 2^53, so every one of them is exact.

import { createHash, createHmac } from 'node:crypto';

/** An input that the document tells an implementation to refuse, and the name of that input. */
export class Refused extends Error {
  constructor(field, complaint) {
    super(`${field}: ${complaint}`);
    this.field = field;
  }
}

export function insist(condition, field, complaint) {
  if (!condition) throw new Refused(field, complaint);
}

// ---- 1. Encoding -------------------------------------------------------------------------------

export const cat = (...parts) => Buffer.concat(parts);

export function ascii(text) {
  insist(/^[\x00-\x7f]*$/.test(text), 'text', 'is not ASCII');
  return Buffer.from(text, 'latin1');
}

export function u32(x, field = 'number') {
  insist(Number.isInteger(x) && x >= 0 && x <= 0xffffffff, field, `${x} does not fit u32`);
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(x);
  return bytes;
}

/** Takes a Number without a fraction or a BigInt: a clock in nanoseconds passes 2^53. */
export function u64(x, field = 'number') {
  insist(typeof x === 'bigint' || Number.isSafeInteger(x), field, `${x} is not an exact integer`);
  insist(x >= 0 && BigInt(x) < 1n << 64n, field, `${x} does not fit u64`);
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(x));
  return bytes;
}

export function lp(value) {
  const bytes = typeof value === 'string' ? ascii(value) : value;
  return cat(u32(bytes.length), bytes);
}

const hash = (algorithm) => (...parts) => createHash(algorithm).update(cat(...parts)).digest();
const hmac = (algorithm) => (key, ...parts) =>
  createHmac(algorithm, key).update(cat(...parts)).digest();

export const sha256 = hash('sha256');
export const sha512 = hash('sha512');
export const hmacSha256 = hmac('sha256');
export const hmacSha512 = hmac('sha512');

export const leafHash = (leaf) => sha256(Buffer.of(0), leaf);

/** RFC 6962 root of a list of leaves. */
export function merkleRoot(leaves) {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leafHash(leaves[0]);
  let k = 1; // the largest power of two below the number of leaves
  while (2 * k < leaves.length) k *= 2;
  return sha256(Buffer.of(1), merkleRoot(leaves.slice(0, k)), merkleRoot(leaves.slice(k)));
}

/** The path of leaf i, from its sibling to a child of the root. */
export function merklePath(i, leaves) {
  if (leaves.length === 1) return [];
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  const [first, others] = [leaves.slice(0, k), leaves.slice(k)];
  return i < k
    ? [...merklePath(i, first), merkleRoot(others)]
    : [...merklePath(i - k, others), merkleRoot(first)];
}

/** [bytes of the key, value] of an object's entries, in byte order of the keys. */
const entriesInByteOrder = (object, bytesOf) =>
  Object.entries(object)
    .map(([key, value]) => [bytesOf(key), value])
    .sort(([a], [b]) => Buffer.compare(a, b));

export function exactly(length, bytes, name) {
  insist(bytes.length === length, name, `has ${bytes.length} bytes instead of ${length}`);
  return bytes;
}

// ---- 2. Ids ------------------------------------------------------------------------------------

export function idBytes(id, field) {
  insist(/^[\x21-\x7e]{1,128}$/.test(id), field, 'is no id of section 2');
  return Buffer.from(id, 'latin1');
}

// ---- 3. Decks and cards ------------------------------------------------------------------------

const RANKS = '23456789TJQKA';
const SUITS = 'cdhs';
const LOWEST_RANK_OF_SHORT36 = RANKS.indexOf('6');

export const range = (n) => Array.from({ length: n }, (_, i) => i);

export const DECKS = new Map([
  ['standard52', range(52)],
  ['standard54', range(54)],
  ['short36', range(52).filter((id) => id % 13 >= LOWEST_RANK_OF_SHORT36)],
]);

export function cardText(id) {
  if (id === 52 || id === 53) return `X${id - 51}`;
  insist(Number.isInteger(id) && id >= 0 && id < 52, 'card', `${id} is no card`);
  return RANKS[id % 13] + SUITS[Math.trunc(id / 13)];
}

/** The n items of `copies` decks; `card(t)` is the card id of item t. */
export function shoe(deckName, copies, removed) {
  const deck = DECKS.get(deckName);
  insist(deck !== undefined, 'deck', 'there is no such deck');
  insist(Number.isInteger(copies) && copies >= 1 && copies <= 8, 'decks', 'is not 1 to 8');
  insist(removed.every((id) => deck.includes(id)), 'removed', 'a card is not in the deck');
  insist(removed.every((id, i) => i === 0 || removed[i - 1] < id), 'removed', 'is not ascending');
  const list = deck.filter((id) => !removed.includes(id));
  insist(list.length >= 2, 'removed', 'fewer than two cards are left');
  const n = copies * list.length;
  return { n, card: (item) => list[item % list.length] };
}

// ---- 4. Rules ----------------------------------------------------------------------------------

const RULE_LINE = /^([a-z0-9_]{1,32})=([\x20-\x7e]{1,1024})$/;
export const DECIMAL = /^(0|[1-9][0-9]*)$/;

/** The lines of any draw's rules as a Map from name to value, or Refused. */
export function parseRuleLines(bytes) {
  insist(bytes.at(-1) === 0x0a, 'rules', 'there is no last line, or it does not end');
  const rules = new Map();
  let previous = '';
  for (const line of bytes.subarray(0, -1).toString('latin1').split('\n')) {
    const match = RULE_LINE.exec(line);
    insist(match !== null, 'rules', 'a line is not name=value');
    const [, name, value] = match;
    insist(name > previous, 'rules', 'names are not in byte order, each once');
    rules.set(name, value);
    previous = name;
  }
  return rules;
}

const oneOf = (...values) => (value) => values.includes(value);
const isHash = (value) => /^[0-9a-f]{64}$/.test(value);
const isRecipients = (value) => value.split(',').every((id) => /^[!-~]{1,128}$/.test(id));
const HAND_RULES = new Map([
  ['cards', (value) => DECIMAL.test(value) && Number(value) >= 2 && Number(value) <= 432],
  ['contributions', oneOf('none', 'open', 'sealed')],
  ['deck', () => true], // these two and the cards removed are for `shoe` to judge
  ['decks', (value) => DECIMAL.test(value)],
  ['parent', isHash],
  ['plan', isRecipients],
  ['proofs', oneOf('deck')],
  ['replaces', isHash],
  ['removed', (value) => value.split(',').every((id) => DECIMAL.test(id))],
  ['reveal', oneOf('never', 'after_close')],
  ['sampler', oneOf('masked', 'word32')],
]);
const OPTIONAL_RULES = ['cards', 'parent', 'plan', 'proofs', 'removed', 'replaces'];

/** The rules of a hand with their shoe, or Refused. Nothing is repaired. */
export function parseHandRules(bytes) {
  const lines = parseRuleLines(bytes);
  for (const [name, value] of lines) {
    insist(HAND_RULES.has(name), name, 'is no rule of a hand');
    insist(HAND_RULES.get(name)(value), name, 'has no such value');
  }
  for (const name of HAND_RULES.keys()) {
    insist(lines.has(name) || OPTIONAL_RULES.includes(name), name, 'is missing');
  }
  const [wholeDeck, moved] = [lines.has('proofs'), lines.get('contributions') !== 'none'];
  insist(!(wholeDeck && moved), 'proofs', 'is deck beside contributions');
  const removed = lines.has('removed') ? lines.get('removed').split(',').map(Number) : [];
  const { n: whole, card } = shoe(lines.get('deck'), Number(lines.get('decks')), removed);
  for (const [one, other] of [['cards', 'parent'], ['parent', 'cards']]) {
    insist(lines.has(one) || !lines.has(other), one, `is missing beside ${other}`);
  }
  const n = lines.has('cards') ? Number(lines.get('cards')) : whole;
  const plan = lines.has('plan') ? lines.get('plan').split(',') : [];
  insist(plan.length <= n, 'plan', 'goes beyond the deck');
  const alone = ['parent', 'plan', 'replaces'].every((name) => !lines.has(name));
  insist(!wholeDeck || alone, 'proofs', 'is deck beside parent, plan or replaces');
  return { lines, wholeDeck, moved, sampler: lines.get('sampler'), n, card };
}

/** The only spelling of a Map or list of [name, value]. */
export function spellRules(rules) {
  const sorted = [...rules].sort(([a], [b]) => (a < b ? -1 : 1));
  const bytes = ascii(sorted.map(([name, value]) => `${name}=${value}\n`).join(''));
  parseRuleLines(bytes);
  return bytes;
}

/** The rules of a `Shuffle`; `removed` is a set of card ids in any order. */
export function shuffleRules(deckName, copies, removed = []) {
  const rules = new Map([
    ['contributions', 'none'],
    ['deck', deckName],
    ['decks', String(copies)],
    ['proofs', 'deck'],
    ['reveal', 'never'],
    ['sampler', 'masked'],
  ]);
  const ascending = [...new Set(removed)].sort((a, b) => a - b);
  if (ascending.length > 0) rules.set('removed', ascending.join(','));
  const bytes = spellRules(rules);
  parseHandRules(bytes);
  return bytes;
}

// ---- 5. Binding: X -----------------------------------------------------------------------------

function binding(label, ids, rules) {
  const fields = Object.entries(ids).map(([field, id]) => lp(idBytes(id, field)));
  return cat(lp(label), ...fields, lp(sha256(rules)));
}

export function handX(tenant, table, hand, rules) {
  parseHandRules(rules);
  return binding('entropyd/hand/v1', { tenant, table, hand }, rules);
}

export function drawX(tenant, match, draw, rules) {
  parseRuleLines(rules);
  return binding('entropyd/draw/v1', { tenant, match, draw }, rules);
}

// ---- 6. RBG: the seeds -------------------------------------------------------------------------

/** 6.1: HMAC_DRBG of SP 800-90A with SHA-512. Making one is `instantiate`. */
export class HmacDrbg {
  constructor(entropyInput, nonce, personalizationString) {
    this.key = Buffer.alloc(64, 0x00);
    this.v = Buffer.alloc(64, 0x01);
    this.#update(cat(entropyInput, nonce, personalizationString));
  }

  reseed(entropyInput, additionalInput) {
    this.#update(cat(entropyInput, additionalInput));
  }

  generate(count) {
    let out = Buffer.alloc(0);
    while (out.length < count) {
      this.v = hmacSha512(this.key, this.v);
      out = cat(out, this.v);
    }
    this.#update(Buffer.alloc(0));
    return out.subarray(0, count);
  }

  #update(data) {
    this.#mix(0x00, data);
    if (data.length > 0) this.#mix(0x01, data);
  }

  #mix(byte, data) {
    this.key = hmacSha512(this.key, this.v, Buffer.of(byte), data);
    this.v = hmacSha512(this.key, this.v);
  }
}

const CLASSES = ['hardware', 'cover', 'user', 'os'];

const sourceBytes = (id) => idBytes(id, 'source');

/** 6.5: the source id of a user in a stir. */
function stirredUserBytes(id) {
  const parts = id.split(' ');
  insist(parts.length === 2, 'source', 'is not tenant id, space, user id');
  return ascii(parts.map(sourceBytes).join(' '));
}

/** 6.2: e_class over an object from source id to samples. */
export function condition(className, sources = {}, bytesOf = sourceBytes) {
  const fields = entriesInByteOrder(sources, bytesOf).map(([id, samples]) => {
    insist(samples.length > 0, 'samples', 'a source that is named has none');
    return cat(lp(id), lp(samples));
  });
  return sha512(lp('entropyd/condition/v1'), lp(className), ...fields);
}

/** 6.2: the 256 bytes of all four classes; a class that is not given has no samples. */
export function entropyInput(classes) {
  insist(Object.keys(classes).every((name) => CLASSES.includes(name)), 'class', 'no such class');
  return cat(...CLASSES.map((name) => condition(name, classes[name])));
}

/** 6.2: one event of mouse or touch. */
export const userEvent = (x, y, t) => cat(u32(x, 'x'), u32(y, 'y'), u64(t, 't'));

/** 6.2: the samples of a list of [x, y, t]. */
export const userEvents = (events) => cat(...events.map((event) => userEvent(...event)));

/** 6.3 */
export function instantiate(classes, nonce, origin) {
  insist(!origin.includes('+'), 'origin', 'has a +');
  const personalizationString = cat(lp('entropyd/drbg/v1'), lp(idBytes(origin, 'origin')));
  return new HmacDrbg(entropyInput(classes), exactly(32, nonce, 'nonce'), personalizationString);
}

/** 6.4: the additional input of segment s. */
export const seedInput = (x, s) => cat(lp('entropyd/seed/v1'), lp(x), u32(s));

/** 6.4: the seeds, r and K of a draw; `segments` holds the classes of each segment, in order. */
export function drawSeeds(generator, x, segments) {
  insist(segments.length > 0, 'segments', 'a draw has at least one');
  const last = segments.length - 1;
  let out;
  const seeds = segments.map((classes, s) => {
    generator.reseed(entropyInput(classes), seedInput(x, s));
    out = generator.generate(s === last ? 128 : 64);
    return out.subarray(0, 64);
  });
  return { seeds, r: out.subarray(64, 96), k: out.subarray(96, 128) };
}

const HANDS_A_REQUEST = 512;

/** 6.6: S, r and K of every hand; `hands` holds for each its X, hardware and cover. */
export function batchSeeds(generator, shared, hands) {
  insist(hands.length > 0, 'hands', 'a batch has at least one');
  generator.reseed(entropyInput(shared), cat(lp('entropyd/batch/v1'), u32(hands.length)));
  const outputs = [];
  for (let j = 0; j < hands.length; j += HANDS_A_REQUEST) {
    outputs.push(generator.generate(128 * Math.min(HANDS_A_REQUEST, hands.length - j)));
  }
  const out = cat(...outputs);
  return hands.map(({ x, hardware, cover }, j) => {
    const own = out.subarray(128 * j, 128 * j + 128);
    const entropy = cat(condition('hardware', hardware), condition('cover', cover));
    const s = hmacSha512(own.subarray(0, 64), lp('entropyd/batch-seed/v1'), lp(x), entropy);
    return { s, r: own.subarray(64, 96), k: own.subarray(96) };
  });
}

/** 6.5: only what devices and users gave is ever stirred. */
export function stir(generator, { hardware, user }) {
  const entropy = cat(
    condition('hardware', hardware), condition('cover'),
    condition('user', user, stirredUserBytes), condition('os'),
  );
  generator.reseed(entropy, lp('entropyd/stir/v1'));
}

// ---- 7. Segments -------------------------------------------------------------------------------

const SEGMENT_BITS = 249;

/** b(k): the least integer with 2^b >= k, which is the length of k - 1 in binary. */
export function bitsOf(k) {
  insist(BigInt(k) >= 1n, 'bounds', 'one is below 1');
  const below = BigInt(k) - 1n;
  return below === 0n ? 0 : below.toString(2).length;
}

/** The bounds, cut into the lists of their segments. */
export function segmentsOf(bounds) {
  const segments = [[]];
  let sum = 0;
  for (const k of bounds) {
    insist(bitsOf(k) <= SEGMENT_BITS, 'bounds', 'one is above 2^249');
    if (sum + bitsOf(k) > SEGMENT_BITS) {
      segments.push([]);
      sum = 0;
    }
    segments.at(-1).push(k);
    sum += bitsOf(k);
  }
  return segments;
}

// ---- 8. Keystream ------------------------------------------------------------------------------

const BLOCK_BITS = 512;

export const keystreamBlock = (seed, x, s, c) =>
  hmacSha512(seed, lp('entropyd/stream/v1'), lp(x), u32(s), u64(c));

/** The bits of one segment, from the first bit of its block 0. */
export class Keystream {
  taken = 0;
  #block;
  #makeBlock;

  constructor(seed, x, s) {
    this.#makeBlock = (c) => keystreamBlock(seed, x, s, c);
  }

  take(q) {
    let value = 0n;
    for (let i = 0; i < q; i += 1) value = (value << 1n) | BigInt(this.#nextBit());
    return value;
  }

  #nextBit() {
    const at = this.taken % BLOCK_BITS;
    if (at === 0) this.#block = this.#makeBlock((this.taken - at) / BLOCK_BITS);
    this.taken += 1;
    return (this.#block[at >> 3] >> (7 - (at & 7))) & 1;
  }
}

// ---- 9. Draws ----------------------------------------------------------------------------------

const MOST_TRIES = 128;
const WORD_SPACE = 1n << 32n;

/** Each sampler: its largest bound, the bits of a try, the values accepted, and what they mean. */
const SAMPLERS = {
  masked: { // 9.1; k = 1 takes no bits, and the value 0 of no bits is accepted
    most: 1n << BigInt(SEGMENT_BITS),
    bits: bitsOf,
    limit: (k) => k,
    result: (value) => value,
  },
  word32: { // 9.2
    most: WORD_SPACE,
    bits: () => 32,
    limit: (k) => WORD_SPACE - (WORD_SPACE % k),
    result: (value, k) => value % k,
  },
};

/** The values taken for one bound, as { result, tries }. The stream needs only `take(q)`. */
export function drawBelow(bound, samplerName, stream) {
  const k = BigInt(bound);
  const sampler = SAMPLERS[samplerName];
  insist(sampler !== undefined, 'sampler', 'there is no such sampler');
  insist(k >= 1n && k <= sampler.most, 'bounds', 'one is out of range');
  const tries = [];
  while (tries.length < MOST_TRIES) {
    const value = stream.take(sampler.bits(k));
    tries.push(value);
    if (value < sampler.limit(k)) return { result: sampler.result(value, k), tries };
  }
  throw new Refused('tries', 'the 128th was rejected: the hand is void');
}

/** Sections 7 to 9: every bound of a list drawn from the seed of its segment. */
export function drawList(bounds, sampler, x, seeds, segments = segmentsOf(bounds)) {
  insist(seeds.length === segments.length, 'seeds', 'not exactly one a segment');
  const trace = { draws: [], tries: [], bits: [], segmentBounds: segments.map((s) => s.length) };
  segments.forEach((segment, s) => {
    const stream = new Keystream(exactly(64, seeds[s], 'seeds'), x, s);
    for (const k of segment) {
      const { result, tries } = drawBelow(k, sampler, stream);
      trace.draws.push(result);
      trace.tries.push(tries);
    }
    trace.bits.push(stream.taken);
  });
  return trace;
}

// ---- 10. Shuffle and sample --------------------------------------------------------------------

/** n, n - 1, ..., last */
const boundsDownTo = (n, last) => range(n - last + 1).map((i) => n - i);

export const shuffleBounds = (n) => boundsDownTo(n, 2);
export const sampleBounds = (n, m) => boundsDownTo(n, n - m + 1);

/** The list 0 to n - 1 after its swaps: draw number t belongs to place i = n - 1 - t. */
function swapped(n, draws) {
  const a = range(n);
  draws.forEach((draw, t) => {
    const i = n - 1 - t;
    const j = Number(draw);
    [a[i], a[j]] = [a[j], a[i]];
  });
  return a;
}

/** `result` is the order; the rest is the trace of drawList. */
export function shuffle(n, sampler, x, seeds) {
  insist(Number.isInteger(n) && n >= 1, 'n', 'a shuffle takes at least one item');
  const trace = drawList(shuffleBounds(n), sampler, x, seeds);
  return { ...trace, result: swapped(n, trace.draws) };
}

export function sample(n, m, sampler, x, seeds) {
  insist(Number.isInteger(n) && Number.isInteger(m), 'm', 'counts are integers');
  insist(m >= 1 && m <= n, 'm', 'a sample takes 1 to n items');
  const trace = drawList(sampleBounds(n, m), sampler, x, seeds);
  return { ...trace, result: swapped(n, trace.draws).reverse().slice(0, m) };
}

// ---- 11. Commitments ---------------------------------------------------------------------------

/** 11.1 */
export const seedCommitment = (x, seeds, r) =>
  sha256(lp('entropyd/commit/v1'), lp(x), lp(cat(...seeds)), lp(exactly(32, r, 'r')));

/** 11.2: two salts come from one HMAC. */
export function salt(k, x, i) {
  const pair = hmacSha512(k, lp('entropyd/salt/v1'), lp(x), u32(Math.trunc(i / 2)));
  return i % 2 === 0 ? pair.subarray(0, 32) : pair.subarray(32, 64);
}

export const cardLeaf = (k, x, i, item) =>
  cat(lp('entropyd/card/v1'), lp(x), u32(i), u32(item), salt(k, x, i));

/** 11.2 */
export const deckRootByCard = (k, x, a) => merkleRoot(a.map((item, i) => cardLeaf(k, x, i, item)));

/** 11.3 */
export const deckRootWhole = (k, x, a) =>
  sha256(lp('entropyd/deck/v1'), lp(x), lp(k), lp(cat(...a.map(u32))));

/** D of a hand, in the form that its rules ask for. */
export function deckRoot(rules, k, x, a) {
  exactly(32, k, 'K');
  return rules.wholeDeck ? deckRootWhole(k, x, a) : deckRootByCard(k, x, a);
}

/** 11.4: over an object from seat id to Ed25519 public key, empty for none. */
export function seatsRoot(seats) {
  const leaf = ([seat, key]) => {
    insist(key.length === 0 || key.length === 32, 'seats', 'a key is 32 bytes or none');
    return cat(lp('entropyd/seat/v1'), lp(seat), lp(key));
  };
  return merkleRoot(entriesInByteOrder(seats, (seat) => idBytes(seat, 'seats')).map(leaf));
}

/** 11.5 */
export function openHash(x, q, n, c, d, a) {
  insist(q >= 1, 'sequence', 'starts at 1');
  return sha256(lp('entropyd/open/v1'), lp(x), u64(q, 'sequence'), u32(n), lp(c), lp(d), lp(a));
}

// ---- 12. Contributions and cut -----------------------------------------------------------------

/** The leaves of [seat, value] pairs in any order, sorted by leaf hash. */
export function contributionLeaves(rules, o, seats, contributions) {
  insist(rules.moved || Object.keys(seats).length === 0, 'seats', 'nobody contributes');
  const leaf = ([seat, value], i) => {
    const id = idBytes(seat, 'seat');
    insist(Object.hasOwn(seats, seat), 'contributions', 'one is of no seat in A');
    const first = contributions.findIndex(([other]) => other === seat) === i;
    insist(first, 'contributions', 'a seat has two');
    return cat(lp('entropyd/contribution/v1'), lp(o), lp(id), lp(exactly(32, value, 'value')));
  };
  return contributions.map(leaf).sort((a, b) => Buffer.compare(leafHash(a), leafHash(b)));
}

/** R, the permutation of places and the key it is drawn from; `leaves` are sorted. */
export function cutOf(n, sampler, o, leaves) {
  const root = merkleRoot(leaves);
  if (leaves.length === 0) return { root, key: null, cut: range(n) };
  const key = sha512(
    lp('entropyd/cut/v1'), lp(o), u32(leaves.length), lp(root), ...leaves.map((leaf) => lp(leaf)),
  );
  const seeds = segmentsOf(shuffleBounds(n)).map(() => key);
  return { root, key, cut: shuffle(n, sampler, o, seeds).result };
}

// ---- 13. A Shuffle: claim, answer, checks ------------------------------------------------------

/** 13.1: what the daemon keeps of a claim. */
export const claimDigest = (x, claim) =>
  sha256(lp('entropyd/claim/v1'), lp(x), lp(exactly(16, claim, 'claim')));

/** 13.1: the claim that a caller derives from its claim key. */
export function deriveClaim(claimKey, table, hand, place) {
  insist(claimKey.length >= 32, 'claim_key', 'has fewer than 32 bytes');
  const ids = cat(lp(idBytes(table, 'table')), lp(idBytes(hand, 'hand')));
  const message = cat(lp('entropyd/claim-key/v1'), ids, u32(place, 'place'));
  return hmacSha256(claimKey, message).subarray(0, 16);
}

/** 13.2: S on the wire is the seeds joined. */
export function splitSeeds(bytes) {
  insist(bytes.length > 0 && bytes.length % 64 === 0, 'seeds', 'are not 64 bytes a segment');
  return range(bytes.length / 64).map((s) => bytes.subarray(64 * s, 64 * s + 64));
}

/**
 * Everything that follows from the inputs of a hand: rules and seats, sequence number, seeds, r, K
 * and contributions. A `Shuffle` has neither seats nor contributions.
 */
export function playHand({ tenant, table, hand, rules, q, seeds, r, k, ...others }) {
  const { seats = {}, contributions = [] } = others;
  const parsed = parseHandRules(rules);
  const { n, sampler, card } = parsed;
  const X = handX(tenant, table, hand, rules);
  const { result: items } = shuffle(n, sampler, X, seeds);
  const C = seedCommitment(X, seeds, r);
  const D = deckRoot(parsed, k, X, items);
  const A = seatsRoot(seats);
  const O = openHash(X, q, n, C, D, A);
  const leaves = contributionLeaves(parsed, O, seats, contributions);
  const { root: R, cut, key } = cutOf(n, sampler, O, leaves);
  const cards = cut.map((place) => card(items[place]));
  return { n, rulesHash: sha256(rules), X, items, C, D, A, O, leaves, R, key, cut, cards };
}

/** 13.3: throws Refused unless everything presented follows from the rest. */
export function checkShuffle({ S, items, C, D, A, O, ...inputs }) {
  const { tenant, table, hand, rules, q, r, k } = inputs; // no seats, no contributions
  insist(!parseHandRules(rules).moved, 'contributions', 'is not none');
  const found = playHand({ tenant, table, hand, rules, q, r, k, seeds: splitSeeds(S) });
  const same = items.length === found.n && items.every((item, i) => item === found.items[i]);
  insist(same, 'items', 'the order is not the one presented');
  for (const [name, presented] of Object.entries({ C, D, A, O })) {
    insist(found[name].equals(presented), name, 'is not the one presented');
  }
}
