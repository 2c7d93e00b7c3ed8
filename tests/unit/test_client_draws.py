"""The typed client of draws, raffles and rounds, against real gRPC; and the proofs it makes."""

import asyncio
import contextlib
import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from entropyd.client import (
    AsyncClient,
    ClaimKey,
    Client,
    Large,
    OpenedRound,
    Refusal,
    SamplerName,
)
from entropyd.client.proofs import draw_proof, match_proof, raffle_proof, round_proof
from entropyd.errors import RequestError
from entropyd.games.claims import derive_match_claim, derive_raffle_claim
from entropyd.games.seed_pair import Profile
from entropyd.v1 import draw_service_pb2, fair_service_pb2, fair_service_pb2_grpc
from entropyd.verify import check_proof
from tests.fakes.drawing import DrawingServicer, drawing
from tests.fakes.proofs import GAMES, SERVER_SEED, round_file

KEY = ClaimKey(bytes(range(32)))


def verifies(proof: dict[str, object]) -> str:
    return check_proof(json.dumps(proof).encode()).result


@contextlib.contextmanager
def connected() -> Iterator[tuple[Client, DrawingServicer]]:
    servicer = DrawingServicer()
    with (
        tempfile.TemporaryDirectory(prefix="ed-") as home,
        drawing(servicer, Path(home)) as target,
        Client(target, claim_key=KEY) as client,
    ):
        yield client, servicer


def test_a_match_is_drawn_replayed_page_by_page_and_proved():
    with connected() as (client, servicer):
        draws = client.draws()
        drawn = [
            draws.draw_integers("m", "a", bound=2**64, count=3),
            draws.roll_dice("m", "b", [(2, 6), (1, 20)]),
            draws.shuffle_items("m", "c", labels=["x", "y", "z"]),
            draws.sample("m", "d", 6, size=49),
            draws.draw_from_bag("m", "e", "main", 7, preset="polish"),
        ]
        match = draws.replay_match("m", openings=True)
        summaries = draws.list_draws("m")
    assert [1, 2, 3, 4, 5] == [one.number for one in drawn] == [one.number for one in summaries]
    assert [one.result for one in drawn] == [one.drawn.result for one in match.draws]
    assert sorted("xyz") == sorted(drawn[2].texts)
    assert {derive_match_claim(KEY.key, "m")} == {one.claim for one in servicer.requests}
    assert "" == verifies(match_proof(match))
    assert " ".join(map(str, drawn[1].result)) == verifies(draw_proof(match, "b"))


def test_the_rule_of_the_draw_and_what_large_ones_do_are_asked_for():
    with connected() as (client, servicer):
        client.draws().roll_dice("m", "a", [(1, 6)])
        client.draws(sampler=SamplerName.WORD32, large=Large.WAIT).roll_dice("m", "b", [(1, 6)])
        client.draws(large=Large.COMPUTATIONAL).shuffle_items("m", "c", size=5)
    assert [
        (draw_service_pb2.SAMPLER_MASKED, draw_service_pb2.LARGE_UNSPECIFIED),
        (draw_service_pb2.SAMPLER_WORD32, draw_service_pb2.LARGE_WAIT),
        (draw_service_pb2.SAMPLER_MASKED, draw_service_pb2.LARGE_COMPUTATIONAL),
    ] == [(one.sampler, one.large) for one in servicer.requests]


def test_tiles_go_back_and_a_bag_is_drawn_on_without_its_contents():
    with connected() as (client, _):
        draws = client.draws()
        first = draws.draw_from_bag("m", "a", "main", 3, tiles=[("x", 2), ("y", 2)])
        again = draws.draw_from_bag("m", "b", "main", 2, returns=[first.result[0]])
        match = draws.replay_match("m", openings=True)
    assert (1, 0) == (first.left, again.left)
    assert set("xy") >= set(again.texts)
    verifies(match_proof(match))


def test_a_draw_that_was_made_with_other_parameters_is_refused():
    with connected() as (client, _):
        first = client.draws().roll_dice("m", "a", [(8, 6)])
        assert first.result == client.draws().roll_dice("m", "a", [(8, 6)]).result
        with pytest.raises(Refusal) as caught:
            client.draws().roll_dice("m", "a", [(9, 6)])
    assert "DRAW_SPENT" == caught.value.reason


def test_a_match_that_is_no_id_is_refused_before_anything_is_sent():
    with connected() as (client, servicer):
        with pytest.raises(RequestError, match=r"key\.match"):
            client.draws().roll_dice("no id", "a", [(1, 6)])
        with pytest.raises(RequestError, match="raffle"):
            client.raffles().draw_raffle("")
    assert [] == servicer.requests


def test_what_is_secret_is_in_no_repr():
    with connected() as (client, _):
        drawn = client.draws().roll_dice("m", "a", [(8, 6)])
        match = client.draws().replay_match("m", openings=True)
    opening = match.draws[0].opening
    assert opening is not None
    assert "Opening()" == repr(opening)
    assert str(drawn.result) not in repr(drawn)


def test_a_proof_needs_the_openings_and_a_draw_that_is_there():
    with connected() as (client, _):
        client.draws().roll_dice("m", "a", [(1, 6)])
        bare = client.draws().replay_match("m")
        opened = client.draws().replay_match("m", openings=True)
    with pytest.raises(RequestError, match="opening"):
        match_proof(bare)
    with pytest.raises(RequestError, match="has no draw 'b'"):
        draw_proof(opened, "b")


def test_a_raffle_is_sealed_drawn_once_and_proved():
    with connected() as (client, servicer):
        raffles = client.raffles()
        sealed = raffles.seal_entries("spring", ["Bob", " Ann ", "Eve"], winners=1, alternates=1)
        drawn = raffles.draw_raffle("spring", entries_hash=sealed.entries_hash)
        again = raffles.draw_raffle("spring", entries_hash=sealed.entries_hash)
        opened = raffles.get_raffle("spring", entries=True, opening=True)
    assert (False, True) == (sealed.drawn, drawn.drawn)
    assert (False, True) == (drawn.replayed, again.replayed)
    assert (1, 1) == (len(drawn.winners), len(drawn.alternates))
    assert ("Ann", "Bob", "Eve") == opened.entries
    assert derive_raffle_claim(KEY.key, "spring") == servicer.requests[-1].claim
    told = f"{drawn.winners[0]}; standing by: {drawn.alternates[0]}"
    assert told == verifies(raffle_proof(opened))


def test_asyncio_draws_and_reads_back_the_same():
    """A match and a raffle, each step once, and the same again for threads."""

    async def drawn(target: str) -> tuple[Any, ...]:
        async with AsyncClient(target, claim_key=KEY) as client:
            draws, raffles = client.draws(sampler=SamplerName.WORD32), client.raffles()
            made = [
                await draws.draw_integers("m", "a", bound=6, low=1),
                await draws.roll_dice("m", "b", [(2, 6)]),
                await draws.shuffle_items("m", "c", size=5),
                await draws.sample("m", "d", 2, labels=["x", "y", "z"]),
                await draws.draw_from_bag("m", "e", "main", 7, preset="dominoes"),
            ]
            with pytest.raises(Refusal, match="ALREADY_EXISTS"):
                await draws.roll_dice("m", "b", [(3, 6)])
            listed, match = await draws.list_draws("m"), await draws.replay_match("m")
            sealed = await raffles.seal_entries("spring", ["Ann", "Bob"], winners=1)
            won = await raffles.draw_raffle("spring", entries_hash=sealed.entries_hash)
            opened = await raffles.get_raffle("spring", entries=True, opening=True)
        return made, listed, match, won, opened

    with (
        tempfile.TemporaryDirectory(prefix="ed-") as home,
        drawing(DrawingServicer(), Path(home)) as target,
    ):
        made, listed, match, won, opened = asyncio.run(drawn(target))
        with Client(target, claim_key=KEY) as client:
            assert match == client.draws().replay_match("m")
            assert listed == client.draws().list_draws("m")
    assert [one.result for one in made] == [one.drawn.result for one in match.draws]
    assert won.winners == opened.raffle.winners
    assert won.winners[0] == verifies(raffle_proof(opened))


# --- rounds -----------------------------------------------------------------------------------


class FairServicer(fair_service_pb2_grpc.FairServiceServicer):
    """Has one round, of a pair that is revealed; notes what came."""

    def __init__(self, played: Any, revealed: Any) -> None:
        self.requests: list[Any] = []
        self._played, self._revealed = played, revealed
        self._pair = fair_service_pb2.Pair(
            player="ann",
            profile=revealed.profile,
            pair=2,
            state=fair_service_pb2.LINE_STATE_AWAITING_CLIENT_SEED,
            server_hash=b"h" * 32,
            open_rounds=["r"],
        )

    def _take(self, request: Any, context: Any) -> Any:
        """Answer with whatever of its parts the response has a place for."""
        self.requests.append(request)
        name = type(request).__name__.removesuffix("Request")
        if name == "ListPairs":
            parts = {"revealed": [self._revealed]} if request.player else {"present": [self._pair]}
            return fair_service_pb2.ListPairsResponse(**parts)
        response = getattr(fair_service_pb2, f"{name}Response")
        parts = {
            "round": self._played,
            "rounds": [self._played],
            "pair": self._pair,
            "revealed": self._revealed,
            "replayed": True,
        }
        named = {field.name for field in response.DESCRIPTOR.fields}
        return response(**{part: parts[part] for part in parts.keys() & named})

    OpenPair = SetClientSeed = PlayRound = CloseRound = VoidRound = RotatePair = _take
    GetPair = GetRound = ListRounds = ListPairs = _take


def message_of(name: str, profile: Profile) -> Any:
    """A round as the wire has it."""
    file = round_file(name, profile)
    outcome = file["outcome"]
    wire: dict[str, Any] = {
        "roulette": {"roulette": outcome},
        "mines": {"mines": {"tile_index0": outcome.get("mines")}},
        "dice_poker": {"dice_poker": outcome},
        "blackjack": {"blackjack": outcome},
        "cascade": {
            "cascade": {
                "grids": [
                    {
                        "symbols": grid,
                        "wins": [{"symbol": symbol, "count": cells} for symbol, cells in wins],
                    }
                    for grid, wins in zip(
                        outcome.get("grids", ()), outcome.get("wins", ()), strict=True
                    )
                ]
            }
        },
    }.get(name, {"reels": outcome})
    return fair_service_pb2.Round(
        key=fair_service_pb2.RoundKey(player="ann", round="r"),
        pair=1,
        nonce=int(file["nonce"]),
        server_hash=bytes.fromhex(file["server_hash"]),
        client_seed=file["client_seed"],
        rules=file["rules"],
        state=fair_service_pb2.ROUND_STATE_CLOSED,
        **wire,
    )


@contextlib.contextmanager
def fairly(played: Any, profile: Profile) -> Iterator[tuple[Any, FairServicer]]:
    with fair_server(played, profile) as (target, servicer), Client(target, claim_key=KEY) as one:
        yield one.fair(), servicer


@contextlib.contextmanager
def fair_server(played: Any, profile: Profile) -> Iterator[tuple[str, FairServicer]]:
    revealed = fair_service_pb2.RevealedPair(
        player="ann",
        profile=fair_service_pb2.Profile.Value(f"PROFILE_{profile.upper()}"),
        pair=1,
        server_seed=SERVER_SEED.hex(),
        server_hash=played.server_hash,
        reason="rotated",
    )
    servicer = FairServicer(played, revealed)
    server = grpc.server(ThreadPoolExecutor(1))
    fair_service_pb2_grpc.add_FairServiceServicer_to_server(servicer, server)
    with tempfile.TemporaryDirectory(prefix="ed-") as home:
        server.add_insecure_port(f"unix:{home}/fair.sock")
        server.start()
        try:
            yield f"unix:{home}/fair.sock", servicer
        finally:
            server.stop(0).wait()


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("name", GAMES)
def test_a_round_of_every_game_is_read_back_and_proved(name, profile):
    with fairly(message_of(name, profile), profile) as (fair, _):
        opened = fair.get_round("ann", "r")
    assert ("closed", "Lucky7", 4) == (
        opened.round.state,
        opened.round.client_seed,
        opened.round.nonce,
    )
    verifies(round_proof(opened))


def test_every_call_of_a_line_of_pairs_says_what_it_means():
    played = message_of("roulette", Profile.V2)
    with fairly(played, Profile.V2) as (fair, servicer):
        pair = fair.open_pair("ann", profile="v2")
        fair.set_client_seed("ann", "mine", server_hash=pair.server_hash)
        fair.play_round("ann", "r", "slots", machine="high_roller", expected_nonce=0)
        fair.close_round("ann", "r")
        fair.void_round("ann", "r", "the table closed")
        revealed, present = fair.rotate_pair("ann", 1)
        assert [4] == [one.nonce for one in fair.list_rounds("ann", 1)]
        assert [revealed] == fair.list_pairs("ann")
        assert present == fair.get_pair("ann")
    opened, seeded, asked, *_ = servicer.requests
    assert ("v2", 2, "awaiting_client_seed", ("r",)) == (
        pair.profile,
        pair.pair,
        pair.state,
        pair.open_rounds,
    )
    assert (SERVER_SEED.hex(), "rotated") == (revealed.server_seed, revealed.reason)
    assert fair_service_pb2.PROFILE_V2 == opened.profile
    assert (pair.server_hash, "mine") == (seeded.server_hash, seeded.client_seed)
    assert (
        fair_service_pb2.GAME_SLOTS,
        fair_service_pb2.MACHINE_HIGH_ROLLER,
        True,
        0,
    ) == (asked.game, asked.machine, asked.HasField("expected_nonce"), asked.expected_nonce)


def test_the_present_pairs_of_all_players_are_asked_for_without_a_player():
    with fairly(message_of("roulette", Profile.V2), Profile.V2) as (fair, servicer):
        assert ["ann"] == [pair.player for pair in fair.present_pairs(overdue_only=True)]
    assert [("", True)] == [(each.player, each.overdue_only) for each in servicer.requests]


def test_asyncio_sends_what_threads_send_and_gets_the_same():
    """Every call of a line, by both clients, against the same server."""
    with fair_server(message_of("mines", Profile.V2), Profile.V2) as (target, servicer):
        with Client(target, claim_key=KEY) as client:
            by_threads = all_calls(client.fair())
        sent = servicer.requests.copy()
        servicer.requests.clear()
        by_asyncio = asyncio.run(all_calls_in_asyncio(target))
    assert 12 == len(sent)
    assert sent == servicer.requests
    assert by_threads == by_asyncio


def all_calls(fair: Any) -> list[Any]:
    return [
        fair.open_pair("ann", profile="v1"),
        fair.set_client_seed("ann", "mine", server_hash=b"h" * 32),
        fair.play_round("ann", "r", "mines", mines=3, expected_nonce=4),
        fair.close_round("ann", "r"),
        fair.void_round("ann", "r", "left"),
        fair.rotate_pair("ann", 1),
        fair.get_pair("ann"),
        fair.get_round("ann", "r"),
        list(fair.list_rounds("ann", 1)),
        fair.list_pairs("ann"),
        list(fair.present_pairs()),
        list(fair.present_pairs(overdue_only=True)),
    ]


async def all_calls_in_asyncio(target: str) -> list[Any]:
    async with AsyncClient(target, claim_key=KEY) as client:
        fair = client.fair()
        return [
            await fair.open_pair("ann", profile="v1"),
            await fair.set_client_seed("ann", "mine", server_hash=b"h" * 32),
            await fair.play_round("ann", "r", "mines", mines=3, expected_nonce=4),
            await fair.close_round("ann", "r"),
            await fair.void_round("ann", "r", "left"),
            await fair.rotate_pair("ann", 1),
            await fair.get_pair("ann"),
            await fair.get_round("ann", "r"),
            [one async for one in fair.list_rounds("ann", 1)],
            await fair.list_pairs("ann"),
            [one async for one in fair.present_pairs()],
            [one async for one in fair.present_pairs(overdue_only=True)],
        ]


def test_a_round_of_a_pair_that_is_not_revealed_has_no_proof():
    played = message_of("mines", Profile.V1)
    opened = fair_service_pb2.GetRoundResponse(round=played)
    with pytest.raises(RequestError, match="not revealed yet"):
        round_proof(OpenedRound.from_message(opened))
