// Recompute every value of vector files:  node check.mjs FILE...   (`-` is standard input)
//
// A FILE is one of docs/vectors/*.json, tests/vectors/protocol/hands.json, or docs/protocol.md, of
// which the worked example is checked line by line. A value is one field of a vector that is a
// result. Whatever this file does not know (a kind, a field) is an error: nothing is passed over.
// Exit code 0 if all values agree, otherwise 1 with the first difference.

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

import {
  Difference, agree, agreeOnNames, agreeOnResults, exactNumber, hex, mapValues, plain, refusedField,
} from './agree.mjs';
import { DRAW_LISTS, RAFFLE_LISTS } from './check_draws.mjs';
import { GAME_LISTS } from './check_games.mjs';
import { handLists } from './check_hands.mjs';
import { LOG_LISTS } from './check_log.mjs';
import * as protocol from './entropyd.mjs';

const texts = (cards) => cards.map(protocol.cardText).join(' ');

// ---- draws.json --------------------------------------------------------------------------------

const DRAW_KINDS = new Map([
  ['list', { inputs: ['bounds'], draw: (c, ...how) => protocol.drawList(c.bounds, ...how) }],
  ['shuffle', { inputs: ['n'], draw: (c, ...how) => protocol.shuffle(c.n, ...how) }],
  ['sample', { inputs: ['n', 'm'], draw: (c, ...how) => protocol.sample(c.n, c.m, ...how) }],
]);

function checkDraw(vector) {
  const kind = DRAW_KINDS.get(vector.kind);
  if (kind === undefined) throw new Error(`unknown kind of draw ${vector.kind}`);
  (vector.bounds ?? []).forEach(exactNumber);
  const trace = kind.draw(vector, vector.sampler, hex(vector.X), vector.seeds.map(hex));
  const { segmentBounds, draws, bits, result } = trace;
  const results = { segment_bounds: segmentBounds, draws, bits };
  if (result !== undefined) results.result = result;
  const inputs = ['label', 'kind', 'sampler', 'X', 'seeds', 'covers', ...kind.inputs];
  return agreeOnResults(vector, inputs, results);
}

/** A draw of which each take gives the next value. If it fails it is null. No value is left. */
function checkTries(vector) {
  const values = vector.values.map((value) => BigInt(exactNumber(value)));
  const take = () => {
    if (values.length === 0) throw new Error('a try is made too many');
    return values.shift();
  };
  let result = null;
  const field = refusedField(() => {
    result = protocol.drawBelow(vector.bound, vector.sampler, { take }).result;
  });
  agree('result', field === null, vector.result !== null);
  agree('values', [], values);
  return agreeOnResults(vector, ['label', 'sampler', 'bound', 'values'], { result });
}

// ---- hands.json, in both places ----------------------------------------------------------------

const HAND_INPUTS = [
  'label', 'tenant', 'table', 'hand', 'rules', 'seeds', 'blinding', 'salt_key', 'sequence', 'seats',
  'contributions',
];

function handOf(vector) {
  const { tenant, table, hand } = vector;
  return {
    tenant,
    table,
    hand,
    rules: protocol.ascii(vector.rules),
    q: exactNumber(vector.sequence),
    seeds: vector.seeds.map(hex),
    r: hex(vector.blinding),
    k: hex(vector.salt_key),
    seats: mapValues(vector.seats, hex),
    contributions: vector.contributions.map((c) => [c.seat ?? c.contributor, hex(c.value)]),
  };
}

/** docs/vectors/hands.json: hands to their dealt cards and claim. */
function checkHand(vector) {
  const hand = handOf(vector);
  const played = protocol.playHand(hand);
  if (protocol.parseHandRules(hand.rules).wholeDeck) presentShuffle(hand, played);
  const { n, X, C, D, A, O, R, items, cut, cards } = played;
  const claim = protocol.deriveClaim(hex(vector.claim_key), hand.table, hand.hand, 0);
  const count = agreeOnResults(vector, [...HAND_INPUTS, 'claim_key', 'opened'], {
    n, X, C, D, A, O, R, items, cut, rules_hash: played.rulesHash,
    dealt_cards: Buffer.from(cards), dealt_text: texts(cards),
    claim, claim_digest: protocol.claimDigest(X, claim),
  });
  return vector.opened.reduce((sum, card) => sum + checkOpened(card, hand, played), count);
}

/** tests/vectors/protocol/hands.json: hands with the leaves of contributions and single cards. */
function checkOpenedHand(vector) {
  const hand = handOf(vector);
  const played = protocol.playHand(hand);
  const { n, X, C, D, A, O, R, items, cut, cards, leaves, key } = played;
  const count = agreeOnResults(vector, [...HAND_INPUTS, 'opened'], {
    n, X, C, D, A, O, R, cut, cut_key: key,
    committed_items: items, dealt_items: cut.map((place) => items[place]), dealt_text: texts(cards),
    contribution_leaves_sorted: leaves,
    contribution_leaf_hashes_sorted: leaves.map(protocol.leafHash),
  });
  return vector.opened.reduce((sum, card) => sum + checkOpened(card, hand, played), count);
}

/** A Shuffle also passes the check that section 13.3 asks of a verifier. */
function presentShuffle(inputs, { items, C, D, A, O }) {
  protocol.checkShuffle({ ...inputs, S: Buffer.concat(inputs.seeds), items, C, D, A, O });
}

/** A card that is proved alone: its salt, and the path from its leaf to D. */
function checkOpened(opened, { k }, { X, items, cut, cards }) {
  const leaves = items.map((item, i) => protocol.cardLeaf(k, X, i, item));
  const index = cut[opened.place];
  return agreeOnResults(opened, ['place'], {
    leaf_index: index,
    item: items[index],
    card: protocol.cardText(cards[opened.place]),
    salt: protocol.salt(k, X, index),
    path: protocol.merklePath(index, leaves),
  });
}

// ---- seeds.json --------------------------------------------------------------------------------

const classesOf = (classes) => mapValues(classes, (sources) => mapValues(sources, hex));

function checkRun(run) {
  agreeOnNames(run, ['origin', 'nonce', 'instantiate', 'steps']);
  const generator = protocol.instantiate(classesOf(run.instantiate), hex(run.nonce), run.origin);
  return run.steps.reduce((sum, step) => sum + checkStep(generator, step), 0);
}

function checkStep(generator, step) {
  if (step.do === 'stir') {
    agreeOnNames(step, ['do', 'hardware', 'cover', 'user', 'os']);
    agree('cover and os', {}, { ...step.cover, ...step.os });
    protocol.stir(generator, classesOf({ hardware: step.hardware, user: step.user }));
    return 0;
  }
  if (step.do === 'batch') return checkBatch(generator, step);
  if (step.do !== 'draw') throw new Error(`unknown step ${step.do}`);
  const drawn = protocol.drawSeeds(generator, hex(step.X), step.segments.map(classesOf));
  const results = { seeds: drawn.seeds, blinding: drawn.r, salt_key: drawn.k };
  return agreeOnResults(step, ['do', 'X', 'segments'], results);
}

function checkBatch(generator, step) {
  const shared = classesOf(step.shared);
  if (Object.hasOwn(step, 'made')) {
    const hands = Array.from({ length: step.made }, (_, j) => madeHand(j));
    const made = protocol.batchSeeds(generator, shared, hands);
    const joined = Buffer.concat(made.flatMap(({ s, r, k }) => [s, r, k]));
    return agreeOnResults(step, ['do', 'shared', 'made'], { digest: protocol.sha512(joined) });
  }
  agreeOnNames(step, ['do', 'shared', 'hands']);
  const hands = step.hands.map(({ X, hardware, cover }) => ({
    x: hex(X), ...classesOf({ hardware, cover }),
  }));
  return protocol.batchSeeds(generator, shared, hands).reduce((sum, { s, r, k }, j) => {
    const results = { seed: s, blinding: r, salt_key: k };
    return sum + agreeOnResults(step.hands[j], ['X', 'hardware', 'cover'], results);
  }, 0);
}

/** Hand j of a batch that is too long to be written down. */
function madeHand(j) {
  const number = protocol.u32(j);
  const samples = Buffer.concat([protocol.sha512(number), protocol.sha256(number)]);
  return {
    x: Buffer.concat([protocol.lp('hand '), number]),
    hardware: { q: samples.subarray(0, 54) },
    cover: { q: samples.subarray(54) },
  };
}

// ---- rules.json --------------------------------------------------------------------------------

function checkAccepted(vector) {
  const bytes = protocol.ascii(vector.rules);
  const { lines, n } = protocol.parseHandRules(bytes);
  agree('spelling', plain(bytes), protocol.spellRules(lines));
  return agreeOnResults(vector, ['rules'], { n, rules_hash: protocol.sha256(bytes) });
}

function checkRefusedRules(vector) {
  const field = refusedField(() => protocol.parseHandRules(hex(vector.rules_hex)));
  return agreeOnResults(vector, ['reason', 'rules_hex'], { field });
}

// ---- encodings.json ----------------------------------------------------------------------------

const eventsOf = (events) => events.map(([x, y, t]) => [x, y, BigInt(t)]);

function checkBinding(vector) {
  const rules = protocol.ascii(vector.rules);
  const X = protocol.drawX(vector.tenant, vector.match, vector.draw, rules);
  const inputs = ['label', 'tenant', 'match', 'draw', 'rules'];
  return agreeOnResults(vector, inputs, { rules_hash: protocol.sha256(rules), X });
}

function checkEvents(vector) {
  const samples = protocol.userEvents(eventsOf(vector.events));
  return agreeOnResults(vector, ['label', 'events'], { samples });
}

function checkClaim(vector) {
  const { claim_key: key, table, hand, place, X } = vector;
  const claim = protocol.deriveClaim(hex(key), table, hand, place);
  const digest = protocol.claimDigest(hex(X), claim);
  const inputs = ['label', 'claim_key', 'table', 'hand', 'place', 'X'];
  return agreeOnResults(vector, inputs, { claim, claim_digest: digest });
}

// ---- refusals.json -----------------------------------------------------------------------------

const contributionsOf = ({ rules, O, seats, contributions }) => [
  protocol.parseHandRules(protocol.ascii(rules)), hex(O), mapValues(seats, hex),
  contributions.map(({ seat, value }) => [seat, hex(value)]),
];

/** What is to be made -> its inputs, and how it is made from a vector that holds them. */
const REFUSED = {
  hand: [
    ['tenant', 'table', 'hand', 'rules'],
    (v) => protocol.handX(v.tenant, v.table, v.hand, protocol.ascii(v.rules)),
  ],
  draw: [
    ['tenant', 'match', 'draw', 'rules'],
    (v) => protocol.drawX(v.tenant, v.match, v.draw, protocol.ascii(v.rules)),
  ],
  condition: [['class', 'sources'], (v) => protocol.condition(v.class, mapValues(v.sources, hex))],
  events: [['events'], (v) => protocol.userEvents(eventsOf(v.events))],
  stir: [['user'], (v) => protocol.stir(anyGenerator(), { user: mapValues(v.user, hex) })],
  instantiate: [['origin'], (v) => anyGenerator(v.origin)],
  list: [['sampler', 'bounds'], (v) => drawAnyhow(v.bounds.map(BigInt), v.sampler)],
  seats: [['seats'], (v) => protocol.seatsRoot(mapValues(v.seats, hex))],
  contributions: [
    ['rules', 'O', 'seats', 'contributions'],
    (v) => protocol.contributionLeaves(...contributionsOf(v)),
  ],
  claim: [
    ['claim_key', 'table', 'hand', 'place'],
    (v) => protocol.deriveClaim(hex(v.claim_key), v.table, v.hand, v.place),
  ],
  claim_digest: [['X', 'claim'], (v) => protocol.claimDigest(hex(v.X), hex(v.claim))],
};

function anyGenerator(origin = 'o') {
  return protocol.instantiate({}, Buffer.alloc(32), origin);
}

function drawAnyhow(bounds, sampler) {
  const seeds = protocol.segmentsOf(bounds).map(() => Buffer.alloc(64));
  return protocol.drawList(bounds, sampler, Buffer.alloc(0), seeds);
}

function checkRefused(vector) {
  if (!Object.hasOwn(REFUSED, vector.of)) throw new Error(`unknown refusal of ${vector.of}`);
  const [inputs, make] = REFUSED[vector.of];
  const field = refusedField(() => make(vector));
  return agreeOnResults(vector, ['reason', 'of', ...inputs], { field });
}

// ---- The worked example of protocol.md ---------------------------------------------------------

const spaced = (values) => values.join(' ');

function checkWorkedExample(text) {
  const block = text.split('```text\n')[1].split('```')[0].trimEnd();
  const lines = Object.fromEntries(block.split('\n').map((line) => line.split(/ = (.*)/, 2)));
  const { inputs, results } = workOut(lines);
  return agreeOnResults(lines, inputs, mapValues(results, asLine));
}

const asLine = (value) => (Buffer.isBuffer(value) ? value.toString('hex') : String(value));

function workOut(lines) {
  const inputs = [];
  const input = (name) => (inputs.push(name), lines[name]);
  const [tenant, table, hand] = ['tenant', 'table', 'hand'].map(input);
  const q = Number(input('q'));
  const rules = Buffer.from(JSON.parse(input('rules')), 'latin1');
  const event = protocol.userEvent(...input('user.alice.event').split(' ').map(Number));
  const start = {
    hardware: { 'quantis-1': hex(input('instantiate.hardware.quantis-1')) },
    os: { getrandom: hex(input('instantiate.os.getrandom')) },
  };
  const classes = {
    hardware: { 'quantis-1': hex(input('hardware.quantis-1')) },
    cover: { 'quantis-1': hex(input('cover.quantis-1')) },
    user: { alice: event },
    os: { getrandom: hex(input('os.getrandom')) },
  };
  const generator = protocol.instantiate(start, hex(input('instantiate.nonce')), input('origin'));
  const { key, v } = generator;
  const X = protocol.handX(tenant, table, hand, rules);
  const { seeds, r, k } = protocol.drawSeeds(generator, X, [classes]);
  const played = protocol.playHand({ tenant, table, hand, rules, q, seeds, r, k });
  presentShuffle({ tenant, table, hand, rules, q, seeds, r, k }, played);
  const claim = protocol.deriveClaim(hex(input('claim_key')), table, hand, 0);
  const results = {
    rules_hash: played.rulesHash, X, n: played.n, S_0: seeds[0], r, K: k,
    'instantiate.Key': key, 'instantiate.V': v, 'user.alice': event,
    ...classLines('instantiate.e_', start), ...classLines('e_', classes),
    additional_input: protocol.seedInput(X, 0),
    ...drawLines(played, seeds), ...commitmentLines(played, k),
    claim, claim_digest: protocol.claimDigest(X, claim),
  };
  return { inputs, results };
}

function classLines(prefix, classes) {
  const names = ['hardware', 'cover', 'user', 'os'];
  return Object.fromEntries(
    names.map((name) => [prefix + name, protocol.condition(name, classes[name])]),
  );
}

function drawLines({ n, X, items, cards }, seeds) {
  const { draws, tries } = protocol.shuffle(n, 'masked', X, seeds);
  return {
    block_0: protocol.keystreamBlock(seeds[0], X, 0, 0),
    tries: spaced(tries.map((values, t) => `${n - t}:${values.join('/')}`)),
    draws: spaced(draws), a: spaced(items), card_ids: spaced(cards), text: texts(cards),
  };
}

function commitmentLines({ X, items, C, D, A, O }, k) {
  const leaf = protocol.cardLeaf(k, X, 1, items[1]);
  return {
    C, D, A, O, leaf_1: leaf, leaf_hash_1: protocol.leafHash(leaf),
    salt_0: protocol.salt(k, X, 0), salt_1: protocol.salt(k, X, 1),
    D_card_by_card: protocol.deckRootByCard(k, X, items),
  };
}

// ---- Files -------------------------------------------------------------------------------------

/** The names at the top of a file, and which check takes the vectors of its lists. */
const FILES = [
  { lists: { cases: checkDraw, tries: checkTries } },
  { lists: { cases: checkHand } },
  { notes: ['about'], lists: { hands: checkOpenedHand } },
  { lists: { runs: checkRun } },
  { lists: { accepted: checkAccepted, refused: checkRefusedRules } },
  { lists: { draws: checkBinding, events: checkEvents, claims: checkClaim } },
  { lists: { refused: checkRefused } },
  { lists: DRAW_LISTS },
  { lists: RAFFLE_LISTS },
  { lists: GAME_LISTS },
  { lists: LOG_LISTS },
  { lists: handLists({ hands: [], logs: [] }), of: handLists },
];

/** Yields [name of the vector, function that checks it and returns the number of its values]. */
function* vectorsOf(path) {
  const text = readFileSync(path === '-' ? 0 : path, 'utf8');
  if (path.endsWith('.md')) {
    yield ['worked example', () => checkWorkedExample(text)];
    return;
  }
  const content = JSON.parse(text);
  const names = ({ notes = [], lists }) => [...notes, ...Object.keys(lists)].sort().join();
  const file = FILES.find((known) => names(known) === Object.keys(content).sort().join());
  if (file === undefined) throw new Error(`unknown file of ${Object.keys(content).join(', ')}`);
  const lists = file.of?.(content) ?? file.lists;
  for (const [list, check] of Object.entries(lists)) {
    for (const [i, vector] of content[list].entries()) {
      const name = vector.label ?? vector.reason;
      yield [`${list}[${i}]${name === undefined ? '' : ` ${name}`}`, () => check(vector)];
    }
  }
}

function checkFiles(paths) {
  let total = 0;
  for (const path of paths) {
    const file = path === '-' ? path : basename(path);
    let where = file;
    try {
      for (const [name, check] of vectorsOf(path)) {
        where = `${file} ${name}`;
        const count = check();
        total += count;
        console.log(`${where}: ${count} values agree`);
      }
    } catch (error) {
      const difference = error instanceof Difference;
      console.log(`${where}: ${difference ? `DIFFERS in ${error.message}` : `ERROR ${error}`}`);
      return 1;
    }
  }
  console.log(`${total} values checked, 0 differ`);
  return total > 0 ? 0 : 1;
}

process.exitCode = checkFiles(process.argv.slice(2));
