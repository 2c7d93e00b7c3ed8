"""Claims: what a caller shows so that it, and nobody else, gets a hand's stored deck again.

A claim must be the same on every retry, also after the game server crashed
and came back, and must not follow from the credential that opens the
connection: whoever steals that credential must not be able to read decks that
were dealt. Deriving it from a key of its own keeps nothing per hand.

Spec: docs/protocol.md, "Claims".
"""

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from entropyd.errors import ConfigError
from entropyd.games.claims import derive_match_claim, derive_raffle_claim
from entropyd.hands.claim import derive_claim

KEY_BYTES = 32


@dataclass(frozen=True)
class ClaimKey:
    """The game server's own key. Keep it apart from its credential, and never lose it.

    Attributes:
        key: 32 random bytes.
    """

    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse a key of another length."""
        if len(self.key) != KEY_BYTES:
            raise ConfigError(
                f"claim key has {len(self.key)} bytes; expected {KEY_BYTES}, from"
                " ClaimKey.load_or_create or 32 bytes of os.urandom"
            )

    def claim(self, table: str, hand: str, place: int = 0) -> bytes:
        """Return the 16 bytes of the claim to `hand`, the same every time.

        Args:
            table: the table's id.
            hand: the hand's id.
            place: the first place of the deal that it claims; 0 for a whole deck.
        """
        return derive_claim(self.key, table, hand, place)

    def match_claim(self, match: str) -> bytes:
        """Return the 16 bytes of the claim to every draw of `match`, the same every time."""
        return derive_match_claim(self.key, match)

    def raffle_claim(self, raffle: str) -> bytes:
        """Return the 16 bytes of the claim to `raffle`, the same every time."""
        return derive_raffle_claim(self.key, raffle)

    @classmethod
    def load_or_create(cls, path: Path) -> "ClaimKey":
        """Return the key kept in `path`, making the file (mode 0600) if there is none.

        The file is written whole and synced before its name appears: a crash
        leaves no file or the whole key, never half of one, and a key that was
        used once is never replaced by another.

        Raises:
            ConfigError: the file is readable by others, or does not hold 32 bytes.
            OSError: it can be neither read nor made, for want of a directory or of permission.
        """
        try:
            return cls._load(path)
        except FileNotFoundError:
            _create(path)
            return cls._load(path)

    @classmethod
    def _load(cls, path: Path) -> "ClaimKey":
        mode = path.stat().st_mode
        if mode & 0o077:
            raise ConfigError(
                f"claim key {path} has mode {mode & 0o777:04o} and can be read by others;"
                f" run: chmod 600 {path}"
            )
        return cls(path.read_bytes())


def _create(path: Path) -> None:
    # A name of its own (and mode 0600) for every attempt: neither another thread nor what a crash
    # left behind is in the way.
    descriptor, scratch = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            # The caller's own secret and never a draw: the system's generator is right here.
            file.write(os.getrandom(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            # link, not rename: of two processes that start at once, the first one's key stays.
            os.link(scratch, path)
        except FileExistsError:
            return
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    finally:
        os.unlink(scratch)
