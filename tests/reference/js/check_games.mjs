// games.json: from the name of a list to the check of one of its vectors.

import { agree, agreeOnNames, agreeOnResults, hex, refusedField } from './agree.mjs';
import { ascii, sha256 } from './entropyd.mjs';
import * as games from './games.mjs';

function checkData(vector) {
  const bytes = ascii(vector.text);
  games.knowData(bytes);
  return agreeOnResults(vector, ['name', 'text'], { sha256: sha256(bytes) });
}

function checkHashes(vector) {
  const seed = hex(vector.server_seed);
  const { v1, v2 } = games.serverHash;
  return agreeOnResults(vector, ['server_seed'], {
    v1: v1(seed), v2: v2(seed), of_bytes: sha256(seed),
  });
}

const roundOf = (vector) => ({
  rules: ascii(vector.rules),
  seed: hex(vector.server_seed),
  clientSeed: vector.client_seed,
  nonce: games.nonceOf(vector.nonce),
});

function checkBlocks(vector) {
  const round = roundOf(vector);
  const { profile } = games.parseRoundRules(round.rules);
  const block = games.roundBlock[profile];
  const bound = { ...round, rulesHash: sha256(round.rules) };
  const found = (c) => block(bound, Number(c)).toString('hex');
  const blocks = Object.keys(vector.blocks).map((c) => [c, found(c)]);
  const names = ['rules', 'server_seed', 'client_seed', 'nonce'];
  return agreeOnResults(vector, names, { blocks: Object.fromEntries(blocks) });
}

function checkRound(vector) {
  agreeOnNames(vector, ['label', 'covers', 'file', 'taken']);
  const { hash, outcome, taken } = games.playRound(roundOf(vector.file));
  agree('taken', vector.taken, taken);
  const names = ['entropyd', 'rules', 'server_seed', 'client_seed', 'nonce'];
  return 1 + agreeOnResults(vector.file, names, { server_hash: hash, outcome });
}

/** Rounds whose words are given. All of them are taken. */
function checkWords(vector) {
  const given = vector.runs.flatMap(([word, count]) => Array(count).fill(word));
  const words = new games.Words(given.values());
  const parsed = games.parseRoundRules(ascii(vector.rules));
  let outcome = null;
  const field = refusedField(() => {
    outcome = games.outcomeOf(parsed, words);
  });
  agree('void', vector.outcome === null, field === 'tries');
  agree('taken', given.length, words.taken);
  return agreeOnResults(vector, ['label', 'covers', 'rules', 'runs'], { outcome });
}

function checkRefused(vector) {
  const field = refusedField(() => {
    games.parseRoundRules(ascii(vector.rules));
    games.clientSeedBytes(vector.client_seed);
    games.nonceOf(vector.nonce);
  });
  return agreeOnResults(vector, ['rules', 'client_seed', 'nonce'], { field });
}

/** `data` comes first: the others know the files that it holds. */
export const GAME_LISTS = {
  data: checkData,
  hashes: checkHashes,
  blocks: checkBlocks,
  rounds: checkRound,
  words: checkWords,
  refused: checkRefused,
};
