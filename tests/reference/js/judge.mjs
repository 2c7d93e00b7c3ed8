// Whether files are taken:  node judge.mjs KEYS FILE...   prints a JSON list of true and false.
//
// KEYS is a JSON list of the keys that the verifier trusts. An error that is no refusal ends it.

import { readFileSync } from 'node:fs';

import { isTaken } from './verify.mjs';

const [keys, ...files] = process.argv.slice(2);
console.log(JSON.stringify(files.map((file) => isTaken(readFileSync(file), JSON.parse(keys)))));
