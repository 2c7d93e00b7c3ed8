"""Three recordings and the calls that are made on them: 100 hands, the same in every run.

"Recorded" means: a file that is played through the way of the real thing. The capture goes
through the driver quantis-usb, on the emulated device of quantis-emulator; the user file is
forwarded over gRPC, line by line; the getrandom file is read wherever the daemon asks the
operating system. All three are made here from SHA-512 of a counter, so that nothing large is
checked in, and every run anywhere is the same run. None of it is entropy.

Nothing here knows entropyd: the reference reads the same calls.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Literal

FileName = Literal["capture", "users", "getrandom"]

# At the rate of the campaign this plays for 16 s, of which 100 hands take about one: a recording
# that ends is a device that falls silent, and its credit goes. Some 86,000 bytes of it are spent
# or dropped; where in the rest the run ends is up to the clock, and changes no deck.
RATE = 250_000
CAPTURE_BYTES = 4_000_000
# 96 bytes to instantiate and 64 for each of 220 seeds are 14,176; the rest is never asked for.
GETRANDOM_BYTES = 32_768

HANDS = 100
TABLES = 7
# What is dealt, over and over: deck, decks, removed cards.
DECKS: tuple[tuple[str, int, tuple[int, ...]], ...] = (
    ("standard52", 1, ()),
    ("standard52", 1, ()),
    ("standard54", 1, ()),  # two segments
    ("standard52", 1, ()),
    ("short36", 1, ()),
    ("standard52", 1, ()),
    ("standard52", 6, ()),  # a shoe: ten segments
    ("standard52", 1, ()),
    ("standard54", 2, ()),  # three segments
    ("short36", 1, (4, 17, 30, 43)),  # without its sixes
)
# How many lines of the user file are forwarded before each of them: none, too few to do
# without cover, enough, and more than one seed takes.
LINES_BEFORE = (0, 2, 3, 7, 0, 1, 14, 0, 4, 0)
# A user may send 16 contributions at once; of 310 lines no user sends more, so that no rate
# limit, and with it no clock, decides what is taken.
USERS = 20


@dataclass(frozen=True)
class Files:
    """The three recordings."""

    capture: bytes
    users: bytes
    getrandom: bytes

    def flipped(self, name: FileName, offset: int, bit: int = 0) -> "Files":
        """Return the same recordings with one bit of one of them flipped."""
        changed = bytearray(getattr(self, name))
        changed[offset] ^= 1 << bit
        return replace(self, **{name: bytes(changed)})


@dataclass(frozen=True)
class Forward:
    """AddUserEntropy with a line of the user file, counted from 0."""

    line: int


@dataclass(frozen=True)
class Deal:
    """Shuffle."""

    table: str
    hand: str
    deck: str
    decks: int
    removed: tuple[int, ...]


@dataclass(frozen=True)
class Replug:
    """The device is pulled out and plugged in again, and is waited for.

    Attributes:
        samples: how many the daemon had read by then, as GetStatus says; -1 in a plan.
        sent: how many the device had sent by then: the length of its tape; -1 in a plan.
    """

    samples: int = -1
    sent: int = -1


Call = Forward | Deal | Replug


def recorded() -> Files:
    """Return the three recordings."""
    return Files(
        capture=stream("capture", CAPTURE_BYTES),
        users=b"".join(line + b"\n" for line in _user_lines()),
        getrandom=stream("getrandom", GETRANDOM_BYTES),
    )


def planned(*, replug_after: int | None = None) -> tuple[Call, ...]:
    """Return the calls: 100 hands with user entropy before some of them.

    Args:
        replug_after: after how many hands the device is pulled out; never if absent.
    """
    calls: list[Call] = []
    lines = 0
    for number in range(HANDS):
        if number == replug_after:
            calls.append(Replug())
        before = LINES_BEFORE[number % len(LINES_BEFORE)]
        calls += [Forward(lines + ahead) for ahead in range(before)]
        lines += before
        deck, decks, removed = DECKS[number % len(DECKS)]
        calls.append(Deal(f"table-{number % TABLES}", f"hand-{number}", deck, decks, removed))
    return tuple(calls)


def stream(label: str, size: int) -> bytes:
    """Return the first bytes of SHA-512 over a label and a counter."""
    blocks = range(-(-size // 64))
    return b"".join(hashlib.sha512(f"{label}/{n}".encode()).digest() for n in blocks)[:size]


def _user_lines() -> list[bytes]:
    """Return a line for each AddUserEntropy: blobs and event lists by turns, some repeated."""
    lines: list[bytes] = []
    given: dict[str, object] = {}
    for number in range(HANDS // len(LINES_BEFORE) * sum(LINES_BEFORE)):
        if number % 23 != 22:  # every 23rd line repeats what another user sent just before
            given = _blob(number) if number % 2 else _events(number)
        lines.append(json.dumps({"user": f"user-{number % USERS}", **given}).encode())
    return lines


def _blob(number: int) -> dict[str, object]:
    made = stream(f"blob/{number}", 256)
    return {"blob": made[: 8 + made[255] % 200].hex()}


def _events(number: int) -> dict[str, object]:
    made = stream(f"events/{number}", 256)
    time_us, events = 0, []
    for at in range(0, 6 + made[255] % 234, 3):
        time_us += 8000 + 16 * made[at + 2]
        events.append([3 * made[at], 2 * made[at + 1], time_us])
    return {"events": events}
