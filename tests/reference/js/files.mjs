// Files of section 22 of docs/protocol.md: their form, before anything is computed.

import { Refused, insist } from './entropyd.mjs';

/** Refuses at a part of a file what `action` refuses. */
export function at(part, action) {
  try {
    return action();
  } catch (error) {
    if (error instanceof Refused) throw new Refused(part, error.message);
    throw error;
  }
}

const isText = (value) => typeof value === 'string' && value.isWellFormed();
export const isNumber = (value) => Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);
// A group of two digits, repeated millions of times, overflows the stack.
const isHex = (value) => isText(value) && /^[0-9a-f]*$/.test(value) && value.length % 2 === 0;
export const bytes = (length) => (value) =>
  isHex(value) && (length === undefined || value.length === 2 * length);
export const list = (of) => (value) => Array.isArray(value) && value.every((one) => of(one));

/** An object of exactly these members; a name that ends in `?` need not be there. */
export const object = (members) => (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const names = new Map(Object.keys(members).map((name) => [name.replace('?', ''), name]));
  return (
    Object.keys(value).every((name) => names.has(name) && members[names.get(name)](value[name])) &&
    [...names].every(([plain, name]) => name.endsWith('?') || Object.hasOwn(value, plain))
  );
};

const isHash = bytes(32);
const card = object({
  place: isNumber, recipient: isText, leaf_index: isNumber, item: isNumber, salt: isHash, path: list(isHash),
});
const included = object({ index: isNumber, path: list(isHash) });
const steps = (of) => ({ 'roll?': of, 'seal?': of, 'close?': of, 'void?': of });

const FORMS = {
  'hand/v1': {
    tenant: isText, table: isText, hand: isText, rules: isText, keys: list(isText),
    seats: list(object({ seat: isText, key: (value) => value === '' || isHash(value) })),
    receipts: object({ open: isText, ...steps(isText) }),
    leaves: list(bytes()), cards: list(card),
    'leaf_hashes?': list(isHash), 'recipients?': list(isText), 'notes?': list(isText),
    'reveal?': object({
      seeds: list(bytes(64)), blinding: isHash, salt_key: isHash, 'discards?': list(isNumber),
    }),
    'parent?': object({ O: isHash, places: list(isNumber), salt: isHash }),
    'checkpoint?': isText,
    'inclusion?': object({ 'open?': included, ...steps(included) }),
  },
  'log/v1': {
    origin: isText, keys: list(isText), first: (value) => isText(value) && /^(0|[1-9][0-9]{0,18})$/.test(value),
    entries: list(isText), frontier: list(isHash), checkpoint: isText, consistency: list(isHash),
    'older?': object({ checkpoint: isText, consistency: list(isHash) }),
  },
};

/** Refuses a file that is not of the form of its kind. */
export function checkForm(file, kind) {
  insist(file?.entropyd === kind, 'file', `is no ${kind}`);
  insist(object({ entropyd: isText, ...FORMS[kind] })(file), 'file', `has another form than ${kind}`);
}
