"""Byte streams for emulators and the mock: made up from a seed, or played from a recording.

None of this is entropy, and whatever reads it is marked as mock or replay.
"""

import hashlib
import os
from pathlib import Path
from typing import Protocol

# One SHAKE-256 call yields this much: large enough that the cost of the call
# vanishes (about 2.5 ns a byte remain), small enough to stay in the cache.
CHUNK_BYTES = 65_536

# A fresh seed is as long as the strongest hash here can use.
SEED_BYTES = 32


class Noise(Protocol):
    """A stream of bytes that is given out once, in order."""

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes, or nothing at all where fewer are left."""
        ...


class SeededNoise:
    """Endless bytes: SHAKE-256 over seed and counter. The same seed gives the same stream."""

    def __init__(self, seed: bytes | None = None) -> None:
        self._seed = os.urandom(SEED_BYTES) if seed is None else seed
        self._chunks = 0
        self._chunk = b""
        self._offset = 0

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        while len(self._chunk) - self._offset < size:
            self._chunk = self._chunk[self._offset :] + self._next_chunk()
            self._offset = 0
        self._offset += size
        return self._chunk[self._offset - size : self._offset]

    def _next_chunk(self) -> bytes:
        message = self._seed + self._chunks.to_bytes(8, "big")
        self._chunks += 1
        return hashlib.shake_256(message).digest(CHUNK_BYTES)


class RecordedNoise:
    """The bytes of a file, once, from the start; then silence.

    A rest that is shorter than what is asked for is never given out, so that
    whole packets stay whole.
    """

    def __init__(self, path: Path) -> None:
        """Open the recording.

        Raises:
            OSError: it cannot be read.
        """
        self._file = path.open("rb")
        self._left = path.stat().st_size

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes, or nothing where fewer are left."""
        if size > self._left:
            return b""
        self._left -= size
        return self._file.read(size)
