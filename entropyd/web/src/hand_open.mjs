// What rules, seats and receipts of a hand fix, and whether they fit each other. Section 21.9, 1 to
// 5 and 8.

import { cat, compareBytes, hex, lp, u32, u64, unhex, utf8 } from './bytes.mjs';
import { sha256 } from './crypto.mjs';
import { STEPS } from './hand_file.mjs';
import { parseHandRules } from './hand_rules.mjs';
import { leafHash, rootOfHashes } from './merkle.mjs';
import { located, readNote, signersOf } from './note.mjs';
import { readReceipt } from './receipt.mjs';
import { insist } from './refusal.mjs';

const MOST_SEATS = 64;

/** Rules and seats, into `hand`: nothing is compared yet. */
export async function takeRules(hand) {
  const { file } = hand;
  hand.rules = await located('rules', () => parseHandRules(file.rules));
  hand.rulesHash = await sha256(utf8(file.rules));
  const ids = [file.tenant, file.table, file.hand].map((id) => lp(id));
  hand.x = cat(lp('entropyd/hand/v1'), ...ids, lp(hand.rulesHash));
  checkSeats(hand);
  hand.seatLeaves = await Promise.all(file.seats.map(({ seat, key }) =>
    leafHash(cat(lp('entropyd/seat/v1'), lp(seat), lp(key)))));
  hand.seatsRoot = hex(await rootOfHashes(hand.seatLeaves));
}

function checkSeats({ file: { seats }, rules: { mode } }) {
  insist(seats.length <= MOST_SEATS, 'count', 'seats', `0 … ${MOST_SEATS}`);
  const inOrder = seats.every(({ seat }, i) =>
    i === 0 || compareBytes(utf8(seats[i - 1].seat), utf8(seat)) < 0);
  insist(inOrder, 'seats.order', 'seats');
  insist(seats.length === 0 || mode !== 'none', 'seats.none', 'seats');
}

/** Every receipt, each with those before it. */
export async function checkReceipts(hand, walk) {
  for (const name of STEPS.filter((step) => step in hand.file.receipts)) {
    walk.begin('receipt', `receipts.${name}`, name);
    const receipt = await openReceipt(hand, walk, name);
    const { says } = receipt;
    walk.must(says.event === name, 'event');
    if (name !== 'open') checkLater(hand, walk, says);
    hand.receipts[name] = receipt;
    walk.done(receipt.signers.map(({ text }) => text).join(' '));
    if (name === 'open') await checkOpen(hand, walk, says);
  }
}

/** A receipt that a receipt key of its log signed. What it says is read before that is known. */
async function openReceipt({ file, ring, tried }, walk, name) {
  const { note, text, says, lines } = await located(walk.field, async () => {
    const read = readNote(file.receipts[name]);
    return { note: read, text: read.text, ...(await readReceipt(read.text)) };
  });
  tried[name] = { says, note };
  const { signers, fault } = await signersOf(note, ring.of(`${says.log}/receipts`));
  walk.must(fault === null, fault);
  return { text, says, lines, signers };
}

async function checkOpen(hand, walk, says) {
  const { file, rules } = hand;
  walk.begin('open_ids', 'receipts.open');
  for (const name of ['tenant', 'table', 'hand']) walk.same(says[name], file[name], 'other_hand');
  walk.done(`${file.tenant} / ${file.table} / ${file.hand}`);
  walk.begin('rules_hash', 'rules');
  walk.same(says.rules, hex(hand.rulesHash));
  walk.done(says.rules);
  walk.begin('cards_in_all', 'receipts.open');
  walk.same(says.n, String(rules.n));
  walk.done(says.n);
  walk.begin('seats_root', 'seats');
  walk.same(says.A, hand.seatsRoot);
  walk.done(says.A);
  await checkOpenHash(hand, walk, says);
  walk.begin('open_lines', 'receipts.open');
  walk.must(('deadline' in says) === (rules.mode !== 'none'), 'deadline');
  for (const name of ['parent', 'replaces']) {
    walk.same(says[name] ?? '', rules.lines.get(name) ?? '', name);
  }
  walk.done();
}

async function checkOpenHash(hand, walk, says) {
  const roots = [says.C, says.D, says.A].map((root) => lp(unhex(root)));
  hand.openHash = await sha256(
    lp('entropyd/open/v1'), lp(hand.x), u64(says.sequence), u32(hand.rules.n), ...roots,
  );
  walk.begin('open_hash', 'receipts.open');
  walk.same(says.O, hex(hand.openHash));
  walk.done(says.O);
}

function checkLater({ file, rules, receipts }, walk, says) {
  const { open, roll, seal } = Object.fromEntries(
    Object.entries(receipts).map(([name, receipt]) => [name, receipt.says]),
  );
  for (const line of ['log', 'tenant', 'table', 'hand', 'sequence', 'O']) {
    walk.same(says[line] ?? '', open[line], 'other_hand');
  }
  const before = Object.values(receipts).map((receipt) => BigInt(receipt.says.index));
  walk.must(before.every((index) => index < BigInt(says.index)), 'older_index');
  const said = Number(says.contributions ?? 0);
  walk.must(said <= file.seats.length, 'more_than_seats');
  switch (says.event) {
    case 'roll': return walk.must(rules.mode === 'sealed' && said > 0, 'no_roll_here');
    case 'seal': return checkSeal(rules, roll, says, said, walk);
    case 'close': return checkClose(seal, says, walk);
    default: return walk.must(!('close' in receipts), 'void_closed');
  }
}

function checkClose(seal, says, walk) {
  walk.must(!('delivery' in says), 'close_of_shuffle');
  walk.must(seal !== undefined, 'close_unsealed');
}

function checkSeal({ mode }, roll, says, said, walk) {
  walk.must((roll !== undefined) === (mode === 'sealed' && said > 0), 'seal_roll');
  if (roll === undefined) return;
  walk.same(says.contributions, roll.contributions, 'seal_roll_differs');
  walk.same(says.R, roll.R, 'seal_roll_differs');
}
