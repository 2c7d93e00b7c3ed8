"""What people write, as what is to be drawn. What is not understood is refused, never guessed."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

STANDARD_INPUT = Path("-")

_GROUP = re.compile(r"([0-9]{0,9})d([0-9]{1,19})", re.ASCII)
_RANGE = re.compile(r"([0-9]{1,20})-([0-9]{1,20})", re.ASCII)
_TILES = re.compile(r"(.+)=([0-9]{1,9})", re.ASCII)

# One more than the largest number that a draw can give.
MAX_BOUND = 1 << 64


@dataclass(frozen=True)
class Bag:
    """What a bag holds: a preset by its name, or kinds with their counts.

    Attributes:
        preset: its name; None where `tiles` says what is in the bag.
        tiles: (label, count) of each kind.
    """

    preset: str | None
    tiles: tuple[tuple[str, int], ...] = ()


def dice(text: str) -> tuple[tuple[int, int], ...]:
    """Return (count, faces) of each group of `2d6`, `d20` or `2d6,1d20`.

    Raises:
        typer.BadParameter: it is not written like that.
    """
    return tuple(map(_group, text.split(",")))


def _group(text: str) -> tuple[int, int]:
    match = _GROUP.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"dice {text[:40]!a}: expected such as 2d6, d20 or 2d6,1d20")
    return int(match[1] or 1), int(match[2])


def number_range(text: str) -> tuple[int, int]:
    """Return the smallest number of `1-100`, and how many there are.

    Raises:
        typer.BadParameter: it is not written like that, or no number is in it.
    """
    match = _RANGE.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"range {text[:40]!a}: expected such as 1-100")
    low, high = int(match[1]), int(match[2])
    if not low <= high < MAX_BOUND:
        raise typer.BadParameter(
            f"range {text[:40]!a}: expected the smaller number first, none above 2^64 - 1"
        )
    return low, high - low + 1


def bag(text: str, presets: Sequence[str]) -> Bag:
    """Return the bag of a preset's name, or of `red=3,blue=5`.

    Raises:
        typer.BadParameter: it is neither.
    """
    if text in presets:
        return Bag(text)
    tiles = tuple(_tiles(part, presets) for part in text.split(","))
    if len(dict(tiles)) < len(tiles):
        raise typer.BadParameter(f"bag {text[:40]!a}: names a kind twice; expected each once")
    return Bag(None, tiles)


def _tiles(text: str, presets: Sequence[str]) -> tuple[str, int]:
    match = _TILES.fullmatch(text)
    if match is None:
        raise typer.BadParameter(
            f"bag {text[:40]!a}: expected {', '.join(presets)}, or kinds such as red=3,blue=5"
        )
    return match[1], int(match[2])


def lines(path: Path) -> list[str]:
    """Return the lines of a file, `-` for standard input, without blank ones at its end.

    Blank ones elsewhere stay: they are refused later, under the number that an editor shows. A
    line stays as it is written, and so does the last.

    Raises:
        OSError: the file cannot be read.
        typer.BadParameter: it is not UTF-8, or holds nothing.
    """
    data = sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{path} is not UTF-8: byte {error.start}") from error
    if not text.strip():
        raise typer.BadParameter(f"{path} is empty; expected one entry a line")
    # Of the ends that splitlines knows, some stand inside what people write.
    found = [line.removesuffix("\r") for line in text.split("\n")]
    while not found[-1].strip():
        found.pop()
    return found
