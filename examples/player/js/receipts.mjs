// Signed notes and the receipts in them: docs/protocol.md, sections 19 and 20.

import { equal, hasSigned, hex, need, sha256, text, unbase64 } from './bytes.mjs';

/** A verifier key `name+id+base64`, taken apart. */
export async function parseKey(written) {
  const match = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(written);
  need(match !== null, 'key', 'a verifier key is name+id+base64');
  const [, name, id, encoded] = match;
  const tagged = unbase64(encoded);
  need(tagged.length === 33 && tagged[0] === 1, 'key', 'no Ed25519 key');
  const keyId = (await sha256(text(`${name}\n`), tagged)).slice(0, 4);
  need(hex(keyId) === id, 'key', 'its id is of another key');
  return { name, keyId, publicKey: tagged.slice(1) };
}

/** The text of a note that the key signed. */
export async function signedText(note, key) {
  need(typeof note === 'string' && note.length <= 1_000_000, 'signature', 'no signed note');
  const end = note.lastIndexOf('\n\n') + 1;
  need(end > 0 && note.endsWith('\n'), 'signature', 'no signed note');
  const body = note.slice(0, end);
  // eslint-disable-next-line no-control-regex
  need(!/[\x00-\x09\x0b-\x1f]/.test(note), 'signature', 'control characters');
  let signed = 0;
  for (const line of note.slice(end + 1, -1).split('\n')) {
    const match = /^\u2014 ([^\s+]+) ([A-Za-z0-9+/=]+)$/.exec(line);
    need(match !== null, 'signature', 'expected em dash, key name, signature');
    const value = unbase64(match[2]);
    need(value.length > 4, 'signature', 'the signature is empty');
    if (match[1] !== key.name || !equal(value.slice(0, 4), key.keyId)) continue;
    const ours = await hasSigned(key.publicKey, value.slice(4), text(body));
    need(ours, 'signature', `${key.name} did not make the signature that names it`);
    signed += 1;
  }
  need(signed === 1, 'signature', `signed ${signed} times by the key that is trusted here`);
  return body;
}

// ---- Lines -------------------------------------------------------------------------------------

const HASH = /^[0-9a-f]{64}$/;
const DECIMAL = /^(0|[1-9][0-9]{0,19})$/;
const ID = /^[\x21-\x7e]{1,128}$/;
const ANY = /^[\x20-\x7e]+$/;
const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/;

const hashes = (...names) => names.map((name) => [name, HASH]);
// The lines of a hand's receipts, in their order, each with its spelling.
const LINES = new Map([
  ['entropyd-receipt', /^v1$/], ['log', ID], ['index', DECIMAL], ['event', ANY],
  ['tenant', ID], ['table', ID], ['hand', ID], ['sequence', DECIMAL],
  ['rules', HASH], ['n', DECIMAL], ...hashes('C', 'D', 'A', 'O'),
  ['contributions', DECIMAL], ['R', HASH], ['deadline', TIME],
  ...hashes('escrow', 'parent', 'replaces'), ['dealt', DECIMAL], ['deals', HASH],
  ['reason', ANY], ['policy', ANY], ['source', ANY], ['degraded', /^yes$/], ['time', TIME],
]);
const NOTE_LINES = new Map([
  ['entropyd-note', /^v1$/], ['log', ID], ['O', HASH], ['seat', ID], ['leaf', HASH],
  ['outcome', /^(accepted|refused)$/], ['reason', ANY],
]);

const ALWAYS = 'entropyd-receipt log index event tenant table hand sequence O time';
const FORMS = {
  open: ['rules n C D A policy source', 'deadline escrow parent replaces degraded'],
  roll: ['contributions R deadline', ''],
  seal: ['contributions R', ''],
  close: ['dealt deals', ''],
  void: ['dealt deals reason', ''],
};

/** Name -> value of lines that stand in their order, each in its spelling. */
function read(body, kinds) {
  const names = [...kinds.keys()];
  const lines = new Map();
  let last = -1;
  for (const line of body.slice(0, -1).split('\n')) {
    const match = /^([A-Za-z-]+): (.+)$/.exec(line);
    need(match !== null, 'form', 'expected name, colon, space, value');
    const [, name, value] = match;
    const place = names.indexOf(name);
    need(place > last || (place === last && name === 'source'), 'form', `${name} out of place`);
    need(kinds.get(name).test(value), 'form', `${name} has another spelling`);
    lines.set(name, value);
    last = place;
  }
  return lines;
}

/** A receipt of one of `events`, of the log whose key is trusted, as name -> value. */
export async function receiptOf(note, key, ...events) {
  const body = await signedText(note, key);
  const first = /^entropyd-receipt: v1\nlog: (.+)\nindex: .+\nevent: (.+)\n/.exec(body);
  need(first !== null, 'form', 'no receipt');
  need(key.name === `${first[1]}/receipts`, 'hand', 'of another log');
  need(events.includes(first[2]), 'event', `a receipt of event ${first[2]}`);
  const lines = read(body, LINES);
  const [must, may] = FORMS[first[2]].map((names) => names.split(' '));
  for (const name of [...ALWAYS.split(' '), ...must]) need(lines.has(name), 'form', `no ${name}`);
  const known = [...ALWAYS.split(' '), ...must, ...may];
  for (const name of lines.keys()) need(known.includes(name), 'form', `${name} has no place`);
  return lines;
}

/** A note to a seat, as name -> value. */
export async function seatNoteOf(note, key) {
  const lines = read(await signedText(note, key), NOTE_LINES);
  for (const name of ['entropyd-note', 'log', 'O', 'seat', 'leaf', 'outcome']) {
    need(lines.has(name), 'form', `no ${name}`);
  }
  return lines;
}

// ---- Rules -------------------------------------------------------------------------------------

const SIX = 4;
const DECKS = {
  standard52: range52(),
  standard54: [...range52(), 52, 53],
  short36: range52().filter((card) => card % 13 >= SIX),
};

function range52() {
  return Array.from({ length: 52 }, (_, card) => card);
}

/** The rules that the player trusts; they were its own choice, so little is checked. */
export function parseRules(written) {
  const lines = new Map(written.slice(0, -1).split('\n').map((line) => {
    const at = line.indexOf('=');
    return [line.slice(0, at), line.slice(at + 1)];
  }));
  need(!lines.has('proofs'), 'rules', 'the whole deck is dealt at once');
  const list = (name) => (lines.has(name) ? lines.get(name).split(',') : []);
  const cards = DECKS[lines.get('deck')].filter((card) => !list('removed').includes(`${card}`));
  const items = cards.length * Number(lines.get('decks'));
  return {
    contributions: lines.get('contributions'),
    sampler: lines.get('sampler'),
    plan: list('plan'),
    parent: lines.get('parent'),
    replaces: lines.get('replaces'),
    cards,
    items,
    n: lines.has('cards') ? Number(lines.get('cards')) : items,
  };
}

export const cardText = (card) =>
  card >= 52 ? `X${card - 51}` : '23456789TJQKA'[card % 13] + 'cdhs'[Math.floor(card / 13)];

