// Every step of a draw or a round: blocks, tries, what each accepted one means.

import { hex } from './bytes.mjs';
import { el, folded, paged } from './dom.mjs';
import { serverHash } from './pair.mjs';
import { bitsOf } from './rules.mjs';
import { t } from './texts.mjs';

export const says = {
  more: (count) => t('more', { count }),
  shown: (shown, total) => t('shown.of', { shown, total }),
};

export const code = (text) => el('code', {}, text);

/** A list of names and values; a value is text or an element. */
export const facts = (pairs) =>
  el('dl', { class: 'facts' }, pairs.map(([name, value]) => [
    el('dt', {}, name), el('dd', {}, typeof value === 'string' ? code(value) : value),
  ]).flat());

const DRAW_FORMULA = 'HMAC-SHA-512(S_s, LP("entropyd/stream/v1") || LP(X) || u32(s) || u64(c))';

export function drawSteps(part) {
  const { rules, trace, read, x } = part;
  return stepsOf(trace, () => [
    facts([
      [t('steps.rules'), el('pre', {}, read.rulesText)],
      [t('steps.rules_hash'), hex(x.slice(-32))],
      [t('steps.x'), hex(x)],
      [t('steps.formula_draw'), DRAW_FORMULA],
    ]),
    blocks(trace),
    el('p', {}, t(`steps.${rules.sampler}`)),
    tries(trace, { masked: rules.sampler === 'masked', means: meaningOfDraw(rules) }),
  ]);
}

export function roundSteps({ rules, inputs, outcome, trace, hash }) {
  return stepsOf(trace, () => {
    const bytesHash = code('…');
    serverHash('bytes', inputs.seed).then((text) => bytesHash.replaceChildren(text));
    return [
      facts([
        [t('steps.rules'), el('pre', {}, rules.text)],
        [t('steps.rules_hash'), hex(rules.rulesHash)],
        [`${t('steps.seed_hash')}: ${HASH_FORMULA[rules.profile]}`, hash],
        [t('steps.seed_bytes'), bytesHash],
        [t('steps.formula'), formula(rules.profile, inputs)],
      ]),
      blocks(trace),
      el('p', {}, t('steps.word32')),
      tries(trace, { masked: false, means: meaningOfRound(rules, outcome) }),
    ];
  });
}

const HASH_FORMULA = {
  v1: 'SHA-256("…")',
  v2: 'SHA-256(LP("entropyd/server-seed/v2") || LP(…))',
};

function formula(profile, { seed, clientSeed, nonce }) {
  if (profile === 'v1') return `HMAC-SHA-256("${seed}", "${clientSeed}:${nonce}:" || c)`;
  const bound = `LP("${clientSeed}") || u64(${nonce}) || LP(SHA-256(rules)) || u32(c)`;
  return `HMAC-SHA-256(${seed}, LP("entropyd/round/v2") || ${bound})`;
}

/** The steps of a Shuffle of n items, beside what is said of it. */
export const shuffleSteps = (title, { trace, sampler, n }, said) => stepsOf(trace, () => [
  ...said, blocks(trace), el('p', {}, t(`steps.${sampler}`)),
  tries(trace, { masked: sampler === 'masked', means: meaningOfDraw({ swaps: { n } }) }),
], title);

function stepsOf(trace, make, title = t('steps')) {
  const counts = t('steps.counts', {
    draws: trace.bounds.length, tries: trace.values.length, rejected: trace.rejected,
    blocks: trace.blocks.length,
  });
  return folded(`${title}: ${counts}`, make);
}

export const table = (caption, heads, body) =>
  el('table', {}, el('caption', {}, caption),
    el('thead', {}, el('tr', {}, heads.map((head) => el('th', { scope: 'col' }, head)))), body);

/** A table whose rows are shown a page at a time; `cells` makes those of row i, its name first. */
export function longTable(caption, heads, count, cells, step = 100) {
  const body = el('tbody');
  const row = (i) => {
    const [name, ...others] = cells(i);
    return el('tr', {}, el('th', { scope: 'row' }, name), others.map((cell) => el('td', {}, cell)));
  };
  const [, tail] = paged(body, count, row, { ...says, step });
  return el('div', {}, table(caption, heads, body), tail);
}

function blocks({ blocks: list }) {
  const cells = (i) => {
    const { segment, number, bytes } = list[i];
    return [segment === null ? `${number}` : `${segment} / ${number}`, code(hex(bytes))];
  };
  const heads = [t('steps.block'), t('steps.bytes')];
  return longTable(t('steps.blocks'), heads, list.length, cells, 20);
}

/** A row for each try; a draw below 1 takes none and has none. */
function tries(trace, { masked, means }) {
  const body = el('tbody');
  const row = (i) => {
    const draw = trace.draws[i];
    const bound = trace.bounds[draw];
    const ok = trace.accepted(i);
    const value = trace.values[i];
    const digits = masked
      ? value.toString(2).padStart(bitsOf(bound), '0')
      : value.toString(16).padStart(8, '0');
    return el('tr', { class: ok ? null : 'rejected' },
      el('th', { scope: 'row' }, String(draw + 1)), el('td', {}, String(bound)),
      el('td', {}, code(digits), ` = ${value}`),
      el('td', {}, ...judged(ok)),
      el('td', { class: 'means' }, ok ? means(draw, trace.results[draw]) : ''));
  };
  const heads = [t('steps.draw'), t('steps.bound'), masked ? t('steps.bits') : t('steps.word'),
    t('steps.judged'), t('steps.means')];
  const [, tail] = paged(body, trace.values.length, row, says);
  return el('div', {}, table(t('steps.tries'), heads, body), tail);
}

/** On a narrow screen the word is only for those who listen. */
const judged = (ok) => [
  el('span', { 'aria-hidden': 'true' }, ok ? '✓ ' : '✗ '),
  el('span', { class: 'wide' }, ok ? t('accepted') : t('rejected')),
];

/** What draw number `draw` did with what came: a swap of two places, or a number of the result. */
function meaningOfDraw({ swaps, meaning }) {
  if (swaps !== undefined) return (draw, j) => swapText(swaps.n - 1 - draw, j);
  if (meaning !== undefined) return (_, v) => String(meaning(v));
  return (_, v) => String(v);
}

const swapText = (i, j) => `${i} ↔ ${j}`;

function meaningOfRound({ game, lines, data }, outcome) {
  switch (game) {
    case 'mines': return (i, v) => swapText(i, i + v);
    case 'blackjack': return (draw, j) => swapText(311 - draw, j);
    case 'dice_poker': return (draw, v) => `${ownerOf(draw)} ${v + 1}`;
    case 'slots':
      return lines.get('machine') === 'cascade' ? cellOf(data) : (i) => outcome.symbols[i];
    default: return (_, v) => (v === 37 ? '37 = 00' : String(v));
  }
}

const ownerOf = (die) => t(die < 5 ? 'outcome.bot' : 'outcome.player');

function cellOf(data) {
  const bands = data.get('weights').split(',').map((band) => band.split(':'));
  return (_, v) => {
    let end = 0;
    return bands.find(([, weight]) => v < (end += Number(weight)))[0];
  };
}
