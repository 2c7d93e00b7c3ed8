// A hand file: everything that somebody says of a hand dealt card by card. Only its form is looked
// at here. Section 21.9.

import { readNamedKeys } from './note.mjs';
import { insist } from './refusal.mjs';

// In the order in which they are made.
export const STEPS = ['open', 'roll', 'seal', 'close', 'void'];
const MOST_SEAT_NOTES = 1024;
const MOST = Number.MAX_SAFE_INTEGER;
const MOST_32_BITS = 2 ** 32 - 1; // a place is hashed as four bytes

/** What a file says; what it does not have is null, or empty. */
export async function readHandFile(fields) {
  const file = {
    tenant: fields.id('tenant'),
    table: fields.id('table'),
    hand: fields.id('hand'),
    rules: fields.text('rules'),
    seats: fields.objects('seats').map(readSeat),
    keys: await readNamedKeys(fields),
    receipts: ofSteps(fields.object('receipts'), (steps, name) => steps.text(name), ['open']),
    leaves: fields.blobs('leaves'),
    cards: fields.objects('cards').map(readCard),
    leafHashes: fields.perhaps('leaf_hashes', null, (all, name) => all.hashes(name)),
    recipients: fields.perhaps('recipients', null, (all, name) => all.texts(name)),
    reveal: fields.perhaps('reveal', null, (all, name) => readReveal(all.object(name))),
    parent: fields.perhaps('parent', null, (all, name) => readParent(all.object(name))),
    notes: fields.perhaps('notes', [], (all, name) => all.texts(name)),
    checkpoint: fields.perhaps('checkpoint', null, (all, name) => all.text(name)),
    inclusion: fields.perhaps('inclusion', {}, (all, name) =>
      ofSteps(all.object(name), (steps, step) => readIncluded(steps.object(step)))),
  };
  fields.finish();
  insist(file.notes.length <= MOST_SEAT_NOTES, 'count', 'notes', `0 … ${MOST_SEAT_NOTES}`);
  return file;
}

function ofSteps(fields, read, needed = []) {
  const found = {};
  for (const name of STEPS) {
    if (fields.has(name) || needed.includes(name)) found[name] = read(fields, name);
  }
  fields.finish();
  return found;
}

function whole(fields, value) {
  fields.finish();
  return value;
}

const readSeat = (fields) => whole(fields, {
  seat: fields.id('seat'),
  key: fields.text('key') === '' ? new Uint8Array(0) : fields.bytes('key', 32),
});

const readCard = (fields) => whole(fields, {
  path: fields.path,
  place: fields.number('place', 0, MOST),
  recipient: fields.text('recipient') === '' ? '' : fields.id('recipient'),
  leafIndex: fields.number('leaf_index', 0, MOST),
  item: fields.number('item', 0, MOST),
  salt: fields.bytes('salt', 32),
  hashes: fields.hashes('path'),
});

const readReveal = (fields) => whole(fields, {
  seeds: fields.seeds('seeds'),
  blinding: fields.bytes('blinding', 32),
  saltKey: fields.bytes('salt_key', 32),
  discards: fields.perhaps('discards', null, (all, name) => all.numbers(name, MOST)),
});

const readParent = (fields) => whole(fields, {
  openHash: fields.bytes('O', 32),
  places: fields.numbers('places', MOST_32_BITS),
  salt: fields.bytes('salt', 32),
});

const readIncluded = (fields) => whole(fields, {
  index: fields.number('index', 0, MOST),
  hashes: fields.hashes('path'),
});
