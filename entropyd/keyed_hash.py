"""HMAC that keeps the interpreter to itself.

`hmac.digest` lets other threads run in the middle of each call, however short
the message, and then waits for its turn. The loop's thread and the ledger's do
not let each other wait for a few microseconds of hashing: beside a busy thread
a call takes ten times as long that way. The object form lets them run only
where a part of the message has 2,048 bytes or more.
"""

import hmac


def digest(key: bytes, message: bytes, name: str) -> bytes:
    """Return HMAC(key, message) with the hash function of a name: what `hmac.digest` returns."""
    return hmac.new(key, message, name).digest()
