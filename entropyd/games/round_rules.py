"""What a round is played under, as the lines that are recorded and, in v2, bound.

Spec: docs/protocol.md, "Rules of a round".
"""

from dataclasses import dataclass

from entropyd.draw.rule_lines import check_names, choice, decimal, encode_lines, parse_lines
from entropyd.errors import RequestError
from entropyd.games.mines import MAX_MINES
from entropyd.games.seed_pair import Profile
from entropyd.games.tables import TABLES, Game, Machine, Table, newest_table

_REQUIRED = frozenset({"data", "game", "profile"})
# The line that a game has besides.
_OWN = {Game.MINES: "mines", Game.SLOTS: "machine"}


@dataclass(frozen=True, slots=True)
class RoundRules:
    """The rules of a round.

    Attributes:
        profile: the scheme of the pair.
        game: what is played.
        data: hash of the game's data file, 64 hexadecimal digits.
        machine: of slots; None for every other game.
        mines: of mines, 1 to 19; None for every other game.

    Raises:
        RequestError: on construction, if these do not go together, or the data file is unknown
            or another game's; names `rules.NAME`.
    """

    profile: Profile
    game: Game
    data: str
    machine: Machine | None = None
    mines: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be played."""
        _check_own(Game.SLOTS, "machine", self.game, self.machine)
        _check_own(Game.MINES, "mines", self.game, self.mines)
        if self.mines is not None and not 1 <= self.mines <= MAX_MINES:
            raise RequestError("rules.mines", f"is {self.mines}; expected 1 to {MAX_MINES}")
        table = TABLES.get(self.data)
        if table is None:
            raise RequestError("rules.data", "is the hash of no data file known here")
        if (table.game, table.machine) != (self.game, self.machine):
            raise RequestError("rules.data", f"is a data file of {table.machine or table.game}")

    @property
    def table(self) -> Table:
        """What the numbers of the game stand for."""
        return TABLES[self.data]

    def encode(self) -> bytes:
        """Return the canonical lines."""
        lines = {"data": self.data, "game": self.game.value, "profile": self.profile.value}
        if self.machine is not None:
            lines["machine"] = self.machine.value
        if self.mines is not None:
            lines["mines"] = str(self.mines)
        return encode_lines(lines)


def new_rules(
    profile: Profile, game: Game, *, machine: Machine | None = None, mines: int | None = None
) -> RoundRules:
    """Return the rules of a round by the newest data file of its game.

    Raises:
        RequestError: as `RoundRules`.
    """
    _check_own(Game.SLOTS, "machine", game, machine)
    return RoundRules(profile, game, newest_table(game, machine).data_hash, machine, mines)


def decode_rules(encoded: bytes) -> RoundRules:
    """Return the rules that the lines spell.

    Args:
        encoded: bytes from a record or from a stranger.

    Returns:
        Rules whose `encode` gives exactly `encoded`.

    Raises:
        RequestError: the lines are not canonical, a name or value is unknown or missing, or the
            data file is not known here. Names `rules` or `rules.NAME`.
    """
    lines = parse_lines(encoded)
    own = frozenset({_OWN[game] for game in _OWN if game == lines.get("game")})
    whose = f"a round of {lines.get('game', 'a game')}"
    check_names(lines, required=_REQUIRED | own, optional=frozenset(), whose=whose)
    return RoundRules(
        profile=choice(Profile, "profile", lines),
        game=choice(Game, "game", lines),
        data=lines["data"],
        machine=choice(Machine, "machine", lines) if "machine" in lines else None,
        mines=decimal("mines", lines["mines"]) if "mines" in lines else None,
    )


def _check_own(owner: Game, name: str, game: Game, value: object) -> None:
    if (value is not None) != (game is owner):
        verb = "is missing; expected it for" if game is owner else "is set; expected it only for"
        raise RequestError(f"rules.{name}", f"{verb} {owner}")
