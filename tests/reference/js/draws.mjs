// Draws of a match and raffles, written from docs/protocol.md alone, as entropyd.mjs is: the rules
// of each kind of draw, the bounds that follow from them, and the result and its root.
//
// Integers that may pass 2^53 (bounds, results) are BigInts; counts and places are Numbers.

import {
  DECIMAL, Keystream, cat, claimDigest, drawList, drawX, exactly, hmacSha256, idBytes, insist, lp,
  parseRuleLines, range, sampleBounds, seedCommitment, segmentsOf, sha256, shuffleBounds, u32, u64,
} from './entropyd.mjs';

const MOST_RESULTS = 10_000;
const MOST_ITEMS = 100_000;
const TWO_32 = 1n << 32n;
const TWO_64 = 1n << 64n;

// ---- Bags that have names ----------------------------------------------------------------------

const digits = (text) => [...text].map(Number);

/** How many tiles of each kind a full bag holds. */
export const PRESETS = new Map([
  ['english', [9, 2, 2, 4, 12, 2, 3, 2, 9, 1, 1, 4, 2, 6, 8, 2, 1, 6, 4, 6, 4, 2, 2, 1, 2, 1, 2]],
  ['polish', digits('912313711228233235161344132445112')],
  ['ukrainian', [...digits('824213511275114347'), 10, ...digits('3545311111111212')]],
  ['dominoes', Array(28).fill(1)],
]);

// ---- Rules -------------------------------------------------------------------------------------

/** A decimal value of a rule, least to most (BigInts or Numbers), as a BigInt. */
function decimal(lines, name, least, most) {
  const text = lines.get(name);
  insist(DECIMAL.test(text), name, 'is no decimal number');
  const value = BigInt(text);
  insist(value >= BigInt(least) && value <= BigInt(most), name, `is not ${least} to ${most}`);
  return value;
}

const count = (...how) => Number(decimal(...how));

/** The SHA-256 of the labels of n items. */
export function labelsHash(labels, n) {
  insist(labels.length === n, 'labels', 'are not as many as the items');
  const bytes = labels.map((label) => Buffer.from(label, 'utf8'));
  for (const [i, label] of bytes.entries()) {
    insist(label.length >= 1 && label.length <= 256, 'labels', 'one has not 1 to 256 bytes');
    insist(!/\p{Cc}/u.test(labels[i]), 'labels', 'one has a control character');
    insist(label.toString('utf8') === labels[i], 'labels', 'one is no text');
  }
  insist(bytes.reduce((sum, b) => sum + b.length, 0) <= 2 ** 20, 'labels', 'are above 1 MiB');
  return sha256(lp('entropyd/labels/v1'), u32(bytes.length), ...bytes.map(lp));
}

function hash(lines, name) {
  insist(/^[0-9a-f]{64}$/.test(lines.get(name)), name, 'is no hash');
  return Buffer.from(lines.get(name), 'hex');
}

function integers(lines) {
  const bound = decimal(lines, 'bound', 1, TWO_64);
  const low = decimal(lines, 'low', 0, TWO_64 - 1n);
  insist(low + bound <= TWO_64, 'low', 'the highest number does not fit u64');
  const bounds = Array(count(lines, 'count', 1, MOST_RESULTS)).fill(bound);
  return { bounds, width: u64, result: (draws) => draws.map((v) => low + v) };
}

function dice(lines) {
  const groups = lines.get('dice').split(',');
  insist(groups.length <= 32, 'dice', 'there are more than 32 groups');
  const bounds = groups.flatMap((group) => {
    const match = /^([1-9][0-9]*)d([1-9][0-9]*)$/.exec(group);
    insist(match !== null, 'dice', 'a group is not COUNTdFACES');
    const [dicePerGroup, faces] = [BigInt(match[1]), BigInt(match[2])];
    insist(dicePerGroup <= BigInt(MOST_RESULTS), 'dice', 'there are too many');
    insist(faces <= TWO_32, 'dice', 'one has too many faces');
    return Array(Number(dicePerGroup)).fill(faces);
  });
  insist(bounds.length <= MOST_RESULTS, 'dice', 'there are too many');
  return { bounds, width: u64, result: (draws) => draws.map((v) => v + 1n) };
}

function items(lines) {
  const n = count(lines, 'n', 1, MOST_ITEMS);
  if (lines.has('labels')) hash(lines, 'labels');
  return { bounds: shuffleBounds(n), width: u32, result: (draws) => swapped(n, draws, 0) };
}

function sample(lines) {
  const n = count(lines, 'n', 1, 2 ** 32);
  if (lines.has('labels')) hash(lines, 'labels');
  insist(!lines.has('labels') || n <= MOST_ITEMS, 'labels', 'so many items have none');
  const m = count(lines, 'm', 1, Math.min(n, MOST_ITEMS));
  return sampleOf(n, m);
}

const sampleOf = (n, m) => ({
  bounds: sampleBounds(n, m), width: u32, result: (draws) => swapped(n, draws, n - m).reverse(),
});

function bag(lines) {
  insist(/^[a-z0-9_-]{1,64}$/.test(lines.get('bag')), 'bag', 'is no name');
  const tiles = lines.get('tiles');
  const full = PRESETS.get(tiles);
  insist(full !== undefined || /^custom-[0-9a-f]{64}$/.test(tiles), 'tiles', 'there are no such');
  const counts = lines.get('counts').split(',').map((text) => {
    insist(DECIMAL.test(text) && Number(text) <= 1000, 'counts', 'one is not 0 to 1000');
    return Number(text);
  });
  insist(counts.length <= 256, 'counts', 'there are more than 256');
  const possible = full === undefined
    || (counts.length === full.length && counts.every((held, kind) => held <= full[kind]));
  insist(possible, 'counts', 'are not of these tiles');
  const sum = counts.reduce((a, b) => a + b);
  insist(sum >= 1 && sum <= 10_000, 'counts', 'they do not sum to 1 to 10000');
  const kinds = counts.flatMap((copies, kind) => Array(copies).fill(kind));
  const { result, ...others } = sampleOf(sum, count(lines, 'm', 1, sum));
  return { ...others, result: (draws) => result(draws).map((item) => kinds[item]) };
}

function raffle(lines) {
  hash(lines, 'entries');
  const n = count(lines, 'n', 1, MOST_ITEMS);
  const winners = count(lines, 'winners', 1, n);
  const alternates = count(lines, 'alternates', 0, n - winners);
  return { ...sampleOf(n, winners + alternates), n, winners };
}

function serverSeed(lines) {
  insist(['v1', 'v2'].includes(lines.get('profile')), 'profile', 'there is no such');
  return { bounds: [] };
}

/** kind -> [names that stand always, names that may, what its draw is] */
const KINDS = {
  integers: [['bound', 'count', 'low'], [], integers],
  dice: [['dice'], [], dice],
  items: [['n'], ['labels'], items],
  sample: [['m', 'n'], ['labels'], sample],
  bag: [['bag', 'counts', 'm', 'tiles'], [], bag],
  raffle: [['alternates', 'entries', 'n', 'winners'], [], raffle],
  server_seed: [['profile'], [], serverSeed],
};

/** The rules of a draw: its lines, kind, sampler, bounds, and what its draws mean. Or Refused. */
export function parseDrawRules(bytes) {
  const lines = parseRuleLines(bytes);
  insist(lines.has('kind'), 'kind', 'is missing');
  const kind = lines.get('kind');
  insist(Object.hasOwn(KINDS, kind), 'kind', 'there is no such');
  const [always, optional, read] = KINDS[kind];
  const needed = ['kind', 'sampler', ...always];
  for (const name of lines.keys()) {
    insist([...needed, ...optional, 'seeds'].includes(name), name, `is no rule of ${kind}`);
  }
  for (const name of needed) insist(lines.has(name), name, 'is missing');
  const sampler = lines.get('sampler');
  insist(['masked', 'word32'].includes(sampler), 'sampler', 'there is no such');
  const computational = lines.has('seeds');
  insist(!computational || lines.get('seeds') === 'computational', 'seeds', 'has no such value');
  const draw = read(lines);
  const long = segmentsOf(draw.bounds).length > 1;
  insist(!computational || long, 'seeds', 'is computational where one seed is enough');
  insist(kind !== 'server_seed' || sampler === 'masked', 'sampler', 'nothing is drawn');
  const fits = sampler === 'masked' || draw.bounds.every((k) => BigInt(k) <= TWO_32);
  insist(fits, 'bound', 'word32 takes none above 2^32');
  return { lines, kind, sampler, computational, ...draw };
}

// ---- Draws -------------------------------------------------------------------------------------

/**
 * Places n - 1 down to `last` after their swaps, and all of them for last = 0. Only places that a
 * swap has touched are held: n may be 2^32.
 */
function swapped(n, draws, last) {
  const a = new Map();
  const at = (place) => a.get(place) ?? place;
  draws.forEach((draw, t) => {
    const [i, j] = [n - 1 - t, Number(draw)];
    const [x, y] = [at(i), at(j)];
    a.set(i, y).set(j, x);
  });
  return range(n - last).map((i) => at(last + i));
}

/** The result root: what was drawn, hidden by K until it is shown. */
export const resultRoot = (x, k, result) =>
  sha256(lp('entropyd/result/v1'), lp(x), lp(exactly(32, k, 'K')), lp(result));

/** A draw with its trace. `seeds` holds one a segment, or one in all where the rules say so. */
export function playDraw({ tenant, match, draw, rules, seeds, r, k }) {
  const parsed = parseDrawRules(rules);
  const X = drawX(tenant, match, draw, rules);
  const C = seedCommitment(X, seeds, r);
  const whole = parsed.computational ? [parsed.bounds] : undefined;
  const trace = drawList(parsed.bounds, parsed.sampler, X, seeds, whole);
  const shown = { ...parsed, rulesHash: sha256(rules), X, C, ...trace };
  if (parsed.kind === 'server_seed') {
    const bits = new Keystream(seeds[0], X, 0).take(256);
    const result = Buffer.from(bits.toString(16).padStart(64, '0'), 'hex');
    return { ...shown, result, D: resultRoot(X, k, result) };
  }
  const result = parsed.result(trace.draws);
  return { ...shown, result, D: resultRoot(X, k, cat(...result.map((v) => parsed.width(v)))) };
}

// ---- Bags of a match ---------------------------------------------------------------------------

/** What a bag holds, kind by kind, after a draw took kinds from it. */
export function taken(counts, drawn) {
  const left = [...counts];
  for (const kind of drawn) left[kind] -= 1;
  insist(left.every((held) => held >= 0), 'counts', 'more is drawn than it holds');
  return left;
}

/** What it holds after kinds came back; of none may there be more than it held first. */
export function returned(first, left, returns) {
  const counts = [...left];
  for (const kind of returns) {
    insist(Object.hasOwn(first, kind), 'returns', 'is no kind of the bag');
    counts[kind] += 1;
    insist(counts[kind] <= first[kind], 'returns', 'more than are out of it');
  }
  return counts;
}

/** Refuses draws of a match, in order, whose bags do not follow from each other. */
export function checkBags(draws) {
  const bags = new Map();
  for (const { rules, result } of draws) {
    const { kind, lines } = parseDrawRules(rules);
    if (kind !== 'bag') continue;
    const counts = lines.get('counts').split(',').map(Number);
    const tiles = lines.get('tiles');
    const bag = bags.get(lines.get('bag')) ?? { tiles, first: counts, left: counts };
    insist(tiles === bag.tiles, 'tiles', 'are others than before');
    const fits = counts.length === bag.first.length
      && counts.every((held, i) => held >= bag.left[i] && held <= bag.first[i]);
    insist(fits, 'counts', 'do not follow from the draw before');
    bags.set(lines.get('bag'), { ...bag, left: taken(counts, result.map(Number)) });
  }
}

// ---- Claims of a match and a raffle ------------------------------------------------------------

/** The claim derived for a match or raffle, and its digest; `what` is "match" or "raffle". */
export function claimOf(what, claimKey, tenant, id) {
  insist(claimKey.length >= 32, 'claim_key', 'has fewer than 32 bytes');
  const named = lp(idBytes(id, what));
  const claim = hmacSha256(claimKey, lp(`entropyd/${what}-claim/v1`), named).subarray(0, 16);
  const bound = cat(lp(`entropyd/${what}/v1`), lp(idBytes(tenant, 'tenant')), named);
  return { claim, claim_digest: claimDigest(bound, claim) };
}

// ---- Raffles -----------------------------------------------------------------------------------

const EDGE = /^\p{White_Space}+|\p{White_Space}+$/gu;

/** The canonical form of an entry. */
export function canonicalEntry(text) {
  const entry = text.normalize('NFC').replace(EDGE, '');
  const bytes = Buffer.from(entry, 'utf8');
  insist(bytes.length >= 1 && bytes.length <= 256, 'entries', 'one has not 1 to 256 bytes');
  const refused = /[\p{Cc}\p{Cs}\p{Co}\p{Cn}\u2028\u2029]/u.test(entry);
  insist(!refused, 'entries', 'one has a character that cannot stand there');
  return entry;
}

/** Entries in any order as the list that is sealed: canonical, in byte order, each once. */
export function entryList(entries) {
  insist(entries.length >= 1 && entries.length <= MOST_ITEMS, 'entries', 'are not 1 to 100000');
  const list = entries.map(canonicalEntry).map((entry) => Buffer.from(entry, 'utf8'));
  list.sort(Buffer.compare);
  insist(list.every((e, i) => i === 0 || !e.equals(list[i - 1])), 'entries', 'two are equal');
  insist(list.reduce((sum, e) => sum + e.length, 0) <= 2 ** 20, 'entries', 'are above 1 MiB');
  return list.map((entry) => entry.toString('utf8'));
}

/** E of a canonical list. */
export const entriesHash = (list) =>
  sha256(
    lp('entropyd/raffle-entries/v1'), u32(list.length),
    ...list.map((entry) => lp(Buffer.from(entry, 'utf8'))),
  );

/** A raffle, from the entries as they were handed in. */
export function playRaffle({ tenant, raffle, given, rules, ...secrets }) {
  const parsed = parseDrawRules(rules);
  insist(parsed.kind === 'raffle', 'kind', 'is no raffle');
  idBytes(raffle, 'raffle');
  const entries = entryList(given);
  insist(entries.length === parsed.n, 'n', 'is not the number of entries');
  const E = entriesHash(entries);
  insist(E.toString('hex') === parsed.lines.get('entries'), 'entries', 'are others');
  const played = playDraw({ tenant, match: raffle, draw: 'raffle', rules, ...secrets });
  const drawn = played.result.map((number) => entries[number]);
  const [winners, alternates] = [drawn.slice(0, parsed.winners), drawn.slice(parsed.winners)];
  return { ...played, entries, E, winners, alternates };
}
