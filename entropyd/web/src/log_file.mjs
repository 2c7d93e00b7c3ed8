// A range of a log: its entries in order, under a checkpoint, and that the log only grew.
// Section 20.7.

import { hex } from './bytes.mjs';
import { explainLog } from './causes_log.mjs';
import { Story } from './log_story.mjs';
import { grownRoot, isConsistent, leafHash } from './merkle.mjs';
import {
  KeyRing, located, openCheckpoint, parseKey, readCheckpoint, readNamedKeys, readNote, signersOf,
  signsTexts,
} from './note.mjs';
import { readReceipt, receiptLeaf } from './receipt.mjs';
import { insist } from './refusal.mjs';
import { Walk, walked } from './walk.mjs';

const MOST_SIZE_OF_LOG = 2n ** 63n - 1n;
// What a browser reads in some ten seconds.
const MOST_LOG_ENTRIES = 100_000;

export async function verifyLog(fields, { given }) {
  const file = await readLogFile(fields);
  const ring = new KeyRing(file.keys, given);
  const log = { file, ring, entries: [], handsBefore: 0n, unsealed: 0, root: null, tree: null, older: null };
  const walk = new Walk();
  const failed = await walked(walk, () => checkLog(log, walk));
  return {
    checks: walk.checks, log, stopped: failed !== null, trusted: ring.trusted,
    causes: failed === null ? [] : await explainLog(log, failed),
    published: publishedOfLog(log), limits: limitsOfLog(log, failed !== null),
  };
}

async function readLogFile(fields) {
  const file = {
    origin: fields.id('origin'),
    keys: await readNamedKeys(fields),
    first: fields.decimal('first'),
    entries: fields.texts('entries'),
    frontier: fields.hashes('frontier'),
    checkpoint: fields.text('checkpoint'),
    consistency: fields.hashes('consistency'),
    older: fields.perhaps('older', null, (all, name) => readOlder(all.object(name))),
  };
  fields.finish();
  file.end = file.first + BigInt(file.entries.length);
  insist(file.end <= MOST_SIZE_OF_LOG, 'type.decimal', 'first');
  insist(file.entries.length <= MOST_LOG_ENTRIES, 'count', 'entries', `0 … ${MOST_LOG_ENTRIES}`);
  return file;
}

function readOlder(fields) {
  const older = {
    checkpoint: fields.text('checkpoint'), consistency: fields.hashes('consistency'),
  };
  fields.finish();
  return older;
}

async function checkLog(log, walk) {
  const eras = takeKeys(log, walk);
  await checkEntriesOfLog(log, walk, eras);
  await checkRange(log, walk);
  await checkTree(log, walk, eras);
  if (log.file.older !== null) await checkOlder(log, walk, eras);
}

/** Which key is in force from which entry on, for each of the two names. */
class Eras {
  #of = new Map(); // name -> [index of the entry, key] in order

  begin(name, key) {
    this.#of.set(name, [[-1n, key]]);
  }

  /** The key that entry `index` has put in force, or one before it. */
  inForce(name, index) {
    return this.#of.get(name).findLast(([entry]) => entry <= index || entry === -1n)[1];
  }

  /** Each once, also one that came into force again after another. */
  known(name) {
    return [...new Map(this.#of.get(name).map(([, key]) => [key.text, key])).values()];
  }

  /** Puts a key in force; false where it replaces one that is not. */
  follow({ index, key, previous }, parsed) {
    const eras = this.#of.get(parsed.name);
    const [entry, last] = eras.at(-1);
    if (previous === undefined && key === last.text) return true;
    if (previous !== last.text || BigInt(index) <= entry) return false;
    eras.push([BigInt(index), parsed]);
    return true;
  }
}

function takeKeys({ file, ring }, walk) {
  walk.begin('log_keys', 'keys');
  const eras = new Eras();
  for (const name of [file.origin, `${file.origin}/receipts`]) {
    const named = file.keys.filter((key) => signsTexts(key, name));
    insist(named.length === 1, 'keys', 'keys', name);
    const given = ring.trusted ? ring.of(name) : named;
    const chosen = given.length === 1 ? given : given.filter(({ text }) => text === named[0].text);
    walk.must(chosen.length === 1, 'key_not_given');
    eras.begin(name, chosen[0]);
  }
  walk.done();
  return eras;
}

async function checkEntriesOfLog(log, walk, eras) {
  const { first, entries, frontier } = log.file;
  walk.begin('entries_of_log', 'frontier', entries.length);
  walk.must(entries.length > 0 || (first === 0n && frontier.length === 0), 'nothing');
  const story = new Story(first === 0n);
  for (const [i, entry] of entries.entries()) {
    walk.at(`entries[${i}]`);
    const { text, says, lines } = await openEntry(log, walk, eras, entry, first + BigInt(i));
    const fault = story.goesOn(says, lines);
    walk.must(fault === null, fault);
    log.entries.push({ says, lines, hash: await leafHash(receiptLeaf(text)) });
  }
  log.handsBefore = story.handsBefore;
  log.unsealed = story.unsealed;
  walk.done();
}

async function openEntry(log, walk, eras, entry, index) {
  const signed = entry.includes('\n\n');
  const { note, text, says, lines } = await located(walk.field, async () => {
    const read = signed ? readNote(entry) : { text: entry };
    return { note: read, text: read.text, ...(await readReceipt(read.text)) };
  });
  log.present = says;
  const isNext = says.log === log.file.origin && says.index === String(index);
  walk.must(!signed || says.log === log.file.origin, 'other_log');
  const key = says.event === 'key' ? await parseKey(says.key) : null;
  if (signed) await checkSigners(log, walk, eras, { note, says, key });
  walk.must(isNext, 'not_next');
  if (key !== null) {
    walk.must(signed || !('previous' in says), 'key_unsigned');
    walk.must(eras.follow(says, key), 'key_not_in_force');
  }
  return { text, says, lines };
}

/** A signed entry bears the signature of the key in force, and of the one that it puts in force. */
async function checkSigners(log, walk, eras, { note, says, key }) {
  const name = `${log.file.origin}/receipts`;
  const known = eras.known(name);
  const next = key?.name === name ? [key] : [];
  const others = next.filter(({ text }) => known.every((one) => one.text !== text));
  const { signers, fault } = await signersOf(note, [...known, ...others]);
  walk.must(fault === null, fault);
  const needed = [eras.inForce(name, BigInt(says.index) - 1n), ...('previous' in says ? next : [])];
  const all = needed.every(({ text }) => signers.some((one) => one.text === text));
  walk.must(all, 'signer_missing');
}

/** The root at the end of the range, from what came before it and its entries. */
async function checkRange(log, walk) {
  const { first, frontier } = log.file;
  walk.begin('frontier', 'frontier');
  const sizes = [];
  for (let size = 2n ** 62n; size > 0n; size >>= 1n) if ((first & size) !== 0n) sizes.push(size);
  walk.same(String(frontier.length), String(sizes.length), 'number');
  walk.done();
  if (log.entries.length === 0) return;
  const subtrees = sizes.map((size, i) => [size, frontier[i]]);
  log.root = await grownRoot(subtrees, log.entries.map(({ hash }) => hash));
}

async function openTree({ file, ring }, walk, eras, note, witnesses = ring.witnesses) {
  const tree = await located(walk.field, () => {
    const { size } = readCheckpoint(readNote(note).text);
    return openCheckpoint(note, [eras.inForce(file.origin, size - 1n)], witnesses);
  });
  walk.must(tree.fault === null, tree.fault);
  return tree;
}

async function checkTree(log, walk, eras) {
  const { end, checkpoint, consistency } = log.file;
  walk.begin('checkpoint', 'checkpoint');
  const tree = await openTree(log, walk, eras, checkpoint);
  walk.must(tree.size >= end, 'size_before_end');
  log.tree = tree;
  walk.done(hex(tree.root));
  walk.begin('consistency', 'consistency');
  if (log.root === null) walk.must(consistency.length === 0, 'nothing');
  else {
    const holds = await isConsistent(end, tree.size, log.root, tree.root, consistency);
    walk.must(holds, 'inconsistent');
  }
  walk.done(log.root === null ? '' : hex(log.root));
}

async function checkOlder(log, walk, eras) {
  const { tree, file: { older: { checkpoint, consistency } } } = log;
  walk.begin('older', 'older');
  const older = await openTree(log, walk, eras, checkpoint, []);
  const holds = await isConsistent(older.size, tree.size, older.root, tree.root, consistency);
  walk.must(holds, 'inconsistent');
  log.older = older;
  walk.done(hex(older.root));
}

const publishedOfLog = ({ tree, older, root, entries }) => [
  ...[tree?.root, older?.root, root].filter((one) => one !== null && one !== undefined),
  ...entries.map(({ hash }) => hash),
].map(hex);

function limitsOfLog({ file, ring, tree, handsBefore, unsealed }, stopped) {
  const { first, end } = file;
  if (stopped) return [...(ring.trusted ? [] : ['keys_named']), 'log_true'];
  return [
    ...(ring.trusted ? [] : ['keys_named']),
    ...(tree.seenBy.length === 0 ? ['operator_only'] : []),
    ...(first > 0n ? [{ code: 'log_before', index: String(first) }] : []),
    ...(handsBefore > 0n ? [{ code: 'hands_before', hands: String(handsBefore) }] : []),
    ...(unsealed > 0 ? [{ code: 'unsealed', raffles: unsealed }] : []),
    ...(end < tree.size ? [{ code: 'log_after', index: String(end) }] : []),
    'log_true',
  ];
}
