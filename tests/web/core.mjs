// The page's own modules under Node, for test_core.py: a case a line in, what came of it out.
//
// A case is { "text", "kept", "keys", "own" } for a file, { "round": fields } for a typed one. What
// came of it is { "verdict", "bad": ids of checks, "part", "causes": codes }, or { "refused": code,
// "field", "causes" }. { "call": name, "given": arguments } calls a part of a check by itself.

import { createInterface } from 'node:readline';

import { unhex, utf8 } from '../../entropyd/web/src/bytes.mjs';
import { isConsistent, isIncluded, leafHash } from '../../entropyd/web/src/merkle.mjs';
import { openCheckpoint, parseKey, readNote, signersOf } from '../../entropyd/web/src/note.mjs';
import { readReceipt, readSeatNote, receiptLeaf } from '../../entropyd/web/src/receipt.mjs';
import { outcomeWords, parseRoundRules, rulesFor } from '../../entropyd/web/src/round.mjs';
import { Refusal } from '../../entropyd/web/src/refusal.mjs';
import { LANGUAGES, TEXTS } from '../../entropyd/web/src/texts.mjs';
import { verifyText, verifyTyped } from '../../entropyd/web/src/verify.mjs';

async function typed({ game, profile, machine, mines, seed, hash, client, nonce, words }) {
  const rules = await parseRoundRules(await rulesFor({ game, profile, machine, mines }));
  const shown = words === undefined ? null : { words, of: outcomeWords };
  const accepts = profile === 'v1' ? ['bytes'] : [];
  return verifyTyped({ rules, seed, hash, clientSeed: client, nonce, shown, accepts });
}

const hexes = (texts) => texts.map(unhex);
const keysOf = (texts) => Promise.all(texts.map(parseKey));
const hexOf = (bytes) => Buffer.from(bytes).toString('hex');

const CALLS = {
  async receipt({ text }) {
    await readReceipt(text);
    return hexOf(await leafHash(receiptLeaf(text)));
  },
  seat_note: async ({ text }) => (await readSeatNote(text)).says.outcome,
  inclusion: ({ index, size, leaf_hash: leaf, path, root }) =>
    isIncluded(unhex(leaf), BigInt(index), BigInt(size), hexes(path), unhex(root)),
  consistency: ({ old, size, old_root: oldRoot, root, proof }) =>
    isConsistent(BigInt(old), BigInt(size), unhex(oldRoot), unhex(root), hexes(proof)),
  key: async ({ text }) => (await parseKey(text)) !== null,
  async note({ text, keys }) {
    const note = readNote(text);
    const { signers, fault } = await signersOf(note, await keysOf(keys));
    return fault === null ? [hexOf(utf8(note.text)), signers.map((key) => key.text)] : null;
  },
  async checkpoint({ text, keys, witnesses }) {
    const says = await openCheckpoint(text, await keysOf(keys), await keysOf(witnesses));
    if (says.fault !== null) return null;
    const seen = says.seenBy.map(({ witness, time }) => ({ witness, time: String(time) }));
    return { origin: says.origin, size: String(says.size), root: hexOf(says.root), seen_by: seen };
  },
};

const codes = (causes = []) => causes.map(({ code }) => code);

async function came({ text, kept, keys, own, round, texts, call, given }) {
  if (texts) return { languages: LANGUAGES, texts: TEXTS };
  try {
    if (call !== undefined) return { value: await CALLS[call](given) };
    const report = await (round === undefined
      ? verifyText(text, kept ?? '', { keys, own })
      : typed(round));
    const parts = report.parts ?? [];
    const checks = [...report.checks, ...parts.flatMap((part) => part.checks)];
    return {
      verdict: report.verdict,
      bad: checks.filter(({ ok }) => !ok).map(({ id }) => id),
      part: checks.find(({ ok }) => !ok)?.field ?? null,
      whys: checks.filter(({ why }) => why !== undefined).map(({ why }) => why),
      causes: [...codes(report.causes), ...parts.flatMap((part) => codes(part.causes))],
      limits: report.limits.map((limit) => limit.code ?? limit),
      trusted: report.trusted,
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, field, line, byte } = error;
    return { refused: code, field, line, byte, causes: codes(error.causes) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await came(JSON.parse(line))));
}
