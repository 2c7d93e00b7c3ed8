"""Lines, pairs and rounds as messages of FairService, and what its requests ask for."""

from collections.abc import Mapping
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from entropyd.encoding import check_id
from entropyd.errors import RequestError
from entropyd.games.mines import MAX_MINES
from entropyd.games.pair_line import LineState, PairLine
from entropyd.games.pair_records import COMPUTATIONAL, RevealRecord
from entropyd.games.pair_steps import RoundAsk
from entropyd.games.seed_pair import Profile, hash_of_seed_bytes
from entropyd.games.tables import Game, Machine
from entropyd.runtime.line_records import RoundView
from entropyd.v1 import fair_service_pb2 as pb

_PROFILES = {Profile.V1: pb.PROFILE_V1, Profile.V2: pb.PROFILE_V2}
_LINE_STATES = {
    LineState.AWAITING_CLIENT_SEED: pb.LINE_STATE_AWAITING_CLIENT_SEED,
    LineState.READY: pb.LINE_STATE_READY,
    LineState.ROUND_OPEN: pb.LINE_STATE_ROUND_OPEN,
}
_GAMES = {
    pb.GAME_ROULETTE: Game.ROULETTE,
    pb.GAME_SLOTS: Game.SLOTS,
    pb.GAME_MINES: Game.MINES,
    pb.GAME_DICE_POKER: Game.DICE_POKER,
    pb.GAME_BLACKJACK: Game.BLACKJACK,
}
_MACHINES = {
    pb.MACHINE_CLASSIC: Machine.CLASSIC,
    pb.MACHINE_MINI: Machine.MINI,
    pb.MACHINE_HIGH_ROLLER: Machine.HIGH_ROLLER,
    pb.MACHINE_CASCADE: Machine.CASCADE,
}
_HASH_BYTES = 32


# --- What is asked for --------------------------------------------------------------


def profile_of(asked: "pb.Profile.ValueType", default: Profile) -> Profile:
    """Return the profile that is asked for.

    Raises:
        RequestError: there is no such; names `profile`.
    """
    if asked == pb.PROFILE_UNSPECIFIED:
        return default
    for profile, value in _PROFILES.items():
        if value == asked:
            return profile
    raise RequestError("profile", f"is {asked}; expected PROFILE_V1, PROFILE_V2 or nothing")


def round_ask(request: pb.PlayRoundRequest) -> RoundAsk:
    """Return what is to be played.

    Raises:
        RequestError: an id, the game or its settings cannot stand; names the field.
    """
    check_id("key.round", request.key.round)
    game = _GAMES.get(request.game)
    if game is None:
        raise RequestError("game", f"is {request.game}; expected {_names(pb.Game, _GAMES)}")
    return RoundAsk(
        round_id=request.key.round,
        game=game,
        machine=_machine(request, game),
        mines=_mines(request, game),
        expected_nonce=request.expected_nonce if request.HasField("expected_nonce") else None,
    )


def shown_hash(request: pb.SetClientSeedRequest) -> bytes:
    """Return the hash that the player saw.

    Raises:
        RequestError: it is no hash; names `server_hash`.
    """
    if len(request.server_hash) != _HASH_BYTES:
        raise RequestError(
            "server_hash",
            f"has {len(request.server_hash)} bytes; expected the {_HASH_BYTES} that the player saw"
            " before choosing a client seed",
        )
    return request.server_hash


def _names(kind: Any, known: Mapping[Any, object]) -> str:
    return ", ".join(kind.Name(number) for number in known)


def _machine(request: pb.PlayRoundRequest, game: Game) -> Machine | None:
    if game is not Game.SLOTS:
        if request.machine != pb.MACHINE_UNSPECIFIED:
            raise RequestError("machine", f"is set for {game}; expected it only for slots")
        return None
    machine = _MACHINES.get(request.machine)
    if machine is None:
        raise RequestError(
            "machine", f"is {request.machine}; expected {_names(pb.Machine, _MACHINES)}"
        )
    return machine


def _mines(request: pb.PlayRoundRequest, game: Game) -> int | None:
    if game is not Game.MINES:
        if request.mines:
            raise RequestError("mines", f"is set for {game}; expected it only for mines")
        return None
    if not 1 <= request.mines <= MAX_MINES:
        raise RequestError("mines", f"is {request.mines}; expected 1 to {MAX_MINES}")
    return request.mines


# --- What is answered -----------------------------------------------------------------


def pair_message(player: str, line: PairLine, *, overdue: bool) -> pb.Pair:
    """Return a line as it stands. It has no seeds, so neither has the message."""
    return pb.Pair(
        player=player,
        profile=_PROFILES[line.profile],
        pair=line.pair,
        state=_LINE_STATES[line.state],
        server_hash=line.server_hash,
        next_server_hash=line.next_hash,
        client_seed=line.client_seed,
        next_nonce=line.next_nonce,
        open_rounds=line.open_rounds,
        present_since=_timestamp(line.since_ns),
        overdue=overdue,
    )


def revealed_message(player: str, record: RevealRecord, revealed_at_ns: int) -> pb.RevealedPair:
    """Return a pair that was revealed."""
    return pb.RevealedPair(
        player=player,
        profile=_PROFILES[record.profile],
        pair=record.pair,
        server_seed=record.server_seed.hex(),
        server_hash=record.server_hash,
        server_hash_of_bytes=hash_of_seed_bytes(record.server_seed),
        rounds=record.rounds,
        reason=record.reason,
        voided_rounds=record.voided,
        revealed_at=_timestamp(revealed_at_ns),
    )


def round_message(player: str, view: RoundView) -> pb.Round:
    """Return a round as it was recorded, and how it stands."""
    record = view.record
    message = pb.Round(
        key=pb.RoundKey(player=player, round=record.round_id),
        pair=record.pair,
        nonce=record.nonce,
        server_hash=record.server_hash,
        client_seed=record.client_seed,
        rules=record.rules.decode("ascii"),
        state=_round_state(view),
        void_reason=view.void_reason,
        played_at=_timestamp(view.played_at_ns),
        seeds=COMPUTATIONAL,
    )
    if record.outcome is not None:
        rules = record.decoded_rules
        _fill_outcome(message, rules.machine or rules.game, record.outcome)
    return message


def _round_state(view: RoundView) -> "pb.RoundState.ValueType":
    if view.is_open:
        return pb.ROUND_STATE_OPEN
    return pb.ROUND_STATE_VOIDED if view.void_reason else pb.ROUND_STATE_CLOSED


def _fill_outcome(message: pb.Round, what: Game | Machine, outcome: Mapping[str, Any]) -> None:
    """Set the outcome, which is kept as it stands in a round file."""
    match what:
        case Game.ROULETTE:
            message.roulette.CopyFrom(pb.RouletteOutcome(pocket=outcome["pocket"]))
        case Game.MINES:
            message.mines.CopyFrom(pb.MinesOutcome(tile_index0=outcome["mines"]))
        case Game.DICE_POKER:
            message.dice_poker.CopyFrom(pb.DicePokerOutcome(**outcome))
        case Game.BLACKJACK:
            message.blackjack.CopyFrom(pb.BlackjackOutcome(**outcome))
        case Machine.CASCADE:
            message.cascade.CopyFrom(pb.CascadeOutcome(grids=_grids(outcome)))
        case _:
            message.reels.CopyFrom(pb.ReelsOutcome(**outcome))


def _grids(outcome: Mapping[str, Any]) -> list[pb.CascadeGrid]:
    return [
        pb.CascadeGrid(
            symbols=grid, wins=[pb.CascadeWin(symbol=symbol, count=count) for symbol, count in wins]
        )
        for grid, wins in zip(outcome["grids"], outcome["wins"], strict=True)
    ]


def _timestamp(at_ns: int) -> Timestamp:
    stamp = Timestamp()
    stamp.FromNanoseconds(at_ns)
    return stamp
