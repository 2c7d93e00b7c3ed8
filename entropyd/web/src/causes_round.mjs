// Why a round may differ: the usual slips, alone and in pairs. A slip is named only if with it
// everything that was given agrees. What was typed is corrected here, for the explanation, and
// nowhere else.

import { hex, utf8 } from './bytes.mjs';
import { sha256 } from './crypto.mjs';
import { isDecimal } from './fields.mjs';
import { isClientSeed, isServerSeed, serverHash } from './pair.mjs';
import { Refusal } from './refusal.mjs';
import { outcomeText, outcomeWords, parseRoundRules, playRound } from './round.mjs';

const clean = (text) => text.trim();
const lower = (text) => text.toLowerCase();

/** [cause, the round without it], where it changes anything. */
const SLIPS = [
  ['seed_space', (r) => ({ ...r, seed: clean(r.seed) })],
  ['seed_case', (r) => ({ ...r, seed: lower(r.seed) })],
  ['hash_space', (r) => ({ ...r, hash: clean(r.hash) })],
  ['hash_case', (r) => ({ ...r, hash: lower(r.hash) })],
  ['client_space', (r) => ({ ...r, clientSeed: clean(r.clientSeed) })],
  ['client_lower', (r) => ({ ...r, clientSeed: lower(r.clientSeed) })],
  ['client_upper', (r) => ({ ...r, clientSeed: r.clientSeed.toUpperCase() })],
  ['nonce_space', (r) => ({ ...r, nonce: clean(r.nonce) })],
  ['nonce_high', (r) => ({ ...r, nonce: plus(r.nonce, -1n) })],
  ['nonce_low', (r) => ({ ...r, nonce: plus(r.nonce, 1n) })],
  ['seed_and_hash', (r) => ({ ...r, seed: r.hash, hash: r.seed })],
  ['seed_and_client', (r) => ({ ...r, seed: r.clientSeed, clientSeed: r.seed })],
  ['hash_of_bytes', (r) => ({ ...r, hashOf: 'bytes' })],
  ['profile', (r) => ({ ...r, profile: r.profile === 'v1' ? 'v2' : 'v1' })],
  ['key_bytes', (r) => ({ ...r, key: r.profile === 'v1' ? 'bytes' : 'text' })],
  ['outcome_from_one', (r) => ({ ...r, shown: fromZero(r) })],
  ['outcome_owner', (r) => ({ ...r, shown: otherOwner(r) })],
];

/** Slips that the hash judges too: 256 bits do not agree by chance. */
const SURE = [
  'seed_space', 'seed_case', 'hash_space', 'hash_case', 'seed_and_hash', 'seed_and_client',
  'hash_of_bytes', 'profile',
];

// Some 150 pairs are tried: among fewer outcomes than this, one of them would often fit by chance.
const FEW_OUTCOMES = 1e6;

/** How many outcomes a round may have, as far as an accident is concerned. */
function outcomesOf({ game, lines, data }) {
  if (game === 'roulette') return 38;
  if (game === 'mines') return 20 ** Math.min(Number(lines.get('mines')), 4);
  if (game !== 'slots' || lines.get('machine') === 'cascade') return Infinity;
  return data.get('reel').split(',').length ** Number(data.get('draws'));
}

function plus(nonce, step) {
  const moved = isDecimal(nonce) ? BigInt(nonce) + step : -1n;
  return moved < 0n ? nonce : String(moved);
}

/** Tiles that were counted from 1, as on the board. */
function fromZero({ rules, shown }) {
  if (rules.game !== 'mines' || shown === null) return shown;
  const less = (tiles) => tiles.map((tile) => (Number(tile) >= 1 ? Number(tile) - 1 : tile));
  if (shown.words !== undefined) return { ...shown, words: less(shown.words).map(String).sort() };
  const { mines } = shown.outcome;
  return Array.isArray(mines) ? { outcome: { mines: less(mines) } } : shown;
}

/** The player's dice given as the bot's. */
function otherOwner({ rules, shown }) {
  if (rules.game !== 'dice_poker' || shown === null) return shown;
  if (shown.words !== undefined) {
    return { ...shown, words: [...shown.words.slice(5), ...shown.words.slice(0, 5)] };
  }
  return { outcome: { bot: shown.outcome.player, player: shown.outcome.bot } };
}

/** The causes of a round that differs: as few slips as explain all of it, or what is known else. */
export async function explainRound(typed) {
  const first = { ...typed, profile: typed.rules.profile, hashOf: null, key: undefined };
  const judge = new Judge();
  const few = typed.shown !== null && outcomesOf(typed.rules) < FEW_OUTCOMES;
  const single = SLIPS.map((slip) => [slip]);
  const pairs = SLIPS.flatMap((a, i) => SLIPS.slice(i + 1).map((b) => [a, b]));
  for (const tried of [single, pairs]) {
    const found = [];
    for (const slips of tried) {
      const round = slips.reduce((r, [, change]) => change(r), first);
      const sure = first.hash !== '' && slips.some(([code]) => SURE.includes(code));
      if (few && !sure && slips.length > 1) continue;
      if (changesAnything(first, round, slips) && (await judge.agrees(round))) {
        const chance = few && slips.some(([code]) => !SURE.includes(code));
        found.push(...slips.map(([code], i) => ({ code, and: i > 0, chance })));
        if (tried === pairs) return found;
      }
    }
    if (found.length > 0) return found;
  }
  return leftOver(first, judge);
}

/** Each slip of a pair has to do something of its own. */
function changesAnything(first, round, slips) {
  if (slips.length === 1) return !sameRound(first, round);
  const alone = slips.map(([, change]) => change(first));
  return alone.every((r) => !sameRound(r, first)) && alone.every((r) => !sameRound(r, round));
}

const PARTS = ['seed', 'hash', 'clientSeed', 'nonce', 'profile', 'hashOf', 'key'];
const sameRound = (a, b) =>
  PARTS.every((part) => a[part] === b[part]) && JSON.stringify(a.shown) === JSON.stringify(b.shown);

/** Nothing explains all of it: say which half agrees, and what is certain. */
async function leftOver(first, judge) {
  const hashAgrees = first.hash !== '' && (await judge.hashAgrees(first));
  const outcomeAgrees = first.shown !== null && (await judge.outcomeAgrees(first));
  if (first.hash !== '' && lower(clean(first.seed)) === lower(clean(first.hash))) {
    return [{ code: 'seed_is_hash' }];
  }
  if (isServerSeed(first.hash) && hex(await sha256(utf8(first.hash))) === first.seed) {
    return [{ code: 'seed_and_hash' }];
  }
  if (hashAgrees && !outcomeAgrees) return [{ code: 'outcome_only' }];
  if (outcomeAgrees && !hashAgrees) return [{ code: 'hash_only' }];
  return [{ code: 'nothing_fits' }];
}

const canBePlayed = ({ seed, clientSeed, nonce }) =>
  isServerSeed(seed) && isClientSeed(clientSeed) && isDecimal(nonce);

/** Whether a round agrees with everything that was given of it. Remembers what it computed. */
class Judge {
  #outcomes = new Map();
  #rules = new Map();

  async agrees(round) {
    if (!canBePlayed(round)) return false;
    if (round.hash !== '' && !(await this.hashAgrees(round))) return false;
    return round.shown === null || this.outcomeAgrees(round);
  }

  async hashAgrees({ seed, hash, hashOf, profile }) {
    return isServerSeed(seed) && hash === (await serverHash(hashOf ?? profile, seed));
  }

  async outcomeAgrees(round) {
    if (!canBePlayed(round)) return false;
    const rules = await this.#rulesOf(round);
    const outcome = await this.#outcome(rules, round);
    if (outcome === null) return false;
    const { shown } = round;
    if (shown.words !== undefined) return `${shown.words}` === `${outcomeWords(rules, outcome)}`;
    return outcomeText(rules, shown.outcome) === outcomeText(rules, outcome);
  }

  async #rulesOf({ rules, profile }) {
    if (!this.#rules.has(profile)) {
      const text = rules.text.replace(/^profile=.*$/m, `profile=${profile}`);
      this.#rules.set(profile, await parseRoundRules(text));
    }
    return this.#rules.get(profile);
  }

  async #outcome(rules, { seed, clientSeed, nonce, profile, key }) {
    const name = JSON.stringify([seed, clientSeed, nonce, profile, key ?? null]);
    if (!this.#outcomes.has(name)) {
      const played = playRound(rules, { seed, clientSeed, nonce }, key).then(
        ({ outcome }) => outcome,
        (error) => {
          if (error instanceof Refusal) return null;
          throw error;
        },
      );
      this.#outcomes.set(name, await played);
    }
    return this.#outcomes.get(name);
  }
}
