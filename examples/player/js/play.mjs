// A seat as a process of its own:  node play.mjs CONFIG.json
//
// Reads the poker server's messages from standard input, one JSON object a line, and answers each
// with a line: {"answer": ...}, or {"refused": ...} and exit code 1. CONFIG.json is described in
// ../README.md; where it is wrong the exit code is 2. In a browser the same Player stands behind a web socket, `saved` in IndexedDB.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { unhex } from './bytes.mjs';
import { DoNotAct, Player } from './player.mjs';

const [, , configFile = 'CONFIG.json'] = process.argv;
const { config, secret, player } = await sit().catch((error) => {
  console.error(`${configFile}: ${error.name}: ${error.message}`);
  process.exit(2);
});
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function sit() {
  const config = JSON.parse(readFileSync(configFile, 'utf8'));
  const secret = join(config.secrets, 'saved.json');
  const saved = existsSync(secret) ? JSON.parse(readFileSync(secret, 'utf8')) : null;
  const keySeed = config.key_seed === '' ? null : unhex(config.key_seed);
  return { config, secret, player: await Player.sit(config.table, { keySeed, saved }) };
}

/** What a line says; null, which no step takes, where it is no JSON. */
function messageOf(line) {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** What must outlive this process, on disk before an answer leaves it. */
function keep() {
  if (player.saved === null) rmSync(secret, { force: true });
  else writeFileSync(secret, JSON.stringify(player.saved), { mode: 0o600, flush: true });
  writeFileSync(config.hand_file, `${JSON.stringify(player.handFile, null, 1)}\n`);
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    const answer = await player.take(messageOf(line));
    keep();
    say({ answer, cards: player.cards });
  } catch (error) {
    if (!(error instanceof DoNotAct)) throw error;
    say({ refused: error.message, step: error.step, check: error.check });
    process.exitCode = 1;
    break;
  }
}
