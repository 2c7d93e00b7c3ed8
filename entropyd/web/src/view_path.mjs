// A path from a leaf to a root, node by node, and the lines of a receipt.

import { hex } from './bytes.mjs';
import { el } from './dom.mjs';
import { code, longTable } from './steps.mjs';
import { t } from './texts.mjs';

/** A row for every node: what stands beside it, on which side, and what both hash to. */
export function pathTable(leafHashed, nodes, root) {
  const cells = (i) => {
    if (i === 0) return ['0', t('path.leaf'), code(hex(leafHashed))];
    const { beside, onLeft, hash } = nodes[i - 1];
    const side = t(onLeft ? 'path.left' : 'path.right');
    return [String(i), [`${side} `, code(hex(beside))], code(hex(hash))];
  };
  const heads = [t('path.level'), t('path.beside'), t('path.hash')];
  return [
    longTable(t('path'), heads, nodes.length + 1, cells),
    el('p', {}, t('path.ends', { name: root })),
  ];
}

/** All lines of a text; with `isCompared` also whether each agrees or is the operator's word. */
export function lineTable(caption, lines, isCompared = null) {
  const withVerdicts = isCompared !== null;
  const cells = (i) => {
    const [name, value] = lines[i];
    return [name, code(value), ...(withVerdicts ? judgedLine(isCompared(name)) : [])];
  };
  const heads = [t('line.name'), t('line.value'), ...(withVerdicts ? [t('line.judged')] : [])];
  return longTable(caption, heads, lines.length, cells, 60);
}

const judgedLine = (compared) => [[
  el('span', { 'aria-hidden': 'true' }, compared ? '✓ ' : '– '),
  el('span', { class: 'wide' }, t(compared ? 'line.compared' : 'line.word')),
]];

/** The keys that signed, and whether somebody other than the file vouches for them. */
export const signerText = (signers, trusted) =>
  t(trusted ? 'signed.given' : 'signed.named', { keys: signers.map(({ text }) => text).join(' ') });

/** A checkpoint in words: size, and who vouches for it. */
export function treeText({ size, seenBy }) {
  if (seenBy.length === 0) return t('tree.operator', { size });
  const witnesses = seenBy.map(({ witness, time }) => `${witness} (${timeText(time)})`).join(', ');
  return t('tree.witnesses', { size, witnesses });
}

const MOST_TIME = 8_640_000_000_000n; // the end of what a Date holds, in seconds

const timeText = (time) =>
  (time <= MOST_TIME ? new Date(1000 * Number(time)).toISOString() : `${time} s`);
