"""What a client gets of seed pairs and rounds."""

from collections.abc import Callable
from dataclasses import dataclass, field

from entropyd.v1 import fair_service_pb2 as fair

Json = dict[str, object]


@dataclass(frozen=True)
class Pair:
    """The present pair of a player's line.

    Attributes:
        player: whose.
        profile: "v1" or "v2".
        pair: its number in the line, from 1.
        state: "awaiting_client_seed", "ready" or "round_open".
        server_hash: what the player is shown before a client seed is chosen, 32 bytes.
        next_server_hash: the same of the next pair.
        client_seed: empty until it was set.
        next_nonce: of the next round; as many rounds were played.
        open_rounds: ids of rounds that have not ended, oldest first.
        overdue: it should have been revealed by now.
    """

    player: str
    profile: str
    pair: int
    state: str
    server_hash: bytes
    next_server_hash: bytes
    client_seed: str
    next_nonce: int
    open_rounds: tuple[str, ...]
    overdue: bool

    @classmethod
    def from_message(cls, message: fair.Pair) -> "Pair":
        """Return the pair that a message holds."""
        return cls(
            player=message.player,
            profile=_plain("PROFILE_", fair.Profile.Name(message.profile)),
            pair=message.pair,
            state=_plain("LINE_STATE_", fair.LineState.Name(message.state)),
            server_hash=message.server_hash,
            next_server_hash=message.next_server_hash,
            client_seed=message.client_seed,
            next_nonce=message.next_nonce,
            open_rounds=tuple(message.open_rounds),
            overdue=message.overdue,
        )


@dataclass(frozen=True)
class RevealedPair:
    """A pair that was rotated, with its server seed.

    Attributes:
        player, profile, pair: as of `Pair`.
        server_seed: 64 lower-case hexadecimal digits.
        server_hash: as it was published, 32 bytes.
        server_hash_of_bytes: what tools compute that hash the 32 bytes; never the published hash.
        rounds: how many it had.
        reason: "rotated", or "expired" where the daemon revealed it by itself.
        voided_rounds: ids of rounds that were open then.
    """

    player: str
    profile: str
    pair: int
    server_seed: str
    server_hash: bytes
    server_hash_of_bytes: bytes
    rounds: int
    reason: str
    voided_rounds: tuple[str, ...]

    @classmethod
    def from_message(cls, message: fair.RevealedPair) -> "RevealedPair":
        """Return the pair that a message holds."""
        return cls(
            player=message.player,
            profile=_plain("PROFILE_", fair.Profile.Name(message.profile)),
            pair=message.pair,
            server_seed=message.server_seed,
            server_hash=message.server_hash,
            server_hash_of_bytes=message.server_hash_of_bytes,
            rounds=message.rounds,
            reason=message.reason,
            voided_rounds=tuple(message.voided_rounds),
        )


@dataclass(frozen=True)
class Round:
    """A recorded round.

    Attributes:
        player, round: which.
        pair: of which pair.
        nonce: its nonce in the pair.
        server_hash: of the pair, 32 bytes.
        client_seed: that it was played with.
        rules: the canonical rules.
        state: "open", "closed" or "voided".
        void_reason: empty unless it was voided.
        outcome: as a proof file has it (docs/protocol.md, "Outcome and round file"); empty for a
            round that was voided as it was played. Of mines and blackjack it is not for the player
            while the round is open.
        replayed: played by an earlier call.
    """

    player: str
    round: str
    pair: int
    nonce: int
    server_hash: bytes
    client_seed: str
    rules: str
    state: str
    void_reason: str
    outcome: Json = field(repr=False)
    replayed: bool

    @classmethod
    def from_message(cls, message: fair.Round, *, replayed: bool) -> "Round":
        """Return the round that a message holds."""
        return cls(
            player=message.key.player,
            round=message.key.round,
            pair=message.pair,
            nonce=message.nonce,
            server_hash=message.server_hash,
            client_seed=message.client_seed,
            rules=message.rules,
            state=_plain("ROUND_STATE_", fair.RoundState.Name(message.state)),
            void_reason=message.void_reason,
            outcome=_OUTCOMES[message.WhichOneof("outcome")](message),
            replayed=replayed,
        )


@dataclass(frozen=True)
class OpenedRound:
    """A round that was read back.

    Attributes:
        round: as it was recorded.
        revealed: its pair with the server seed; None until that was rotated.
    """

    round: Round
    revealed: RevealedPair | None

    @classmethod
    def from_message(cls, message: fair.GetRoundResponse) -> "OpenedRound":
        """Return what a message holds."""
        revealed = RevealedPair.from_message(message.revealed)
        return cls(
            Round.from_message(message.round, replayed=True),
            revealed if message.HasField("revealed") else None,
        )


def _reels(message: fair.Round) -> Json:
    return {"stops": [*message.reels.stops], "symbols": [*message.reels.symbols]}


def _cascade(message: fair.Round) -> Json:
    grids = message.cascade.grids
    return {
        "grids": [[*grid.symbols] for grid in grids],
        "wins": [[[win.symbol, win.count] for win in grid.wins] for grid in grids],
    }


def _dice_poker(message: fair.Round) -> Json:
    return {"bot": [*message.dice_poker.bot], "player": [*message.dice_poker.player]}


def _blackjack(message: fair.Round) -> Json:
    cards = message.blackjack
    return {"shoe": [*cards.shoe], "player": [*cards.player], "dealer": [*cards.dealer]}


# Each as section 18.6 of the protocol writes it.
_OUTCOMES: dict[str | None, Callable[[fair.Round], Json]] = {
    "roulette": lambda message: {"pocket": message.roulette.pocket},
    "reels": _reels,
    "cascade": _cascade,
    "mines": lambda message: {"mines": [*message.mines.tile_index0]},
    "dice_poker": _dice_poker,
    "blackjack": _blackjack,
    None: lambda _: {},
}


def _plain(prefix: str, name: str) -> str:
    """LINE_STATE_READY -> ready; ..._UNSPECIFIED -> an empty text."""
    word = name.removeprefix(prefix).lower()
    return "" if word == "unspecified" else word
