// Trees of RFC 6962: roots, paths up to them, and that one tree goes on from another. Section 20.4.

import { hex } from './bytes.mjs';
import { sha256 } from './crypto.mjs';

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

export const leafHash = (leaf) => sha256(LEAF, leaf);
const nodeHash = (left, right) => sha256(NODE, left, right);

const same = (a, b) => hex(a) === hex(b);

/** The root of perfect subtrees, [size, root] each, the largest first, and leaves behind them. */
export async function grownRoot(subtrees, hashes) {
  const row = [...subtrees];
  for (const hash of hashes) {
    row.push([1n, hash]);
    while (row.length > 1 && row.at(-1)[0] === row.at(-2)[0]) {
      const [[size, left], [, right]] = row.splice(-2);
      row.push([2n * size, await nodeHash(left, right)]);
    }
  }
  let [, root] = row.pop();
  while (row.length > 0) root = await nodeHash(row.pop()[1], root);
  return root;
}

/** The root of leaves with these hashes; that of none is SHA-256 of nothing. */
export const rootOfHashes = (hashes) => (hashes.length === 0 ? sha256() : grownRoot([], hashes));

/** For every hash of a proof whether it stands on the left; null if there are too many or few. */
function sides(place, last, count) {
  const left = [];
  let [f, l] = [place, last];
  for (let i = 0; i < count; i += 1) {
    if (l === 0n) return null;
    const onLeft = (f & 1n) === 1n || f === l;
    while (onLeft && (f & 1n) === 0n && f > 0n) [f, l] = [f >> 1n, l >> 1n];
    [f, l] = [f >> 1n, l >> 1n];
    left.push(onLeft);
  }
  return l === 0n ? left : null;
}

/**
 * Every node from a leaf up to the root: { beside, onLeft, hash }. Null for a path of another
 * length than that of leaf `index` of `size`, which are BigInts.
 */
export async function climb(leaf, index, size, path) {
  const left = index < size ? sides(index, size - 1n, path.length) : null;
  if (left === null) return null;
  const nodes = [];
  let hash = leaf;
  for (const [i, beside] of path.entries()) {
    hash = await (left[i] ? nodeHash(beside, hash) : nodeHash(hash, beside));
    nodes.push({ beside, onLeft: left[i], hash });
  }
  return nodes;
}

/** Whether a leaf is in the tree with this root. */
export async function isIncluded(leaf, index, size, path, root) {
  const nodes = await climb(leaf, index, size, path);
  return nodes !== null && same(nodes.at(-1)?.hash ?? leaf, root);
}

/** Whether the tree of size s goes on from that of size o. */
export async function isConsistent(o, s, oldRoot, root, proof) {
  if (o < 1n || o > s) return false;
  if (o === s) return proof.length === 0 && same(oldRoot, root);
  const [first, ...hashes] = (o & (o - 1n)) === 0n ? [oldRoot, ...proof] : proof;
  if (first === undefined) return false;
  let [f, l] = [o - 1n, s - 1n];
  while ((f & 1n) === 1n) [f, l] = [f >> 1n, l >> 1n];
  const left = sides(f, l, hashes.length);
  if (left === null) return false;
  let [a, b] = [first, first];
  for (const [i, beside] of hashes.entries()) {
    if (left[i]) a = await nodeHash(beside, a);
    b = await (left[i] ? nodeHash(beside, b) : nodeHash(b, beside));
  }
  return same(a, oldRoot) && same(b, root);
}
