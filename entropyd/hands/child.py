"""Draw games: a hand that is dealt from another's discards.

Which places were discarded is secret, for players may not know what others threw
away; a salted hash of them binds the child to them.

Spec: docs/protocol.md, "Draw games: a hand from another's discards".
"""

from collections.abc import Sequence
from hashlib import sha256
from hmac import digest as hmac_digest

from entropyd.encoding import check_id, lp, u32

CHILD_LABEL = lp(b"entropyd/child/v1")
CHILD_SALT_LABEL = lp(b"entropyd/child-salt/v1")

SALT_BYTES = 32


def child_salt(parent_salt_key: bytes, parent_binding: bytes, hand: str) -> bytes:
    """Return the salt of a child's `parent` line, the same whenever it is asked for.

    Args:
        parent_salt_key: K of the parent, 32 bytes. Secret.
        parent_binding: X of the parent.
        hand: id of the child.
    """
    message = CHILD_SALT_LABEL + lp(parent_binding) + lp(check_id("key.hand", hand))
    return hmac_digest(parent_salt_key, message, "sha512")[:SALT_BYTES]


def child_digest(parent_open_hash: bytes, places: Sequence[int], salt: bytes) -> bytes:
    """Return what the child's rules say of its parent, 32 bytes.

    Args:
        parent_open_hash: O of the parent.
        places: discarded places of it, ascending.
        salt: 32 bytes, `child_salt`. Secret until the discards are shown.
    """
    joined = b"".join(map(u32, places))
    return sha256(CHILD_LABEL + lp(parent_open_hash) + lp(joined) + lp(salt)).digest()
