"""Samples that will never be dealt from, on their way to be stirred into the DRBG."""

from collections import deque

from entropyd.entropy.credited import SourceSamples

# What waits to be stirred, at most. SHA-512 takes about 1.4 ms for it on the
# event loop. Beyond it the oldest are forgotten: stirring carries no credit.
SPENT_LIMIT_BYTES = 1 << 20


class SpentBucket:
    """Samples that left undealt and wait to be stirred; bounded, oldest forgotten first."""

    def __init__(self, limit_bytes: int = SPENT_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._pieces: deque[tuple[str, memoryview]] = deque()
        self._bytes = 0

    def add(self, source_id: str, samples: bytes | memoryview) -> None:
        """Add samples of a source, without copying them."""
        piece = memoryview(samples)[-self._limit_bytes :]
        self._pieces.append((source_id, piece))
        self._bytes += len(piece)
        while self._bytes > self._limit_bytes:
            self._bytes -= len(self._pieces.popleft()[1])

    def take(self) -> tuple[SourceSamples, ...]:
        """Return and forget everything, each source once, its samples in order."""
        by_source: dict[str, list[memoryview]] = {}
        for source_id, samples in self._pieces:
            by_source.setdefault(source_id, []).append(samples)
        self._pieces.clear()
        self._bytes = 0
        return tuple((source_id, b"".join(views)) for source_id, views in by_source.items())
