// Runs the JavaScript player for the tests, as player_driver.py does: one JSON object a line in,
// one out.
//
// What the player wants saved is kept in a file under `secrets`, as a program around it would.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { unhex } from '../../examples/player/js/bytes.mjs';
import { DoNotAct, Player } from '../../examples/player/js/player.mjs';

let player = null;
let file = null;

async function sit({ table, key_seed: seed, now_ms: nowMs, secrets }) {
  file = `${secrets}/saved.json`;
  const saved = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
  const keySeed = seed === '' ? null : unhex(seed);
  player = await Player.sit(table, { keySeed, saved, nowMs: () => nowMs });
  return {};
}

async function take({ message }) {
  try {
    const answer = await player.take(message);
    if (player.saved === null) rmSync(file, { force: true });
    else writeFileSync(file, JSON.stringify(player.saved));
    return { answer };
  } catch (error) {
    if (!(error instanceof DoNotAct)) throw error;
    return { refused: [error.step, error.check], text: error.message };
  }
}

const look = () => ({ cards: player.cards, file: player.handFile });

const orders = { sit, take, look };
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await orders[order.do](order))}\n`);
}
