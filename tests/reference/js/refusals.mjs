// Prints, as JSON, what the implementation accepts of things that no vector file can hold:
// keystreams that are not random, ids that are not ids, and a Shuffle presented with a lie in it.

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

/** Whether a draw fails after so many rejected tries, and how many it took. */
function tries(sampler, bound, rejected, accepted) {
  let taken = 0;
  const take = () => (taken++ < rejected ? 2n ** 32n - 1n : accepted);
  const isVoid = refused(() => protocol.drawBelow(bound, sampler, { take }));
  return [isVoid, taken];
}

const rules = protocol.shuffleRules('short36', 1);
const hand = { tenant: 't', table: 't', hand: 'h', q: 1, rules };
const secrets = { seeds: [Buffer.alloc(64)], r: Buffer.alloc(32), k: Buffer.alloc(32) };
const { items, C, D, A, O } = protocol.playHand({ ...hand, ...secrets });
const shown = { ...hand, r: secrets.r, k: secrets.k, S: secrets.seeds[0], items, C, D, A, O };
const other = Buffer.alloc(32, 1);
const lies = {
  none: {}, longS: { S: Buffer.alloc(128) }, shortS: { S: Buffer.alloc(63) },
  otherS: { S: Buffer.alloc(64, 1) }, q: { q: 2 }, zero: { q: 0 },
  r: { r: Buffer.alloc(31) }, k: { k: Buffer.alloc(33) }, items: { items: items.slice(1) },
  longer: { items: [...items, 36] }, hand: { hand: 'H' }, C: { C: other }, D: { D: other },
  A: { A: other }, O: { O: other },
};
const accepted = Object.keys(lies).filter(
  (name) => !refused(() => protocol.checkShuffle({ ...shown, ...lies[name] })),
);
const ids = ['', '!', '~'.repeat(128), '~'.repeat(129), ' ', 'a b', '\x7f', 'é', 'a\n'];
console.log(JSON.stringify({
  masked: [127, 128].map((rejected) => tries('masked', 3, rejected, 0n)),
  word32: [127, 128].map((rejected) => tries('word32', 3, rejected, 0n)),
  ids: ids.filter((id) => !refused(() => protocol.idBytes(id))).map((id) => id.length),
  accepted,
}));
