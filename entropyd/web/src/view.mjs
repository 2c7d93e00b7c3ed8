// A report on the page: the verdict in words, the comparisons, the reasons, the limits, the steps.

import { byId, el, paged } from './dom.mjs';
import { drawOutcome, roundOutcome } from './outcome.mjs';
import { code, drawSteps, roundSteps, says } from './steps.mjs';
import { t } from './texts.mjs';
import { handSteps, handSubject } from './view_hand.mjs';
import { logParts, noteParts } from './view_log.mjs';

const MARKS = { match: '✓', mismatch: '✗', computed: '=', refused: '!', failed: '!' };

/** The live region speaks this, so it is one sentence or two and changes once for each check. */
export function showVerdict(verdict, said) {
  const box = byId('verdict');
  box.className = `verdict ${verdict}`;
  box.replaceChildren(
    el('span', { class: 'mark', 'aria-hidden': 'true' }, MARKS[verdict]),
    el('p', {}, el('strong', {}, t(`verdict.${verdict}`)), ' ', said),
  );
}

export function showBusy() {
  const box = byId('verdict');
  box.className = 'verdict';
  box.replaceChildren(el('p', {}, t('busy')));
  byId('report').replaceChildren();
}

export function showNothing() {
  byId('verdict').className = 'verdict';
  byId('verdict').replaceChildren(el('p', {}, t('result.none')));
  byId('report').replaceChildren();
}

export function showReport(report) {
  showVerdict(report.verdict, `${t(`kind.${report.kind}`)}. ${t(saidOf(report))}`);
  const { checks, round, causes, hand } = report;
  // Cards stand before what was compared, unless something differs: then that is what matters.
  const subject = hand === undefined ? [] : handSubject(hand);
  const cardsFirst = report.verdict === 'match';
  byId('report').replaceChildren(
    ...(cardsFirst ? subject : []),
    ...section(causes, checks),
    ...(report.stopped ? [el('p', {}, t('stopped'))] : []),
    ...(cardsFirst ? [] : subject),
    ...signedParts(report),
    ...(round === undefined ? [] : [
      el('h3', {}, t('outcome')), ...roundOutcome(round), roundSteps(round),
    ]),
    ...(report.parts === undefined ? [] : partsOf(report.parts)),
    el('h3', {}, t('limits')),
    el('ul', {}, report.limits.map((limit) => el('li', {}, limitText(limit)))),
  );
}

/** What a verdict means; of signatures also who vouches for their keys. */
function saidOf({ verdict, trusted }) {
  if (trusted === undefined || verdict !== 'match') return `said.${verdict}`;
  return trusted ? 'said.match.given' : 'said.match.named';
}

function signedParts({ hand, log, note }) {
  if (hand !== undefined) return handSteps(hand);
  if (log !== undefined) return logParts(log);
  return note === undefined ? [] : noteParts(note);
}

const limitText = (limit) =>
  (typeof limit === 'string' ? t(`limit.${limit}`) : t(`limit.${limit.code}`, limit));

// Refusals whose remedy is one of the fields that are folded away.
const FIELDS_AWAY = ['note.no_key', 'key.given', 'own', 'own.kind'];

export function showRefusal(refusal) {
  if (FIELDS_AWAY.includes(refusal.code)) byId('signed').open = true;
  showVerdict('refused', refusalText(refusal));
  byId('report').replaceChildren(...causeList(refusal.causes ?? []));
}

export function showFailure() {
  showVerdict('failed', t('said.failed'));
  byId('report').replaceChildren();
}

/** Bytes for people. */
export const sizeText = (bytes) =>
  (bytes >= 2 ** 20 ? `${Math.floor(bytes / 2 ** 20)} MiB` : `${Math.floor(bytes / 2 ** 10)} KiB`);

function refusalText({ code: name, field, limit }) {
  const text = t(`refusal.${name}`, { limit: name === 'large' ? sizeText(limit) : limit });
  return field === '' ? text : `${text} ${t('refusal.at', { field })}`;
}

function section(causes, checks) {
  if (checks.length === 0) return causeList(causes ?? []);
  return [...causeList(causes ?? []), el('h3', {}, t('comparisons')), checkList(checks)];
}

function causeList(causes) {
  if (causes.length === 0) return [];
  const text = ({ code: name, and, chance, ...values }) => {
    const cause = t(`cause.${name}`, values);
    return [and ? t('cause.and', { cause }) : cause, ...(chance ? [` ${t('cause.chance')}`] : [])];
  };
  return [
    el('h3', {}, t('causes')),
    el('ul', { class: 'causes' }, causes.map((cause) => el('li', {}, text(cause)))),
  ];
}

const checkList = (checks) => el('ul', { class: 'checks' }, checks.map(oneCheck));

function oneCheck({ id, name, ok, shown, computed, note, at, why, field }) {
  const values = ok
    ? [valueOf('', shown)]
    : [valueOf(t('shown'), shown), valueOf(t('computed'), computed)];
  return el('li', { class: ok ? 'ok' : 'bad' },
    el('p', {}, el('span', { class: 'mark', 'aria-hidden': 'true' }, ok ? '✓' : '✗'),
      ` ${t(`check.${id}`, { name })}: `, el('strong', {}, t(ok ? 'ok' : 'bad')),
      ok || at === undefined || at === null ? '' : `, ${t('from_place', { at: at + 1 })}`),
    ok || why === undefined ? null : el('p', {}, whyText(why, field)),
    ...values, note === undefined ? null : el('p', {}, t(`note.${note}`)));
}

const whyText = (why, field) =>
  (field ? `${t(`why.${why}`)} ${t('refusal.at', { field })}` : t(`why.${why}`));

function valueOf(label, value) {
  if (value === '') return null;
  return el('p', { class: 'value' }, label === '' ? null : `${label}: `, code(value));
}

function partsOf(parts) {
  const holder = el('div');
  return paged(holder, parts.length, (i) => partOf(parts[i]), { ...says, step: 20 });
}

function partOf(part) {
  return el('section', { class: 'part' },
    el('h3', {}, part.title ?? t('part', part)),
    ...causeList(part.causes), checkList(part.checks),
    el('h4', {}, t('outcome')), ...drawOutcome(part), drawSteps(part));
}
