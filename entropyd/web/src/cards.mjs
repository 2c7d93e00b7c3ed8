// Cards: which one an item is, and how it is written. Section 3.

import { insist } from './refusal.mjs';

const RANKS = '23456789TJQKA';
const SUITS = 'cdhs';
const JOKERS = [52, 53];
const SIX = RANKS.indexOf('6');

const upTo = (n) => Array.from({ length: n }, (_, i) => i);
const SUITED = upTo(RANKS.length * SUITS.length);
const DECKS = {
  short36: SUITED.filter((card) => card % RANKS.length >= SIX),
  standard52: SUITED,
  standard54: [...SUITED, ...JOKERS],
};

/** What the rules of a hand are over: `cards` of one copy, and `size` items in all. */
export function shoeOf(name, copies, removed) {
  insist(Object.hasOwn(DECKS, name), 'rules.value', 'deck');
  const deck = DECKS[name];
  const known = removed.every((card, i) =>
    deck.includes(card) && (i === 0 || removed[i - 1] < card));
  insist(known, 'rules.value', 'removed');
  const cards = deck.filter((card) => !removed.includes(card));
  insist(cards.length >= 2, 'rules.value', 'removed');
  return { cards, size: copies * cards.length };
}

const SIGNS = { c: '♣', d: '♦', h: '♥', s: '♠' };

/** The card of an item: { rank, suit, sign, text }; a joker has its number as rank and no suit. */
export function cardOf({ cards }, item) {
  const card = cards[item % cards.length];
  if (JOKERS.includes(card)) {
    const rank = String(JOKERS.indexOf(card) + 1);
    return { rank, suit: null, sign: '★', text: `X${rank}` };
  }
  const rank = RANKS[card % RANKS.length];
  const suit = SUITS[Math.floor(card / RANKS.length)];
  return { rank, suit, sign: SIGNS[suit], text: rank + suit };
}
