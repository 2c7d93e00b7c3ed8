// Why a draw may differ: the usual slips, each tried alone. Those under which everything in the
// file would agree are named.

import { hex } from './bytes.mjs';
import { binding, commitmentOf, computeResult, rootOf } from './draw.mjs';

// A long draw is not computed again for every slip: the result would be late, and seldom a slip.
const MOST_TO_EXPLAIN = 5_000;

const other = (sampler) => (sampler === 'masked' ? 'word32' : 'masked');
const respelled = (read, from, to) => ({ ...read, rulesText: read.rulesText.replace(from, to) });

/** What is tried: a name of the cause, and the draw as it would then be. */
function slips(read) {
  const { tenant, match, draw, seeds, rules } = read;
  const lower = (text) => text.toLowerCase();
  return [
    ['ids_case', { ...read, tenant: lower(tenant), match: lower(match), draw: lower(draw) }],
    ['ids_swapped', { ...read, match: draw, draw: match }],
    ['secrets_swapped', { ...read, blinding: read.saltKey, saltKey: read.blinding }],
    ['seeds_reversed', { ...read, seeds: [...seeds].reverse() }],
    ['result_from_one', { ...read, result: read.result.map((v) => minusOne(v)) }],
    ['result_from_zero', { ...read, result: read.result.map((v) => String(BigInt(`0${v}`) + 1n)) }],
    ['result_reversed', { ...read, result: [...read.result].reverse() }],
    ['sampler', {
      ...respelled(read, `sampler=${rules.sampler}\n`, `sampler=${other(rules.sampler)}\n`),
      rules: { ...rules, sampler: other(rules.sampler) },
    }],
  ];
}

// What a comparison that failed says by itself, of those that no slip explains.
const CAUSE_OF_CHECK = {
  kept: 'other_kept',
  numbers: 'draw_missing',
  bag: 'draw_missing',
  ids: 'draw_twice',
  labels: 'changed_labels',
  tiles: 'changed_labels',
  entries: 'changed_entries',
  entries_rule: 'changed_entries',
  winners: 'changed_winners',
  alternates: 'changed_winners',
};

/** The causes that follow from which comparisons failed, each once. */
export function causesOfChecks(checks) {
  const failed = checks.filter(({ ok }) => !ok).map(({ id }) => CAUSE_OF_CHECK[id]);
  return [...new Set(failed)].filter((code) => code !== undefined).map((code) => ({ code }));
}

const minusOne = (v) => (v === '0' ? 'none' : String(BigInt(v) - 1n));

/** The causes that would have made the draw agree; and what the failed checks say, if none does. */
export async function explainDraw(read, { checks }) {
  const failed = (id) => checks.some((check) => check.id === id && !check.ok);
  const drawn = ['commitment', 'result', 'root'].some(failed);
  const causes = [];
  if (drawn && read.rules.draws <= MOST_TO_EXPLAIN) {
    for (const [code, changed] of slips(read)) {
      if (await agrees(changed)) causes.push({ code });
    }
  }
  if (causes.length > 0) return causes;
  if (failed('commitment')) return [{ code: 'changed_inputs' }];
  if (failed('result')) return [{ code: 'changed_result' }];
  if (failed('root')) return [{ code: 'changed_root' }];
  return [];
}

async function agrees(read) {
  const narrow = read.rules.sampler === 'masked' || BigInt(read.rules.bound(0)) <= 2n ** 32n;
  if (!narrow) return false;
  const x = await binding(read);
  const commitment = await commitmentOf(x, read.seeds, read.blinding);
  if (hex(commitment) !== hex(read.commitment)) return false;
  const { result, bytes } = await computeResult(read, x);
  return result.join() === read.result.join()
    && hex(await rootOf(x, read.saltKey, bytes)) === hex(read.resultRoot);
}
