// Prints, as JSON, what the check of section 13.3 accepts: a Shuffle with each of some lies in it,
// the same without one, and hands under other rules.

import * as protocol from './entropyd.mjs';

function refused(action) {
  try {
    action();
  } catch (error) {
    if (error instanceof protocol.Refused) return true;
    throw error;
  }
  return false;
}

/** A hand under these rules with everything that is shown of it, all of it true. */
function shownHand(rules) {
  const hand = { tenant: 't', table: 't', hand: 'h', q: 1, rules };
  const secrets = { seeds: [Buffer.alloc(64)], r: Buffer.alloc(32), k: Buffer.alloc(32) };
  const { items, C, D, A, O } = protocol.playHand({ ...hand, ...secrets });
  return { ...hand, r: secrets.r, k: secrets.k, S: secrets.seeds[0], items, C, D, A, O };
}

const rules = protocol.shuffleRules('short36', 1);
const changed = (...changes) =>
  changes.reduce((bytes, [from, to]) => Buffer.from(`${bytes}`.replace(from, to)), rules);
const shown = shownHand(rules);
const other = Buffer.alloc(32, 1);
const lies = {
  none: {}, longS: { S: Buffer.alloc(128) }, shortS: { S: Buffer.alloc(63) },
  otherS: { S: Buffer.alloc(64, 1) }, q: { q: 2 }, zero: { q: 0 }, largeQ: { q: 1n << 64n },
  r: { r: Buffer.alloc(31) }, k: { k: Buffer.alloc(33) }, items: { items: shown.items.slice(1) },
  longer: { items: [...shown.items, 36] }, hand: { hand: 'H' },
  rules: { rules: changed(['deck=short36', 'deck=short37']) },
  C: { C: other }, D: { D: other }, A: { A: other }, O: { O: other },
};
const truths = {
  byCard: shownHand(changed(['proofs=deck\n', ''])),
  otherRules: shownHand(changed(['never', 'after_close'], ['masked', 'word32'])),
  contributions: shownHand(changed(['proofs=deck\n', ''], ['=none', '=open'])),
};
const presented = { ...lies, ...truths };
const accepted = Object.keys(presented).filter(
  (name) => !refused(() => protocol.checkShuffle({ ...shown, ...presented[name] })),
);
console.log(JSON.stringify(accepted));
