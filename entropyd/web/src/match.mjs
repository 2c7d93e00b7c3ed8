// A whole match: every draw of it, their numbers, and what each bag held. Section 16.5 and 16.8.

import { compared } from './draw.mjs';

/** What the draws of a match are to each other; `draws` are as `readDraw` returns them. */
export function checkSeries(draws) {
  const ids = new Set(draws.map(({ draw }) => draw));
  const numbers = draws.map(({ number }) => number);
  return [
    compared('numbers', numbers.join(' '), draws.map((_, i) => i + 1).join(' ')),
    compared('ids', String(draws.length), String(ids.size)),
    ...checkBags(draws),
  ];
}

/** For each bag whether every draw found in it what those before had left or returned. */
function checkBags(draws) {
  const bags = new Map(); // id -> { tiles, first, left, wrong }
  for (const { number, rules, result } of draws) {
    if (rules.bag === undefined) continue;
    const { id, tiles, counts } = rules.bag;
    const bag = bags.get(id) ?? { tiles, first: counts, left: counts, wrong: null };
    bags.set(id, bag);
    const possible = tiles === bag.tiles && counts.length === bag.first.length
      && counts.every((held, kind) => held >= bag.left[kind] && held <= bag.first[kind]);
    if (!possible) bag.wrong ??= number;
    bag.left = [...counts];
    for (const kind of result) bag.left[Number(kind)] -= 1;
  }
  return [...bags].map(([id, { wrong }]) => ({
    id: 'bag', name: id, ok: wrong === null, shown: '', computed: '', at: wrong,
  }));
}
