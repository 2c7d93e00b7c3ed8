"""What the numbers of a game stand for: the data files, checked and found by hash.

Spec: docs/protocol.md, "Data files".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType

from entropyd.draw.rule_lines import choice, decimal, parse_lines
from entropyd.errors import RequestError
from entropyd.games.cascade import COLUMNS, ROWS, CascadeMachine
from entropyd.games.data import DATA
from entropyd.games.slots import ReelMachine


class Game(StrEnum):
    """The games; a line of the rules."""

    BLACKJACK = "blackjack"
    DICE_POKER = "dice_poker"
    MINES = "mines"
    ROULETTE = "roulette"
    SLOTS = "slots"


class Machine(StrEnum):
    """The machines of slots; a line of their rules."""

    CASCADE = "cascade"
    CLASSIC = "classic"
    HIGH_ROLLER = "high_roller"
    MINI = "mini"


# What a file of a game without machines must say, because the game is drawn that way.
_FIXED: Mapping[Game, Mapping[str, str]] = {
    Game.BLACKJACK: {
        "deal": "player,dealer,player,dealer",
        "decks": "6",
        "suits": "d,h,s,c",
        "values": "2,3,4,5,6,7,8,9,10,11,12,13,14",
    },
    Game.DICE_POKER: {"dice": "5", "faces": "6", "order": "bot,player"},
    Game.MINES: {"tiles": "20"},
    Game.ROULETTE: {"pockets": "38"},
}
_REEL_DRAWS = {Machine.CLASSIC: "3", Machine.HIGH_ROLLER: "9", Machine.MINI: "3"}
_GRID = {"columns": str(COLUMNS), "rows": str(ROWS)}


@dataclass(frozen=True, slots=True)
class Table:
    """A data file, read.

    Attributes:
        game, machine: what it is for; a machine only for slots.
        version: from 1.
        data_hash: SHA-256 of its text, as the 64 digits that stand in rules.
        made: the machine to draw from; None for games that are the same for every file.
    """

    game: Game
    machine: Machine | None
    version: int
    data_hash: str
    made: ReelMachine | CascadeMachine | None


def read_table(text: str) -> Table:
    """Return what a data file says.

    Raises:
        RequestError: it is not canonical lines, is not of a game that is known, or says
            something that the game cannot be drawn by; names `data` or `data.NAME`.
    """
    encoded = text.encode("utf-8")
    lines = parse_lines(encoded, "data")
    for name in ("game", "machine") if lines.get("game") == Game.SLOTS else ("game",):
        _line(lines, name)
    game = choice(Game, "game", lines, "data")
    machine = choice(Machine, "machine", lines, "data") if game is Game.SLOTS else None
    return Table(
        game=game,
        machine=machine,
        version=_number(lines, "version"),
        data_hash=sha256(encoded).hexdigest(),
        made=_made(lines, game, machine),
    )


def _made(
    lines: Mapping[str, str], game: Game, machine: Machine | None
) -> ReelMachine | CascadeMachine | None:
    if machine is None:
        _expect(lines, _FIXED[game])
        return None
    if machine is Machine.CASCADE:
        _expect(lines, _GRID)
        return CascadeMachine(
            weights=_numbers(lines, "weights"),
            cluster=_number(lines, "cluster"),
            refills=_number(lines, "refills"),
        )
    _expect(lines, {"draws": _REEL_DRAWS[machine]})
    return ReelMachine(int(lines["draws"]), tuple(_line(lines, "reel").split(",")))


def _number(lines: Mapping[str, str], name: str) -> int:
    return decimal(name, _line(lines, name), "data")


def _numbers(lines: Mapping[str, str], name: str) -> tuple[tuple[str, int], ...]:
    """Return the entries `symbol:number` of a line."""
    entries = [entry.partition(":") for entry in _line(lines, name).split(",")]
    return tuple((symbol, decimal(name, number, "data")) for symbol, _, number in entries)


def _expect(lines: Mapping[str, str], expected: Mapping[str, str]) -> None:
    for name, value in expected.items():
        if _line(lines, name) != value:
            raise RequestError(f"data.{name}", f"is {lines[name]}; the game is drawn by {value}")


def _line(lines: Mapping[str, str], name: str) -> str:
    if name not in lines:
        raise RequestError(f"data.{name}", "is missing")
    return lines[name]


def _read_all() -> dict[str, Table]:
    tables = (read_table(text) for text in DATA.values())
    return {table.data_hash: table for table in tables}


# Hash -> table, of every data file that this version knows.
TABLES: Mapping[str, Table] = MappingProxyType(_read_all())


def newest_table(game: Game, machine: Machine | None) -> Table:
    """Return the table that new rounds of a game are played by.

    Raises:
        RequestError: there is none: slots want a machine, no other game has one.
    """
    fitting = [table for table in TABLES.values() if (table.game, table.machine) == (game, machine)]
    if not fitting:
        wanted = "slots need a machine" if game is Game.SLOTS else f"{game} has no machines"
        raise RequestError("rules.machine", wanted)
    return max(fitting, key=lambda table: table.version)
