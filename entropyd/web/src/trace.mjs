// Every try of every draw, kept flat: a long draw has some 150,000 of them.

export class Trace {
  values = []; // the bits or the word taken, as a number
  draws = []; // the draw that each was for
  bounds = []; // bound of each draw
  results = []; // what was drawn, for each draw
  blocks = []; // { segment, number, bytes }: the blocks of the keystream, as they were made
  #accepted = []; // the number of the try that ended each draw
  #ended = 0; // draws that took a try at all
  #before = 0; // tries before the present draw

  begin(bound) {
    this.bounds.push(bound);
    this.#before = this.values.length;
  }

  take(value) {
    this.values.push(value);
    this.draws.push(this.bounds.length - 1);
  }

  /** Ends a draw: the last try counts, or there was none because the bound is 1. */
  end(result) {
    this.results.push(result);
    if (this.values.length > this.#before) this.#ended += 1;
    this.#accepted.push(this.values.length - 1);
  }

  accepted(i) {
    return this.#accepted[this.draws[i]] === i;
  }

  /** How many tries were rejected: those that ended no draw. */
  get rejected() {
    return this.values.length - this.#ended;
  }
}
