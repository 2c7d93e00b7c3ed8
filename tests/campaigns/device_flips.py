"""Which single bits of the recordings are flipped, and which hand must be the first to change.

The hand is worked out by the reference's accounting of the run without a flip; the run with it
is then both compared with that run and recomputed from the flipped recordings.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.campaigns.device_calls import FileName, Files
from tests.campaigns.device_reference import DROPPED, Hand, Recomputed, Seed


@dataclass(frozen=True)
class Flip:
    """One bit.

    Attributes:
        file: of which recording.
        offset, bit: where in it.
        hand: place in the run of the first hand that must change; None if none may.
    """

    file: FileName
    offset: int
    bit: int
    hand: int | None

    def applied(self, files: Files) -> Files:
        """Return the recordings with this bit flipped."""
        return files.flipped(self.file, self.offset, self.bit)


def first_changed(before: list[tuple[bytes, ...]], after: list[tuple[bytes, ...]]) -> int | None:
    """Return the place of the first hand that differs in anything; None if none does."""
    differing = (n for n, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1])
    return next(differing, None)


def _startup(_files: Files, _run: Recomputed) -> Flip:
    return Flip("capture", 100, 3, None)


def _assessment(_files: Files, _run: Recomputed) -> Flip:
    return Flip("capture", DROPPED - 1, 0, None)


def _instantiation(_files: Files, run: Recomputed) -> Flip:
    return Flip("capture", run.instantiated.stop - 1, 7, 0)


def _first_hardware(_files: Files, run: Recomputed) -> Flip:
    return Flip("capture", run.hands[0].made_from[0].hardware.start, 0, 0)


def _cover(_files: Files, run: Recomputed) -> Flip:
    number, seed = _find(
        run, 30, lambda hand, seed: len(hand.made_from) == 1 and len(seed.cover) > 20
    )
    return Flip("capture", seed.cover.start + 10, 5, number)


def _second_segment(_files: Files, run: Recomputed) -> Flip:
    number, _ = _find(run, 50, lambda hand, _: hand.call.decks == 6)
    return Flip("capture", run.hands[number].made_from[1].hardware.start, 1, number)


def _last_of_seed(_files: Files, run: Recomputed) -> Flip:
    number, seed = _find(run, 70, lambda _, seed: bool(seed.cover))
    return Flip("capture", seed.cover.stop - 1, 2, number)


def _last_spent(_files: Files, run: Recomputed) -> Flip:
    return Flip("capture", run.spent[-1].stop - 1, 0, len(run.hands) - 1)


def _first_unspent(_files: Files, run: Recomputed) -> Flip:
    return Flip("capture", run.spent[-1].stop, 0, None)


def _user(files: Files, run: Recomputed) -> Flip:
    """A digit of a user's blob: its lowest bit makes it another digit."""
    lines = files.users.splitlines(keepends=True)
    number, seed = _find(
        run, 40, lambda _, seed: bool(seed.lines) and b"blob" in lines[seed.lines[0]]
    )
    line = seed.lines[0]
    blob_at = lines[line].index(b'"blob": "') + len(b'"blob": "')
    digit = next(at for at in range(blob_at, len(lines[line])) if lines[line][at] in b"0123456789")
    return Flip("users", sum(map(len, lines[:line])) + digit, 0, number)


def _nonce(_files: Files, _run: Recomputed) -> Flip:
    return Flip("getrandom", 64, 4, 0)


def _os_sample(_files: Files, run: Recomputed) -> Flip:
    return Flip("getrandom", run.hands[60].made_from[0].getrandom.stop - 1, 6, 60)


# By the place that is hit.
FLIPS: dict[str, Callable[[Files, Recomputed], Flip]] = {
    "start-up test, dropped": _startup,
    "last byte of the first assessment, dropped": _assessment,
    "last byte of the instantiation": _instantiation,
    "hardware, first byte of the first seed": _first_hardware,
    "cover, amid a seed": _cover,
    "hardware, second segment of a shoe": _second_segment,
    "cover, last byte of a seed": _last_of_seed,
    "last byte that is spent": _last_spent,
    "first byte that is not spent": _first_unspent,
    "user file, a digit of a blob": _user,
    "getrandom, the nonce": _nonce,
    "getrandom, last byte for a seed": _os_sample,
}


def _find(run: Recomputed, start: int, fits: Callable[[Hand, Seed], bool]) -> tuple[int, Seed]:
    """Return the first seed that fits, in a hand from number `start` on, and that hand's place."""
    return next(
        found for found in _seeds(run) if found[0] >= start and fits(run.hands[found[0]], found[1])
    )


def _seeds(run: Recomputed) -> Iterator[tuple[int, Seed]]:
    for number, hand in enumerate(run.hands):
        for seed in hand.made_from:
            yield number, seed
