// A range of a log on the page, and a signed note by itself.

import { hex } from './bytes.mjs';
import { el, folded, paged } from './dom.mjs';
import { facts, says } from './steps.mjs';
import { t } from './texts.mjs';
import { lineTable, treeText } from './view_path.mjs';

export function logParts(log) {
  const { file, tree, older, root, entries } = log;
  const roots = [
    ...(root === null ? [] : [[t('log.root', { size: file.end }), hex(root)]]),
    ...(tree === null ? [] : [[t('tree.root'), hex(tree.root)]]),
    ...(older === null ? [] : [[t('log.older', { size: older.size }), hex(older.root)]]),
  ];
  return [
    el('h3', {}, t('log')), facts([[t('log.origin'), file.origin], ...roots]),
    ...(tree === null ? [] : [el('p', {}, treeText(tree))]), ...entryParts(entries),
  ];
}

function entryParts(entries) {
  if (entries.length === 0) return [];
  const holder = el('div');
  const one = (i) => entryPart(entries[i]);
  return [
    el('h3', {}, t('log.entries')), ...paged(holder, entries.length, one, { ...says, step: 50 }),
  ];
}

const WHAT = ['table', 'hand', 'match', 'draw', 'raffle', 'reason'];

function entryPart({ says: said, lines, hash }) {
  const ids = WHAT.filter((name) => name in said).map((name) => `${name} ${said[name]}`);
  const what = ids.join(', ');
  const title = `${said.index}: ${said.event}${what === '' ? '' : `, ${what}`}`;
  return folded(title, () => [
    facts([[t('hand.leaf_hash'), hex(hash)]]),
    lineTable(t('hand.lines', { name: said.event }), lines, (name) => ORDERED.includes(name)),
  ]);
}

// What a range of a log shows of its entries: their order, and the numbers that follow each other.
const ORDERED = ['log', 'index', 'sequence', 'number'];

export function noteParts({ kind, lines, tree }) {
  if (lines.length === 0) return [];
  return [
    el('h3', {}, t('note.lines')),
    ...(tree === null ? [] : [el('p', {}, treeText(tree))]),
    lineTable(t(`kind.${kind}`), lines),
  ];
}
