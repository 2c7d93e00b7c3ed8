// The form for a round that is typed by hand.

import { byId } from './dom.mjs';
import { outcomeWords, parseRoundRules, rulesFor } from './round.mjs';
import { t } from './texts.mjs';
import { verifyTyped } from './verify.mjs';

const value = (id) => byId(id).value;

/** Shows the parameters that the chosen game has, and what its outcome looks like. */
export function showParameters() {
  const game = value('game');
  byId('machine-row').hidden = game !== 'slots';
  byId('mines-row').hidden = game !== 'mines';
  byId('outcome-help').textContent = t(`outcome.help.${game}`);
}

/** The report of what stands in the form. Fields are taken as they are. */
export async function verifyForm() {
  const [game, profile] = [value('game'), value('profile')];
  const text = await rulesFor({ game, profile, machine: value('machine'), mines: value('mines') });
  return verifyTyped({
    rules: await parseRoundRules(text),
    seed: value('seed'), hash: value('hash'), clientSeed: value('client'), nonce: value('nonce'),
    shown: typedOutcome(game, value('outcome')),
    accepts: profile === 'v1' ? ['bytes'] : [],
  });
}

/** The words of an outcome as a person separates them, or null for none. */
function typedOutcome(game, text) {
  const words = text.toLowerCase().split(/[\s,;|]+/).filter((word) => word !== '');
  if (words.length === 0) return null;
  const plainWords = words.map((word) => (game === 'roulette' && word === '37' ? '00' : word));
  return { words: game === 'mines' ? plainWords.sort() : plainWords, of: outcomeWords };
}
