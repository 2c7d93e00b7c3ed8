// A round of a seed pair: rules, outcome, and the comparison with what was shown. Section 18.

import { hex, utf8 } from './bytes.mjs';
import { sha256 } from './crypto.mjs';
import { DATA_FILES } from './data.mjs';
import { GAMES } from './games.mjs';
import { blocksOf, Words } from './pair.mjs';
import { insist } from './refusal.mjs';
import { checkNames, decimal, oneOf, parseLines, spell } from './rules.mjs';
import { Trace } from './trace.mjs';

export const MACHINES = ['classic', 'mini', 'high_roller', 'cascade'];
const PARAMETERS = { slots: ['machine'], mines: ['mines'] };

/** Hash in hex -> lines of every data file that the page knows. */
async function knownData() {
  const hashes = await Promise.all(DATA_FILES.map((file) => sha256(utf8(file))));
  return new Map(DATA_FILES.map((file, i) => [hex(hashes[i]), parseLines(file)]));
}

/** The rules of a round, or a refusal. */
export async function parseRoundRules(text) {
  const lines = parseLines(text);
  insist(lines.has('game'), 'rules.missing', 'game');
  const game = oneOf(lines, 'game', Object.keys(GAMES));
  checkNames(lines, ['data', 'profile', ...(PARAMETERS[game] ?? [])], ['game']);
  const profile = oneOf(lines, 'profile', ['v1', 'v2']);
  if (game === 'slots') oneOf(lines, 'machine', MACHINES);
  if (game === 'mines') decimal(lines, 'mines', 1n, 19n);
  const data = (await knownData()).get(lines.get('data'));
  const known = data?.get('game') === game && data.get('machine') === lines.get('machine');
  insist(known, 'data', 'data');
  return { text, lines, game, profile, data, rulesHash: await sha256(utf8(text)) };
}

/** The rules that a typed round has: those of the newest data file of its game. */
export async function rulesFor({ game, profile, machine, mines }) {
  const files = [...(await knownData())].reverse();
  const wanted = game === 'slots' ? machine : undefined;
  const found = files.find(([, d]) => d.get('game') === game && d.get('machine') === wanted);
  insist(found !== undefined, 'data', 'data');
  const own = { slots: { machine }, mines: { mines } }[game] ?? {};
  return spell({ data: found[0], game, profile, ...own });
}

/** The outcome of a round, and how it came about. `key` is of `blocksOf`. */
export async function playRound(rules, { seed, clientSeed, nonce }, key) {
  const trace = new Trace();
  const inputs = { seed, clientSeed, nonce, rulesHash: rules.rulesHash };
  const blocks = await blocksOf(rules.profile, inputs, key);
  const outcome = await GAMES[rules.game](new Words(blocks, trace), rules);
  return { outcome, trace };
}

/** The members that an outcome has, in the order in which they are shown. */
export const OUTCOME_MEMBERS = {
  roulette: () => ['pocket'],
  slots: ({ lines }) =>
    (lines.get('machine') === 'cascade' ? ['grids', 'wins'] : ['stops', 'symbols']),
  mines: () => ['mines'],
  dice_poker: () => ['bot', 'player'],
  blackjack: () => ['shoe', 'player', 'dealer'],
};

/** An outcome as text that is equal for equal outcomes, whatever the order of their members. */
export function outcomeText(rules, outcome) {
  const members = OUTCOME_MEMBERS[rules.game](rules);
  return JSON.stringify(members.map((name) => outcome[name]));
}

/**
 * What a person would type of an outcome, as words: pocket, symbols, tiles (in any order), the ten
 * dice, or the four cards in the order in which they were dealt.
 */
export function outcomeWords(rules, outcome) {
  switch (rules.game) {
    case 'roulette': return [outcome.pocket === 37 ? '00' : String(outcome.pocket)];
    case 'slots': return outcome.symbols ?? outcome.grids[0];
    case 'mines': return outcome.mines.map(String).sort();
    case 'dice_poker': return [...outcome.bot, ...outcome.player].map(String);
    default: return outcome.shoe.slice(0, 4);
  }
}
