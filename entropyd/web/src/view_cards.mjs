// Cards of a hand, as people look at them and as they hear them, each with what proves it.

import { hex } from './bytes.mjs';
import { cardOf } from './cards.mjs';
import { el, folded, paged } from './dom.mjs';
import { facts, says } from './steps.mjs';
import { t } from './texts.mjs';
import { pathTable } from './view_path.mjs';

const RED = ['d', 'h'];

/** Rank and sign for those who see them, the name of the card for those who listen. */
export function cardFace(card) {
  const { rank, suit, sign } = card;
  const shown = `${rank === 'T' ? '10' : rank}${sign}`;
  const color = RED.includes(suit) ? 'face red' : 'face';
  return [
    el('span', { class: color, 'aria-hidden': 'true' }, shown),
    el('span', { class: 'spoken' }, spokenCard(card)),
  ];
}

function spokenCard({ rank, suit }) {
  if (suit === null) return t('card.joker', { rank });
  return `${t(`card.rank.${rank}`)} ${t(`card.suit.${suit}`)}`;
}

const whose = (recipient) =>
  (recipient === '' ? t('card.undealt') : t('card.to', { recipient }));

export function cardParts(hand) {
  const { cards, rules: { shoe } } = hand;
  if (cards.length === 0) return [];
  const face = (i) => {
    const { item, place, recipient } = cards[i];
    return el('li', {}, cardFace(cardOf(shoe, item)),
      el('span', { class: 'help' }, ` ${t('card.place', { place })} `),
      el('span', { class: 'help' }, whose(recipient)));
  };
  const list = el('ol', { class: 'cards' });
  return [
    el('h3', {}, t('hand.cards')), ...paged(list, cards.length, face, says),
    folded(t('card.proofs'), () => {
      const holder = el('div');
      return paged(holder, cards.length, (i) => cardProof(hand, cards[i]), { ...says, step: 20 });
    }),
  ];
}

const LEAF_FORMULA =
  'SHA-256(0x00 || LP("entropyd/card/v1") || LP(X) || u32(i) || u32(item) || salt)';

/** Place, cut, leaf, salt, and the path up to D. */
function cardProof({ rules: { shoe } }, card) {
  const { place, leafIndex, item, salt, leaf, hash, nodes, recipient } = card;
  const face = cardFace(cardOf(shoe, item));
  const copy = Math.floor(item / shoe.cards.length) + 1;
  const title = el('span', {}, `${t('card.place', { place })}: `, ...face, ` ${whose(recipient)}`);
  return folded(title, () => [
    facts([
      [t('card.cut'), `cut[${place}] = ${leafIndex}`],
      [t('card.item'), t('card.item.value', { item, copy, text: cardOf(shoe, item).text })],
      [t('card.salt'), hex(salt)],
      [t('card.leaf'), hex(leaf)],
      [`${t('card.hash')}: ${LEAF_FORMULA}`, hex(hash)],
    ]),
    ...pathTable(hash, nodes, 'D'),
  ]);
}

/** Items of a whole order, in order. */
export function orderParts({ shoe }, items) {
  const list = el('ol', { class: 'cards' });
  const face = (i) => el('li', {}, cardFace(cardOf(shoe, items[i])),
    el('span', { class: 'help' }, ` ${t('card.leaf_number', { number: i })}`));
  return paged(list, items.length, face, says);
}
