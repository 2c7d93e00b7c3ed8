// The contributions of a hand and the cut that they make. Section 12, and 21.9, 6 and 7.

import { cat, hex, lp, u32, unhex } from './bytes.mjs';
import { sha512 } from './crypto.mjs';
import { drawAll, swapped } from './keystream.mjs';
import { leafHash, rootOfHashes } from './merkle.mjs';
import { Trace } from './trace.mjs';

const VALUE_BYTES = 32;

const leafStart = (openHash, seat) =>
  cat(lp('entropyd/contribution/v1'), lp(openHash), lp(seat), u32(VALUE_BYTES));

/** The leaf of a seat's value; one of a seat that was refused fits no leaf of a file. */
export const contributionLeaf = (openHash, seat, value) => cat(leafStart(openHash, seat), value);

/** The receipt that says m and R latest: the seal, or before it the roll. */
export const rollOf = ({ receipts: { roll, seal } }) => (seal ?? roll)?.says;

/** Leaf hashes and leaves against R, and the cut. */
export async function checkContributions(hand, walk) {
  await checkLeafHashes(hand, walk);
  await checkLeaves(hand, walk);
  if ('seal' in hand.receipts) await computeCut(hand);
}

async function checkLeafHashes(hand, walk) {
  const shown = hand.file.leafHashes;
  if (shown === null) return;
  const roll = rollOf(hand);
  walk.begin('leaf_hashes', 'leaf_hashes');
  walk.must(roll !== undefined, 'no_roll');
  walk.same(roll.contributions, String(shown.length), 'number');
  const hashes = shown.map(hex);
  walk.must(ascend(hashes), 'order');
  walk.same(roll.R, hex(await rootOfHashes(shown)), 'other_root');
  hand.hashes = hashes;
  walk.done(roll.R);
}

const ascend = (hashes) => hashes.every((hash, i) => i === 0 || hashes[i - 1] < hash);

async function checkLeaves(hand, walk) {
  const { file: { leaves }, receipts: { seal } } = hand;
  if (seal === undefined && leaves.length === 0) return;
  walk.begin('leaves', 'leaves');
  walk.same(seal?.says.contributions ?? '0', String(leaves.length), 'number');
  const starts = new Map(hand.file.seats.map(({ seat }) =>
    [hex(leafStart(hand.openHash, seat)), seat]));
  const told = [];
  for (const [i, leaf] of leaves.entries()) {
    const seat = starts.get(hex(leaf.subarray(0, -VALUE_BYTES)));
    walk.at(`leaves[${i}]`);
    walk.must(seat !== undefined, 'no_contribution');
    walk.must(told.every((one) => one.seat !== seat), 'seat_twice');
    const [value, hash] = [hex(leaf.subarray(-VALUE_BYTES)), hex(await leafHash(leaf))];
    told.push({ seat, value, leaf, hash });
  }
  walk.at('leaves');
  const hashes = told.map(({ hash }) => hash);
  walk.must(ascend(hashes), 'order');
  hand.toldLeaves = told;
  walk.same(seal.says.R, hex(await rootOfHashes(hashes.map(unhex))), 'other_root');
  walk.must(hand.file.leafHashes === null || hand.hashes.join() === hashes.join(), 'other_hashes');
  Object.assign(hand, { leaves: told, hashes });
  walk.done(seal.says.R);
}

/** The order that seeds draw: { items, trace }. */
export async function shuffled({ order }, x, seeds) {
  const trace = new Trace();
  await drawAll(order, x, seeds, trace);
  return { items: swapped(order.swaps, trace.results), trace };
}

async function computeCut(hand) {
  const { rules, openHash, leaves } = hand;
  if (leaves.length === 0) {
    hand.cut = { places: Array.from({ length: rules.n }, (_, place) => place), key: null };
    return;
  }
  const key = await sha512(
    lp('entropyd/cut/v1'), lp(openHash), u32(leaves.length), lp(unhex(hand.receipts.seal.says.R)),
    ...leaves.map(({ leaf }) => lp(leaf)),
  );
  const { items, trace } = await shuffled(rules, openHash, rules.order.starts.map(() => key));
  hand.cut = { places: items, key, trace };
}
