"""X: everything a draw depends on besides its seeds, as one byte string.

X enters the making of the seed, the keystream and every commitment, so nothing
made for one hand fits another hand, other rules, or another tenant.

Spec: docs/protocol.md, "Binding".
"""

from entropyd.encoding import check_id, lp

HAND_LABEL = lp(b"entropyd/hand/v1")
DRAW_LABEL = lp(b"entropyd/draw/v1")


def hand_binding(tenant: str, table: str, hand: str, rules_hash: bytes) -> bytes:
    """Return X of a hand.

    Args:
        tenant: id of the tenant, from its identity and never from a request.
        table: id of the table.
        hand: id of the hand, unique in the tenant for ever.
        rules_hash: 32 bytes, `rules.rules_hash`.

    Raises:
        RequestError: an id has a length or a character that ids do not have;
            names `tenant`, `key.table` or `key.hand`.
    """
    return (
        HAND_LABEL
        + lp(check_id("tenant", tenant))
        + lp(check_id("key.table", table))
        + lp(check_id("key.hand", hand))
        + lp(rules_hash)
    )


def draw_binding(tenant: str, match: str, draw: str, rules_hash: bytes) -> bytes:
    """Return X of a draw that is not a hand.

    Args:
        tenant: id of the tenant.
        match: id of the match.
        draw: id of the draw; (match, draw) is unique in the tenant.
        rules_hash: 32 bytes, over the draw's own rules.

    Raises:
        RequestError: as `hand_binding`; names `tenant`, `key.match` or `key.draw`.
    """
    return (
        DRAW_LABEL
        + lp(check_id("tenant", tenant))
        + lp(check_id("key.match", match))
        + lp(check_id("key.draw", draw))
        + lp(rules_hash)
    )
