// The checks of docs/vectors/log.json: lists of its vectors, each with the function that checks one.

import { agree, agreeOnNames, agreeOnResults, exactNumber, hex } from './agree.mjs';
import { Refused, ascii, leafHash, merkleRoot, range, u32 } from './entropyd.mjs';
import * as log from './log.mjs';

const number = (value) => BigInt(exactNumber(value));
const keysOf = (texts) => texts.map(log.parseKey);

/** What `action` returns, or the value that stands for a refusal. */
function orRefused(action, refused) {
  try {
    return action();
  } catch (error) {
    if (error instanceof Refused) return refused(error);
    throw error;
  }
}

const holds = (action) => orRefused(() => (action(), true), () => false);

function checkReceipt(vector) {
  const text = ascii(vector.text);
  log.readReceipt(text);
  const leaf = leafHash(log.receiptLeaf(text));
  return agreeOnResults(vector, ['label', 'text'], { leaf_hash: leaf });
}

function checkSeatNote(vector) {
  agreeOnNames(vector, ['label', 'text']);
  log.readSeatNote(ascii(vector.text));
  return 1;
}

const checkRefusedText = (read) => (vector) => {
  const found = orRefused(() => (read(hex(vector.text_hex)), null), ({ line, byte }) => ({ line, byte }));
  agree('refused', true, found !== null);
  return agreeOnResults(vector, ['reason', 'text_hex'], found);
};

function checkTree(vector) {
  const leaves = range(vector.size).map((j) => Buffer.concat([ascii('leaf '), u32(j)]));
  return agreeOnResults(vector, ['size'], { root: merkleRoot(leaves) });
}

function checkInclusion(vector) {
  const [leaf, root, path] = [hex(vector.leaf_hash), hex(vector.root), vector.path.map(hex)];
  const [i, s] = [number(vector.index), number(vector.size)];
  const valid = holds(() => log.verifyInclusion(leaf, i, s, path, root));
  return agreeOnResults(vector, ['index', 'size', 'leaf_hash', 'path', 'root'], { valid });
}

function checkConsistency(vector) {
  const [oldRoot, root, proof] = [hex(vector.old_root), hex(vector.root), vector.proof.map(hex)];
  const [o, s] = [number(vector.old), number(vector.size)];
  const valid = holds(() => log.verifyConsistency(o, s, oldRoot, root, proof));
  return agreeOnResults(vector, ['old', 'size', 'old_root', 'root', 'proof'], { valid });
}

function checkKey(vector) {
  const text = log.keyText(vector.name, vector.type, log.ed25519.publicKey(hex(vector.seed)));
  const { name, type } = log.parseKey(text);
  agree('name', vector.name, name);
  agree('type', vector.type, type);
  return agreeOnResults(vector, ['name', 'type', 'seed'], { verifier_key: text });
}

function checkRefusedKey(vector) {
  agreeOnNames(vector, ['reason', 'verifier_key']);
  agree('refused', true, log.parseKey(vector.verifier_key) === null);
  return 1;
}

function checkNote(vector) {
  const opened = () => log.openNote(hex(vector.note_hex), keysOf(vector.keys));
  const { text, signers } = orRefused(opened, () => ({ text: Buffer.alloc(0), signers: [] }));
  const results = { text_hex: text, signed_by: signers.map((key) => key.text) };
  return agreeOnResults(vector, ['label', 'note_hex', 'keys'], results);
}

function checkCheckpoint(vector) {
  const opened = () =>
    log.openCheckpoint(hex(vector.note_hex), keysOf(vector.keys), keysOf(vector.witnesses));
  const says = orRefused(() => asJson(opened()), () => null);
  return agreeOnResults(vector, ['label', 'note_hex', 'keys', 'witnesses'], { says });
}

const asJson = ({ origin, size, root, seenBy }) => ({
  origin,
  size: String(size),
  root: root.toString('hex'),
  seen_by: seenBy.map(({ witness, time }) => ({ witness, time: String(time) })),
});

export const LOG_LISTS = {
  receipts: checkReceipt,
  receipts_refused: checkRefusedText(log.readReceipt),
  seat_notes: checkSeatNote,
  seat_notes_refused: checkRefusedText(log.readSeatNote),
  trees: checkTree,
  inclusion: checkInclusion,
  consistency: checkConsistency,
  keys: checkKey,
  keys_refused: checkRefusedKey,
  notes: checkNote,
  checkpoints: checkCheckpoint,
};

