// node deal.mjs --target unix:/run/entropyd/poker.sock --claim-key claim.key TABLE HAND...
//
// Deals each hand and prints it as a line of JSON; ask again for the same hand and see the same deck.
// The claim key is a file of 32 random bytes that you make once and keep:
//
//     (umask 077; head -c 32 /dev/urandom > claim.key)

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Dealer } from "./entropyd.mjs";

const text = { type: "string" };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    target: { ...text, default: "unix:/run/entropyd/poker.sock" },
    "claim-key": { ...text, default: "claim.key" },
    ca: text,
    cert: text,
    key: text,
    "server-name": text,
    "token-file": text,
    "patience-ms": { ...text, default: "60000" },
  },
});
const [table, ...hands] = positionals;
const file = (name) => (values[name] ? readOrEnd(name) : undefined);

function readOrEnd(name) {
  try {
    return readFileSync(values[name]);
  } catch (error) {
    end(`--${name}: ${error.message}; the top of deal.mjs says how a claim key is made`);
  }
}

function end(text) {
  console.error(text);
  process.exit(2);
}

if (hands.length === 0) end("expected TABLE and at least one HAND; the top of deal.mjs has the rest");

const dealer = new Dealer(values.target, {
  claimKey: file("claim-key"),
  token: file("token-file")?.toString().trim(),
  tls: values.ca && {
    ca: file("ca"),
    cert: file("cert"),
    key: file("key"),
    serverName: values["server-name"],
  },
});
try {
  for (const hand of hands) {
    const { shuffle, replayed } = await dealer.deal(table, hand, {
      patienceMs: Number(values["patience-ms"]),
      onHold: (reason, waitMs) => console.error(`held, again in ${waitMs} ms: ${reason}`),
    });
    console.log(JSON.stringify({ hand, replayed, cards: shuffle.text, sequence: shuffle.sequence }));
  }
} catch (error) {
  console.error(error.details === undefined ? error.message : `refused: ${error.code} ${error.details}`);
  process.exitCode = 1;
} finally {
  dealer.close();
}
