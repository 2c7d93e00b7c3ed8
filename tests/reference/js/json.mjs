// JSON as section 22 of docs/protocol.md takes it, written from RFC 8259 and the document alone:
// JSON.parse keeps the last of two equal names, and takes 1.0 and 1e0 for 1.

import { insist } from './entropyd.mjs';

const MOST_DEPTH = 5;
const SPACE = /[ \t\n\r]*/y;
const INTEGER = /-?(?:0|[1-9][0-9]*)(?![-+.0-9A-Za-z])/y;
const WORD = /true|false|null/y;

/** The value of a text. What is no such JSON is Refused. */
export function readJson(text) {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.need(reader.at === text.length, 'goes on after its end');
  return value;
}

class Reader {
  at = 0;

  constructor(text) {
    this.text = text;
    this.take(SPACE);
  }

  need(condition, complaint) {
    insist(condition, 'file', `${complaint}, at character ${this.at}`);
  }

  /** What a sticky pattern finds here, which is then behind. */
  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  /** Whether this character stands here; it and the white space after it are then behind. */
  goesOn(character) {
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    this.take(SPACE);
    return true;
  }

  value(depth) {
    const first = this.text[this.at];
    if (first === '{') return this.object(depth + 1);
    if (first === '[') return this.list(depth + 1);
    const value = first === '"' ? this.string() : this.number() ?? this.word();
    this.take(SPACE);
    return value;
  }

  object(depth) {
    const members = new Map();
    this.items(depth, '}', () => {
      this.need(this.text[this.at] === '"', 'has no name');
      const name = this.string();
      this.take(SPACE);
      this.need(!members.has(name), 'has a name twice');
      this.need(this.goesOn(':'), 'has a name without a value');
      members.set(name, this.value(depth));
    });
    return Object.fromEntries(members);
  }

  list(depth) {
    const values = [];
    this.items(depth, ']', () => values.push(this.value(depth)));
    return values;
  }

  items(depth, end, readOne) {
    this.need(depth <= MOST_DEPTH, 'nests deeper than any file');
    this.goesOn(this.text[this.at]);
    if (this.goesOn(end)) return;
    do readOne(); while (this.goesOn(','));
    this.need(this.goesOn(end), 'has no comma or end');
  }

  /** Cut out by hand, because a pattern of millions of characters overflows the stack. */
  string() {
    let end = this.at + 1;
    while (end < this.text.length && this.text[end] !== '"') end += this.text[end] === '\\' ? 2 : 1;
    const written = this.text.slice(this.at, end + 1);
    let value;
    try {
      value = JSON.parse(written);
    } catch {
      this.need(false, 'has a text that is none');
    }
    this.at = end + 1;
    return value;
  }

  number() {
    const written = this.take(INTEGER);
    if (written === undefined) return undefined;
    const exact = Number.isSafeInteger(Number(written)) && written !== '-0';
    this.need(exact, 'has a number that is above 2^53 - 1, or -0');
    return Number(written);
  }

  word() {
    const word = this.take(WORD);
    this.need(word !== undefined, 'has no value, or a number that is no integer');
    return { true: true, false: false, null: null }[word];
  }
}
