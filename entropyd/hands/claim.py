"""What a caller must hold to read a hand again.

The ledger keeps a digest, so that reading it does not let anybody ask for the
cards of a hand in another's name.

Spec: docs/protocol.md, "Claims".
"""

from hashlib import sha256
from hmac import digest

from entropyd.encoding import check_id, lp, u32
from entropyd.errors import RequestError

CLAIM_BYTES = 16
# Security strength 256, like everything that cards rest on.
MIN_CLAIM_KEY_BYTES = 32

CLAIM_LABEL = lp(b"entropyd/claim/v1")
CLAIM_KEY_LABEL = lp(b"entropyd/claim-key/v1")


def claim_digest(binding: bytes, claim: bytes) -> bytes:
    """Return the 32 bytes that the ledger keeps instead of a claim.

    Args:
        binding: X of the hand.
        claim: as received.

    Raises:
        RequestError: the claim is not 16 bytes; names `claim`.
    """
    if len(claim) != CLAIM_BYTES:
        raise RequestError(
            "claim",
            f"has {len(claim)} bytes; expected {CLAIM_BYTES}, random and stored before the call,"
            " or derived from a claim key",
        )
    return sha256(CLAIM_LABEL + lp(binding) + lp(claim)).digest()


def derive_claim(claim_key: bytes, table: str, hand: str, place: int = 0) -> bytes:
    """Return the claim for a call, so that the caller has to store only its key.

    Args:
        claim_key: the caller's own secret, 32 bytes or more, other than the
            credential it calls with: who steals that one cannot read hands again.
        table: id of the table.
        hand: id of the hand.
        place: first place that the call deals, 0 to 2**32 - 1; 0 for a `Shuffle`.

    Raises:
        RequestError: the key is short, an id has a length or a character that
            ids do not have, or the place is outside its range; names
            `claim_key`, `key.table`, `key.hand` or `place`.
    """
    if len(claim_key) < MIN_CLAIM_KEY_BYTES:
        raise RequestError(
            "claim_key",
            f"has {len(claim_key)} bytes; expected {MIN_CLAIM_KEY_BYTES} or more from the"
            " operating system's generator, kept apart from the credential",
        )
    if not 0 <= place < 1 << 32:
        raise RequestError("place", f"is {place}; expected 0 to 2^32 - 1, 0 for a Shuffle")
    ids = lp(check_id("key.table", table)) + lp(check_id("key.hand", hand))
    return digest(claim_key, CLAIM_KEY_LABEL + ids + u32(place), "sha256")[:CLAIM_BYTES]
