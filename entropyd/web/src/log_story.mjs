// What entries of a log tell one after the other, and whether it can have happened so. Section
// 20.7, 3. Faults are names of texts; null is none.

const STEP_ORDER = ['open', 'roll', 'seal', 'close', 'void'];

export class Story {
  #tables = new Set();
  #sequences = new Map(); // table -> number of its last hand
  #draws = new Map(); // match -> number of its last draw
  #hands = new Map(); // hand -> { first, last }: its entries

  /** `fromBeginning`: the range begins with entry 0, so that nothing came before it. */
  constructor(fromBeginning) {
    this.fromBeginning = fromBeginning;
  }

  /** The fault of the next entry. Ids have no space, so that pairs of them cannot be confused. */
  goesOn(says) {
    const { event, tenant } = says;
    if (event === 'table') return this.#table(`${tenant} ${says.table}`);
    if (event === 'draw' && 'match' in says) {
      return counts(this.#draws, `${tenant} ${says.match}`, says.number, this.fromBeginning);
    }
    return 'hand' in says ? this.#hand(says, `${tenant} ${says.hand}`) : null;
  }

  #table(table) {
    if (this.#tables.has(table) || this.#sequences.has(table)) return 'table_twice';
    this.#tables.add(table);
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
    const begun = this.#tables.has(table);
    if (this.fromBeginning && !begun) return 'hand_before_table';
    return counts(this.#sequences, table, says.sequence, this.fromBeginning || begun);
  }
}

function counts(numbers, name, text, begins) {
  const number = BigInt(text);
  const before = numbers.get(name) ?? (begins ? 0n : null);
  if (before !== null && number !== before + 1n) return 'number_gap';
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
