// A hand dealt card by card, at whatever stage its file shows it: every part against every other,
// in the order of section 21.9.

import { hex, unhex } from './bytes.mjs';
import { explainHand } from './causes_hand.mjs';
import { checkDealt, endOf } from './hand_cards.mjs';
import { checkContributions, contributionLeaf, rollOf } from './hand_cut.mjs';
import { STEPS, readHandFile } from './hand_file.mjs';
import { checkInclusion, checkNotes } from './hand_log.mjs';
import { checkReceipts, takeRules } from './hand_open.mjs';
import { checkSecrets } from './hand_secrets.mjs';
import { leafHash } from './merkle.mjs';
import { KeyRing } from './note.mjs';
import { insist } from './refusal.mjs';
import { Walk, walked } from './walk.mjs';

/** The report of a hand file. The reader trusts the keys `given`, and contributed `own`. */
export async function verifyHand(fields, { given, own }) {
  const file = await readHandFile(fields);
  const hand = {
    file, ring: new KeyRing(file.keys, given), tried: {}, receipts: {}, leaves: [], hashes: null,
    cut: null, dealt: null, recipients: null, cards: [], reveal: null, notes: [], tree: null,
    included: {}, own: null,
  };
  const walk = new Walk();
  await takeRules(hand);
  const failed = await walked(walk, async () => {
    for (const check of CHECKS) await check(hand, walk);
  });
  const owned = failed === null && own !== '' ? await ownCheck(hand, own) : [];
  return {
    checks: [...walk.checks, ...owned], hand, stopped: failed !== null, trusted: hand.ring.trusted,
    causes: failed === null ? ownCauses(owned) : await explainHand(hand, failed),
    published: publishedOf(hand),
    limits: failed === null
      ? limitsOfHand(hand, own !== '' && owned.length === 0) : limitsOfStopped(hand),
  };
}

const CHECKS = [
  checkReceipts, checkContributions, checkDealt, checkSecrets, checkNotes, checkInclusion,
];

/** Whether the value that a player contributed is there; none, if the file cannot show it yet. */
async function ownCheck(hand, own) {
  const value = own.trim().toLowerCase();
  insist(/^[0-9a-f]{64}$/.test(value), 'own');
  if (rollOf(hand) === undefined || hand.hashes === null) return [];
  const seat = await seatOfValue(hand, value);
  hand.own = seat;
  const shown = seat === null ? value : `${seat}: ${value}`;
  return [{ id: 'own', ok: seat !== null, shown, computed: '', why: 'own' }];
}

async function seatOfValue({ file, openHash, hashes }, value) {
  for (const { seat } of file.seats) {
    const hash = hex(await leafHash(contributionLeaf(openHash, seat, unhex(value))));
    if (hashes.includes(hash)) return seat;
  }
  return null;
}

const ownCauses = (checks) => (checks.every(({ ok }) => ok) ? [] : [{ code: 'own_missing' }]);

/** What a reader may have kept from before: hashes of the receipts, and contributions. */
function publishedOf({ receipts, leaves, hashes }) {
  const lines = Object.values(receipts).flatMap(({ says }) => ['O', 'C', 'D', 'A', 'R', 'deals']
    .filter((name) => name in says).map((name) => says[name]));
  return [...new Set([...lines, ...(hashes ?? []), ...leaves.map(({ value }) => value)])];
}

/** What the file cannot show, or what it could and does not. */
function limitsOfHand(hand, ownLater) {
  const { file, receipts, included, ring, tree, reveal, recipients, rules, dealt } = hand;
  const silent = silentSeats(hand);
  const unseen = unseenSteps(hand);
  const outside = Object.keys(receipts).filter((name) => !(name in included));
  return [
    ...(ring.trusted ? [] : ['keys_named']),
    ...(ownLater ? ['own_later'] : []),
    ...(unseen.length > 0 ? [{ code: 'unseen', names: unseen.join(', ') }] : []),
    ...(outside.length > 0 ? [{ code: 'not_in_log', names: outside.join(', ') }] : []),
    ...(tree === null || tree.seenBy.length === 0 ? ['operator_only'] : []),
    ...(recipients === null && dealt ? ['no_recipients'] : []),
    ...(saysRecipients(hand) && endOf(hand) === undefined ? ['not_bound'] : []),
    ...(silent > 0 ? [{ code: 'silent', silent, seats: file.seats.length }] : []),
    ...(keyedSeatsMoved(hand) ? ['keyed_seats'] : []),
    'gap', contributionLimit(hand), 'host',
    ...(reveal === null ? ['not_revealed'] : ['source']),
    ...(rules.lines.has('parent') ? ['discards'] : []),
  ];
}

const saysRecipients = ({ file: { recipients, cards } }) =>
  recipients?.length > 0 || cards.some(({ recipient }) => recipient !== '');

/** How many seats have no contribution; 0 while the roll is not closed. */
function silentSeats(hand) {
  const roll = rollOf(hand);
  return roll === undefined ? 0 : hand.file.seats.length - Number(roll.contributions);
}

const keyedSeatsMoved = (hand) =>
  Number(rollOf(hand)?.contributions ?? 0) > 0 && hand.file.seats.some(({ key }) => key !== '');

/** Of a check that ended early only what it could not have shown anyway. */
const limitsOfStopped = ({ ring }) => [...(ring.trusted ? [] : ['keys_named']), 'gap', 'host'];

/** Steps of which nothing is in the file; without the seal no card can be checked. */
function unseenSteps(hand) {
  const { receipts } = hand;
  const ended = endOf(hand) !== undefined;
  return STEPS.filter((name) => !(name in receipts) && (
    (name === 'seal' && !('void' in receipts)) || (name === 'close' && !ended)
    || (name === 'roll' && hand.rules.mode === 'sealed' && !ended && !('seal' in receipts))));
}

function contributionLimit(hand) {
  if (hand.rules.mode === 'none' || rollOf(hand)?.contributions === '0') return 'nobody_moved';
  return hand.rules.mode === 'sealed' ? 'honest_seat' : 'open_contributions';
}
