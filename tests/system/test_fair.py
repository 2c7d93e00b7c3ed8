"""FairService of a real daemon: seeds, rounds and their bad days, by the stubs of a stranger.

Rounds are computed again by the few lines below, which know the published
scheme and nothing of the daemon's code.
"""

import hashlib
import hmac
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import grpc
import pytest

from entropyd.v1 import fair_service_pb2 as pb
from entropyd.v1 import fair_service_pb2_grpc
from tests.system.drawing import TIMEOUT_S, Code, told
from tests.system.harness import Daemon, running

CALLERS = 1000


class Player:
    """One player's calls. Pairs are of profile v1, the published scheme."""

    def __init__(self, channel: grpc.Channel, name: str) -> None:
        self.stub = fair_service_pb2_grpc.FairServiceStub(channel)
        self.name = name

    def open(self) -> Any:
        request = pb.OpenPairRequest(player=self.name, profile=pb.PROFILE_V1)
        return self.stub.OpenPair(request, timeout=TIMEOUT_S).pair

    def pair(self) -> Any:
        return self.stub.GetPair(pb.GetPairRequest(player=self.name), timeout=TIMEOUT_S).pair

    def choose(self, client_seed: str) -> Any:
        shown = self.pair().server_hash
        request = pb.SetClientSeedRequest(
            player=self.name, server_hash=shown, client_seed=client_seed
        )
        return self.stub.SetClientSeed(request, timeout=TIMEOUT_S).pair

    def play(self, name: str, game: "pb.Game.ValueType" = pb.GAME_ROULETTE, **more: Any) -> Any:
        return self.stub.PlayRound(self.asked(name, game, **more), timeout=TIMEOUT_S).round

    def asked(
        self, name: str, game: "pb.Game.ValueType" = pb.GAME_ROULETTE, **more: Any
    ) -> pb.PlayRoundRequest:
        return pb.PlayRoundRequest(key=self.key(name), game=game, **more)

    def close(self, name: str) -> Any:
        request = pb.CloseRoundRequest(key=self.key(name))
        return self.stub.CloseRound(request, timeout=TIMEOUT_S).round

    def rotate(self, pair: int) -> Any:
        request = pb.RotatePairRequest(player=self.name, pair=pair)
        return self.stub.RotatePair(request, timeout=TIMEOUT_S)

    def rounds(self) -> list[Any]:
        request = pb.ListRoundsRequest(player=self.name, page_size=1000)
        return list(self.stub.ListRounds(request, timeout=TIMEOUT_S).rounds)

    def key(self, name: str) -> pb.RoundKey:
        return pb.RoundKey(player=self.name, round=name)


@contextmanager
def player(daemon: Daemon, name: str) -> Iterator[Player]:
    """Calls of a player for the length of a block."""
    with grpc.insecure_channel(f"unix:{daemon.home}/poker.sock") as channel:
        yield Player(channel, name)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with running(tmp_path_factory.mktemp("f")) as one:
        yield one


def stream(server_seed: str, client_seed: str, nonce: int) -> Callable[[int], int]:
    """Return what draws a number below n, by the published scheme."""
    message = f"{client_seed}:{nonce}:"

    def words() -> Iterator[int]:
        for block in range(1000):
            text = f"{message}{block}".encode()
            mac = hmac.new(server_seed.encode(), text, hashlib.sha256).digest()
            yield from (int.from_bytes(mac[at : at + 4], "big") for at in range(0, 32, 4))

    source = words()

    def below(n: int) -> int:
        return next(word for word in source if word < 2**32 - 2**32 % n) % n

    return below


def shoe(below: Callable[[int], int]) -> list[str]:
    cards = [f"{value}{suit}" for _ in range(6) for suit in "dhsc" for value in range(2, 15)]
    for at in range(311, 0, -1):
        other = below(at + 1)
        cards[at], cards[other] = cards[other], cards[at]
    return cards[::-1]


def mines(below: Callable[[int], int], number: int) -> list[int]:
    tiles = list(range(20))
    for at in range(number):
        other = at + below(20 - at)
        tiles[at], tiles[other] = tiles[other], tiles[at]
    return tiles[:number]


def test_rounds_are_those_of_the_published_scheme_once_the_seed_is_shown(daemon):
    """The seed hashes to what was shown first, and no answer had it before."""
    with player(daemon, "checks") as ann:
        shown = ann.open().server_hash
        said = [ann.choose("ann's-own-seed")]
        said += [spun := ann.play("spin"), dice := ann.play("dice", pb.GAME_DICE_POKER)]
        said += [dug := ann.play("dig", pb.GAME_MINES, mines=7), ann.close("dig")]
        said += [dealt := ann.play("deal", pb.GAME_BLACKJACK), ann.close("deal")]
        revealed = ann.rotate(1).revealed
    seed = revealed.server_seed
    assert shown == hashlib.sha256(seed.encode()).digest() == revealed.server_hash
    for message in said:
        wire = message.SerializeToString()
        assert seed.encode() not in wire
        assert bytes.fromhex(seed) not in wire
    assert [0, 1, 2, 3] == [one.nonce for one in (spun, dice, dug, dealt)]
    below = [stream(seed, "ann's-own-seed", nonce) for nonce in range(4)]
    assert below[0](38) == spun.roulette.pocket
    faces = [below[1](6) + 1 for _ in range(10)]
    assert (faces[:5], faces[5:]) == (list(dice.dice_poker.bot), list(dice.dice_poker.player))
    assert mines(below[2], 7) == list(dug.mines.tile_index0)
    cards = shoe(below[3])
    assert cards == list(dealt.blackjack.shoe)
    assert cards[0:4:2] == list(dealt.blackjack.player)
    assert cards[1:4:2] == list(dealt.blackjack.dealer)


BAD_SEEDS = {
    "none": "",
    "a colon": "a:1",
    "a line end": "lucky\n",
    "a space at its end": "lucky ",
    "letters of no ASCII": "szczęście",
    "65 characters": "x" * 65,
    "a megabyte": "x" * (1 << 20),
}


@pytest.mark.parametrize("case", BAD_SEEDS)
def test_a_client_seed_that_cannot_stand_is_told_and_changes_nothing(daemon, case):
    with player(daemon, "seeds") as bob:
        bob.open()
        before = bob.pair()
        refusal = told(partial(bob.choose, BAD_SEEDS[case]))
        assert (Code.INVALID_ARGUMENT, "client_seed") == (refusal.code, refusal.field)
        assert len(refusal.text) < 400
        assert before == bob.pair()


def test_a_thousand_callers_of_one_nonce_get_one_round(daemon):
    """One plays it; to all others it is said, and nothing of theirs was spent."""
    with player(daemon, "crowd") as cid:
        cid.open()
        cid.choose("crowd")
        calls = [
            cid.stub.PlayRound.future(
                cid.asked(f"r-{number}", pb.GAME_MINES, mines=3, expected_nonce=0), timeout=60
            )
            for number in range(CALLERS)
        ]
        ends = Counter(call.code() for call in calls)
        assert {Code.OK: 1, Code.FAILED_PRECONDITION: CALLERS - 1} == ends
        [played] = cid.rounds()
        [won] = [call.result().round for call in calls if call.code() is Code.OK]
        assert (0, won, 1) == (won.nonce, played, cid.pair().next_nonce)


def test_a_pair_is_not_rotated_while_a_round_is_open(daemon):
    """Nor is its client seed changed; the seed is shown when the round has ended, and once."""
    with player(daemon, "open") as dan:
        first = dan.open()
        dan.choose("dan")
        dan.play("hand", pb.GAME_BLACKJACK)
        for call in (partial(dan.rotate, 1), partial(dan.choose, "other")):
            refusal = told(call)
            assert (Code.FAILED_PRECONDITION, "WRONG_STATE") == (refusal.code, refusal.reason)
            assert "close or void the round first" in refusal.text
        dan.close("hand")
        rotated = dan.rotate(1)
        assert (first.next_server_hash, 2) == (rotated.pair.server_hash, rotated.pair.pair)
        again = dan.rotate(1)
        assert (True, rotated.revealed) == (again.replayed, again.revealed)
        assert Code.FAILED_PRECONDITION is told(partial(dan.play, "early")).code


def test_kill_between_nonce_and_outcome_leaves_the_same_rounds(tmp_path):
    """Whatever was told is found again; rounds that were recorded untold follow from the seed."""
    with running(tmp_path) as daemon:
        with player(daemon, "eve") as eve:
            eve.open()
            eve.choose("eve")
            calls = [
                eve.stub.PlayRound.future(eve.asked(f"r-{number}"), timeout=TIMEOUT_S)
                for number in range(300)
            ]
            while sum(call.done() for call in calls) < 50:
                calls[49].exception()
            daemon.kill()
            shown = [call.result().round for call in calls if call.exception() is None]
        daemon.start()
        with player(daemon, "eve") as eve:
            assert shown == [eve.play(one.key.round) for one in shown]
            rounds = eve.rounds()
            assert list(range(len(rounds))) == [one.nonce for one in rounds]
            assert 50 <= len(shown) <= len(rounds)
            seed = eve.rotate(1).revealed.server_seed
            pockets = [one.roulette.pocket for one in rounds]
            assert [stream(seed, "eve", nonce)(38) for nonce in range(len(rounds))] == pockets
