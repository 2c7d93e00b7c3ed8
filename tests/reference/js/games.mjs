// Seed pairs and their games, written from docs/protocol.md alone, as entropyd.mjs is.
//
// The data files that it knows are those that the caller gives (`knowData`): reels, weight bands.

import {
  DECIMAL, Refused, ascii, exactly, hmacSha256, insist, lp, parseRuleLines, range, sha256, u32, u64,
} from './entropyd.mjs';

const MOST_TRIES = 128;
const WORD_SPACE = 2 ** 32;

// ---- The pair ----------------------------------------------------------------------------------

export function clientSeedBytes(text) {
  const good = /^[\x21-\x39\x3b-\x7e]{1,64}$/.test(text);
  insist(good, 'client_seed', 'is not 1 to 64 of ! to ~ without the colon');
  return ascii(text);
}

const seedText = (seed) => ascii(exactly(32, seed, 'server_seed').toString('hex'));

/** What is published of a server seed before it is used. */
export const serverHash = {
  v1: (seed) => sha256(seedText(seed)),
  v2: (seed) => sha256(lp('entropyd/server-seed/v2'), lp(exactly(32, seed, 'server_seed'))),
};

/** Block c of a round; `round` holds seed, clientSeed, nonce (BigInt) and the rules' hash. */
export const roundBlock = {
  v1: ({ seed, clientSeed, nonce }, c) =>
    hmacSha256(seedText(seed), ascii(`${clientSeedBytes(clientSeed)}:${nonce}:${c}`)),
  v2: ({ seed, clientSeed, nonce, rulesHash }, c) =>
    hmacSha256(
      exactly(32, seed, 'server_seed'), lp('entropyd/round/v2'), lp(clientSeedBytes(clientSeed)),
      u64(nonce), lp(rulesHash), u32(c),
    ),
};

/** The words of a round, four bytes after four bytes of its blocks. */
export function* wordsOf(profile, round) {
  for (let c = 0; ; c += 1) {
    const block = roundBlock[profile](round, c);
    for (let at = 0; at < block.length; at += 4) yield block.readUInt32BE(at);
  }
}

/** The draws of one round, from an iterator of its words. */
export class Words {
  taken = 0;
  #words;

  constructor(words) {
    this.#words = words;
  }

  below(n) {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const { value, done } = this.#words.next();
      if (done) throw new Error('the words are at an end');
      this.taken += 1;
      if (value < WORD_SPACE - (WORD_SPACE % n)) return value % n;
    }
    throw new Refused('tries', 'the 128th was rejected: the round is void');
  }
}

// ---- Games: words to an outcome ----------------------------------------------------------------

const swap = (a, i, j) => ([a[i], a[j]] = [a[j], a[i]]);

const entries = (line) => line.split(',').map((entry) => entry.split(':'));

function slots(words, { data }) {
  if (data.get('machine') === 'cascade') return cascade(words, data);
  const reel = data.get('reel').split(',');
  const stops = range(Number(data.get('draws'))).map(() => words.below(reel.length));
  return { stops, symbols: stops.map((stop) => reel[stop]) };
}

const [ROWS, COLUMNS] = [3, 5];

function cascade(words, data) {
  const weights = entries(data.get('weights'));
  const bands = weights.flatMap(([symbol, weight]) => Array(Number(weight)).fill(symbol));
  insist(bands.length === 100, 'data', 'the weights do not sum to 100');
  const symbols = [...new Set(bands)];
  const cell = () => bands[words.below(100)];
  let grid = range(ROWS * COLUMNS).map(cell);
  const [grids, wins] = [[], []];
  for (let refills = 0; ; refills += 1) {
    const won = symbols
      .map((symbol) => [symbol, grid.filter((s) => s === symbol).length])
      .filter(([, count]) => count >= Number(data.get('cluster')));
    grids.push(grid);
    wins.push(won);
    if (won.length === 0 || refills === Number(data.get('refills'))) return { grids, wins };
    grid = fallen(grid, won.map(([symbol]) => symbol)).map((s) => s ?? cell());
  }
}

/** The grid after the symbols that won are gone and the others fell; null where nothing is left. */
function fallen(grid, gone) {
  const after = Array(ROWS * COLUMNS).fill(null);
  for (const column of range(COLUMNS)) {
    const stood = range(ROWS).map((row) => grid[COLUMNS * row + column]);
    const left = stood.filter((symbol) => !gone.includes(symbol));
    left.forEach((symbol, i) => (after[COLUMNS * (ROWS - left.length + i) + column] = symbol));
  }
  return after;
}

const roulette = (words) => ({ pocket: words.below(38) });

function mines(words, { mines: m }) {
  const a = range(20);
  for (let i = 0; i < m; i += 1) swap(a, i, i + words.below(20 - i));
  return { mines: a.slice(0, m) };
}

function dicePoker(words) {
  const dice = range(10).map(() => words.below(6) + 1);
  return { bot: dice.slice(0, 5), player: dice.slice(5) };
}

function blackjack(words) {
  const deck = [...'dhsc'].flatMap((suit) => range(13).map((i) => `${i + 2}${suit}`));
  const shoe = range(6).flatMap(() => deck);
  for (let i = 311; i >= 1; i -= 1) swap(shoe, i, words.below(i + 1));
  shoe.reverse();
  return { shoe, player: [shoe[0], shoe[2]], dealer: [shoe[1], shoe[3]] };
}

const GAMES = { blackjack, dice_poker: dicePoker, mines, roulette, slots };

// ---- Rules and rounds --------------------------------------------------------------------------

const DATA = new Map(); // hash in hex -> lines

/** Makes the bytes of a data file known. */
export const knowData = (bytes) => DATA.set(sha256(bytes).toString('hex'), parseRuleLines(bytes));

/** The rules of a round, or Refused. */
export function parseRoundRules(bytes) {
  const lines = parseRuleLines(bytes);
  insist(lines.has('game'), 'game', 'is missing');
  const game = lines.get('game');
  insist(Object.hasOwn(GAMES, game), 'game', 'there is no such');
  const own = { slots: ['machine'], mines: ['mines'] }[game] ?? [];
  const names = ['data', 'game', 'profile', ...own];
  for (const name of lines.keys()) insist(names.includes(name), name, `is no rule of ${game}`);
  for (const name of names) insist(lines.has(name), name, 'is missing');
  const profile = lines.get('profile');
  insist(profile === 'v1' || profile === 'v2', 'profile', 'there is no such');
  const machines = ['cascade', 'classic', 'high_roller', 'mini'];
  const known = game !== 'slots' || machines.includes(lines.get('machine'));
  insist(known, 'machine', 'there is no such');
  insist(game !== 'mines' || /^1?[1-9]$|^10$/.test(lines.get('mines')), 'mines', 'is not 1 to 19');
  const data = DATA.get(lines.get('data'));
  const fits = data?.get('game') === game && data.get('machine') === lines.get('machine');
  insist(fits, 'data', 'is of no data file of this game that is known here');
  return { lines, game, profile, data, mines: Number(lines.get('mines')) };
}

/** The outcome under parsed rules of any words. */
export const outcomeOf = (parsed, words) => GAMES[parsed.game](words, parsed);

export function nonceOf(text) {
  insist(DECIMAL.test(text) && BigInt(text) < 1n << 64n, 'nonce', 'is not 0 to 2^64 - 1');
  return BigInt(text);
}

/** A round: its server hash, its outcome, and how many words it took. */
export function playRound({ rules, seed, clientSeed, nonce }) {
  const parsed = parseRoundRules(rules);
  const { profile } = parsed;
  const round = { seed, clientSeed, nonce, rulesHash: sha256(rules) };
  const words = new Words(wordsOf(profile, round));
  const outcome = outcomeOf(parsed, words);
  return { hash: serverHash[profile](seed), outcome, taken: words.taken, round };
}
