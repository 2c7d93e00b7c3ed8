"""Whose a match or a raffle is.

One claim for all draws of a match: whoever drew in it first shows it again.
The ledger keeps a digest, as of a hand's claim.

Spec: docs/protocol.md, "Claims of a match".
"""

from hmac import digest

from entropyd.encoding import check_id, lp
from entropyd.errors import RequestError
from entropyd.hands.claim import CLAIM_BYTES, MIN_CLAIM_KEY_BYTES, claim_digest

MATCH_LABEL = lp(b"entropyd/match/v1")
MATCH_CLAIM_LABEL = lp(b"entropyd/match-claim/v1")
RAFFLE_LABEL = lp(b"entropyd/raffle/v1")
RAFFLE_CLAIM_LABEL = lp(b"entropyd/raffle-claim/v1")


def match_claim_digest(tenant: str, match: str, claim: bytes) -> bytes:
    """Return the 32 bytes that the ledger keeps instead of the claim of a match.

    Args:
        tenant: id of the tenant.
        match: id of the match.
        claim: as received.

    Raises:
        RequestError: the claim is not 16 bytes, or an id is none; names `claim`,
            `tenant` or `key.match`.
    """
    ids = lp(check_id("tenant", tenant)) + lp(check_id("key.match", match))
    return claim_digest(MATCH_LABEL + ids, claim)


def raffle_claim_digest(tenant: str, raffle: str, claim: bytes) -> bytes:
    """Return the digest of a raffle's claim, as `match_claim_digest`; names `raffle`."""
    ids = lp(check_id("tenant", tenant)) + lp(check_id("raffle", raffle))
    return claim_digest(RAFFLE_LABEL + ids, claim)


def derive_match_claim(claim_key: bytes, match: str) -> bytes:
    """Return the claim of a match, so that the caller has to store only its key.

    Args:
        claim_key: the caller's own secret, 32 bytes or more, other than its credential.
        match: id of the match.

    Raises:
        RequestError: the key is short or the id is none; names `claim_key` or `key.match`.
    """
    return _derive(claim_key, MATCH_CLAIM_LABEL + lp(check_id("key.match", match)))


def derive_raffle_claim(claim_key: bytes, raffle: str) -> bytes:
    """Return the claim of a raffle, as `derive_match_claim`; names `raffle`."""
    return _derive(claim_key, RAFFLE_CLAIM_LABEL + lp(check_id("raffle", raffle)))


def _derive(claim_key: bytes, message: bytes) -> bytes:
    if len(claim_key) < MIN_CLAIM_KEY_BYTES:
        raise RequestError(
            "claim_key",
            f"has {len(claim_key)} bytes; expected {MIN_CLAIM_KEY_BYTES} or more from the"
            " operating system's generator, kept apart from the credential",
        )
    return digest(claim_key, message, "sha256")[:CLAIM_BYTES]
