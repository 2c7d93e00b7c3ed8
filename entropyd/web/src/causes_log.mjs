// Why a signature or a range of a log may not hold: what is usual, and what the file itself shows.

const SIGNATURES = {
  false_signature: 'text_changed',
  signed_twice: 'text_changed',
  false_witness: 'witness_false',
};

/** The causes of a note that its keys did not sign, from the lines that stand under it. */
export function signatureCauses({ why }, signatures, keys) {
  if (why in SIGNATURES) return [{ code: SIGNATURES[why] }];
  if (why !== 'unknown_signer') return why === 'other_log' ? [{ code: 'key_of_other_log' }] : [];
  if (keys.length === 0) return [{ code: 'no_keys' }];
  const named = keys.filter((key) => signatures.some(({ name }) => name === key.name));
  if (named.some(({ type }) => type === 1)) return [{ code: 'key_changed' }];
  return [{ code: named.length > 0 ? 'key_of_witness' : 'key_of_other_log' }];
}

const OF_STORY = ['number_gap', 'hand_unopened', 'hand_before_table', 'close_unsealed'];

export async function explainLog({ file, present }, failed) {
  const { id, why } = failed;
  if (why === 'key_not_given') return [{ code: 'log_key_not_given' }];
  if (why in SIGNATURES) return [{ code: SIGNATURES[why] }];
  if (why === 'unknown_signer' || why === 'signer_missing') return [{ code: 'log_signer' }];
  if (why === 'not_next' && present.log === file.origin) {
    const expected = file.first + BigInt(/\[(\d+)\]/.exec(failed.field)[1]);
    const names = { found: present.index, expected: String(expected) };
    return [{ code: BigInt(present.index) > expected ? 'entry_missing' : 'entry_order', ...names }];
  }
  if (why === 'not_next' || why === 'other_log') return [{ code: 'entry_other_log' }];
  if (OF_STORY.includes(why)) return [{ code: 'entry_left_out' }];
  if (id === 'consistency' || id === 'older') return [{ code: 'forked' }];
  return [];
}
