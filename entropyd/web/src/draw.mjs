// A draw that is not a hand: everything that follows from its file. Section 16.

import { cat, checkId, hex, joined, lp, u32, utf8 } from './bytes.mjs';
import { sha256 } from './crypto.mjs';
import { drawAll, swapped } from './keystream.mjs';
import { insist } from './refusal.mjs';
import { parseDrawRules } from './rules.mjs';
import { Trace } from './trace.mjs';

const MOST_LABEL_BYTES = 2 ** 20;

/** What a file says of one draw, read and not yet compared. Its ids may stand around it. */
export function readDraw(fields, { tenant, match, draw }) {
  const rulesText = fields.text('rules');
  const rules = parseDrawRules(rulesText);
  insist(rules.kind !== 'server_seed', 'seed_draw', fields.at('rules')); // its rounds show it
  const read = {
    tenant, match, draw, rulesText, rules,
    seeds: fields.seeds('seeds'),
    blinding: fields.bytes('blinding', 32),
    saltKey: fields.bytes('salt_key', 32),
    commitment: fields.bytes('commitment', 32),
    resultRoot: fields.bytes('result_root', 32),
    result: fields.decimals('result'),
  };
  const segments = rules.starts.length;
  insist(read.seeds.length === segments, 'seeds', fields.at('seeds'), segments);
  return read;
}

/** The labels of a file: which are expected depends on the rules. */
export function readLabels(fields, { kind, labels }) {
  const name = kind === 'bag' ? 'tiles' : 'labels';
  if (labels === null || labels === undefined) return null;
  if (labels.known !== undefined && !fields.has(name)) return labels.known;
  return checkLabels(fields.texts(name), labels.known?.length ?? labels.count, fields.at(name));
}

function checkLabels(labels, count, field) {
  insist(labels.length === count, 'count', field, count);
  let total = 0;
  labels.forEach((label, i) => {
    const { length } = utf8(label);
    total += length;
    const good = length >= 1 && length <= 256 && !/[\x00-\x1f\x7f-\x9f]/.test(label);
    insist(good, 'label', `${field}[${i}]`);
  });
  insist(total <= MOST_LABEL_BYTES, 'large', field, MOST_LABEL_BYTES);
  return labels;
}

export const labelsHash = (labels) =>
  sha256(lp('entropyd/labels/v1'), u32(labels.length), ...labels.map((label) => lp(label)));

/** X of section 5. */
export async function binding({ tenant, match, draw, rulesText }) {
  const ids = [checkId(tenant, 'tenant'), checkId(match, 'match'), checkId(draw, 'draw')];
  const rulesHash = await sha256(utf8(rulesText));
  return cat(lp('entropyd/draw/v1'), ...ids.map((id) => lp(id)), lp(rulesHash));
}

/** The result of a draw as decimal texts, with the trace of how it came about. */
export async function computeResult({ rules, seeds }, x) {
  const trace = new Trace();
  await drawAll(rules, x, seeds, trace);
  let values = trace.results;
  if (rules.swaps !== undefined) values = swapped(rules.swaps, values);
  if (rules.kinds !== undefined) values = values.map((item) => rules.kinds[item]);
  if (rules.meaning !== undefined) values = values.map(rules.meaning);
  return { result: values.map(String), bytes: joined(values, rules.width), trace };
}

export const commitmentOf = (x, seeds, blinding) =>
  sha256(lp('entropyd/commit/v1'), lp(x), lp(cat(...seeds)), lp(blinding));

export const rootOf = (x, saltKey, bytes) =>
  sha256(lp('entropyd/result/v1'), lp(x), lp(saltKey), lp(bytes));

/** Compares a draw with what follows from it. */
export async function checkDraw(read, labels) {
  const x = await binding(read);
  const { result, bytes, trace } = await computeResult(read, x);
  const checks = [];
  if (read.rules.labels?.hash !== undefined) {
    checks.push(compared('labels', read.rules.labels.hash, hex(await labelsHash(labels))));
  }
  if (read.rules.labels?.known !== undefined) {
    checks.push(comparedLists('tiles', labels, read.rules.labels.known));
  }
  const commitment = hex(await commitmentOf(x, read.seeds, read.blinding));
  checks.push(compared('commitment', hex(read.commitment), commitment));
  checks.push(comparedLists('result', read.result, result));
  checks.push(compared('root', hex(read.resultRoot), hex(await rootOf(x, read.saltKey, bytes))));
  return { x, result, labels, trace, checks, rules: read.rules };
}

/** One comparison: what was shown, and what follows. */
export const compared = (id, shown, computed) => ({ id, shown, computed, ok: shown === computed });

/** The same of lists, of which only the first difference is of interest. */
export function comparedLists(id, shown, computed) {
  const ok = shown.length === computed.length && shown.every((v, i) => v === computed[i]);
  if (ok) return { id, shown: summary(shown), computed: summary(computed), ok };
  let at = 0;
  while (at < shown.length && shown[at] === computed[at]) at += 1;
  return { id, ok, shown: from(shown, at), computed: from(computed, at), at };
}

const MOST_SHOWN = 20;

const summary = (list) =>
  list.slice(0, MOST_SHOWN).join(' ') + (list.length > MOST_SHOWN ? ' …' : '');

const from = (list, at) => `${at === 0 ? '' : '… '}${summary(list.slice(at))}`;
