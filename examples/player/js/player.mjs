// One seat's own software: what it holds of a hand, and what it checks before its player acts.
//
// A Player takes what the poker server sends, in order, and stops at the first thing that does not
// hold: to what it has not checked it gives no answer. One player a hand. It needs WebCrypto with
// Ed25519 and nothing else: Node 20, Chromium 137, Firefox 129, Safari 17. The messages are
// described in ../README.md; the checks are those of docs/protocol.md, section 21.8.

import {
  Failed, cat, compare, cutOf, equal, hex, leafHash, listed, lp, need, rootOf, rootOfHashes,
  rootOfPath, sha256, signingKey, text, u32, u64, unhex,
} from './bytes.mjs';
import { cardText, parseKey, parseRules, receiptOf, seatNoteOf } from './receipts.mjs';

const VALUE_BYTES = 32;
// A daemon gives seats ten minutes at most; who gives more holds up the table.
const MAX_WINDOW_MS = 10 * 60 * 1000;
const MOST_SEATS = 64;

/** A check failed. The player must not act on this hand, nor contribute to it. */
export class DoNotAct extends Error {
  /** @param step the message that was looked at  @param check which check failed */
  constructor(step, check, why) {
    super(`${step}: ${check}: ${why}. Do not act on this hand; keep its messages as evidence.`);
    this.step = step;
    this.check = check;
  }
}

/** What one seat runs during one hand. */
export class Player {
  messages = []; // all it was sent: evidence
  #table;
  #rules;
  #binding;
  #key;
  #own;
  #saved;
  #nowMs;
  #at = '';
  #answers = new Map();
  #refused = null;
  #receipts = new Map();
  #seats = [];
  #leaf = null;
  #leaves = [];
  #cut = null;
  #cards = new Map();
  #file = {};

  /**
   * @param table {receipt_key, tenant, table, seat, rules, previous}: what is known beforehand, and
   *   not from the poker server; previous is the sequence of the table's hand before, null for none
   * @param keySeed 32 secret bytes of the seat's own Ed25519 key; null for a seat without one
   * @param saved what `saved` was before a restart; null for none
   */
  static async sit(table, { keySeed = null, saved = null, nowMs = Date.now } = {}) {
    const own = keySeed === null ? null : await signingKey(keySeed);
    const key = await parseKey(table.receipt_key);
    return new Player(table, parseRules(table.rules), key, own, saved, nowMs);
  }

  /** Use `Player.sit`. */
  constructor(table, rules, key, own, saved, nowMs) {
    this.#table = table;
    this.#rules = rules;
    this.#key = key;
    this.#own = own;
    this.#saved = saved;
    this.#nowMs = nowMs;
  }

  /** The secret of this hand, {O, value}: save it before an answer leaves, keep it to its end. */
  get saved() {
    return this.#saved;
  }

  /** Place -> card, of all cards that were checked. */
  get cards() {
    const { cards } = this.#rules;
    const shown = [...this.#cards.values()];
    return Object.fromEntries(shown.map((c) => [c.place, cardText(cards[c.item % cards.length])]));
  }

  /** What is held, from the open on, as a file that `entropyctl verify` takes. */
  get handFile() {
    const cards = [...this.#cards.values()].sort((a, b) => a.place - b.place);
    return { ...this.#file, leaves: this.#leaves.map(hex), cards };
  }

  /**
   * Check what the poker server sent, and return what it gets for it, null for nothing. The same
   * message again gets the same answer. Await one before the next.
   */
  async take(message) {
    this.messages.push(message);
    if (this.#refused !== null) throw this.#refused;
    const step = String(message?.type);
    const written = JSON.stringify(message);
    if (this.#answers.get(step)?.written === written) return this.#answers.get(step).answer;
    try {
      const answer = (await this.#stepOf(step).call(this, message)) ?? null;
      this.#answers.set(step, { written, answer });
      return answer;
    } catch (error) {
      const check = error instanceof Failed ? error.check : 'form';
      this.#refused = new DoNotAct(step, check, error.message);
      throw this.#refused;
    }
  }

  // ---- The order of steps ----------------------------------------------------------------------

  #stepOf(step) {
    const mode = this.#rules.contributions;
    const following = {
      '': ['open'],
      open: [mode === 'none' ? 'seal' : 'accepted', 'end'],
      accepted: [mode === 'sealed' ? 'roll' : 'seal', 'end'],
      roll: ['seal', 'end'],
      seal: ['cards', 'shown', 'end'],
      end: ['shown'],
    }[this.#at];
    need(following.includes(step), 'order', `after '${this.#at}' expected ${following}`);
    return {
      open: this.#open,
      accepted: this.#accepted,
      roll: this.#roll,
      seal: this.#seal,
      cards: this.#dealt,
      shown: this.#shown,
      end: this.#end,
    }[step];
  }

  // ---- The steps -------------------------------------------------------------------------------

  async #open(message) {
    const { tenant, table, rules, previous = null } = this.#table;
    const receipt = await receiptOf(message.receipt, this.#key, 'open');
    const which = { tenant, table, hand: message.hand };
    for (const [name, id] of Object.entries(which)) {
      need(receipt.get(name) === id, 'hand', `of another ${name}`);
    }
    const rulesHash = await sha256(text(rules));
    need(message.rules === rules, 'rules', 'not those that are played here');
    need(receipt.get('rules') === hex(rulesHash), 'rules', 'the receipt has others');
    for (const name of ['parent', 'replaces']) {
      need(receipt.get(name) === this.#rules[name], 'rules', `of another ${name}`);
    }
    need(receipt.get('n') === `${this.#rules.n}`, 'n', 'does not follow from the rules');
    this.#seats = await seatsOf(listed(message, 'seats'), receipt);
    const X = cat(lp('entropyd/hand/v1'), lp(tenant), lp(table), lp(message.hand), lp(rulesHash));
    this.#binding = X;
    await checkOpenHash(receipt, X, this.#rules.n);
    const follows = previous === null || receipt.get('sequence') === `${BigInt(previous) + 1n}`;
    need(follows, 'sequence', 'a hand before it is missing');
    this.#keep('open', message.receipt, receipt);
    const { seats } = message;
    const keys = [this.#table.receipt_key];
    Object.assign(this.#file, { entropyd: 'hand/v1', ...which, rules, seats, keys });
    return this.#contribution(receipt);
  }

  async #accepted(message) {
    const note = await seatNoteOf(message.note, this.#key);
    const opened = this.#receipts.get('open');
    const ofHand = note.get('log') === opened.get('log') && note.get('O') === opened.get('O');
    need(ofHand, 'hand', 'of another hand');
    need(note.get('seat') === this.#table.seat, 'seat', 'for another seat');
    const leaf = hex(await leafHash(this.#leaf));
    need(note.get('leaf') === leaf, 'leaf', 'of another contribution');
    need(note.get('outcome') === 'accepted', 'outcome', `refused, ${note.get('reason')}`);
    this.#file.notes = [message.note];
    this.#at = 'accepted';
  }

  async #roll(message) {
    const receipt = await this.#later(message, 'roll');
    const hashes = listed(message, 'leaf_hashes').map(unhex);
    const m = hashes.length;
    need(receipt.get('contributions') === `${m}`, 'm', 'not as many as the leaf hashes');
    need(m <= this.#seats.length, 'm', 'more than seats');
    const ascending = hashes.every((h, i) => i === 0 || compare(hashes[i - 1], h) < 0);
    need(ascending, 'R', 'the leaf hashes are not ascending');
    need(receipt.get('R') === hex(await rootOfHashes(hashes)), 'R', 'another root');
    const own = await leafHash(this.#leaf);
    need(hashes.some((hash) => equal(hash, own)), 'own leaf', 'is not in the roll');
    this.#checkDeadline(receipt);
    this.#keep('roll', message.receipt, receipt);
    this.#file.leaf_hashes = message.leaf_hashes;
    return this.#answer('value', { value: this.#saved.value });
  }

  async #seal(message) {
    const receipt = await this.#later(message, 'seal');
    const leaves = listed(message, 'leaves').map(unhex);
    await checkLeaves(receipt, leaves, this.#seats);
    const hasOwn = this.#leaf === null || leaves.some((leaf) => equal(leaf, this.#leaf));
    need(hasOwn, 'own leaf', 'is not among the leaves');
    const rolled = this.#receipts.get('roll') ?? receipt;
    need(rolled.get('R') === receipt.get('R'), 'roll', 'the seal has another R');
    this.#leaves = leaves;
    const [O, R] = [unhex(receipt.get('O')), unhex(receipt.get('R'))];
    this.#cut = await cutOf(O, this.#rules.n, leaves, R, this.#rules.sampler);
    this.#keep('seal', message.receipt, receipt);
  }

  async #dealt(message) {
    const others = this.#seats.map(({ seat }) => seat).filter((seat) => seat !== this.#table.seat);
    for (const { recipient } of listed(message, 'cards')) {
      const ours = ![...others, '', 'burn'].includes(recipient);
      need(ours, 'recipient', `a card of '${recipient}', not ours`);
    }
    await this.#shown(message);
  }

  async #shown(message) {
    const places = listed(message, 'cards').map(({ place }) => place);
    need(new Set(places).size === places.length, 'twice', 'a place stands there twice');
    for (const card of listed(message, 'cards')) {
      await this.#checkCard(card);
      const known = this.#cards.get(card.place) ?? card;
      const same = ['recipient', 'leaf_index', 'item', 'salt'].every((n) => known[n] === card[n]);
      need(same, 'twice', `place ${card.place} was dealt otherwise before`);
      const others = [...this.#cards.values()].filter(({ place }) => place !== card.place);
      const other = others.find(({ item }) => item === card.item);
      need(other === undefined, 'item', `places ${other?.place} and ${card.place} have one card`);
      this.#cards.set(card.place, card);
    }
    if (this.#at === 'end') this.#checkOwn(this.#file.recipients);
  }

  async #end(message) {
    const ends = this.#cut === null ? ['void'] : ['void', 'close'];
    const receipt = await this.#later(message, ...ends);
    const recipients = listed(message, 'recipients');
    need(recipients.length === 0 || this.#cut !== null, 'dealt', 'cards, before the cut was fixed');
    const dealt = receipt.get('dealt') === `${recipients.length}`;
    need(dealt, 'dealt', 'not as many as the recipients');
    need(recipients.every(isId), 'form', 'a recipient is no id');
    const O = unhex(receipt.get('O'));
    const leaves = recipients.map((to, p) => cat(lp('entropyd/deal/v1'), lp(O), u32(p), lp(to)));
    const root = hex(await rootOf(leaves));
    need(receipt.get('deals') === root, 'deals', 'the recipients have another root');
    const planned = this.#rules.plan.slice(0, recipients.length);
    planned.forEach((to, p) => need(recipients[p] === to, 'plan', `place ${p} goes to '${to}'`));
    this.#checkOwn(recipients);
    this.#file.recipients = recipients;
    this.#keep(receipt.get('event'), message.receipt, receipt);
    this.#at = 'end';
    this.#saved = null;
  }

  async #later(message, ...events) {
    const receipt = await receiptOf(message.receipt, this.#key, ...events);
    for (const name of ['tenant', 'table', 'hand', 'sequence', 'O']) {
      const same = receipt.get(name) === this.#receipts.get('open').get(name);
      need(same, 'hand', `of another ${name}`);
    }
    const last = [...this.#receipts.values()].at(-1);
    const above = BigInt(receipt.get('index')) > BigInt(last.get('index'));
    need(above, 'index', 'is not above that of the step before');
    return receipt;
  }

  #keep(name, note, receipt) {
    this.#receipts.set(name, receipt);
    this.#file.receipts = { ...this.#file.receipts, [name]: note };
    this.#at = name;
  }

  // ---- Contributing ----------------------------------------------------------------------------

  /** What the seat contributes; null where the rules let nobody. */
  async #contribution(receipt) {
    const { contributions: mode } = this.#rules;
    if (mode === 'none') {
      need(this.#seats.length === 0, 'A', 'seats, though nobody contributes');
      need(!receipt.has('deadline'), 'deadline', 'one, though nobody contributes');
      return null;
    }
    const { seat } = this.#table;
    const key = this.#own === null ? '' : hex(this.#own.publicKey);
    const among = this.#seats.some((one) => one.seat === seat && one.key === key);
    need(among, 'seat', 'our own, with our key, is not among the seats');
    this.#checkDeadline(receipt);
    const value = this.#keptValue(receipt.get('O'));
    this.#leaf = contributionLeaf(unhex(receipt.get('O')), seat, value);
    const hash = await leafHash(this.#leaf);
    const signed = cat(lp('entropyd/contribution-signature/v1'), lp(hash));
    const signature = this.#own === null ? '' : hex(await this.#own.sign(signed));
    const told = mode === 'sealed' ? { leaf_hash: hex(hash) } : { value: hex(value) };
    return this.#answer('contribution', { ...told, signature });
  }

  /** The value of this hand, the same after a restart. */
  #keptValue(O) {
    if (this.#saved?.O !== O) {
      const value = globalThis.crypto.getRandomValues(new Uint8Array(VALUE_BYTES));
      this.#saved = { O, value: hex(value) };
    }
    const value = unhex(this.#saved.value);
    need(value.length === VALUE_BYTES, 'secret', 'what was saved is no value');
    return value;
  }

  #answer(type, more) {
    return { type, O: this.#receipts.get('open').get('O'), seat: this.#table.seat, ...more };
  }

  // ---- The checks ------------------------------------------------------------------------------

  #checkDeadline(receipt) {
    need(receipt.has('deadline'), 'deadline', 'there is none');
    const left = Date.parse(receipt.get('deadline')) - this.#nowMs();
    const inTime = left > 0 && left <= MAX_WINDOW_MS;
    need(inTime, 'deadline', `in ${left} ms; expected 1 to ${MAX_WINDOW_MS}`);
  }

  async #checkCard({ place, leaf_index: i, item, salt, path }) {
    need([place, i, item].every(Number.isInteger), 'form', 'a number is no integer');
    const { n, items } = this.#rules;
    const isCut = place >= 0 && place < n && this.#cut[place] === i;
    need(isCut, 'cut', `leaf ${i} is not the one that the cut brings to place ${place}`);
    need(unhex(salt).length === 32, 'path', 'the salt has another length');
    const leaf = cat(lp('entropyd/card/v1'), lp(this.#binding), u32(i), u32(item), unhex(salt));
    const root = await rootOfPath(await leafHash(leaf), i, n, path.map(unhex));
    const leads = root !== null && hex(root) === this.#receipts.get('open').get('D');
    need(leads, 'path', `place ${place} does not lead to D`);
    need(item < items, 'item', `${item} is none of the ${items} of the deck`);
  }

  /** Every card went to whom it was said to go, and every card of ours came. */
  #checkOwn(recipients) {
    for (const { place, recipient } of this.#cards.values()) {
      const to = recipients[place] ?? '';
      need(recipient === to, 'recipients', `place ${place} is now said to be '${to}'s`);
    }
    const missing = recipients.flatMap((to, p) =>
      (to === this.#table.seat && !this.#cards.has(p) ? [p] : []));
    const came = missing.length === 0;
    need(came, 'recipients', `places ${missing} are said to be ours; they never came`);
  }
}

const isId = (id) => /^[\x21-\x7e]{1,128}$/.test(id);

function contributionLeaf(O, seat, value) {
  return cat(lp('entropyd/contribution/v1'), lp(O), lp(seat), lp(value));
}

/** The seats that may contribute, if A follows from them. */
async function seatsOf(told, receipt) {
  need(told.length <= MOST_SEATS, 'A', 'more than 64 seats');
  const ids = told.map(({ seat }) => seat);
  need(ids.every(isId), 'form', 'a seat is no id');
  need(ids.every((id, i) => i === 0 || ids[i - 1] < id), 'A', 'the seats are not in byte order');
  const leaves = told.map(({ seat, key }) => {
    const bytes = unhex(key);
    need([0, 32].includes(bytes.length), 'A', 'a key has another length');
    return cat(lp('entropyd/seat/v1'), lp(seat), lp(bytes));
  });
  need(receipt.get('A') === hex(await rootOf(leaves)), 'A', 'does not follow from the seats');
  return told;
}

/** O names what the receipt says, this hand and these rules. */
async function checkOpenHash(receipt, X, n) {
  const roots = ['C', 'D', 'A'].map((name) => lp(unhex(receipt.get(name))));
  const numbers = cat(u64(receipt.get('sequence')), u32(n));
  const O = await sha256(lp('entropyd/open/v1'), lp(X), numbers, ...roots);
  need(receipt.get('O') === hex(O), 'O', 'does not follow from X, q, n, C, D and A');
}

/** The receipt seals exactly these leaves, each of this hand and of another of its seats. */
async function checkLeaves(receipt, leaves, seats) {
  need(receipt.get('contributions') === `${leaves.length}`, 'm', 'not as many as the leaves');
  const left = seats.map(({ seat }) => seat);
  const O = unhex(receipt.get('O'));
  for (const leaf of leaves) {
    const value = leaf.slice(-VALUE_BYTES);
    const at = left.findIndex((seat) => equal(contributionLeaf(O, seat, value), leaf));
    need(at >= 0, 'leaves', 'one is of no seat of this hand, or of one that has another');
    left.splice(at, 1);
  }
  const hashes = await Promise.all(leaves.map(leafHash));
  const ascending = hashes.every((h, i) => i === 0 || compare(hashes[i - 1], h) < 0);
  need(ascending, 'leaves', 'not in sorted order');
  need(receipt.get('R') === hex(await rootOfHashes(hashes)), 'R', 'another root');
}
