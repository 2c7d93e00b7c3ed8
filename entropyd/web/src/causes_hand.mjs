// Why a hand may differ: the usual slips, each tried alone at the check that failed. Where a slip can
// be tried it is named only if without it this check would hold.

import { hex, unhex } from './bytes.mjs';
import { cardOf } from './cards.mjs';
import { signatureCauses } from './causes_log.mjs';
import { hmac } from './crypto.mjs';
import { commitmentOf } from './draw.mjs';
import { proofOf, saltOf } from './hand_cards.mjs';
import { contributionLeaf, rollOf } from './hand_cut.mjs';
import { climb, leafHash, rootOfHashes } from './merkle.mjs';
import { readNote } from './note.mjs';
import { receiptLeaf } from './receipt.mjs';

/** The causes of the check that failed, `failed` of the walk; none is better than a wrong one. */
export async function explainHand(hand, failed) {
  const explain = EXPLAINED[failed.id];
  return explain === undefined ? [] : explain(hand, failed);
}

const EXPLAINED = {
  receipt: receiptCauses,
  open_ids: ({ tried: { open: { says } } }) => [{ code: 'receipt_other_hand', name: says.hand }],
  rules_hash: () => [{ code: 'rules_changed' }],
  seats_root: () => [{ code: 'seats_changed' }],
  open_hash: () => [{ code: 'open_changed' }],
  leaf_hashes: hashCauses,
  leaves: leafCauses,
  recipients: (_, { why }) => (why === 'other_root' ? [{ code: 'recipients_changed' }] : []),
  cards: cardCauses,
  parent: () => [{ code: 'parent_changed' }],
  reveal_c: seedCauses,
  reveal_d: deckCauses,
  notes: noteCauses,
  checkpoint: ({ file, ring }, failed) =>
    signatureCauses(failed, readNote(file.checkpoint).signatures, ring.of(readOrigin(file))),
  inclusion: inclusionCauses,
};

const readOrigin = ({ checkpoint }) => checkpoint.split('\n', 1)[0];

const keysOfRing = ({ trusted, given, named }) => (trusted ? given : named);

function receiptCauses({ file, ring, tried, receipts }, { name, why }) {
  const { says, note } = tried[name];
  if (why === 'event') return [{ code: 'receipts_swapped', name: says.event }];
  if (why === 'other_hand') return [{ code: 'receipt_other_hand', name: says.hand }];
  if (why === 'seal_roll_differs') return otherRoll(receipts, says);
  if (why === 'seal_roll') return [{ code: 'roll' in receipts ? 'roll_extra' : 'roll_missing' }];
  if (why === 'close_unsealed') return [{ code: 'seal_missing' }];
  if (why === 'older_index' && file.hand === says.hand) return [{ code: 'receipt_older' }];
  return signatureCauses({ why }, note.signatures, keysOfRing(ring));
}

/** The roll closed what may be said; a seal of other contributions is the operator's doing. */
const otherRoll = ({ roll }, says) =>
  [{ code: roll.says.contributions === says.contributions ? 'roll_value' : 'roll_number' }];

async function hashCauses(hand, { why }) {
  const { leafHashes } = hand.file;
  if (why === 'order') return orderCauses(leafHashes.map(hex), rollOf(hand));
  return why === 'number' && leafHashes.length > 0 ? [{ code: 'leaf_missing' }] : [];
}

async function orderCauses(hashes, { R }) {
  const sorted = hex(await rootOfHashes(hashes.sort().map(unhex)));
  return [{ code: sorted === R ? 'leaves_order' : 'leaf_changed' }];
}

const MOST_TO_EXCHANGE = 12; // 66 pairs of values, a root each

async function leafCauses(hand, { why, field }) {
  const { file } = hand;
  if (why === 'number') return missingLeaf(hand);
  if (why === 'order') {
    const hashes = await Promise.all(file.leaves.map(leafHash));
    return orderCauses(hashes.map(hex), hand.receipts.seal.says);
  }
  if (why === 'no_contribution') {
    const leaf = file.leaves[Number(/\d+/.exec(field)[0])];
    return [{ code: holds(leaf, hand.openHash) ? 'leaf_other_seat' : 'leaf_other_hand' }];
  }
  if (why === 'other_root') return (await exchanged(hand)) ?? [{ code: 'leaf_changed' }];
  return why === 'seat_twice' ? [{ code: 'leaf_other_seat' }] : [];
}

const holds = (bytes, part) => hex(bytes).includes(hex(part));

/** Which leaf it is that is not there, where the roll tells. */
async function missingLeaf({ file, hashes, receipts: { seal } }) {
  if (file.leaves.length > Number(seal?.says.contributions ?? 0)) return [{ code: 'leaf_extra' }];
  if (hashes === null) return [{ code: 'leaf_missing' }];
  const shown = await Promise.all(file.leaves.map(async (leaf) => hex(await leafHash(leaf))));
  const lost = hashes.filter((hash) => !shown.includes(hash));
  return [{ code: 'leaf_missing_known', names: lost.join(', ') }];
}

/** Whether two seats have each other's value. */
async function exchanged({ openHash, toldLeaves: told, receipts: { seal } }) {
  if (told.length > MOST_TO_EXCHANGE) return null;
  for (const [i, one] of told.entries()) {
    for (const other of told.slice(i + 1)) {
      const hashes = told.map(({ hash }) => hash).filter((h) => h !== one.hash && h !== other.hash);
      for (const [seat, value] of [[one.seat, other.value], [other.seat, one.value]]) {
        hashes.push(hex(await leafHash(contributionLeaf(openHash, seat, unhex(value)))));
      }
      const root = hex(await rootOfHashes(hashes.sort().map(unhex)));
      const names = `${one.seat}, ${other.seat}`;
      if (root === seal.says.R) return [{ code: 'values_exchanged', names }];
    }
  }
  return null;
}

async function cardCauses(hand, { why, field }) {
  const shown = hand.file.cards.find(({ path }) => path === field);
  const { D } = hand.receipts.open.says;
  const fits = async (changes) => (await proofOf(hand, { ...shown, ...changes }))?.root === D;
  if (why === 'card_cut') return movedCard(hand, shown, fits);
  if (why === 'false_deck') return [{ code: 'false_deck' }];
  if (why === 'withheld') return [{ code: 'card_withheld' }];
  if (why !== 'card_root' && why !== 'path_length') return [];
  if (await fits({ hashes: [...shown.hashes].reverse() })) return [{ code: 'path_reversed' }];
  for (let item = 0; item < hand.rules.shoe.size; item += 1) {
    const card = cardOf(hand.rules.shoe, item).text;
    if (await fits({ item })) return [{ code: 'item_changed', card }];
  }
  for (const { place, salt, hashes } of hand.file.cards.slice(0, hand.rules.n)) {
    if (await fits({ salt })) return [{ code: 'salt_of_place', place }];
    if (await fits({ hashes })) return [{ code: 'path_of_place', place }];
  }
  return (await otherLeaf(hand, fits)) ?? [{ code: 'card_changed' }];
}

/** A card that is proved, and stands at the place of another. */
async function movedCard({ cut, rules: { n } }, card, fits) {
  if (card.place < n && (await fits({ leafIndex: cut.places[card.place] }))) {
    return [{ code: 'leaf_index_changed' }];
  }
  if (!(await fits({}))) return [{ code: 'card_changed' }];
  return [{ code: 'card_of_place', place: cut.places.indexOf(card.leafIndex) }];
}

async function otherLeaf({ cut, rules: { n } }, fits) {
  for (let leafIndex = 0; leafIndex < n; leafIndex += 1) {
    const place = cut.places.indexOf(leafIndex);
    if (await fits({ leafIndex })) return [{ code: 'card_of_place', place }];
  }
  return null;
}

async function seedCauses(hand, { why }) {
  const { reveal } = hand.file;
  const { C } = hand.receipts.open.says;
  const reversed = [...reveal.seeds].reverse();
  const gives = async (seeds, blinding) => hex(await commitmentOf(hand.x, seeds, blinding)) === C;
  if (why === 'reveal_rules' || why === 'reveal_early') return [{ code: 'reveal_forbidden' }];
  if (why !== 'other_seeds') return [];
  if (await gives(reveal.seeds, reveal.saltKey)) return [{ code: 'secrets_swapped' }];
  if (await gives(reversed, reveal.blinding)) return [{ code: 'seeds_reversed' }];
  return [{ code: 'seeds_other_hand' }];
}

async function deckCauses(hand, { why }) {
  if (why !== 'other_deck') return [];
  if (hand.cards.length === 0) return [{ code: 'salt_key_or_deck' }];
  return [{ code: (await saltKeyFits(hand)) ? 'deck_not_drawn' : 'salt_key_changed' }];
}

/** Whether the salt of a card that was proved is one of the salt key that is revealed. */
async function saltKeyFits(hand) {
  const { file: { reveal }, cards: [card] } = hand;
  const salt = await saltOf(hand, await hmac('SHA-512', reveal.saltKey), card.leafIndex);
  return hex(salt) === hex(card.salt);
}

async function noteCauses(hand, { why, field }) {
  if (why === 'broken_promise') return [{ code: 'broken_promise' }];
  if (why === 'other_hand') return [{ code: 'note_other_hand' }];
  const note = readNote(hand.file.notes[Number(/\d+/.exec(field)[0])]);
  return signatureCauses({ why }, note.signatures, keysOfRing(hand.ring));
}

async function inclusionCauses({ file, receipts, tree }, { name, why }) {
  if (why !== 'not_in_tree' && why !== 'path_length') return [];
  const { index, hashes } = file.inclusion[name];
  const leaf = await leafHash(receiptLeaf(receipts[name].text));
  const nodes = await climb(leaf, BigInt(index), tree.size, [...hashes].reverse());
  const turned = nodes !== null && hex(nodes.at(-1)?.hash ?? leaf) === hex(tree.root);
  return [{ code: turned ? 'path_reversed' : 'path_other_size' }];
}
