// Every STEP-th single-bit change of files:  node tamper.mjs STEP KEYS FILE...
//
// KEYS is a JSON list of the keys that the verifier trusts. Prints, as JSON, for each file how many
// changes were tried and which were taken. The files as they are must be taken.

import { readFileSync } from 'node:fs';

import { isTaken } from './verify.mjs';

const [step, keys, ...files] = process.argv.slice(2);
const trusted = JSON.parse(keys);
const found = files.map((path) => {
  const bytes = readFileSync(path);
  if (!isTaken(bytes, trusted)) throw new Error(`${path} is not taken as it is`);
  const accepted = [];
  let tried = 0;
  for (let bit = 0; bit < 8 * bytes.length; bit += Number(step)) {
    bytes[bit >> 3] ^= 1 << (bit & 7);
    if (isTaken(bytes, trusted)) accepted.push(bit);
    bytes[bit >> 3] ^= 1 << (bit & 7);
    tried += 1;
  }
  return { tried, accepted };
});
console.log(JSON.stringify(found));
