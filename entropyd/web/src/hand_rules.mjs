// The rules of a hand that is dealt card by card. Section 4.

import { shoeOf } from './cards.mjs';
import { insist } from './refusal.mjs';
import { checkNames, decimal, oneOf, parseLines, segmentStarts } from './rules.mjs';

const MOST_CARDS = 432;
const NEEDED_RULES = ['contributions', 'deck', 'decks', 'reveal', 'sampler'];
const OTHER_RULES = ['cards', 'parent', 'plan', 'proofs', 'removed', 'replaces'];

/** What the rules of a hand say, or a refusal. Nothing is repaired. */
export function parseHandRules(text) {
  const lines = parseLines(text);
  checkNames(lines, NEEDED_RULES, OTHER_RULES);
  const mode = oneOf(lines, 'contributions', ['none', 'open', 'sealed']);
  const sampler = oneOf(lines, 'sampler', ['masked', 'word32']);
  oneOf(lines, 'reveal', ['never', 'after_close']);
  if (lines.has('proofs')) oneOf(lines, 'proofs', ['deck']);
  insist(!lines.has('proofs'), 'whole_deck', 'proofs');
  const copies = Number(decimal(lines, 'decks', 1n, 8n));
  const shoe = shoeOf(lines.get('deck'), copies, removedOf(lines));
  const n = sizeOf(lines, shoe);
  return { lines, mode, sampler, shoe, n, plan: planOf(lines, n), order: orderOf(n, sampler) };
}

function removedOf(lines) {
  if (!lines.has('removed')) return [];
  return lines.get('removed').split(',').map((id) => {
    insist(/^(?:0|[1-9][0-9]?)$/.test(id), 'rules.value', 'removed');
    return Number(id);
  });
}

/** n: of a child hand the number of its cards, of any other that of its shoe. */
function sizeOf(lines, { size }) {
  for (const name of ['parent', 'replaces']) {
    const right = !lines.has(name) || /^[0-9a-f]{64}$/.test(lines.get(name));
    insist(right, 'rules.value', name);
  }
  insist(lines.has('cards') === lines.has('parent'), 'rules.missing', 'cards, parent');
  return lines.has('cards') ? Number(decimal(lines, 'cards', 2n, BigInt(MOST_CARDS))) : size;
}

function planOf(lines, n) {
  if (!lines.has('plan')) return [];
  const plan = lines.get('plan').split(',');
  const right = plan.length <= n && plan.every((id) => /^[!-~]{1,128}$/.test(id));
  insist(right, 'rules.value', 'plan');
  return plan;
}

/** A Shuffle of n items, in the form that `drawAll` and `swapped` take. */
function orderOf(n, sampler) {
  const draw = { draws: n - 1, bound: (t) => n - t };
  return { ...draw, sampler, starts: segmentStarts(draw), swaps: { n, order: true } };
}
