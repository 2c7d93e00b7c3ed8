// Receipts and notes to seats: their texts, read line by line or refused with line and byte.
// Sections 19.1, 19.3 and 19.4.

import { utf8 } from './bytes.mjs';
import { EMPTY_ROOT, parseKey } from './note.mjs';
import {
  aHash, aSetting, aSource, aTime, anId, anIndex, anOrigin, fromOne64, outsideText, someHands, upTo32, word,
} from './receipt_values.mjs';
import { Refusal } from './refusal.mjs';

const MOST_TEXT_BYTES = 65_535;
const EVENTS = [
  'table', 'open', 'roll', 'seal', 'close', 'void', 'draw', 'policy', 'key', 'health', 'build',
];
const all = (names, check) => names.split(' ').map((name) => [name, check]);
const aKey = async (text) => (/^[!-~]+$/.test(text) && (await parseKey(text)) !== null ? -1 : 0);

/** The lines of a receipt, in their order. */
const RECEIPT_LINES = new Map([
  ['entropyd-receipt', word('v1')],
  ['log', anOrigin],
  ['index', anIndex],
  ['event', word(...EVENTS)],
  ...all('tenant table hand match draw raffle', anId),
  ...all('sequence number', fromOne64),
  ['rules', aHash],
  ['n', upTo32(1n)],
  ...all('entries C D A O', aHash),
  ['contributions', upTo32(0n)],
  ['R', aHash],
  ['deadline', aTime],
  ...all('escrow parent replaces', aHash),
  ['delivery', word('whole-deck')],
  ['dealt', upTo32(0n)],
  ['deals', aHash],
  ...all('reason policy', outsideText(1)),
  ['setting', aSetting],
  ...all('key previous', aKey),
  ['version', outsideText(1)],
  ['digest', aHash],
  ['source', aSource],
  ['seeds', word('computational')],
  ['degraded', word('yes')],
  ['time', aTime],
]);
const REPEATED = ['setting', 'source'];

const SEAT_NOTE_LINES = new Map([
  ['entropyd-note', word('v1')],
  ['log', anOrigin],
  ['O', aHash],
  ['seat', anId],
  ['leaf', aHash],
  ['outcome', word('accepted', 'refused')],
  ['reason', outsideText(1)],
]);

/** A text is refused at a line and a byte of it, both from 1; 0 where there is none. */
function refuse(code, line = 0, byte = 0, name = '') {
  const place = line === 0 ? name : `${line}:${byte}`;
  throw Object.assign(new Refusal(code, '', place), { line, byte });
}

function linesOfText(text) {
  if (utf8(text).length > MOST_TEXT_BYTES) refuse('text.large');
  const lines = text.split('\n');
  lines.forEach((line, i) => {
    const wrong = line.search(/[^\x20-\x7e]/);
    if (wrong >= 0) refuse('text.ascii', i + 1, wrong + 1);
  });
  if (lines.pop() !== '' || lines.length === 0) refuse('text.end', lines.length + 1);
  return lines;
}

/** The lines of a text as [name, value]. */
async function readTextLines(text, kinds) {
  const order = [...kinds.keys()];
  const lines = [];
  let before = -1;
  for (const [i, line] of linesOfText(text).entries()) {
    const [, name, value] = /^(.*?): (.+)$/.exec(line) ?? [];
    if (name === undefined) refuse('text.line', i + 1, 1);
    const place = order.indexOf(name);
    const follows = place > before || (place === before && REPEATED.includes(name));
    if (place < 0 || !follows) refuse('text.place', i + 1, 1);
    before = place;
    const wrong = await kinds.get(name)(value);
    if (wrong >= 0) refuse('text.value', i + 1, name.length + 3 + wrong);
    lines.push([name, value]);
  }
  return lines;
}

const ALWAYS = ['entropyd-receipt', 'log', 'index', 'event', 'time'];
const OF_HAND = 'tenant table hand sequence O';

/** event, and where there are two kinds of it the second -> [lines that must stand, that may] */
const EVENT_FORMS = {
  'table': ['tenant table policy', 'setting'],
  'open': [`${OF_HAND} rules n C D A policy source`, 'deadline escrow parent replaces degraded'],
  'roll': [`${OF_HAND} contributions R deadline`, ''],
  'seal': [`${OF_HAND} contributions R`, ''],
  'seal of a raffle': ['tenant raffle rules entries', ''],
  'close': [`${OF_HAND} dealt deals`, ''],
  'close of a shuffle': [
    `${OF_HAND} rules n C D A delivery dealt policy source`, 'escrow replaces degraded',
  ],
  'void': ['tenant table hand dealt reason', 'sequence O deals'],
  'draw': ['tenant match draw number C D policy source', 'rules seeds degraded'],
  'draw of a raffle': ['tenant raffle rules entries C D policy source', 'seeds degraded'],
  'policy': ['policy', 'tenant table reason setting'],
  'key': ['key', 'previous reason'],
  'health': ['reason source', ''],
  'build': ['version', 'digest reason'],
};

function formOf({ event, delivery, raffle }) {
  if (event === 'close' && delivery !== undefined) return EVENT_FORMS['close of a shuffle'];
  const ofRaffle = `${event} of a raffle`;
  return EVENT_FORMS[raffle !== undefined && ofRaffle in EVENT_FORMS ? ofRaffle : event];
}

/** { says, lines }: name -> value (of a repeated line the first), and all lines as they stand. */
export async function readReceipt(text) {
  const lines = await readTextLines(text, RECEIPT_LINES);
  const [says, at] = [{}, {}];
  lines.forEach(([name, value], i) => {
    says[name] ??= value;
    at[name] ??= i + 1;
  });
  for (const name of ALWAYS) if (!(name in says)) refuse('text.missing', 0, 0, name);
  const [needed, optional] = formOf(says).map((names) => names.split(' '));
  for (const name of RECEIPT_LINES.keys()) {
    const known = ALWAYS.includes(name) || needed.includes(name) || optional.includes(name);
    if (name in says && !known) refuse('text.place', at[name], 0);
    if (!(name in says) && needed.includes(name)) refuse('text.missing', 0, 0, name);
  }
  const must = (condition, name) => condition || refuse('text.fits', at[name] ?? 0, 0, name);
  checkTogether(says, lines, must);
  await checkKeys(says, must);
  return { says, lines };
}

const toldHandsBefore = (lines) => lines
  .map(([name, value]) => (name === 'setting' ? /^hands_before (.*)$/.exec(value)?.[1] : undefined))
  .find((value) => value !== undefined);

/** How many hands a table says that it had before this log. */
export const handsBefore = (lines) => BigInt(toldHandsBefore(lines) ?? 0);

/** What lines of one receipt mean to each other. */
function checkTogether(says, lines, must) {
  for (const [number, root] of [['contributions', 'R'], ['dealt', 'deals']]) {
    if (root in says) must((says[number] === '0') === (says[root] === EMPTY_ROOT), root);
  }
  if ('delivery' in says) {
    must(says.dealt === says.n, 'dealt');
    must(says.A === EMPTY_ROOT, 'A');
  }
  if (says.event === 'void') {
    const opened = ['sequence', 'O', 'deals'].filter((name) => name in says).length;
    must(opened === 0 || opened === 3, 'O');
    must(opened === 3 || says.dealt === '0', 'dealt');
  }
  const settings = lines.filter(([name]) => name === 'setting').map(([, v]) => v.split(' ')[0]);
  must(settings.every((name, i) => i === 0 || settings[i - 1] < name), 'setting');
  const before = says.event === 'table' ? toldHandsBefore(lines) : undefined;
  must(before === undefined || someHands(before) < 0, 'setting');
}

async function checkKeys(says, must) {
  const names = [says.log, `${says.log}/receipts`];
  const keys = {};
  for (const name of ['key', 'previous'].filter((one) => one in says)) {
    keys[name] = await parseKey(says[name]);
    must(keys[name].type === 1 && names.includes(keys[name].name), name);
  }
  if (!('previous' in says)) return;
  must(keys.key.name === keys.previous.name && says.key !== says.previous, 'previous');
}

/** { says, lines } of a note to a seat. */
export async function readSeatNote(text) {
  const lines = await readTextLines(text, SEAT_NOTE_LINES);
  const says = Object.fromEntries(lines);
  for (const name of SEAT_NOTE_LINES.keys()) {
    if (name !== 'reason' && !(name in says)) refuse('text.missing', 0, 0, name);
  }
  const place = lines.findIndex(([name]) => name === 'reason') + 1;
  if ((says.outcome === 'refused') !== ('reason' in says)) refuse('text.fits', place, 0, 'reason');
  return { says, lines };
}

/** The leaf of a receipt: its text without the last newline. Section 19.2. */
export const receiptLeaf = (text) => utf8(text.slice(0, -1));
