// A hand on the page: what it is, its cards, its receipts line by line, and every step between.

import { hex } from './bytes.mjs';
import { el, folded } from './dom.mjs';
import { endOf } from './hand_cards.mjs';
import { code, facts, longTable, shuffleSteps } from './steps.mjs';
import { t } from './texts.mjs';
import { cardParts, orderParts } from './view_cards.mjs';
import { lineTable, pathTable, signerText, treeText } from './view_path.mjs';

/** What people look for: which hand it is, and its cards. */
export const handSubject = (hand) => [...subject(hand), ...cardParts(hand)];

/** As much of a hand as was checked before something differed, if something did. */
export function handSteps(hand) {
  return [
    ...receiptParts(hand), ...seatParts(hand), ...cutParts(hand), ...recipientParts(hand),
    ...revealParts(hand), ...noteRows(hand), ...logOfHand(hand),
  ];
}

function subject({ receipts, rules, file, dealt }) {
  const names = Object.keys(receipts);
  if (names.length === 0) return [];
  const last = names.at(-1);
  const end = endOf({ receipts });
  return [
    el('h3', {}, t('hand')),
    facts([
      [t('hand.ids'), `${file.tenant} / ${file.table} / ${file.hand}`],
      [t('hand.number'), receipts.open.says.sequence],
      [t('hand.stage'), el('span', {}, t(`hand.stage.${last}`))],
      [t('hand.deck'), `${rules.lines.get('deck')} × ${rules.lines.get('decks')}, n = ${rules.n}`],
      ...(dealt === null ? [] : [[t('hand.dealt'), String(dealt)]]),
      ...(end?.reason === undefined ? [] : [[t('hand.reason'), end.reason]]),
    ]),
  ];
}

/** Which lines of a receipt something else in the file agrees with. */
function comparedLines(hand, name) {
  const ids = ['tenant', 'table', 'hand', 'O'];
  const roll = hand.hashes === null ? [] : ['contributions', 'R'];
  const included = name in hand.included ? ['index'] : [];
  const opened = [
    'log', 'sequence', 'rules', 'n', 'A', 'parent', 'replaces',
    ...(hand.reveal === null ? [] : ['C', 'D']), ...(hand.cards.length === 0 ? [] : ['D']),
  ];
  const own = {
    open: opened,
    roll: ['log', 'sequence', ...roll],
    seal: ['log', 'sequence', ...roll],
  };
  const deals = hand.recipients === null ? [] : ['dealt', 'deals'];
  return [...ids, ...(own[name] ?? ['log', 'sequence', ...deals]), ...included];
}

function receiptParts(hand) {
  const one = ([name, { lines, signers }]) => {
    const compared = comparedLines(hand, name);
    return folded(t('hand.receipt', { name }), () => [
      el('p', {}, signerText(signers, hand.ring.trusted)),
      lineTable(t('hand.lines', { name }), lines, (line) => compared.includes(line)),
    ]);
  };
  const receipts = Object.entries(hand.receipts);
  if (receipts.length === 0) return [];
  const opened = hand.openHash === undefined ? [] : [openSteps(hand)];
  return [el('h3', {}, t('hand.receipts')), ...receipts.map(one), ...opened];
}

const O_FORMULA =
  'SHA-256(LP("entropyd/open/v1") || LP(X) || u64(q) || u32(n) || LP(C) || LP(D) || LP(A))';

const openSteps = ({ file, rulesHash, x, openHash }) => folded(t('hand.open'), () => [
  facts([
    [t('steps.rules'), el('pre', {}, file.rules)],
    [t('steps.rules_hash'), hex(rulesHash)],
    [t('hand.x'), hex(x)],
    [`O = ${O_FORMULA}`, hex(openHash)],
  ]),
]);

/** Seats with their leaves of A, and what each of them contributed. */
function seatParts(hand) {
  const { file: { seats }, seatLeaves, leaves, hashes, receipts } = hand;
  if (Object.keys(receipts).length === 0 || seats.length === 0) return [];
  const seat = (i) => [seats[i].seat, code(hex(seats[i].key)), code(hex(seatLeaves[i]))];
  const heads = [t('hand.seat'), t('hand.key'), t('hand.leaf_hash')];
  return [
    el('h3', {}, t('hand.contributions')),
    ...contributionTable(hand, leaves),
    ...(leaves.length === 0 && hashes !== null ? [hashTable(hashes)] : []),
    folded(t('hand.seats'), () => [longTable(t('hand.seats.a'), heads, seats.length, seat)]),
  ];
}

const R_FORMULA = 'LP("entropyd/contribution/v1") || LP(O) || LP(seat) || LP(value)';

function contributionTable({ own }, leaves) {
  if (leaves.length === 0) return [el('p', {}, t('hand.no_contributions'))];
  const cells = (i) => {
    const { seat, value, hash } = leaves[i];
    const name = seat === own ? el('strong', {}, `${seat}: ${t('hand.own')}`) : seat;
    return [name, code(value), code(hash)];
  };
  const heads = [t('hand.seat'), t('hand.value'), t('hand.leaf_hash')];
  return [
    longTable(t('hand.contributions.r'), heads, leaves.length, cells),
    el('p', { class: 'help' }, `${t('hand.leaf')}: `, code(R_FORMULA)),
  ];
}

const hashTable = (hashes) => longTable(
  t('hand.hashes'), [t('steps.draw'), t('hand.leaf_hash')], hashes.length,
  (i) => [String(i + 1), code(hashes[i])],
);

const CUT_KEY_FORMULA =
  'SHA-512(LP("entropyd/cut/v1") || LP(O) || u32(m) || LP(R) || LP(leaf) || LP(leaf) || …)';
const CUT_FORMULA = 'HMAC-SHA-512(key, LP("entropyd/stream/v1") || LP(O) || u32(s) || u64(c))';

/** How the cut came about, and where it brings each leaf. */
function cutParts({ cut, rules: { sampler, n } }) {
  if (cut === null) return [];
  const title = el('h3', {}, t('hand.cut'));
  if (cut.key === null) return [title, el('p', {}, t('hand.cut.none'))];
  const said = [facts([
    [`key = ${CUT_KEY_FORMULA}`, hex(cut.key)], [t('steps.formula_draw'), CUT_FORMULA],
  ])];
  const cells = (place) => [String(place), String(cut.places[place])];
  const heads = [t('hand.place'), t('hand.cut.leaf')];
  return [
    title, shuffleSteps(t('hand.cut.steps'), { trace: cut.trace, sampler, n }, said),
    folded(t('hand.cut.table'), () => [longTable(t('hand.cut.table'), heads, n, cells)]),
  ];
}

function recipientParts({ recipients }) {
  if (recipients === null || recipients.length === 0) return [];
  const heads = [t('hand.place'), t('hand.recipient')];
  const cells = (place) => [String(place), recipients[place]];
  return [folded(t('hand.recipients'), () =>
    [longTable(t('hand.recipients'), heads, recipients.length, cells)])];
}

const DECK_FORMULA = 'HMAC-SHA-512(S_s, LP("entropyd/stream/v1") || LP(X) || u32(s) || u64(c))';

function revealParts({ reveal, rules }) {
  if (reveal === null) return [];
  const { seeds, blinding, saltKey, trace, items } = reveal;
  const said = [facts([
    ...seeds.map((seed, s) => [`S_${s}`, hex(seed)]), ['r', hex(blinding)], ['K', hex(saltKey)],
    [t('steps.formula_draw'), DECK_FORMULA],
  ])];
  return [
    el('h3', {}, t('hand.reveal')),
    shuffleSteps(t('hand.reveal.steps'), { trace, sampler: rules.sampler, n: rules.n }, said),
    folded(t('hand.reveal.order'), () => orderParts(rules, items)),
  ];
}

function noteRows({ notes }) {
  if (notes.length === 0) return [];
  const cells = (i) => {
    const { seat, outcome, reason, leaf } = notes[i];
    return [seat, t(`hand.note.${outcome}`, { reason }), code(leaf)];
  };
  const heads = [t('hand.seat'), t('hand.outcome'), t('hand.leaf_hash')];
  return [folded(t('hand.notes'), () => [longTable(t('hand.notes'), heads, notes.length, cells)])];
}

function logOfHand({ tree, included }) {
  if (tree === null) return [];
  const path = ([name, { index, leaf, nodes }]) => folded(
    t('hand.included', { name, index }), () => pathTable(leaf, nodes, t('tree.root')),
  );
  return [
    el('h3', {}, t('hand.log')), el('p', {}, treeText(tree)),
    facts([[t('tree.root'), hex(tree.root)]]), ...Object.entries(included).map(path),
  ];
}
