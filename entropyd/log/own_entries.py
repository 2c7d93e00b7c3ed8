"""Entries of the log about the daemon itself: its keys, its build, its policy, its sources.

Each is made when its index is known. None of them is of a tenant.

Spec: docs/protocol.md, "Receipts".
"""

from collections.abc import Callable

from entropyd.errors import InternalError
from entropyd.log.events import Event
from entropyd.log.keys import VerifierKey
from entropyd.log.receipt import Receipt
from entropyd.log.source_line import Setting, SourceLine

Entry = Callable[[int], bytes]
"""Makes the text of its index."""


def key_entry(
    log: str, key: VerifierKey, previous: VerifierKey | None, *, index: int, reason: str, ms: int
) -> Entry:
    """Return the entry that a key is in force.

    Args:
        log: origin.
        key: the key.
        previous: the one that it replaces; None at the beginning of a log.
        index: of the entry: who signs what follows from it, so that it is known before.
        reason: why; "" for none.
        ms: wall clock, milliseconds since 1970.
    """

    def text(given: int) -> bytes:
        if given != index:
            raise InternalError(f"a key came into force with entry {given}, expected {index}")
        return Receipt(
            log=log,
            index=index,
            event=Event.KEY,
            key=key,
            previous=previous,
            reason=reason or None,
            time_ms=ms,
        ).encode()

    return text


def build_entry(log: str, *, version: str, digest: bytes | None, ms: int) -> Entry:
    """Return the entry that another build runs than before.

    Args:
        log: origin.
        version: of the program.
        digest: SHA-256 of its wheel; None where the installation does not tell.
        ms: wall clock, milliseconds since 1970.
    """
    return lambda index: Receipt(
        log=log, index=index, event=Event.BUILD, version=version, digest=digest, time_ms=ms
    ).encode()


def policy_entry(log: str, *, policy: str, settings: tuple[Setting, ...], ms: int) -> Entry:
    """Return the entry that another policy is in force than before."""
    return lambda index: Receipt(
        log=log, index=index, event=Event.POLICY, policy=policy, settings=settings, time_ms=ms
    ).encode()


def health_entry(log: str, *, source: SourceLine, reason: str, ms: int) -> Entry:
    """Return the entry that a source's health changed what may be dealt from it."""
    return lambda index: Receipt(
        log=log, index=index, event=Event.HEALTH, reason=reason, sources=(source,), time_ms=ms
    ).encode()
