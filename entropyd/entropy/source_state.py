"""Where a source stands between being plugged in and being dealt from."""

from enum import StrEnum


class SourceState(StrEnum):
    """The states of a source. Only samples of a `HEALTHY` one are credited.

    Attributes:
        LOST: not there: unplugged, silent, not permitted, or held by another process.
        STARTUP: repeating the start-up test of SP 800-90B, section 4.3.
        ASSESSING: tested, and waiting for the first assessment; no credit yet.
        HEALTHY: tested, assessed and credited.
        FAILED: latched off by a permanent failure until an operator resets it.
    """

    LOST = "lost"
    STARTUP = "startup"
    ASSESSING = "assessing"
    HEALTHY = "healthy"
    FAILED = "failed"
