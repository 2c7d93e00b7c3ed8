// Hands dealt card by card: section 21 of docs/protocol.md, and the check of a hand file (21.9),
// written from the document alone, as entropyd.mjs is. Refused names the part where the check ends.

import {
  cardLeaf, cat, cutOf, deckRootByCard, handX, hmacSha512, idBytes, insist, leafHash, lp, merklePath,
  merkleRoot, openHash, parseHandRules, salt, seatsRoot, seedCommitment, segmentsOf, sha256, shoe, shuffle,
  shuffleBounds, u32,
} from './entropyd.mjs';
import { at, checkForm } from './files.mjs';
import {
  dealsRoot, openCheckpoint, openNote, parseKey, readNote, readReceipt, readSeatNote, receiptLeaf,
  verifyInclusion,
} from './log.mjs';

const hex = (text) => Buffer.from(text, 'hex');

// ---- 21.2, 21.7 ----------------------------------------------------------------------------------

export const signedContribution = (hash) => cat(lp('entropyd/contribution-signature/v1'), lp(hash));

export const childSalt = (parentK, parentX, hand) =>
  hmacSha512(parentK, lp('entropyd/child-salt/v1'), lp(parentX), lp(idBytes(hand, 'hand'))).subarray(0, 32);

export const childDigest = (parentO, places, childsSalt) =>
  sha256(lp('entropyd/child/v1'), lp(parentO), lp(cat(...places.map((p) => u32(p)))), lp(childsSalt));

/** The committed order; of a child hand its parent's discards in the order drawn. */
export function itemsOf({ n, sampler }, x, seeds, discards) {
  const order = shuffle(n, sampler, x, seeds).result;
  return discards === undefined ? order : order.map((i) => discards[i]);
}

// ---- 21.9 ----------------------------------------------------------------------------------------

const STEPS = ['open', 'roll', 'seal', 'close', 'void'];
const REASONS = [
  'other-hand', 'unknown-seat', 'window-over', 'already-spoken', 'wrong-form', 'copied', 'bad-signature',
  'not-in-roll',
];

/** Takes a hand file or throws Refused; returns the steps and witnesses that it saw. */
export function checkHandFile(file, trusted = [], witnesses = []) {
  checkForm(file, 'hand/v1');
  const hand = new HandFile(file, trusted, witnesses);
  hand.check();
  return { steps: Object.keys(hand.steps), seenBy: hand.seenBy };
}

class HandFile {
  seenBy = [];

  constructor(file, trusted, witnesses) {
    this.file = file;
    this.witnesses = witnesses.map(parseKey);
    insist(file.keys.length <= 16, 'keys', 'are more than 16');
    insist((file.notes ?? []).length <= 1024, 'notes', 'are more than 1024');
    const named = file.keys.map(parseKey);
    insist(!named.includes(null), 'keys', 'has what is no key');
    this.keys = trusted.length > 0 ? trusted.map(parseKey) : named;
  }

  check() {
    this.rules();
    this.seats();
    this.open();
    this.later();
    this.leafHashes();
    this.leaves();
    this.end();
    this.recipients();
    this.cards();
    this.parent();
    this.reveal();
    this.notes();
    this.inclusion();
  }

  keysOf(name) {
    return this.keys.filter((key) => key.name === name && key.type === 1);
  }

  rules() {
    const encoded = Buffer.from(this.file.rules);
    this.parsed = at('rules', () => parseHandRules(encoded));
    this.lines = this.parsed.lines;
    insist(!this.parsed.wholeDeck, 'rules', 'no card is proved alone');
    this.n = this.parsed.n;
    this.mode = this.lines.get('contributions');
    this.plan = this.lines.get('plan')?.split(',') ?? [];
    const removed = this.lines.get('removed')?.split(',').map(Number) ?? [];
    this.itemSpace = shoe(this.lines.get('deck'), Number(this.lines.get('decks')), removed).n;
  }

  seats() {
    const names = this.file.seats.map(({ seat }) => seat);
    const ascend = names.every((name, i) => i === 0 || names[i - 1] < name);
    insist(ascend && names.length <= 64, 'seats', 'are not each once in byte order, at most 64');
    insist(names.length === 0 || this.mode !== 'none', 'seats', 'nobody contributes');
    this.seatNames = names;
    const keys = this.file.seats.map(({ seat, key }) => [seat, hex(key)]);
    this.A = at('seats', () => seatsRoot(Object.fromEntries(keys)));
  }

  receipt(name) {
    return at(`receipts.${name}`, () => {
      const note = Buffer.from(this.file.receipts[name]);
      const says = readReceipt(readNote(note).text);
      openNote(note, this.keysOf(`${says.log}/receipts`));
      insist(says.event === name, 'event', 'is another');
      return says;
    });
  }

  open() {
    const opened = this.receipt('open');
    const must = (condition, part = 'receipts.open') => insist(condition, part, 'does not follow');
    const { tenant, table, hand, rules } = this.file;
    must(opened.tenant === tenant && opened.table === table && opened.hand === hand);
    must(opened.rules === sha256(Buffer.from(rules)).toString('hex'), 'rules');
    must(opened.n === String(this.n));
    must(opened.A === this.A.toString('hex'), 'seats');
    this.X = handX(tenant, table, hand, Buffer.from(rules));
    [this.C, this.D] = [hex(opened.C), hex(opened.D)];
    this.O = openHash(this.X, BigInt(opened.sequence), this.n, this.C, this.D, this.A);
    must(opened.O === this.O.toString('hex'));
    must('deadline' in opened === (this.mode !== 'none'));
    for (const name of ['parent', 'replaces']) must(opened[name] === this.lines.get(name));
    this.steps = { open: opened };
  }

  later() {
    for (const name of STEPS.slice(1).filter((step) => step in this.file.receipts)) {
      const must = (condition) => insist(condition, `receipts.${name}`, 'does not follow');
      const says = this.receipt(name);
      for (const line of ['log', 'tenant', 'table', 'hand', 'sequence', 'O']) {
        must(says[line] === this.steps.open[line]);
      }
      const before = Object.values(this.steps).map(({ index }) => BigInt(index));
      must(before.every((index) => index < BigInt(says.index)));
      this.follows(name, says, must);
      this.steps[name] = says;
    }
  }

  follows(name, says, must) {
    const { roll, seal, close } = this.steps;
    const m = Number(says.contributions ?? 0);
    must(m <= this.seatNames.length);
    if (name === 'roll') must(this.mode === 'sealed' && m > 0);
    if (name === 'seal') {
      must(this.mode !== 'none' || m === 0);
      must((roll !== undefined) === (this.mode === 'sealed' && m !== 0));
      must(roll === undefined || (roll.contributions === says.contributions && roll.R === says.R));
    }
    if (name === 'close') must(seal !== undefined && !('delivery' in says));
    if (name === 'void') must(close === undefined);
  }

  leafHashes() {
    this.hashes = this.file.leaves.map((leaf) => leafHash(hex(leaf)).toString('hex'));
    const shown = this.file.leaf_hashes;
    if (shown === undefined) return;
    const roll = this.steps.seal ?? this.steps.roll;
    const must = (condition) => insist(condition, 'leaf_hashes', 'are not those of the roll');
    must(roll !== undefined && roll.contributions === String(shown.length));
    must(shown.every((hash, i) => i === 0 || shown[i - 1] < hash));
    must(rootOfHashes(shown.map(hex)).toString('hex') === roll.R);
    this.hashes = shown;
  }

  leaves() {
    const { seal } = this.steps;
    const leaves = this.file.leaves.map(hex);
    const must = (condition, part = 'leaves') => insist(condition, part, 'are not the contributions');
    must(leaves.length === Number(seal?.contributions ?? 0));
    const seats = leaves.map((leaf) => this.seatOf(leaf));
    seats.forEach((seat, i) => must(seat !== undefined && seats.indexOf(seat) === i, `leaves[${i}]`));
    const hashes = leaves.map((leaf) => leafHash(leaf).toString('hex'));
    must(hashes.every((hash, i) => i === 0 || hashes[i - 1] < hash));
    if (seal === undefined) return;
    must(merkleRoot(leaves).toString('hex') === seal.R);
    must(hashes.join() === this.hashes.join());
    this.leafOf = new Map(seats.map((seat, i) => [seat, hashes[i]]));
    this.cut = cutOf(this.n, this.parsed.sampler, this.O, leaves).cut;
  }

  seatOf(leaf) {
    return this.seatNames.find((seat) => {
      const start = cat(lp('entropyd/contribution/v1'), lp(this.O), lp(seat), u32(32));
      return leaf.length === start.length + 32 && leaf.subarray(0, -32).equals(start);
    });
  }

  end() {
    const name = 'close' in this.steps ? 'close' : 'void';
    const end = this.steps[name];
    if (end === undefined) return;
    this.dealt = Number(end.dealt);
    const possible = this.dealt <= this.n && (this.dealt === 0 || 'seal' in this.steps);
    insist(possible, `receipts.${name}`, 'deals what it has not');
    this.deals = end.deals;
  }

  recipients() {
    const { recipients } = this.file;
    if (recipients === undefined) return;
    const must = (condition) => insist(condition, 'recipients', 'are not those of the deal');
    recipients.forEach((to) => at('recipients', () => idBytes(to, 'recipient')));
    must(recipients.length <= this.n && (recipients.length === 0 || 'seal' in this.steps));
    must(this.plan.slice(0, recipients.length).every((to, p) => to === recipients[p]));
    if (this.dealt === undefined) return;
    must(recipients.length === this.dealt);
    must(dealsRoot(this.O, recipients).toString('hex') === this.deals);
  }

  cards() {
    let before = -1;
    const items = new Set();
    this.file.cards.forEach((card, number) => {
      const part = `cards[${number}]`;
      const must = (condition) => insist(condition, part, 'is not the card of this place');
      const { place, leaf_index: i, item } = card;
      must(this.cut !== undefined && place > before && place < this.n);
      must(this.cut[place] === i && item < this.itemSpace);
      const leaf = cat(lp('entropyd/card/v1'), lp(this.X), u32(i), u32(item), hex(card.salt));
      const path = card.path.map(hex);
      at(part, () => verifyInclusion(leafHash(leaf), BigInt(i), BigInt(this.n), path, this.D));
      must(!items.has(item));
      must(this.mayHave(card));
      before = place;
      items.add(item);
    });
  }

  /** Whether a card's recipient is one that it may have. */
  mayHave({ place, recipient }) {
    const { recipients } = this.file;
    if (recipient !== '' && !/^[!-~]{1,128}$/.test(recipient)) return false;
    if (recipients !== undefined && recipient !== (recipients[place] ?? '')) return false;
    if (recipient !== '' && place < this.plan.length && recipient !== this.plan[place]) return false;
    if (this.dealt !== undefined && (recipient !== '') !== place < this.dealt) return false;
    return (recipient !== '' && recipient !== 'burn') || 'close' in this.steps;
  }

  parent() {
    const { parent } = this.file;
    if (parent === undefined) return;
    const { O, places } = parent;
    const must = (condition) => insist(condition, 'parent', 'is not that of the rules');
    must(this.lines.get('cards') === String(places.length));
    must(places.every((place, i) => i === 0 || places[i - 1] < place));
    const digest = at('parent', () => childDigest(hex(O), places, hex(parent.salt)));
    must(digest.toString('hex') === this.lines.get('parent'));
  }

  reveal() {
    const { reveal } = this.file;
    if (reveal === undefined) return;
    const must = (condition) => insist(condition, 'reveal', 'does not give this hand');
    must(this.lines.get('reveal') === 'after_close' && 'close' in this.steps);
    const seeds = reveal.seeds.map(hex);
    must(seeds.length === segmentsOf(shuffleBounds(this.n)).length);
    must(seedCommitment(this.X, seeds, hex(reveal.blinding)).equals(this.C));
    const { discards } = reveal;
    must(this.lines.has('parent') === (discards !== undefined));
    must(discards === undefined || new Set(discards).size === this.n);
    must(discards === undefined || discards.length === this.n);
    must((discards ?? []).every((item) => item < this.itemSpace));
    const items = itemsOf(this.parsed, this.X, seeds, discards);
    must(deckRootByCard(hex(reveal.salt_key), this.X, items).equals(this.D));
  }

  notes() {
    (this.file.notes ?? []).forEach((note, number) => {
      const part = `notes[${number}]`;
      const must = (condition) => insist(condition, part, 'does not fit the hand');
      const says = at(part, () => readSeatNote(readNote(Buffer.from(note)).text));
      at(part, () => openNote(Buffer.from(note), this.keysOf(`${says.log}/receipts`)));
      must(says.log === this.steps.open.log && says.O === this.steps.open.O);
      if (says.outcome === 'refused') {
        must(REASONS.includes(says.reason));
        return;
      }
      must(this.seatNames.includes(says.seat));
      const known = 'seal' in this.steps || ('roll' in this.steps && 'leaf_hashes' in this.file);
      must(!known || this.hashes.includes(says.leaf));
      must(!('seal' in this.steps) || this.leafOf.get(says.seat) === says.leaf);
    });
  }

  inclusion() {
    const { checkpoint, inclusion = {} } = this.file;
    let tree;
    if (checkpoint !== undefined) {
      const keys = this.keysOf(this.steps.open.log);
      tree = at('checkpoint', () => openCheckpoint(Buffer.from(checkpoint), keys, this.witnesses));
      this.seenBy = tree.seenBy;
    }
    for (const [name, { index, path }] of Object.entries(inclusion)) {
      const part = `inclusion.${name}`;
      insist(tree !== undefined && name in this.steps, part, 'of what is not there');
      insist(this.steps[name].index === String(index), part, 'is of another index');
      const leaf = receiptLeaf(readNote(Buffer.from(this.file.receipts[name])).text);
      at(part, () => verifyInclusion(leafHash(leaf), BigInt(index), tree.size, path.map(hex), tree.root));
    }
  }
}

/** The RFC 6962 root of leaves of which the hashes are known. */
function rootOfHashes(hashes) {
  if (hashes.length < 2) return hashes[0] ?? sha256();
  let k = 1;
  while (2 * k < hashes.length) k *= 2;
  return sha256(Buffer.of(1), rootOfHashes(hashes.slice(0, k)), rootOfHashes(hashes.slice(k)));
}

/** Leaf i of a committed deck with its proof, as a card of a file has it. */
export function cardProof({ k, X, items }, i) {
  const leaves = items.map((item, j) => cardLeaf(k, X, j, item));
  return { leaf_index: i, item: items[i], salt: salt(k, X, i), path: merklePath(i, leaves) };
}
