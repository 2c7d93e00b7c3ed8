// The checks of docs/vectors/dealt_hands.json, and those of any files against it.

import { agree, agreeOnNames, agreeOnResults, hex } from './agree.mjs';
import * as protocol from './entropyd.mjs';
import { Refused } from './entropyd.mjs';
import * as hands from './hands.mjs';
import { dealsRoot, ed25519 } from './log.mjs';
import { checkLogFile } from './log_file.mjs';

const GIVEN = ['trusted', 'witnesses'];

function checkSignature(vector) {
  const [seed, hash] = [hex(vector.seed), hex(vector.leaf_hash)];
  const signed = hands.signedContribution(hash);
  const results = { key: ed25519.publicKey(seed), signed, signature: ed25519.sign(seed, signed) };
  agree('verifies', true, ed25519.verify(results.key, signed, results.signature));
  return agreeOnResults(vector, ['label', 'seed', 'leaf_hash'], results);
}

function checkChild(vector) {
  const salt = hands.childSalt(hex(vector.salt_key), hex(vector.X), vector.hand);
  const parent = hands.childDigest(hex(vector.O), vector.places, salt);
  const inputs = ['label', 'X', 'O', 'salt_key', 'hand', 'places'];
  return agreeOnResults(vector, inputs, { salt, parent });
}

function checkDeals(vector) {
  const deals = dealsRoot(hex(vector.O), vector.recipients);
  return agreeOnResults(vector, ['label', 'O', 'recipients'], { deals });
}

/** Computes a hand from its secrets, its cards with their proofs, and takes its file. */
function checkHand(vector) {
  const { file, discards } = vector;
  const { results, cardAt } = play(vector);
  for (const { place, recipient, ...shown } of file.cards) {
    const proof = cardAt(place);
    agree(`recipient of ${place}`, recipient, vector.recipients[place] ?? '');
    agree(`names of ${place}`, Object.keys(shown).sort(), Object.keys(proof).sort());
    for (const [name, value] of Object.entries(proof)) agree(`${name} of ${place}`, shown[name], value);
  }
  taken(vector);
  const inputs = ['label', 'seeds', 'blinding', 'salt_key', 'contributions', 'recipients', 'file', ...GIVEN];
  return agreeOnResults(vector, discards === undefined ? inputs : [...inputs, 'discards'], results);
}

function play({ file, seeds, blinding, salt_key: saltKey, contributions, recipients, discards }) {
  const rules = protocol.ascii(file.rules);
  const parsed = protocol.parseHandRules(rules);
  const { n, sampler } = parsed;
  const [S, k] = [seeds.map(hex), hex(saltKey)];
  const X = protocol.handX(file.tenant, file.table, file.hand, rules);
  const items = hands.itemsOf(parsed, X, S, discards);
  const seats = Object.fromEntries(file.seats.map(({ seat, key }) => [seat, hex(key)]));
  const C = protocol.seedCommitment(X, S, hex(blinding));
  const [D, A] = [protocol.deckRootByCard(k, X, items), protocol.seatsRoot(seats)];
  const q = BigInt(/^sequence: (.*)$/m.exec(file.receipts.open)[1]);
  const O = protocol.openHash(X, q, n, C, D, A);
  const values = contributions.map(({ seat, value }) => [seat, hex(value)]);
  const leaves = protocol.contributionLeaves(parsed, O, seats, values);
  const { root: R, cut } = protocol.cutOf(n, sampler, O, leaves);
  const cardAt = (place) => hands.cardProof({ k, X, items }, cut[place]);
  return { cardAt, results: { X, C, D, A, O, R, items, leaves, cut, deals: dealsRoot(O, recipients) } };
}

/** Throws Difference unless the file of a vector is taken, with and without keys given. */
function taken({ file, trusted, witnesses }) {
  agree('file', null, refusedPart(file));
  agree('file with keys', null, refusedPart(file, trusted, witnesses));
}

function checkLog(vector) {
  agreeOnNames(vector, ['label', 'file', ...GIVEN]);
  taken(vector);
  return 1;
}

/** Where the check of a hand or log file ends; null if it is taken. */
export function refusedPart(file, trusted = [], witnesses = []) {
  const check = file?.entropyd === 'log/v1' ? checkLogFile : hands.checkHandFile;
  try {
    check(file, trusted, witnesses);
  } catch (error) {
    if (error instanceof Refused) return error.field;
    throw error;
  }
  return null;
}

/** The file with changes made to it, in their order. */
export function changed(file, changes) {
  const holder = { file: structuredClone(file) };
  for (const change of changes) {
    const steps = ['file', ...change.at];
    const last = steps.pop();
    const target = steps.reduce((value, step) => value[step], holder);
    if (Object.hasOwn(change, 'to')) target[last] = structuredClone(change.to);
    else delete target[last];
  }
  return holder.file;
}

const checkTampered = (bases) => (vector) => {
  const base = bases.get(vector.of);
  if (base === undefined) throw new Error(`unknown file ${vector.of}`);
  const keys = vector.trusted ? [base.trusted, base.witnesses] : [];
  const part = refusedPart(changed(base.file, vector.changes), ...keys);
  return agreeOnResults(vector, ['reason', 'of', 'trusted', 'changes'], { part });
};

/** The lists of dealt_hands.json; what was tampered with is found by the labels of the others. */
export function handLists(content) {
  const bases = new Map([...content.hands, ...content.logs].map((one) => [one.label, one]));
  return {
    signatures: checkSignature,
    children: checkChild,
    deals: checkDeals,
    hands: checkHand,
    logs: checkLog,
    tampered: checkTampered(bases),
  };
}
