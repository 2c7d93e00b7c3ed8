// What entries of a log tell one after the other, and whether it can have happened so. Section
// 20.7, 3. Faults are names of texts; null is none.

import { handsBefore } from './receipt.mjs';

const STEP_ORDER = ['open', 'roll', 'seal', 'close', 'void'];

export class Story {
  #tables = new Map(); // table -> how many hands it says that it had before this log
  #sequences = new Map(); // table -> number of its last hand
  #draws = new Map(); // match -> number of its last draw
  #hands = new Map(); // hand -> { first, last }: its entries
  #raffles = new Map(); // raffle -> { seal, draw }: its entries

  /** `fromBeginning`: the range begins with entry 0, so that nothing came before it. */
  constructor(fromBeginning) {
    this.fromBeginning = fromBeginning;
  }

  /** The fault of the next entry. Ids have no space, so that pairs of them cannot be confused. */
  goesOn(says, lines) {
    const { event, tenant } = says;
    if (event === 'table') return this.#table(`${tenant} ${says.table}`, handsBefore(lines));
    if (event === 'draw' && 'match' in says) {
      const start = this.fromBeginning ? 0n : undefined;
      return counts(this.#draws, `${tenant} ${says.match}`, says.number, start);
    }
    if ('raffle' in says) return this.#raffle(says, `${tenant} ${says.raffle}`);
    return 'hand' in says ? this.#hand(says, `${tenant} ${says.hand}`) : null;
  }

  /** How many raffles were drawn whose seal was not seen. */
  get unsealed() {
    return [...this.#raffles.values()].filter(({ seal }) => seal === undefined).length;
  }

  /** How many hands all tables say that they had before this log. */
  get handsBefore() {
    return [...this.#tables.values()].reduce((sum, hands) => sum + hands, 0n);
  }

  #table(table, hands) {
    if (this.#tables.has(table) || this.#sequences.has(table)) return 'table_twice';
    this.#tables.set(table, hands);
    return null;
  }

  #raffle(says, raffle) {
    const { seal, draw } = this.#raffles.get(raffle) ?? {};
    if (draw !== undefined || (says.event === 'seal' && seal !== undefined)) return 'raffle_twice';
    const same = seal === undefined || (seal.rules === says.rules && seal.entries === says.entries);
    if (!same) return 'raffle_differs';
    this.#raffles.set(raffle, { seal, [says.event]: says });
    return null;
  }

  #hand(says, hand) {
    const known = this.#hands.get(hand);
    const fault = this.#handFault(says, known);
    if (fault === null) this.#hands.set(hand, { first: known?.first ?? says, last: says });
    return fault;
  }

  #handFault(says, known) {
    if (says.event === 'open' || 'delivery' in says) {
      return known === undefined ? this.#opens(says) : 'hand_twice';
    }
    if (known !== undefined) return stepFault(says, known);
    const unopened = says.event === 'void' && !('O' in says);
    return unopened || !this.fromBeginning ? null : 'hand_unopened';
  }

  #opens(says) {
    const table = `${says.tenant} ${says.table}`;
    if (this.fromBeginning && !this.#tables.has(table)) return 'hand_before_table';
    return counts(this.#sequences, table, says.sequence, this.#tables.get(table));
  }
}

/** Takes the next number, the first one after `start`; undefined: that one may be any. */
function counts(numbers, name, text, start) {
  const number = BigInt(text);
  const before = numbers.get(name) ?? start;
  if (before !== undefined && number !== before + 1n) return 'number_gap';
  numbers.set(name, number);
  return null;
}

function stepFault(says, { first, last }) {
  if (!('O' in says)) return 'void_twice';
  if (['table', 'sequence', 'O'].some((name) => says[name] !== first[name])) return 'other_hand';
  if (last.event === 'close' || last.event === 'void') return 'after_end';
  if (STEP_ORDER.indexOf(says.event) <= STEP_ORDER.indexOf(last.event)) return 'step_order';
  if (says.event === 'close' && last.event !== 'seal') return 'close_unsealed';
  const sealsRoll = says.event === 'seal' && last.event === 'roll';
  const same = says.contributions === last.contributions && says.R === last.R;
  return sealsRoll && !same ? 'seal_roll_differs' : null;
}
