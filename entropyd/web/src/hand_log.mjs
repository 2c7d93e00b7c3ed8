// What a hand file shows besides the hand: notes to its seats, and its receipts' places in the log.
// Section 21.9, 13 to 15.

import { hex } from './bytes.mjs';
import { rollOf } from './hand_cut.mjs';
import { climb, leafHash } from './merkle.mjs';
import { located, openCheckpoint, readNote, signersOf } from './note.mjs';
import { readSeatNote, receiptLeaf } from './receipt.mjs';

const REFUSED_BECAUSE = [
  'other-hand', 'unknown-seat', 'window-over', 'already-spoken', 'wrong-form', 'copied',
  'bad-signature', 'not-in-roll',
];

export async function checkNotes(hand, walk) {
  const { notes } = hand.file;
  if (notes.length === 0) return;
  walk.begin('notes', 'notes', notes.length);
  for (const [i, note] of notes.entries()) {
    walk.at(`notes[${i}]`);
    hand.notes.push(await checkNote(hand, walk, note));
  }
  walk.done();
}

async function checkNote(hand, walk, note) {
  const { opened, says } = await located(walk.field, async () => {
    const read = readNote(note);
    return { opened: read, ...(await readSeatNote(read.text)) };
  });
  const { fault } = await signersOf(opened, hand.ring.of(`${says.log}/receipts`));
  walk.must(fault === null, fault);
  const { log, O } = hand.receipts.open.says;
  walk.must(says.log === log && says.O === O, 'other_hand');
  if (says.outcome === 'refused') walk.must(REFUSED_BECAUSE.includes(says.reason), 'no_reason');
  else checkAccepted(hand, walk, says);
  return says;
}

/** What was accepted must count, as soon as it is known what counts. */
function checkAccepted(hand, walk, { seat, leaf }) {
  walk.must(hand.file.seats.some((one) => one.seat === seat), 'no_seat');
  if (rollOf(hand) === undefined || hand.hashes === null) return;
  walk.must(hand.hashes.includes(leaf), 'broken_promise');
  if (!('seal' in hand.receipts)) return;
  walk.must(hand.leaves.some((one) => one.seat === seat && one.hash === leaf), 'broken_promise');
}

export async function checkInclusion(hand, walk) {
  const { file: { checkpoint, inclusion }, receipts, ring } = hand;
  if (checkpoint !== null) {
    walk.begin('checkpoint', 'checkpoint');
    const keys = ring.of(receipts.open.says.log);
    const tree = await located('checkpoint', () =>
      openCheckpoint(checkpoint, keys, ring.witnesses));
    walk.must(tree.fault === null, tree.fault);
    hand.tree = tree;
    walk.done(hex(tree.root));
  }
  for (const [name, { index, hashes }] of Object.entries(inclusion)) {
    walk.begin('inclusion', `inclusion.${name}`, name);
    walk.must(hand.tree !== null, 'no_checkpoint');
    walk.must(name in receipts, 'no_receipt');
    const { says, text } = receipts[name];
    walk.same(String(index), says.index, 'other_index');
    const { size, root } = hand.tree;
    const leaf = await leafHash(receiptLeaf(text));
    const nodes = await climb(leaf, BigInt(index), size, hashes);
    walk.must(nodes !== null, 'path_length');
    walk.same(hex(root), hex(nodes.at(-1)?.hash ?? leaf), 'not_in_tree');
    hand.included[name] = { index, leaf, nodes };
    walk.done(hex(leaf));
  }
}
