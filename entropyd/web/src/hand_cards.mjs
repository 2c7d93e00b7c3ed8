// How a hand ended, whom its cards went to, and every card that is shown. Section 21.9, 8 to 10.

import { cat, hex, lp, u32 } from './bytes.mjs';
import { climb, leafHash, rootOfHashes } from './merkle.mjs';

const BURN = 'burn';

/** The receipt that ended a hand; undefined if none is shown. */
export const endOf = ({ receipts: { close, void: voided } }) => (close ?? voided)?.says;

export async function checkDealt(hand, walk) {
  const end = endOf(hand);
  if (end !== undefined) {
    walk.begin('dealt', `receipts.${end.event}`);
    const dealt = Number(end.dealt);
    walk.must(dealt <= hand.rules.n && (dealt === 0 || hand.cut !== null), 'dealt_more');
    walk.done(end.dealt);
    hand.dealt = dealt;
  }
  await checkRecipients(hand, walk, end);
  await checkCards(hand, walk);
}

async function checkRecipients(hand, walk, end) {
  const { file: { recipients }, rules: { n, plan } } = hand;
  if (recipients === null) return;
  walk.begin('recipients', 'recipients');
  walk.must(recipients.length <= n, 'dealt_more');
  walk.must(recipients.length === 0 || hand.cut !== null, 'dealt_more');
  walk.must(recipients.every((to) => /^[!-~]{1,128}$/.test(to)), 'no_id');
  walk.must(plan.slice(0, recipients.length).every((to, p) => to === recipients[p]), 'plan');
  if (end !== undefined) {
    walk.same(end.dealt, String(recipients.length), 'number');
    walk.same(end.deals, await dealsRoot(hand.openHash, recipients), 'other_root');
  }
  hand.recipients = recipients;
  walk.done(end?.deals ?? '');
}

/** Section 21.6. */
async function dealsRoot(openHash, recipients) {
  const leaves = recipients.map((to, place) =>
    leafHash(cat(lp('entropyd/deal/v1'), lp(openHash), u32(place), lp(to))));
  return hex(await rootOfHashes(await Promise.all(leaves)));
}

async function checkCards(hand, walk) {
  const { cards } = hand.file;
  if (cards.length === 0) return;
  walk.begin('cards', 'cards', cards.length);
  const placeOf = new Map(); // item -> place
  let before = -1;
  for (const card of cards) {
    walk.at(card.path);
    walk.must(hand.cut !== null, 'card_unsealed');
    walk.must(card.place > before, 'card_order');
    await checkProof(hand, walk, card);
    walk.must(card.item < hand.rules.shoe.size, 'false_deck');
    walk.must(!placeOf.has(card.item), 'false_deck');
    checkRecipient(hand, walk, card);
    placeOf.set(card.item, card.place);
    before = card.place;
  }
  walk.done();
}

async function checkProof(hand, walk, card) {
  walk.must(card.place < hand.rules.n, 'card_beyond');
  walk.same(String(card.leafIndex), String(hand.cut.places[card.place]), 'card_cut');
  const root = hand.receipts.open.says.D;
  const proof = await proofOf(hand, card);
  walk.must(proof !== null, 'path_length');
  walk.same(root, proof.root, 'card_root');
  hand.cards.push({ ...card, ...proof });
}

const cardLeaf = (x, i, item, salt) =>
  cat(lp('entropyd/card/v1'), lp(x), u32(i), u32(item), salt);

/** What follows from a card: { leaf, hash, nodes, root }; null for a path of another length. */
export async function proofOf({ x, rules: { n } }, { leafIndex, item, salt, hashes }) {
  if (item >= 2 ** 32 || leafIndex >= n) return null;
  const leaf = cardLeaf(x, leafIndex, item, salt);
  const hash = await leafHash(leaf);
  const nodes = await climb(hash, BigInt(leafIndex), BigInt(n), hashes);
  return nodes === null ? null : { leaf, hash, nodes, root: hex(nodes.at(-1)?.hash ?? hash) };
}

function checkRecipient(hand, walk, { place, recipient }) {
  const { recipients, rules: { plan }, dealt } = hand;
  if (recipients !== null) walk.same(recipient, recipients[place] ?? '', 'recipient');
  if (recipient !== '' && place < plan.length) walk.same(recipient, plan[place], 'plan');
  const ended = dealt !== null;
  walk.must(!ended || (recipient !== '') === (place < dealt), 'recipient_dealt');
  const withheld = recipient === '' || recipient === BURN;
  walk.must(!withheld || 'close' in hand.receipts, 'withheld');
}

/** The salts of leaf i and the one beside it, which one HMAC makes. Section 11.2. */
async function saltPair(x, mac, i) {
  const pair = await mac(lp('entropyd/salt/v1'), lp(x), u32(i >> 1));
  return [pair.subarray(0, 32), pair.subarray(32)];
}

/** The salt of leaf i; `mac` is the HMAC under the salt key. */
export const saltOf = async ({ x }, mac, i) => (await saltPair(x, mac, i))[i & 1];

/** The root of a deck, card by card. */
export async function deckRoot({ x }, mac, items) {
  const hashes = [];
  let pair;
  for (const [i, item] of items.entries()) {
    if ((i & 1) === 0) pair = await saltPair(x, mac, i);
    hashes.push(await leafHash(cardLeaf(x, i, item, pair[i & 1])));
  }
  return hex(await rootOfHashes(hashes));
}
