// The page's own modules under Node, for test_core.py: a case a line in, what came of it out.
//
// A case is { "text", "kept" } for a file, { "round": fields } for a typed one. What came of it is
// { "verdict", "bad": ids of checks, "causes": codes }, or { "refused": code, "field", "causes" }.

import { createInterface } from 'node:readline';

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

const codes = (causes = []) => causes.map(({ code }) => code);

async function came({ text, kept, round, texts }) {
  if (texts) return { languages: LANGUAGES, texts: TEXTS };
  try {
    const report = await (round === undefined ? verifyText(text, kept ?? '') : typed(round));
    const parts = report.parts ?? [];
    const checks = [...report.checks, ...parts.flatMap((part) => part.checks)];
    return {
      verdict: report.verdict,
      bad: checks.filter(({ ok }) => !ok).map(({ id }) => id),
      causes: [...codes(report.causes), ...parts.flatMap((part) => codes(part.causes))],
      limits: report.limits,
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { refused: error.code, field: error.field, causes: codes(error.causes) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await came(JSON.parse(line))));
}
