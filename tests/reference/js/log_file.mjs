// The log file: section 20.7 of docs/protocol.md, written from the document alone.

import { insist, leafHash } from './entropyd.mjs';
import { at, checkForm } from './files.mjs';
import {
  grownRoot, openCheckpoint, openNote, parseKey, readCheckpoint, readNote, readReceipt, receiptLeaf,
  verifyConsistency,
} from './log.mjs';

const hexes = (texts) => texts.map((text) => Buffer.from(text, 'hex'));

/** Takes a log file or throws Refused; returns how many entries and which witnesses it saw. */
export function checkLogFile(file, trusted = [], witnesses = []) {
  checkForm(file, 'log/v1');
  const first = BigInt(file.first);
  const keys = new LogKeys(file.origin, file.keys, trusted);
  const none = file.entries.length === 0;
  insist(!none || (first === 0n && file.frontier.length === 0), 'frontier', 'of nothing');
  const story = new Story(first === 0n);
  const leaves = file.entries.map((entry, i) => {
    const part = `entries[${i}]`;
    const { says, text } = at(part, () => readEntry(Buffer.from(entry), first + BigInt(i), keys));
    story.goesOn(says, (condition) => insist(condition, part, 'does not follow'));
    return leafHash(receiptLeaf(text));
  });
  const root = rootOf(first, hexes(file.frontier), leaves);
  const seenBy = checkTree(file, first + BigInt(leaves.length), root, keys, witnesses.map(parseKey));
  return { entries: leaves.length, seenBy };
}

class LogKeys {
  constructor(origin, named, trusted) {
    this.origin = origin;
    this.receipts = `${origin}/receipts`;
    insist(named.length <= 16, 'keys', 'are more than 16');
    const parsed = named.map(parseKey);
    insist(!parsed.includes(null), 'keys', 'has what is no key');
    this.eras = new Map();
    for (const name of [origin, this.receipts]) {
      const isOf = (key) => key.name === name && key.type === 1;
      const own = parsed.filter(isOf);
      insist(own.length === 1, 'keys', `has not one key ${name}`);
      const given = trusted.map(parseKey).filter(isOf);
      const used = given.length === 1 ? given : given.filter((key) => key.text === own[0].text);
      insist(trusted.length === 0 || used.length === 1, 'keys', 'were not given');
      this.eras.set(name, [[-1n, trusted.length === 0 ? own[0] : used[0]]]);
    }
  }

  inForce(name, index) {
    return this.eras.get(name).filter(([entry]) => entry <= index).at(-1)[1];
  }

  last(name) {
    return this.eras.get(name).at(-1)[1];
  }
}

function readEntry(entry, index, keys) {
  const signed = entry.includes('\n\n');
  const text = signed ? readNote(entry).text : entry;
  const says = readReceipt(text);
  insist(says.log === keys.origin && says.index === String(index), 'entry', 'is another');
  const signers = [keys.inForce(keys.receipts, index - 1n)];
  if (says.event === 'key') {
    const key = parseKey(says.key);
    const present = keys.last(key.name);
    insist((says.previous ?? says.key) === present.text, 'entry', 'is of a key that is not in force');
    if (says.previous !== undefined) {
      insist(signed, 'entry', 'changes a key and is not signed');
      if (key.name === keys.receipts) signers.push(key);
      keys.eras.get(key.name).push([index, key]);
    }
  }
  if (signed) {
    const known = new Map(keys.eras.get(keys.receipts).map(([, key]) => [key.text, key]));
    const by = openNote(entry, [...known.values()]).signers.map((key) => key.text);
    insist(signers.every((key) => by.includes(key.text)), 'entry', 'is not signed by who must');
  }
  return { says, text };
}

const ORDER = ['open', 'roll', 'seal', 'close', 'void'];

/** What entries tell, one after the other. */
class Story {
  #tables = new Map();
  #sequences = new Map();
  #hands = new Map();
  #draws = new Map();
  #raffles = new Map();

  constructor(fromBeginning) {
    this.fromBeginning = fromBeginning;
  }

  goesOn(says, must) {
    if (says.event === 'table') {
      const table = `${says.tenant} ${says.table}`;
      must(!this.#tables.has(table) && !this.#sequences.has(table));
      const before = says.settings.find((setting) => setting.startsWith('hands_before '));
      this.#tables.set(table, before === undefined ? 0n : BigInt(before.split(' ')[1]));
    } else if (says.event === 'draw' && 'match' in says) {
      const match = `${says.tenant} ${says.match}`;
      this.#counts(this.#draws, match, says.number, this.fromBeginning ? 0n : undefined, must);
    } else if ('raffle' in says) {
      this.#raffle(says, `${says.tenant} ${says.raffle}`, must);
    } else if ('hand' in says) {
      this.#hand(says, `${says.tenant} ${says.hand}`, must);
    }
  }

  #raffle(says, raffle, must) {
    const { seal, draw } = this.#raffles.get(raffle) ?? {};
    must(draw === undefined && (says.event === 'draw' || seal === undefined));
    if (seal !== undefined) must(seal.rules === says.rules && seal.entries === says.entries);
    this.#raffles.set(raffle, { seal, [says.event]: says });
  }

  #counts(numbers, name, number, start, must) {
    const before = numbers.get(name) ?? start;
    must(before === undefined || BigInt(number) === before + 1n);
    numbers.set(name, BigInt(number));
  }

  #hand(says, hand, must) {
    const steps = this.#hands.get(hand);
    if (says.event === 'open' || 'delivery' in says) {
      const table = `${says.tenant} ${says.table}`;
      must(steps === undefined && (!this.fromBeginning || this.#tables.has(table)));
      this.#counts(this.#sequences, table, says.sequence, this.#tables.get(table), must);
      this.#hands.set(hand, [says]);
    } else if (steps === undefined) {
      must(!this.fromBeginning || (says.event === 'void' && !('O' in says)));
      this.#hands.set(hand, [says]);
    } else {
      this.#step(says, steps, must);
      steps.push(says);
    }
  }

  #step(says, steps, must) {
    const last = steps.at(-1);
    must('O' in says);
    for (const line of ['table', 'sequence', 'O']) must(steps[0][line] === says[line]);
    must(ORDER.indexOf(says.event) > ORDER.indexOf(last.event));
    must(last.event !== 'close' && last.event !== 'void');
    must(says.event !== 'close' || last.event === 'seal');
    if (says.event === 'seal' && last.event === 'roll') {
      must(last.contributions === says.contributions && last.R === says.R);
    }
  }
}

function rootOf(first, hashes, leaves) {
  const sizes = [];
  for (let size = 2n ** 62n; size > 0n; size /= 2n) if ((first & size) !== 0n) sizes.push(size);
  insist(hashes.length === sizes.length, 'frontier', 'has another number of hashes');
  if (leaves.length === 0) return null;
  return grownRoot(sizes.map((size, i) => [size, hashes[i]]), leaves);
}

function openTree(note, keys, witnesses) {
  const { size } = readCheckpoint(readNote(note).text);
  const says = openCheckpoint(note, [keys.inForce(keys.origin, size - 1n)], witnesses);
  insist(says.origin === keys.origin, 'checkpoint', 'is of another log');
  return says;
}

function checkTree({ checkpoint, consistency, older }, end, root, keys, witnesses) {
  const tree = at('checkpoint', () => openTree(Buffer.from(checkpoint), keys, witnesses));
  insist(tree.size >= end, 'checkpoint', 'is of a tree before the range ends');
  if (root === null) insist(consistency.length === 0, 'consistency', 'of nothing');
  else at('consistency', () => verifyConsistency(end, tree.size, root, tree.root, hexes(consistency)));
  if (older !== undefined) {
    const before = at('older', () => openTree(Buffer.from(older.checkpoint), keys, []));
    const proof = hexes(older.consistency);
    at('older', () => verifyConsistency(before.size, tree.size, before.root, tree.root, proof));
  }
  return tree.seenBy;
}
