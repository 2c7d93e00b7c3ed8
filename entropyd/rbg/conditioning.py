"""Conditioning: what each class of samples becomes before it enters the DRBG.

Every class has a SHA-512 of its own, so that none can crowd out another and
each keeps up to 512 bits. The label, the class and every source are length
prefixed: no arrangement of samples under one class or source can be read as
another arrangement. A class without samples is hashed too, so that the DRBG's
entropy input always has the same four parts.

Spec: docs/protocol.md, "RBG"; SHA-512 as in SP 800-90B, section 3.1.5.1.1.
"""

import hashlib
from collections.abc import Iterable
from enum import StrEnum

from entropyd.encoding import lp
from entropyd.errors import InternalError

# (source id, samples as delivered)
SourceSamples = tuple[str, bytes]

CONDITION_LABEL = b"entropyd/condition/v1"


class EntropyClass(StrEnum):
    """The classes of samples, in the order in which they enter the DRBG."""

    HARDWARE = "hardware"
    COVER = "cover"
    USER = "user"
    OS = "os"


_PREFIXES = {
    entropy_class: lp(CONDITION_LABEL) + lp(entropy_class.encode("ascii"))
    for entropy_class in EntropyClass
}
# Most seeds have a class without samples: users that gave nothing, nothing that stands in for them.
_EMPTY = {
    entropy_class: hashlib.sha512(prefix).digest() for entropy_class, prefix in _PREFIXES.items()
}


def condition(entropy_class: EntropyClass, sources: Iterable[SourceSamples]) -> bytes:
    """Return e_class: the SHA-512 of one class of samples.

    Args:
        entropy_class: the class.
        sources: each source of the class once, in any order, ids of printable
            ASCII (`encoding.check_id` vouched for them); samples as delivered,
            in the order of their arrival, at least one.

    Returns:
        64 bytes. Secret if a sample is.

    Raises:
        InternalError: a source stands there twice, which would leave open
            which of its samples go first; or has no samples, which would hash
            otherwise than leaving it out. Verifiers could not agree.
    """
    named = [(name.encode("ascii"), data) for name, data in sources]
    if not named:
        return _EMPTY[entropy_class]
    named.sort()
    parts = [_PREFIXES[entropy_class]]
    previous: bytes | None = None
    for source_id, samples in named:
        if source_id == previous:
            raise InternalError(
                f"source {source_id.decode('ascii')!r} stands twice in class {entropy_class}"
            )
        if not samples:
            raise InternalError(
                f"source {source_id.decode('ascii')!r} has no samples in class {entropy_class};"
                " expected it to be left out"
            )
        parts += (lp(source_id), len(samples).to_bytes(4, "big"), samples)
        previous = source_id
    return hashlib.sha512(b"".join(parts)).digest()


def entropy_input(
    *,
    hardware: Iterable[SourceSamples] = (),
    cover: Iterable[SourceSamples] = (),
    user: Iterable[SourceSamples] = (),
    os: Iterable[SourceSamples] = (),
) -> bytes:
    """Return e_hardware || e_cover || e_user || e_os, 256 bytes.

    Raises:
        InternalError: see `condition`.
    """
    return (
        condition(EntropyClass.HARDWARE, hardware)
        + condition(EntropyClass.COVER, cover)
        + condition(EntropyClass.USER, user)
        + condition(EntropyClass.OS, os)
    )
