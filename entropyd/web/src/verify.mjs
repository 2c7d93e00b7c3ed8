// A file of a verifier, from its text to a report: what was compared, what was not, and why it may
// differ. Spec: docs/protocol.md, 16.8, 17.3, 18.6, 20.7, 21.9 and 22.
//
// A report says `match` only where at least one comparison was made and all of them agree.

import { hex } from './bytes.mjs';
import { causesOfChecks, explainDraw } from './causes_draw.mjs';
import { explainRound } from './causes_round.mjs';
import { checkDraw, compared, comparedLists, readDraw, readLabels } from './draw.mjs';
import { Fields, isDecimal } from './fields.mjs';
import { verifyHand } from './hand.mjs';
import { parseObject } from './json.mjs';
import { verifyLog } from './log_file.mjs';
import { isNote, verifyNote } from './lone_note.mjs';
import { checkSeries } from './match.mjs';
import { readGivenKeys } from './note.mjs';
import { isClientSeed, isServerSeed, serverHash } from './pair.mjs';
import { checkEntries, entriesHash } from './raffle.mjs';
import { insist } from './refusal.mjs';
import { outcomeText, parseRoundRules, playRound } from './round.mjs';

const MOST_DRAWS = 10_000;
// What a browser does in some ten seconds; a file of a few lines could ask for hours.
const MOST_STEPS = 1_000_000;
// The longest outcome, a cascade to its bound, has some 20,000 characters.
const MOST_OUTCOME = 2 ** 16;

/**
 * The report of a file, or of a signed note. What the reader has beside it may be empty: `kept`, a
 * hash from before; `keys`, those that he trusts, one a line; `own`, what he contributed to a hand.
 */
export async function verifyText(text, kept = '', { keys = '', own = '' } = {}) {
  const given = await readGivenKeys(keys);
  const report = isNote(text)
    ? await verifyNote(text, { given })
    : await verifyFile(new Fields(await parseObject(text)), { given, own });
  insist(own === '' || report.hand !== undefined, 'own.kind');
  if (kept !== '') report.checks.push(keptAmong(kept, report.published));
  const causes = [...(report.causes ?? []), ...causesOfChecks(report.checks)];
  return { ...report, causes, verdict: verdictOf(report) };
}

async function verifyFile(fields, options) {
  insist(fields.has('entropyd'), 'kind');
  const kind = fields.text('entropyd');
  insist(Object.hasOwn(VERIFIERS, kind), 'kind', kind.slice(0, 40));
  return { ...(await VERIFIERS[kind](fields, options)), kind };
}

/** A hash that somebody kept must be one of those that the file's checks were made against. */
function keptAmong(kept, published) {
  const ok = published.includes(kept.trim().toLowerCase());
  return { ...comparedLists('kept', [kept], published), ok };
}

const allChecks = (report) => [
  ...report.checks, ...(report.parts ?? []).flatMap((part) => part.checks),
];

function verdictOf(report) {
  const checks = allChecks(report);
  if (checks.length === 0) return 'computed';
  return checks.every(({ ok }) => ok) ? 'match' : 'mismatch';
}

async function verifyDraw(fields) {
  const ids = { tenant: fields.id('tenant'), match: fields.id('match'), draw: fields.id('draw') };
  const part = await checkedPart(readPart(fields, ids));
  return {
    checks: [], parts: [part], published: [hex(part.read.commitment)],
    limits: limitsOf([part], ['once', 'source', 'before']),
  };
}

/** One draw of a file, read whole before anything is computed. */
function readPart(fields, ids) {
  const number = fields.number('number', 1, Number.MAX_SAFE_INTEGER);
  const read = readDraw(fields, ids);
  insist(read.rules.kind !== 'raffle', 'raffle', fields.at('rules'));
  const labels = readLabels(fields, read.rules);
  fields.finish();
  return { number, labels, read };
}

async function checkedPart({ number, labels, read }) {
  const checked = await checkDraw(read, labels);
  const ok = checked.checks.every((check) => check.ok);
  const causes = ok ? [] : [...await explainDraw(read, checked), ...causesOfChecks(checked.checks)];
  return { number, name: read.draw, read, ...checked, causes };
}

async function verifyMatch(fields) {
  const [tenant, match] = [fields.id('tenant'), fields.id('match')];
  const objects = fields.list('draws');
  fields.finish();
  const some = objects.length >= 1 && objects.length <= MOST_DRAWS;
  insist(some, 'count', 'draws', `1 … ${MOST_DRAWS}`);
  const reads = objects.map((object, i) => {
    const draw = new Fields(object, `draws[${i}]`);
    return readPart(draw, { tenant, match, draw: draw.id('draw') });
  });
  const steps = reads.reduce((sum, { read }) => sum + read.rules.draws, 0);
  insist(steps <= MOST_STEPS, 'long', 'draws', MOST_STEPS);
  const series = checkSeries(reads.map(({ number, read }) => ({ ...read, number })));
  const parts = [];
  for (const read of reads) parts.push(await checkedPart(read));
  return {
    checks: series, parts, published: parts.map((part) => hex(part.read.commitment)),
    limits: limitsOf(parts, ['once', 'last', 'source', 'before']),
  };
}

/** What cannot be checked, for draws that were made so. */
const limitsOf = (parts, limits) =>
  parts.some((part) => part.rules.computational) ? [...limits, 'computational'] : limits;

async function verifyRaffle(fields) {
  const ids = { tenant: fields.id('tenant'), match: fields.id('raffle'), draw: 'raffle' };
  const entries = fields.texts('entries');
  const bytes = checkEntries(entries, 'entries');
  const shownHash = hex(fields.bytes('entries_hash', 32));
  const read = readDraw(fields, ids);
  const [winners, alternates] = [fields.texts('winners'), fields.texts('alternates')];
  fields.finish();
  const { rules } = read;
  insist(rules.kind === 'raffle', 'rules.value', 'kind');
  insist(rules.n === entries.length, 'count', 'entries', rules.n);
  const computedHash = hex(await entriesHash(bytes));
  const part = await checkedPart({ number: 1, labels: entries, read });
  const drawn = part.result.map((item) => entries[Number(item)]);
  const before = [
    compared('entries', shownHash, computedHash),
    compared('entries_rule', rules.entries, computedHash),
  ];
  const after = [
    comparedLists('winners', winners, drawn.slice(0, rules.winners)),
    comparedLists('alternates', alternates, drawn.slice(rules.winners)),
  ];
  part.checks = [...before, ...part.checks, ...after];
  part.causes = [...part.causes, ...causesOfChecks([...before, ...after])];
  return {
    checks: [], parts: [{ ...part, title: ids.match }],
    published: [shownHash, hex(read.commitment)],
    limits: limitsOf([part], ['published', 'other_raffles', 'once', 'source']),
  };
}

/** A round's file. Its causes are those of a typed round, because they are the same mistakes. */
async function verifyRoundFile(fields) {
  const rules = await parseRoundRules(fields.text('rules'));
  const seed = fields.text('server_seed');
  const hash = hex(fields.bytes('server_hash', 32));
  const clientSeed = fields.text('client_seed');
  const nonce = fields.text('nonce');
  const outcome = readOutcome(fields);
  fields.finish();
  return verifyRound({ rules, seed, hash, clientSeed, nonce, shown: { outcome } });
}

function readOutcome(fields) {
  const outcome = fields.raw('outcome');
  new Fields(outcome, 'outcome'); // refuses what is no object
  insist(JSON.stringify(outcome).length <= MOST_OUTCOME, 'large', 'outcome', MOST_OUTCOME);
  return outcome;
}

/**
 * Compares a round with what was shown of it. `hash` may be empty and `shown` null: then there is
 * nothing to compare and the outcome alone is computed.
 */
export async function verifyRound({ rules, seed, hash, clientSeed, nonce, shown, accepts = [] }) {
  const inputs = { seed, clientSeed, nonce };
  const typed = { rules, ...inputs, hash, shown };
  await checkInputs(typed);
  const { outcome, trace } = await playRound(rules, inputs);
  const checks = [];
  if (hash !== '') checks.push(await comparedHash(rules, seed, hash, accepts));
  if (shown !== null) checks.push(comparedOutcome(rules, shown, outcome));
  const limits = ['hash_before', 'nonces', 'source', 'one_seed'];
  const failed = checks.some(({ ok }) => !ok);
  return {
    checks, round: { rules, inputs, outcome, trace, hash: await serverHash(rules.profile, seed) },
    causes: failed ? await explainRound(typed) : [], published: hash === '' ? [] : [hash],
    limits: rules.profile === 'v1' ? [...limits, 'v1'] : limits,
  };
}

/** Refuses what cannot be computed with; the refusal carries what would have been right. */
async function checkInputs(typed) {
  try {
    insist(isServerSeed(typed.seed), 'server_seed', 'server_seed');
    insist(isClientSeed(typed.clientSeed), 'client_seed', 'client_seed');
    insist(isDecimal(typed.nonce), 'type.decimal', 'nonce');
  } catch (error) {
    const nothing = typed.hash === '' && typed.shown === null;
    error.causes = nothing ? [] : await explainRound(typed);
    throw error;
  }
}

/** `accepts` names other hashes of the seed that were published beside the profile's own. */
async function comparedHash(rules, seed, hash, accepts) {
  const computed = await serverHash(rules.profile, seed);
  for (const name of accepts) {
    const other = await serverHash(name, seed);
    if (hash === other) return { ...compared('server_hash', hash, other), note: name };
  }
  return compared('server_hash', hash, computed);
}

export function comparedOutcome(rules, shown, outcome) {
  if (shown.words !== undefined) {
    return comparedLists('outcome', shown.words, shown.of(rules, outcome));
  }
  const same = outcomeText(rules, shown.outcome) === outcomeText(rules, outcome)
    && sameMembers(shown.outcome, outcome);
  // What agrees is shown by itself, as people look at it.
  const [wanted, found] = same ? ['', ''] : [cut(shown.outcome), cut(outcome)];
  return { id: 'outcome', ok: same, shown: wanted, computed: found };
}

/** An outcome for a look at it; it is compared whole. */
function cut(outcome) {
  const text = JSON.stringify(outcome);
  return text.length > 400 ? `${text.slice(0, 400)} …` : text;
}

const sameMembers = (a, b) => Object.keys(a).sort().join() === Object.keys(b).sort().join();

const VERIFIERS = {
  'draw/v1': verifyDraw,
  'match/v1': verifyMatch,
  'raffle/v1': verifyRaffle,
  'round/v1': verifyRoundFile,
  'hand/v1': verifyHand,
  'log/v1': verifyLog,
};

/** A typed round: the same, from a form. Verdict `computed` where nothing was there to compare. */
export async function verifyTyped(round) {
  const report = await verifyRound(round);
  return { ...report, kind: 'round/v1', verdict: verdictOf(report) };
}
