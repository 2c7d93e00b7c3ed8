// Rules: the lines of section 4, and what those of a draw mean. Sections 16.1, 16.2 and 16.4.

import { insist } from './refusal.mjs';

const LINE = /^([a-z0-9_]{1,32})=([\x20-\x7e]{1,1024})$/;
const HASH = /^[0-9a-f]{64}$/;
const MOST_RESULTS = 10_000;
const MOST_ITEMS = 100_000;
const TWO_32 = 2n ** 32n;
const TWO_64 = 2n ** 64n;

/** Name -> value. */
export function parseLines(text) {
  insist(text.endsWith('\n'), 'rules.end', 'rules');
  const lines = new Map();
  let before = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const [, name, value] = LINE.exec(line) ?? [];
    insist(name !== undefined, 'rules.line', line.slice(0, 40));
    insist(name > before, 'rules.order', name);
    lines.set(name, value);
    before = name;
  }
  return lines;
}

/** The only spelling of an object of names and values. */
export const spell = (rules) =>
  Object.keys(rules).sort().map((name) => `${name}=${rules[name]}\n`).join('');

/** Refuses unless exactly these names stand there, and perhaps the optional ones. */
export function checkNames(lines, needed, optional = []) {
  for (const name of needed) insist(lines.has(name), 'rules.missing', name);
  for (const name of lines.keys()) {
    insist(needed.includes(name) || optional.includes(name), 'rules.unknown', name);
  }
}

export function oneOf(lines, name, values) {
  insist(values.includes(lines.get(name)), 'rules.value', name);
  return lines.get(name);
}

/** A decimal value from least to most, BigInts, as a BigInt. */
export function decimal(lines, name, least, most) {
  const text = lines.get(name);
  insist(/^(?:0|[1-9][0-9]{0,19})$/.test(text), 'rules.value', name);
  insist(BigInt(text) >= least && BigInt(text) <= most, 'rules.value', name);
  return BigInt(text);
}

const count = (lines, name, least, most) =>
  Number(decimal(lines, name, BigInt(least), BigInt(most)));

function hashOf(lines, name) {
  insist(HASH.test(lines.get(name)), 'rules.value', name);
  return lines.get(name);
}

// What each kind is: its bounds (`bound(t)` of draw t, and how many), whether they belong to swaps
// of a list of n, how a result is counted (width in bytes), and the labels that may name its parts.

function integers(lines) {
  const bound = decimal(lines, 'bound', 1n, TWO_64);
  const low = decimal(lines, 'low', 0n, TWO_64 - 1n);
  insist(low + bound <= TWO_64, 'rules.value', 'low');
  return {
    draws: count(lines, 'count', 1, MOST_RESULTS), bound: () => bound, width: 8,
    meaning: (v) => low + BigInt(v),
  };
}

const DICE = /^([1-9][0-9]{0,4})d([1-9][0-9]{0,9})$/;

function dice(lines) {
  const groups = lines.get('dice').split(',').map((group) => DICE.exec(group));
  insist(groups.length <= 32 && !groups.includes(null), 'rules.value', 'dice');
  const total = groups.reduce((sum, [, many]) => sum + Number(many), 0);
  insist(total <= MOST_RESULTS, 'rules.value', 'dice');
  insist(groups.every(([, , faces]) => BigInt(faces) <= TWO_32), 'rules.value', 'dice');
  const faces = groups.flatMap(([, many, sides]) => Array(Number(many)).fill(Number(sides)));
  return { draws: total, bound: (t) => faces[t], width: 8, meaning: (v) => BigInt(v) + 1n };
}

function items(lines) {
  const n = count(lines, 'n', 1, MOST_ITEMS);
  return {
    draws: n - 1, bound: (t) => n - t, width: 4, swaps: { n, order: true },
    labels: labelRule(lines, n),
  };
}

function sample(lines) {
  const n = count(lines, 'n', 1, lines.has('labels') ? MOST_ITEMS : TWO_32);
  const m = count(lines, 'm', 1, Math.min(n, MOST_ITEMS));
  return { ...sampleOf(n, m), labels: labelRule(lines, n) };
}

const sampleOf = (n, m) => ({
  draws: m, bound: (t) => n - t, width: 4, swaps: { n, order: false },
});

const labelRule = (lines, n) =>
  lines.has('labels') ? { hash: hashOf(lines, 'labels'), count: n } : null;

const COUNT = /^(?:0|[1-9][0-9]{0,2}|1000)$/;

function bag(lines) {
  insist(/^[a-z0-9_-]{1,64}$/.test(lines.get('bag')), 'rules.value', 'bag');
  const counts = lines.get('counts').split(',');
  const written = counts.length <= 256 && counts.every((text) => COUNT.test(text));
  insist(written, 'rules.value', 'counts');
  const held = counts.map(Number);
  const total = held.reduce((a, b) => a + b);
  insist(total >= 1 && total <= MOST_RESULTS, 'rules.value', 'counts');
  return {
    ...sampleOf(total, count(lines, 'm', 1, total)),
    kinds: held.flatMap((copies, kind) => Array(copies).fill(kind)),
    bag: { id: lines.get('bag'), counts: held, tiles: lines.get('tiles') },
    labels: tilesRule(lines.get('tiles'), held),
  };
}

/** The labels of a preset are known; those of other tiles are bound by their hash. */
function tilesRule(tiles, held) {
  const custom = /^custom-([0-9a-f]{64})$/.exec(tiles);
  if (custom !== null) return { hash: custom[1], count: held.length };
  const preset = PRESETS[tiles];
  insist(Object.hasOwn(PRESETS, tiles), 'rules.value', 'tiles');
  const fits = held.length === preset.length && held.every((copies, i) => copies <= preset[i][1]);
  insist(fits, 'rules.value', 'counts');
  return { known: preset.map(([label]) => label) };
}

function raffle(lines) {
  const n = count(lines, 'n', 1, MOST_ITEMS);
  const winners = count(lines, 'winners', 1, n);
  const alternates = count(lines, 'alternates', 0, n - winners);
  return { ...sampleOf(n, winners + alternates), n, winners, entries: hashOf(lines, 'entries') };
}

function serverSeed(lines) {
  oneOf(lines, 'profile', ['v1', 'v2']);
  return { draws: 0, bound: () => 0, width: 0 };
}

/** kind -> [names that stand always, names that may, what it is] */
const KINDS = {
  integers: [['bound', 'count', 'low'], [], integers],
  dice: [['dice'], [], dice],
  items: [['n'], ['labels'], items],
  sample: [['m', 'n'], ['labels'], sample],
  bag: [['bag', 'counts', 'm', 'tiles'], [], bag],
  raffle: [['alternates', 'entries', 'n', 'winners'], [], raffle],
  server_seed: [['profile'], [], serverSeed],
};

/** The rules of a draw, or a refusal. Nothing is repaired. */
export function parseDrawRules(text) {
  const lines = parseLines(text);
  insist(lines.has('kind'), 'rules.missing', 'kind');
  const kind = oneOf(lines, 'kind', Object.keys(KINDS));
  const [always, optional, read] = KINDS[kind];
  checkNames(lines, ['kind', 'sampler', ...always], [...optional, 'seeds']);
  const samplers = kind === 'server_seed' ? ['masked'] : ['masked', 'word32'];
  const sampler = oneOf(lines, 'sampler', samplers);
  const computational = lines.has('seeds');
  if (computational) oneOf(lines, 'seeds', ['computational']);
  const draw = read(lines);
  const starts = segmentStarts(draw);
  insist(!computational || starts.length > 1, 'rules.value', 'seeds');
  const narrow = sampler === 'masked' || draw.draws === 0 || BigInt(draw.bound(0)) <= TWO_32;
  insist(narrow, 'rules.value', 'sampler');
  return { lines, kind, sampler, computational, ...draw, starts: computational ? [0] : starts };
}

const SEGMENT_BITS = 249; // section 7: no seed decides among more than 2^249 outcomes

/** b(k) of section 7: the length of k - 1 in binary. */
export const bitsOf = (k) => (k > 1 ? (BigInt(k) - 1n).toString(2).length : 0);

/** The number of the first draw of each segment. */
export function segmentStarts({ draws, bound }) {
  const starts = [0];
  let sum = 0;
  for (let t = 0; t < draws; t += 1) {
    const bits = bitsOf(bound(t));
    if (sum + bits > SEGMENT_BITS) {
      starts.push(t);
      sum = 0;
    }
    sum += bits;
  }
  return starts;
}

const pairs = (text) => text.split(' ').map((pair) => [pair[0], Number(pair.slice(1))]);
const DOMINOES = Array.from({ length: 7 }, (_, a) =>
  Array.from({ length: 7 - a }, (_unused, b) => [`${a}-${a + b}`, 1])).flat();

/** 16.4: label and count of each kind of a full bag. */
const PRESETS = {
  english: [
    ...pairs('A9 B2 C2 D4 E12 F2 G3 H2 I9 J1 K1 L4 M2 N6 O8 P2 Q1 R6 S4 T6 U4 V2 W2 X1 Y2 Z1'),
    ['blank', 2],
  ],
  polish: [
    ...pairs(
      'A9 Ą1 B2 C3 Ć1 D3 E7 Ę1 F1 G2 H2 I8 J2 K3 L3 Ł2 M3 N5 Ń1 O6 Ó1 P3 R4 S4 Ś1 T3'
      + ' U2 W4 Y4 Z5 Ź1 Ż1',
    ),
    ['blank', 2],
  ],
  ukrainian: [
    ...pairs(
      'А8 Б2 В4 Г2 Ґ1 Д3 Е5 Є1 Ж1 З2 И7 І5 Ї1 Й1 К4 Л3 М4 Н7 О10 П3 Р5 С4 Т5 У3 Ф1'
      + ' Х1 Ц1 Ч1 Ш1 Щ1 Ь1 Ю1 Я2 ʼ1',
    ),
    ['blank', 2],
  ],
  dominoes: DOMINOES,
};
