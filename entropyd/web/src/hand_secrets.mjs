// What a hand is revealed to have been made of, and the parent of a child hand. Section 21.9, 11
// and 12.

import { hex, joined, lp } from './bytes.mjs';
import { hmac, sha256 } from './crypto.mjs';
import { commitmentOf } from './draw.mjs';
import { deckRoot } from './hand_cards.mjs';
import { shuffled } from './hand_cut.mjs';

export async function checkSecrets(hand, walk) {
  if (hand.file.parent !== null) await checkParent(hand, walk, hand.file.parent);
  if (hand.file.reveal !== null) await checkReveal(hand, walk, hand.file.reveal);
}

async function checkParent({ rules: { lines } }, walk, { openHash, places, salt }) {
  walk.begin('parent', 'parent');
  walk.must(lines.has('parent'), 'no_parent');
  walk.same(String(places.length), lines.get('cards'), 'number');
  walk.must(places.every((place, i) => i === 0 || places[i - 1] < place), 'order');
  const digest = await sha256(
    lp('entropyd/child/v1'), lp(openHash), lp(joined(places, 4)), lp(salt),
  );
  walk.same(lines.get('parent'), hex(digest));
  walk.done(hex(digest));
}

async function checkReveal(hand, walk, reveal) {
  const { rules, receipts } = hand;
  const { seeds, blinding, saltKey } = reveal;
  walk.begin('reveal_c', 'reveal');
  walk.must(rules.lines.get('reveal') === 'after_close', 'reveal_rules');
  walk.must('close' in receipts, 'reveal_early');
  walk.same(String(seeds.length), String(rules.order.starts.length), 'number');
  const { C, D } = receipts.open.says;
  walk.same(C, hex(await commitmentOf(hand.x, seeds, blinding)), 'other_seeds');
  walk.done(C);
  walk.begin('reveal_d', 'reveal');
  const discards = checkDiscards(hand, walk, reveal.discards);
  const { items: order, trace } = await shuffled(rules, hand.x, seeds);
  const items = discards === null ? order : order.map((i) => discards[i]);
  walk.same(D, await deckRoot(hand, await hmac('SHA-512', saltKey), items), 'other_deck');
  hand.reveal = { ...reveal, trace, items };
  walk.done(D);
}

/** The items that a child hand deals, or null for any other. */
function checkDiscards({ rules: { lines, n, shoe } }, walk, discards) {
  walk.must((discards !== null) === lines.has('parent'), 'discards');
  if (discards === null) return null;
  walk.must(discards.length === n && new Set(discards).size === n, 'discards');
  walk.must(discards.every((item) => item < shoe.size), 'discards');
  return discards;
}
