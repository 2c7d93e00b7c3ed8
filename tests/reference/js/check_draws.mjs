// match_draws.json and raffles.json: from the name of a list to the check of one of its vectors.

import { agree, agreeOnNames, agreeOnResults, hex, refusedField } from './agree.mjs';
import * as draws from './draws.mjs';
import { ascii } from './entropyd.mjs';

const secretsOf = (vector) => ({
  seeds: vector.seeds.map(hex), r: hex(vector.blinding), k: hex(vector.salt_key),
});

/** Numbers of results are decimal text; a server seed is its bytes. */
const asText = (result) => (Buffer.isBuffer(result) ? result : result.map(String));

function checkMatchDraw(vector) {
  const { tenant, match, draw } = vector;
  const inputs = { tenant, match, draw, rules: ascii(vector.rules), ...secretsOf(vector) };
  const { rulesHash, X, C, D, segmentBounds, result } = draws.playDraw(inputs);
  const names = ['label', 'tenant', 'match', 'draw', 'rules', 'seeds', 'blinding', 'salt_key'];
  return agreeOnResults(vector, names, {
    rules_hash: rulesHash, X, C, D, segment_bounds: segmentBounds, result: asText(result),
  });
}

const checkPreset = (vector) => {
  agree('kinds', vector.labels.length, vector.counts.length);
  return agreeOnResults(vector, ['name', 'labels'], { counts: draws.PRESETS.get(vector.name) });
};

function checkLabels(vector) {
  const hash = draws.labelsHash(vector.labels, vector.labels.length);
  return agreeOnResults(vector, ['labels'], { labels_hash: hash });
}

function checkMatchClaim(vector) {
  const found = draws.claimOf('match', hex(vector.claim_key), vector.tenant, vector.match);
  return agreeOnResults(vector, ['claim_key', 'tenant', 'match'], found);
}

function checkBag(vector) {
  agreeOnNames(vector, ['label', 'first', 'steps']);
  let { first: left } = vector;
  return vector.steps.reduce((sum, step) => {
    const counts = draws.returned(vector.first, left, step.returns);
    left = draws.taken(counts, step.result);
    return sum + agreeOnResults(step, ['returns', 'result'], { counts, left });
  }, 0);
}

/** A refusal of which no field is named. */
function refuses(vector, names, action) {
  agreeOnNames(vector, ['reason', ...names]);
  agree('refused', true, refusedField(action) !== null);
  return 1;
}

/** One whose field is a value of the vector. */
const refusesField = (vector, names, action) =>
  agreeOnResults(vector, ['reason', ...names], { field: refusedField(action) });

export const DRAW_LISTS = {
  match_draws: checkMatchDraw,
  presets: checkPreset,
  labels: checkLabels,
  match_claims: checkMatchClaim,
  bags: checkBag,
  refused_draw_rules: (v) =>
    refusesField(v, ['rules_hex'], () => draws.parseDrawRules(hex(v.rules_hex))),
  refused_labels: (v) => refuses(v, ['labels', 'n'], () => draws.labelsHash(v.labels, v.n)),
  refused_returns: (v) =>
    refuses(v, ['first', 'left', 'returns'], () => draws.returned(v.first, v.left, v.returns)),
  refused_matches: (v) =>
    refusesField(v, ['draws'], () =>
      draws.checkBags(v.draws.map(({ rules, result }) => ({ rules: ascii(rules), result })))),
};

function checkRaffle(vector) {
  const { tenant, raffle, given } = vector;
  const inputs = { tenant, raffle, given, rules: ascii(vector.rules), ...secretsOf(vector) };
  const played = draws.playRaffle(inputs);
  const { entries, E, X, C, D, segmentBounds, result, winners, alternates } = played;
  const names = [
    'label', 'tenant', 'raffle', 'given', 'rules', 'seeds', 'blinding', 'salt_key', 'claim_key',
  ];
  return agreeOnResults(vector, names, {
    entries, E, X, C, D, segment_bounds: segmentBounds, result: asText(result), winners, alternates,
    ...draws.claimOf('raffle', hex(vector.claim_key), tenant, raffle),
  });
}

/** The secrets are not looked at before what is refused. */
const noSecrets = { seeds: [Buffer.alloc(64)], r: Buffer.alloc(32), k: Buffer.alloc(32) };

export const RAFFLE_LISTS = {
  raffles: checkRaffle,
  refused_entries: (v) => refuses(v, ['given'], () => draws.entryList(v.given)),
  refused_raffles: (v) =>
    refusesField(v, ['tenant', 'raffle', 'rules', 'given'], () =>
      draws.playRaffle({ ...noSecrets, ...v, rules: ascii(v.rules) })),
};
