// A signed note as it is given out, pasted: a receipt, a note to a seat, or a checkpoint. It is
// taken only under a key that the reader gave. Section 22.

import { hex } from './bytes.mjs';
import { signatureCauses } from './causes_log.mjs';
import { KeyRing, located, openCheckpoint, readNote, signersOf } from './note.mjs';
import { readReceipt, readSeatNote } from './receipt.mjs';
import { Refusal, insist } from './refusal.mjs';
import { Walk, walked } from './walk.mjs';

const RECEIPT_START = 'entropyd-receipt: ';
const SEAT_NOTE_START = 'entropyd-note: ';

/** Whether a text is a note; a checkpoint begins with any name, so its signature has to tell. */
export const isNote = (text) =>
  text.startsWith(RECEIPT_START) || text.startsWith(SEAT_NOTE_START)
  || (!/^[ \t\n\r]*\{/.test(text) && text.includes('\n\n\u2014 '));

export async function verifyNote(text, { given }) {
  const ring = new KeyRing([], given);
  const kind = kindOfNote(text);
  const read = await explained(text, () => readNote(text));
  insist(ring.trusted, 'note.no_key');
  const walk = new Walk();
  const note = { kind, lines: [], tree: null };
  const check = kind === 'checkpoint' ? checkCheckpoint : checkText;
  const failed = await walked(walk, () => check(note, walk, { text, read, ring }));
  return {
    kind, note, checks: walk.checks, stopped: failed !== null, trusted: true,
    causes: failed === null ? [] : signatureCauses(failed, read.signatures, given),
    published: note.lines.map(([, value]) => value), limits: limitsOfNote(note),
  };
}

function kindOfNote(text) {
  if (text.startsWith(RECEIPT_START)) return 'receipt';
  return text.startsWith(SEAT_NOTE_START) ? 'seat_note' : 'checkpoint';
}

/** A note whose last line end was lost on the way is refused, and the refusal says so. */
async function explained(text, read) {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal && error.code === 'note.end') {
      error.causes = [{ code: 'note_end' }];
    }
    throw error;
  }
}

async function checkText(note, walk, { read, ring }) {
  walk.begin('note', '');
  const readText = note.kind === 'receipt' ? readReceipt : readSeatNote;
  const { says, lines } = await readText(read.text);
  const { signers, fault } = await signersOf(read, ring.of(`${says.log}/receipts`));
  walk.must(fault === null, fault);
  note.lines = lines;
  walk.done(signers.map((key) => key.text).join(' '));
}

async function checkCheckpoint(note, walk, { text, read, ring }) {
  walk.begin('note', '');
  const [origin] = read.text.split('\n', 1);
  const tree = await located('', () => openCheckpoint(text, ring.of(origin), ring.witnesses));
  walk.must(tree.fault === null, tree.fault);
  note.tree = tree;
  note.lines = [['origin', tree.origin], ['size', String(tree.size)], ['root', hex(tree.root)]];
  walk.done(tree.signers.map((key) => key.text).join(' '));
}

function limitsOfNote({ kind, tree }) {
  if (kind === 'receipt') return ['note_in_log', 'note_true', 'note_sources'];
  if (kind === 'seat_note') return ['note_counts'];
  return [...(tree?.seenBy.length === 0 ? ['operator_only'] : []), 'checkpoint_only'];
}
