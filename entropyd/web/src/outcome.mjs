// What was drawn, as people look at it.

import { el, folded, paged } from './dom.mjs';
import { facts, says } from './steps.mjs';
import { t } from './texts.mjs';

/** A draw's result: numbers, dice, or the labels of what came. */
export function drawOutcome({ rules, result, labels }) {
  if (rules.kind === 'raffle') return raffleOutcome(rules, result, labels);
  const text = (value) => (labels === null ? value : labels[Number(value)]);
  return longList('ol', result.map(text), 'values');
}

function longList(name, values, kind) {
  const list = el(name, { class: kind });
  return paged(list, values.length, (i) => el('li', {}, values[i]), says);
}

function raffleOutcome({ winners }, result, entries) {
  const names = result.map((number) => entries[Number(number)]);
  const [won, others] = [names.slice(0, winners), names.slice(winners)];
  const list = (key, texts) => [el('h5', {}, t(key)), ...longList('ol', texts, 'names')];
  return [
    ...list('outcome.winners', won),
    ...(others.length === 0 ? [] : list('outcome.alternates', others)),
  ];
}

export function roundOutcome({ rules, outcome }) {
  switch (rules.game) {
    case 'roulette': return [facts([[t('outcome.pocket'), plain(pocketText(outcome.pocket))]])];
    case 'mines': return minesOutcome(outcome.mines);
    case 'dice_poker': return [hands(outcome, ['bot', 'player'])];
    case 'blackjack': return [
      hands(outcome, ['player', 'dealer']),
      folded(t('outcome.shoe'), () => longList('ol', outcome.shoe, 'values')),
    ];
    default: return outcome.grids === undefined ? reels(outcome) : cascades(outcome);
  }
}

const pocketText = (pocket) => (pocket === 37 ? '37 = 00' : pocket);

const plain = (text) => el('span', { class: 'big' }, String(text));

const hands = (outcome, owners) =>
  facts(owners.map((owner) => [t(`outcome.${owner}`), plain(outcome[owner].join('  '))]));

function minesOutcome(mines) {
  const cell = (tile) => {
    const mined = mines.includes(tile);
    const text = mined ? `${tile + 1} ${t('outcome.mine')}` : `${tile + 1}`;
    return el('td', { class: mined ? 'mine' : null }, text);
  };
  return [
    facts([[t('outcome.mines'), plain(mines.join(' '))]]),
    grid(t('outcome.board'), 20, 5, cell),
  ];
}

function grid(caption, cells, columns, cell) {
  const row = (first) =>
    el('tr', {}, Array.from({ length: columns }, (_, column) => cell(first + column)));
  const rows = Array.from({ length: cells / columns }, (_, i) => row(columns * i));
  return el('table', { class: 'grid' }, el('caption', {}, caption), el('tbody', {}, rows));
}

function reels({ stops, symbols }) {
  return [
    grid(t('outcome'), symbols.length, 3, (i) => el('td', {}, symbols[i])),
    facts([[t('outcome.stops'), stops.join(' ')]]),
  ];
}

function cascades({ grids, wins }) {
  const list = el('div');
  const one = (i) => {
    const won = wins[i].map(([symbol, count]) => `${symbol} × ${count}`).join(', ');
    const caption = t('outcome.grid', { number: i + 1 });
    const paying = new Set(wins[i].map(([symbol]) => symbol));
    return grid(won === '' ? caption : `${caption}: ${t('outcome.wins', { wins: won })}`, 15, 5,
      (cell) => el('td', { class: paying.has(grids[i][cell]) ? 'pays' : null }, grids[i][cell]));
  };
  return paged(list, grids.length, one, { ...says, step: 10 });
}
