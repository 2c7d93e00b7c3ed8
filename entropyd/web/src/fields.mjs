// The members of a parsed file, each read as what it must be, or refused with its path. Nothing is
// trimmed, folded or converted.

import { checkId, unhex } from './bytes.mjs';
import { isObject } from './json.mjs';
import { Refusal, insist } from './refusal.mjs';

const MOST_U64 = 2n ** 64n - 1n;

const isText = (value) => typeof value === 'string' && !/\p{Surrogate}/u.test(value); // half a pair
const isHex = (value, length) =>
  isText(value) && value.length === 2 * length && /^[0-9a-f]*$/.test(value);

export const isDecimal = (value) =>
  isText(value) && /^(?:0|[1-9][0-9]{0,19})$/.test(value) && BigInt(value) <= MOST_U64;

/** Hex is refused in capital letters like any other that is wrong, and its cause is named. */
function asBytes(value, length, field) {
  if (isHex(value, length)) return unhex(value);
  const refusal = new Refusal('type.hex', field, 2 * length);
  const inCapitals = isText(value) && isHex(value.toLowerCase(), length);
  if (inCapitals) refusal.causes = [{ code: 'hex_case' }];
  throw refusal;
}

/** One object of a file. Call `finish` when all of it was read. */
export class Fields {
  #object;
  #read = new Set();

  constructor(object, path = '') {
    insist(isObject(object), 'type.object', path);
    this.#object = object;
    this.path = path;
  }

  at(name) {
    return this.path === '' ? name : `${this.path}.${name}`;
  }

  has(name) {
    return Object.hasOwn(this.#object, name);
  }

  /** Refuses a member that nobody read: it would look checked without having been. */
  finish() {
    for (const name of Object.keys(this.#object)) {
      insist(this.#read.has(name), 'unknown', this.at(name.slice(0, 40)));
    }
  }

  raw(name) {
    insist(this.has(name), 'missing', this.at(name));
    this.#read.add(name);
    return this.#object[name];
  }

  text(name) {
    const value = this.raw(name);
    insist(isText(value), 'type.text', this.at(name));
    return value;
  }

  id(name) {
    return checkId(this.text(name), this.at(name));
  }

  decimal(name) {
    const value = this.raw(name);
    insist(isDecimal(value), 'type.decimal', this.at(name));
    return BigInt(value);
  }

  /** A whole number that stands as a JSON number. */
  number(name, least, most) {
    const value = this.raw(name);
    const fits = Number.isSafeInteger(value) && value >= least && value <= most;
    insist(fits, 'type.number', this.at(name), `${least} … ${most}`);
    return value;
  }

  bytes(name, length) {
    return asBytes(this.raw(name), length, this.at(name));
  }

  list(name) {
    const value = this.raw(name);
    insist(Array.isArray(value), 'type.list', this.at(name));
    return value;
  }

  seeds(name) {
    return this.hashes(name, 64);
  }

  /** A list of which each is so many bytes; a hash, unless it is said otherwise. */
  hashes(name, length = 32) {
    return this.list(name).map((value, i) => asBytes(value, length, `${this.at(name)}[${i}]`));
  }

  /** A list of byte strings of any length. */
  blobs(name) {
    return this.texts(name).map((value, i) =>
      asBytes(value, Math.ceil(value.length / 2), `${this.at(name)}[${i}]`));
  }

  /** A list of whole numbers, 0 to `most`, that stand as JSON numbers. */
  numbers(name, most) {
    return this.list(name).map((value, i) => {
      const fits = Number.isSafeInteger(value) && value >= 0 && value <= most;
      insist(fits, 'type.number', `${this.at(name)}[${i}]`, `0 … ${most}`);
      return value;
    });
  }

  /** The members of an object. */
  object(name) {
    return new Fields(this.raw(name), this.at(name));
  }

  /** Those of each object of a list. */
  objects(name) {
    return this.list(name).map((value, i) => new Fields(value, `${this.at(name)}[${i}]`));
  }

  /** What `read` makes of a member, or `none` where there is no such member. */
  perhaps(name, none, read) {
    return this.has(name) ? read(this, name) : none;
  }

  texts(name) {
    const list = this.list(name);
    list.forEach((value, i) => insist(isText(value), 'type.text', `${this.at(name)}[${i}]`));
    return list;
  }

  decimals(name) {
    const list = this.list(name);
    list.forEach((value, i) => insist(isDecimal(value), 'type.decimal', `${this.at(name)}[${i}]`));
    return list;
  }
}
