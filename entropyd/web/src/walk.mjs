// The checks of a file of which each stands on those before it: they are made in order, and the
// first that fails is the last.

/** A check failed; which one, the walk says. Nothing after it would mean anything. */
export class Ended extends Error {}

export class Walk {
  checks = [];
  #now = null;

  /** Begins a check: which text says it, and which part of the file it is about. */
  begin(id, field, name = '') {
    this.#now = { id, field, name };
  }

  /** Goes on to another part of the file, within the same check. */
  at(field) {
    this.#now.field = field;
  }

  get field() {
    return this.#now.field;
  }

  /** Ends the walk unless a condition holds; `why` names the text of what is wrong. */
  must(condition, why) {
    if (!condition) this.#fail({ why, shown: '', computed: '' });
  }

  /** Ends the walk unless what was shown is what was computed. */
  same(shown, computed, why = 'differs') {
    if (shown !== computed) this.#fail({ why, shown, computed });
  }

  /** Ends the check: it holds. `shown` is the value that was found right, if there is one. */
  done(shown = '') {
    this.checks.push({ ...this.#now, ok: true, shown, computed: shown });
  }

  #fail(failure) {
    this.checks.push({ ...this.#now, ok: false, ...failure });
    throw new Ended(`${this.#now.field}: ${failure.why}`);
  }
}

/** Makes checks up to the first that fails; returns that one, or null. */
export async function walked(walk, action) {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    return walk.checks.at(-1);
  }
  return null;
}
