"""FairService without a transport: one step, one record, and no seed before its reveal."""

import asyncio
import json
import threading
from typing import Any

import pytest

from entropyd.entropy.source_state import SourceState
from entropyd.errors import (
    EntropydError,
    EntropyHoldError,
    LedgerUnavailableError,
    PairNotFoundError,
    PermissionDeniedError,
    RequestError,
    RoundNotFoundError,
    RoundSpentError,
    WrongNodeError,
    WrongStateError,
)
from entropyd.games.pair_steps import LineOwner
from entropyd.games.round_rules import decode_rules
from entropyd.games.rounds import play as play_round
from entropyd.games.seed_pair import Profile, server_hash
from entropyd.ledger.subjects import SubjectKind
from entropyd.runtime import line_records
from entropyd.runtime.fair import FairLimits, FairLines
from entropyd.runtime.fair_sweep import FairSweep
from entropyd.runtime.line_records import LineRecords
from entropyd.service.fair_core import FairCore
from entropyd.service.identity import Call, Identity, Role
from entropyd.service.patience import Patience
from entropyd.v1 import fair_service_pb2 as pb
from entropyd.verify import check_proof
from tests.fakes.dealing import SECOND, Table
from tests.fakes.ledger import FaultyLedger, MemoryDisk, MemoryLedger
from tests.fakes.manual_time import START_NS, play, settle

MS = 10**6
HOUR = 3600 * SECOND
SITE = Identity("site", frozenset({Role.DRAW}))
AUDITOR = Identity("site", frozenset({Role.AUDIT}))
OUTSIDER = Identity("site", frozenset({Role.DEAL_ALL}))


class Desk:
    """A core over a gate that holds `seeds` of credit.

    Attributes:
        said: every message that was answered, in order.
    """

    def __init__(
        self, seeds: int = 20, *, max_rounds: int = 100, adopted_at_ns: int = 0, **table: Any
    ) -> None:
        self.table = Table(**table)
        if seeds:
            self.table.deliver(96 * seeds)
        clock = self.table.clock
        self.records = LineRecords(self.table.ledger)
        self.lines = FairLines(
            self.table.dealer.step_calls,
            self.records,
            limits=FairLimits(Profile.V2, reveal_after_ns=HOUR, max_rounds=max_rounds),
            clock_ns=clock,
            wall_ns=clock.wall_ns,
            adopted_at_ns=adopted_at_ns,
        )
        self.sweep = FairSweep(self.lines, self.records, clock_ns=clock)
        self.core = FairCore(
            self.lines,
            self.records,
            self.sweep,
            patience=Patience(clock, max_hold_ns=5 * SECOND, answer_before_deadline_ns=50 * MS),
            wall_ns=clock.wall_ns,
        )
        self.said: list[Any] = []

    async def ask(self, method, request, who=SITE, seconds: float | None = 10):
        """Return the answer, as it comes out of the wire."""
        deadline = None if seconds is None else self.table.clock() + round(seconds * SECOND)
        answer = await getattr(self.core, method)(request, Call(who, deadline))
        again = type(answer).FromString(answer.SerializeToString())
        self.said.append(again)
        return again

    async def open(self, player="ann", profile=pb.PROFILE_UNSPECIFIED, **how):
        request = pb.OpenPairRequest(player=player, profile=profile)
        return await self.ask("open_pair", request, **how)

    async def choose(self, client="mine", player="ann", shown=None):
        if shown is None:
            shown = (await self.pair(player)).server_hash
        request = pb.SetClientSeedRequest(player=player, server_hash=shown, client_seed=client)
        return (await self.ask("set_client_seed", request)).pair

    async def begin(self, player="ann", profile=pb.PROFILE_UNSPECIFIED):
        await self.open(player, profile)
        return await self.choose(player=player)

    async def play(self, round_id="r-1", game=pb.GAME_ROULETTE, player="ann", who=SITE, **more):
        key = pb.RoundKey(player=player, round=round_id)
        return await self.ask("play_round", pb.PlayRoundRequest(key=key, game=game, **more), who)

    async def mines(self, round_id="r-1", mines=3, **more):
        return await self.play(round_id, pb.GAME_MINES, mines=mines, **more)

    async def close(self, round_id="r-1"):
        key = pb.RoundKey(player="ann", round=round_id)
        return (await self.ask("close_round", pb.CloseRoundRequest(key=key))).round

    async def void(self, round_id="r-1", reason="player-left"):
        key = pb.RoundKey(player="ann", round=round_id)
        return (await self.ask("void_round", pb.VoidRoundRequest(key=key, reason=reason))).round

    async def rotate(self, pair=1, player="ann"):
        return await self.ask("rotate_pair", pb.RotatePairRequest(player=player, pair=pair))

    async def pair(self, player="ann", who=SITE):
        return (await self.ask("get_pair", pb.GetPairRequest(player=player), who)).pair

    async def round(self, round_id="r-1", who=SITE, player="ann"):
        key = pb.RoundKey(player=player, round=round_id)
        return await self.ask("get_round", pb.GetRoundRequest(key=key), who)

    def run(self, scenario):
        return play(self.table.clock, scenario)

    def seeds(self, player="ann"):
        """Return the two secret seeds of a line, as the ledger has them now."""
        kept, _ = self.records.kept(LineOwner("site", player))
        return kept.seeds.present, kept.seeds.following

    def steps(self, player="ann"):
        return self.table.ledger.steps(SubjectKind.PAIRS, "site", player, 0, 10_000)


async def refused(kind, call, match=None):
    with pytest.raises(kind, match=match) as told:
        await call
    return told.value


# --- the life of a line ---------------------------------------------------------------


def test_a_line_from_its_opening_to_the_check_of_a_round():
    """The seed that comes out hashes to what was shown first, and gives the round."""
    desk = Desk()

    async def scenario():
        opened = await desk.open()
        assert (opened.pair.pair, opened.pair.state) == (1, pb.LINE_STATE_AWAITING_CLIENT_SEED)
        assert not opened.replayed
        assert opened.provenance.seeds == 2
        chosen = await desk.choose("mine")
        assert (chosen.state, chosen.client_seed) == (pb.LINE_STATE_READY, "mine")
        played = (await desk.play()).round
        rotated = await desk.rotate()
        return opened.pair, played, rotated

    pair, played, rotated = desk.run(scenario)
    seed = bytes.fromhex(rotated.revealed.server_seed)
    assert pair.server_hash == server_hash(Profile.V2, seed) == rotated.revealed.server_hash
    assert rotated.pair.server_hash == pair.next_server_hash
    assert rotated.pair.next_server_hash not in {pair.server_hash, pair.next_server_hash}
    assert (rotated.revealed.rounds, rotated.revealed.reason) == (1, "rotated")
    rules = decode_rules(played.rules.encode())
    outcome = play_round(rules, seed, "mine", 0).outcome
    assert outcome.as_json() == {"pocket": played.roulette.pocket}


def test_a_round_of_the_service_passes_the_verifier():
    """What GetRound gives is the round file of section 18.6, for every game and both profiles."""
    for profile in (pb.PROFILE_V1, pb.PROFILE_V2):
        desk = Desk()

        async def scenario(desk=desk, profile=profile):
            await desk.begin(profile=profile)
            await desk.play("a", pb.GAME_SLOTS, machine=pb.MACHINE_MINI)
            await desk.play("b", pb.GAME_DICE_POKER)
            await desk.play("c")
            await desk.rotate()
            return [await desk.round(name) for name in "abc"]

        for answer in desk.run(scenario):
            check_proof(round_file(answer))


def round_file(answer):
    played = answer.round
    which = played.WhichOneof("outcome")
    outcome = getattr(played, which)
    members = {field.name: value for field, value in outcome.ListFields()}
    if which == "roulette":
        members = {"pocket": outcome.pocket}
    return json.dumps(
        {
            "entropyd": "round/v1",
            "rules": played.rules,
            "server_seed": answer.revealed.server_seed,
            "server_hash": played.server_hash.hex(),
            "client_seed": played.client_seed,
            "nonce": str(played.nonce),
            "outcome": {
                name: value if isinstance(value, int) else list(value)
                for name, value in members.items()
            },
        }
    ).encode()


def test_every_game_is_answered_with_its_own_outcome():
    """As computed, member by member."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        return [
            (await desk.play(f"r-{number}", game, **more)).round
            for number, (game, more) in enumerate(
                [
                    (pb.GAME_ROULETTE, {}),
                    *[(pb.GAME_SLOTS, {"machine": machine}) for machine in (1, 2, 3, 4)],
                    (pb.GAME_MINES, {"mines": 19}),
                    (pb.GAME_DICE_POKER, {}),
                    (pb.GAME_BLACKJACK, {}),
                ]
            )
        ]

    rounds = desk.run(scenario)
    seed = desk.seeds()[0]
    for played in rounds:
        rules = decode_rules(played.rules.encode())
        expected = play_round(rules, seed, "mine", played.nonce).outcome.as_json()
        assert expected == outcome_of(played)
    assert [played.nonce for played in rounds] == list(range(8))


def outcome_of(played):
    """Return the message's outcome as it stands in a round file."""
    match played.WhichOneof("outcome"):
        case "roulette":
            return {"pocket": played.roulette.pocket}
        case "reels":
            return {"stops": [*played.reels.stops], "symbols": [*played.reels.symbols]}
        case "cascade":
            grids = played.cascade.grids
            wins = [[[win.symbol, win.count] for win in grid.wins] for grid in grids]
            return {"grids": [[*grid.symbols] for grid in grids], "wins": wins}
        case "mines":
            return {"mines": [*played.mines.tile_index0]}
        case "dice_poker":
            return {"bot": [*played.dice_poker.bot], "player": [*played.dice_poker.player]}
        case "blackjack":
            shoe = played.blackjack
            return {"shoe": [*shoe.shoe], "player": [*shoe.player], "dealer": [*shoe.dealer]}


def test_no_message_before_the_reveal_has_a_seed_in_it():
    """Neither bytes nor hexadecimal text, in any answer or step that may be shown."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        await desk.play()
        await desk.mines("m")
        await desk.close("m")
        await desk.round()
        await desk.ask("list_rounds", pb.ListRoundsRequest(player="ann"))
        await desk.ask("list_pairs", pb.ListPairsRequest(player="ann"))
        await desk.ask("list_pairs", pb.ListPairsRequest())

    desk.run(scenario)
    shown = [answer.SerializeToString() for answer in desk.said]
    shown += [step.public for step in desk.steps()]
    subject = desk.table.ledger.subject(SubjectKind.PAIRS, "site", "ann")
    assert subject is not None
    shown.append(subject.state)
    for seed in desk.seeds():
        for text in shown:
            assert seed not in text
            assert seed.hex().encode() not in text


def test_where_the_mines_are_is_kept_as_a_secret_and_answered_to_the_game_server():
    """An open round's outcome is in the sealed part of its record."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        return (await desk.mines(mines=19)).round

    played = desk.run(scenario)
    step = desk.steps()[-1]
    assert b"outcome" not in step.public
    assert json.loads(step.public)["seeds"] == played.seeds == "computational"
    assert json.loads(step.secret) == {"mines": list(played.mines.tile_index0)}


# --- once -----------------------------------------------------------------------------


def test_a_thousand_callers_of_one_round_get_one_outcome():
    """One record, one nonce, 999 replays."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        answers = await asyncio.gather(*(desk.play(expected_nonce=0) for _ in range(1000)))
        return answers, await desk.pair()

    answers, pair = desk.run(scenario)
    assert len({answer.round.SerializeToString() for answer in answers}) == 1
    assert sum(not answer.replayed for answer in answers) == 1
    assert pair.next_nonce == 1
    assert [step.step for step in desk.steps()] == ["open", "client-seed", "round"]


def test_a_thousand_callers_of_one_nonce_get_one_round():
    """Each with an id of its own: one plays, the others are told which nonce comes next."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        calls = (desk.play(f"r-{number}", expected_nonce=0) for number in range(1000))
        return await asyncio.gather(*calls, return_exceptions=True)

    ended = desk.run(scenario)
    told = [one for one in ended if isinstance(one, WrongStateError)]
    assert len(told) == 999
    assert all("next nonce of pair 1 is 1, not 0" in str(error) for error in told)


def test_many_rounds_at_once_have_nonces_without_a_gap():
    """Whoever is first; none is missing and none is twice."""
    desk = Desk(max_rounds=1000)

    async def scenario():
        await desk.begin()
        answers = await asyncio.gather(*(desk.play(f"r-{number}") for number in range(200)))
        return sorted(answer.round.nonce for answer in answers)

    assert list(range(200)) == desk.run(scenario)


def test_a_round_is_replayed_for_ever_and_with_other_rules_never():
    """Also after the rotation, and without its expected nonce being the next any more."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        first = await desk.play(expected_nonce=0)
        await refused(RoundSpentError, desk.play(game=pb.GAME_DICE_POKER), "other rules")
        await refused(RoundSpentError, desk.mines())
        await desk.rotate()
        again = await desk.play(expected_nonce=0)
        return first, again

    first, again = desk.run(scenario)
    assert again.replayed
    assert first.round == again.round


def test_a_pair_is_rotated_once_however_often_it_is_asked_for():
    """The retry names the pair, so it never reveals the next one."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        answers = await asyncio.gather(*(desk.rotate(1) for _ in range(50)))
        return answers, await desk.pair()

    answers, pair = desk.run(scenario)
    assert len({answer.revealed.SerializeToString() for answer in answers}) == 1
    assert sum(not answer.replayed for answer in answers) == 1
    assert pair.pair == 2


def test_a_line_is_opened_once():
    """With another profile it is refused; with none or its own it is answered as it is."""
    desk = Desk()

    async def scenario():
        opened = await asyncio.gather(*(desk.open() for _ in range(20)))
        await refused(WrongStateError, desk.open(profile=pb.PROFILE_V1), "profile v2")
        await desk.choose()
        return opened, await desk.open(profile=pb.PROFILE_V2)

    opened, later = desk.run(scenario)
    assert len({answer.pair.SerializeToString() for answer in opened}) == 1
    assert later.replayed
    assert later.pair.client_seed == "mine"
    assert later.provenance == opened[0].provenance
    assert [step.step for step in desk.steps()] == ["open", "client-seed"]


def test_the_same_client_seed_again_is_no_step():
    """A retry of SetClientSeed changes nothing; another seed is a step."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        await desk.choose("mine")
        await desk.choose("other")

    desk.run(scenario)
    assert [step.step for step in desk.steps()] == ["open", "client-seed", "client-seed"]


# --- states ---------------------------------------------------------------------------


def test_no_round_before_a_client_seed_after_this_hash():
    """Neither at first nor after a rotation; and not against another hash."""
    desk = Desk()

    async def scenario():
        shown = (await desk.open()).pair
        await refused(WrongStateError, desk.play(), "AWAITING_CLIENT_SEED")
        await refused(WrongStateError, desk.choose(shown=shown.next_server_hash), "not that of")
        await desk.choose()
        await desk.play()
        await desk.rotate()
        await refused(WrongStateError, desk.play("r-2"), "pair 2 is AWAITING_CLIENT_SEED")
        await refused(WrongStateError, desk.choose(shown=shown.server_hash), "not that of")
        await desk.choose()
        return (await desk.play("r-2")).round

    assert desk.run(scenario).nonce == 0


def test_an_open_round_holds_rotation_and_client_seed():
    """Until it is closed; instant rounds go on."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        assert (await desk.mines()).round.state == pb.ROUND_STATE_OPEN
        await refused(WrongStateError, desk.rotate(), "ROUND_OPEN")
        await refused(WrongStateError, desk.choose("other"), "ROUND_OPEN")
        assert (await desk.play("r-2")).round.state == pb.ROUND_STATE_CLOSED
        assert (await desk.close()).state == pb.ROUND_STATE_CLOSED
        return await desk.rotate()

    assert desk.run(scenario).revealed.rounds == 2


def test_a_round_ends_once_and_a_retry_finds_how():
    """Closed is not voided, and the reason stays the first."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        for name in ("r-1", "r-2"):
            await desk.mines(name)
        assert await desk.close("r-1") == await desk.close("r-1")
        await refused(WrongStateError, desk.void("r-1"), "CLOSED already")
        voided = await desk.void("r-2")
        assert voided == await desk.void("r-2")
        await refused(WrongStateError, desk.void("r-2", "other"), "voided as 'player-left'")
        await refused(WrongStateError, desk.close("r-2"), "voided")
        await desk.play("r-3")
        await refused(WrongStateError, desk.void("r-3"), "CLOSED already")
        return voided, await desk.close("r-3")

    voided, instant = desk.run(scenario)
    assert (voided.state, voided.void_reason, voided.nonce) == (
        pb.ROUND_STATE_VOIDED,
        "player-left",
        1,
    )
    assert instant.nonce == 2


def test_what_does_not_exist_is_not_found_and_makes_nothing():
    """No line, no round, no pair."""
    desk = Desk()

    async def scenario():
        for call in (desk.play(), desk.pair(), desk.rotate(), desk.choose(shown=bytes(32))):
            await refused(PairNotFoundError, call, "OpenPair")
        await desk.begin()
        for call in (desk.round(), desk.close(), desk.void()):
            await refused(RoundNotFoundError, call, "never played")
        request = pb.ListRoundsRequest(player="ann", pair=2)
        await refused(PairNotFoundError, desk.ask("list_rounds", request), "no pair 2 yet")
        await refused(WrongStateError, desk.rotate(2), "pair 2 is not present")

    desk.run(scenario)
    assert [step.step for step in desk.steps()] == ["open", "client-seed"]


KEY = pb.RoundKey(player="ann", round="r-1")
BAD_KEY = pb.RoundKey(player="ann", round="r r")
OPEN, CLIENT, PLAY = pb.OpenPairRequest, pb.SetClientSeedRequest, pb.PlayRoundRequest
# A number that a later version may give a meaning.
UNKNOWN: Any = 7
SLOTS, MINES, ROULETTE = pb.GAME_SLOTS, pb.GAME_MINES, pb.GAME_ROULETTE


@pytest.mark.parametrize(
    ("field", "method", "request_"),
    [
        ("player", "open_pair", OPEN()),
        ("profile", "open_pair", OPEN(player="ann", profile=UNKNOWN)),
        ("client_seed", "set_client_seed", CLIENT(player="ann", server_hash=bytes(32))),
        ("client_seed", "set_client_seed", CLIENT(player="ann", client_seed="a:b")),
        ("server_hash", "set_client_seed", CLIENT(player="ann", client_seed="a")),
        ("key.player", "play_round", PLAY()),
        ("key.round", "play_round", PLAY(key=pb.RoundKey(player="ann"))),
        ("game", "play_round", PLAY(key=KEY)),
        ("machine", "play_round", PLAY(key=KEY, game=SLOTS)),
        ("machine", "play_round", PLAY(key=KEY, game=ROULETTE, machine=pb.MACHINE_MINI)),
        ("mines", "play_round", PLAY(key=KEY, game=MINES)),
        ("mines", "play_round", PLAY(key=KEY, game=MINES, mines=20)),
        ("mines", "play_round", PLAY(key=KEY, game=ROULETTE, mines=1)),
        (
            "key.round",
            "close_round",
            pb.CloseRoundRequest(key=BAD_KEY),
        ),
        ("reason", "void_round", pb.VoidRoundRequest(key=KEY)),
        ("pair", "rotate_pair", pb.RotatePairRequest(player="ann")),
        ("page_size", "list_pairs", pb.ListPairsRequest(page_size=-1)),
        ("page_token", "list_pairs", pb.ListPairsRequest(page_token="???")),
    ],
)
def test_a_malformed_request_is_refused_by_its_field(field, method, request_):
    """Before anything is looked up."""
    desk = Desk()
    error = desk.run(lambda: refused(RequestError, desk.ask(method, request_)))
    assert field == error.field


@pytest.mark.parametrize(
    ("request_", "names"),
    [
        (PLAY(key=KEY), pb.Game.keys()[1:]),
        (PLAY(key=KEY, game=SLOTS), pb.Machine.keys()[1:]),
    ],
)
def test_a_game_or_machine_that_is_not_said_is_told_which_there_are(request_, names):
    desk = Desk()
    error = desk.run(lambda: refused(RequestError, desk.ask("play_round", request_)))
    assert str(error).endswith(f"is 0; expected {', '.join(names)}")


def test_roles():
    """`draw` changes, `audit` reads, nobody else learns what exists."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        await desk.play()
        await refused(PermissionDeniedError, desk.play("r-2", who=AUDITOR))
        await refused(PermissionDeniedError, desk.open("bob", who=AUDITOR))
        for call in (desk.pair(who=OUTSIDER), desk.round(who=OUTSIDER), desk.play(who=OUTSIDER)):
            await refused(PermissionDeniedError, call)
        await refused(
            PermissionDeniedError, desk.ask("list_pairs", pb.ListPairsRequest(), OUTSIDER)
        )
        assert (await desk.pair(who=AUDITOR)).next_nonce == 1
        return await desk.round(who=AUDITOR)

    assert not desk.run(scenario).HasField("revealed")


def test_a_player_of_another_node_is_sent_there():
    """What is not here may be there; what is here is answered here."""
    desk = Desk(tables=("a*",))

    async def scenario():
        await refused(WrongNodeError, desk.open("bob"))
        await refused(WrongNodeError, desk.pair("bob"))
        await refused(WrongNodeError, desk.round(player="bob"))
        await desk.open("ann")

    desk.run(scenario)


def test_a_call_that_may_wait_needs_a_deadline():
    """So that none hangs."""
    desk = Desk()
    error = desk.run(lambda: refused(RequestError, desk.open(seconds=None)))
    assert error.field == "deadline"


# --- when things fail -----------------------------------------------------------------


def test_a_held_gate_opens_nothing_and_rotates_nothing():
    """The caller is told to come back; rounds go on meanwhile, for they take no entropy."""
    desk = Desk(seeds=2)

    async def scenario():
        await desk.begin()
        desk.table.stand(state=SourceState.LOST)
        await refused(EntropyHoldError, desk.rotate())
        await refused(EntropyHoldError, desk.open("bob"))
        return await desk.play(), await desk.pair()

    played, pair = desk.run(scenario)
    assert played.round.nonce == 0
    assert pair.pair == 1


@pytest.mark.parametrize("written", [False, True])
def test_a_commit_that_fails_leaves_the_same_outcome_or_none(written):
    """Failed and not written: the round is played then. Failed but written: it is found."""
    disk = MemoryDisk()
    ledger = FaultyLedger(MemoryLedger(disk))
    desk = Desk(ledger=ledger)

    async def scenario():
        await desk.begin()
        if written:
            ledger.fail_but_written = 1
        else:
            ledger.fail_not_written = 1
        await refused(LedgerUnavailableError, desk.play())
        await asyncio.sleep(2)
        return await desk.play()

    again = desk.run(scenario)
    assert written == again.replayed
    rules = decode_rules(again.round.rules.encode())
    expected = play_round(rules, desk.seeds()[0], "mine", 0).outcome.as_json()
    assert expected == outcome_of(again.round)


def test_a_crash_at_any_moment_leaves_the_same_outcome_or_no_round():
    """Nonce, rules and outcome are one record, so there is nothing between them to be lost.

    The process ends with the commit on its way, once before and once after it lands; another
    process on the same disk answers the retry.
    """
    for landed in (False, True):
        disk = MemoryDisk()
        desk = Desk(ledger=MemoryLedger(disk))

        async def crash(desk=desk, landed=landed):
            await desk.begin()
            desk.table.writer.held = True
            call = asyncio.create_task(desk.play())
            await settle()
            if landed:
                desk.table.writer.commit_all()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

        desk.run(crash)
        seed = desk.seeds()[0]
        disk.held = False
        after = Desk(ledger=MemoryLedger(disk))
        again = after.run(after.play)
        assert landed == again.replayed
        expected = play_round(decode_rules(again.round.rules.encode()), seed, "mine", 0)
        assert expected.outcome.as_json() == outcome_of(again.round)
        assert [step.step for step in after.steps()] == ["open", "client-seed", "round"]


def test_a_caller_that_hangs_up_keeps_its_turn_until_its_round_is_recorded():
    """The next call is made of what was recorded, not of what was there before."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        desk.table.writer.held = True
        gone = asyncio.create_task(desk.play("r-1"))
        await settle()
        gone.cancel()
        following = asyncio.create_task(desk.play("r-2"))
        await settle()
        assert [step.key for step in desk.table.writer.steps] == ["open", "", "round/r-1"]
        desk.table.writer.held = False
        desk.table.writer.commit_all()
        return (await following).round

    assert desk.run(scenario).nonce == 1


def test_a_turn_that_does_not_come_in_time_is_told_so():
    """UNAVAILABLE, and nothing was changed."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        desk.table.writer.held = True
        first = asyncio.create_task(desk.play("r-1"))
        await settle()
        key = pb.RoundKey(player="ann", round="r-2")
        request = pb.PlayRoundRequest(key=key, game=pb.GAME_ROULETTE)
        await refused(EntropyHoldError, desk.ask("play_round", request, seconds=1), "go first")
        desk.table.writer.commit_all()
        await first

    desk.run(scenario)
    assert [step.key for step in desk.steps()] == ["open", "", "round/r-1"]


# --- reveal without being asked -------------------------------------------------------


def test_what_is_overdue_is_revealed_and_its_open_rounds_are_voided():
    """By time: seed out, next pair present, open round voided with the reason `expired`."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        await desk.begin("bob")
        await desk.mines()
        early = await desk.sweep.reveal(["site"], desk.table.clock.wall_ns())
        await asyncio.sleep(3600)
        # Samples get old as well.
        desk.table.deliver(96 * 4)
        assert (await desk.pair()).overdue
        swept = await desk.sweep.reveal(["site"], desk.table.clock.wall_ns())
        return early, swept, await desk.round(), await desk.pair()

    early, swept, answer, pair = desk.run(scenario)
    assert (early.revealed, early.overdue) == (0, 0)
    assert (swept.revealed, swept.overdue) == (2, 0)
    assert (answer.round.state, answer.round.void_reason) == (pb.ROUND_STATE_VOIDED, "expired")
    assert (answer.revealed.reason, [*answer.revealed.voided_rounds]) == ("expired", ["r-1"])
    assert (pair.pair, pair.overdue, pair.state) == (2, False, pb.LINE_STATE_AWAITING_CLIENT_SEED)
    assert desk.steps()[-1].step == "rotate"


def test_a_pair_that_has_had_all_of_its_rounds_is_revealed():
    """The limit of rounds: none more is played, and the next run reveals."""
    desk = Desk(max_rounds=2)

    async def scenario():
        await desk.begin()
        for name in ("a", "b"):
            await desk.play(name)
        await refused(WrongStateError, desk.play("c"), "as many as a pair may; rotate")
        return await desk.sweep.reveal(["site"], desk.table.clock.wall_ns())

    assert desk.run(scenario).revealed == 1


def test_a_held_gate_leaves_pairs_overdue_and_marked():
    """The run ends early and says how many are left; the list shows which."""
    desk = Desk(seeds=6)

    async def scenario():
        for player in ("ann", "bob", "cid"):
            await desk.open(player)
        await asyncio.sleep(3600)
        desk.table.stand(state=SourceState.LOST)
        swept = await desk.sweep.reveal(["site"], desk.table.clock.wall_ns())
        listed = await desk.ask("list_pairs", pb.ListPairsRequest(overdue_only=True))
        return swept, listed

    swept, listed = desk.run(scenario)
    assert (swept.revealed, swept.overdue) == (0, 3)
    assert [pair.player for pair in listed.present] == ["ann", "bob", "cid"]


# --- lists ----------------------------------------------------------------------------


async def pages(desk, method, request, of):
    """Return all that a list has, page by page."""
    found = []
    while True:
        answer = await desk.ask(method, request, AUDITOR, None)
        found.append(of(answer))
        if not answer.next_page_token:
            return found
        request.page_token = answer.next_page_token


def test_rounds_are_listed_by_pair_without_a_gap():
    """In the order of their nonces, in pages, with how each stands."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        for number in range(5):
            await desk.mines(f"r-{number}")
        await desk.void("r-1")
        for name in ("r-0", "r-2", "r-3", "r-4"):
            await desk.close(name)
        await desk.rotate()
        await desk.choose()
        await desk.mines("later")
        first = pb.ListRoundsRequest(player="ann", pair=1, page_size=2)
        listed = await pages(desk, "list_rounds", first, lambda answer: [*answer.rounds])
        now = pb.ListRoundsRequest(player="ann")
        return listed, await pages(desk, "list_rounds", now, lambda answer: [*answer.rounds])

    listed, now = desk.run(scenario)
    assert [[0, 1], [2, 3], [4]] == [[one.nonce for one in page] for page in listed]
    states = [one.state for page in listed for one in page]
    assert states == [pb.ROUND_STATE_CLOSED, pb.ROUND_STATE_VOIDED] + [pb.ROUND_STATE_CLOSED] * 3
    assert [[("later", 2, pb.ROUND_STATE_OPEN)]] == [
        [(one.key.round, one.pair, one.state) for one in page] for page in now
    ]


def test_pairs_of_a_player_are_listed_with_their_seeds_and_the_present_one_without():
    """Each seed hashes to what was published; none is missing."""
    desk = Desk()

    async def scenario():
        hashes = [(await desk.open()).pair.server_hash]
        for number in range(1, 6):
            hashes.append((await desk.rotate(number)).pair.server_hash)
        request = pb.ListPairsRequest(player="ann", page_size=2)
        listed = await pages(
            desk, "list_pairs", request, lambda answer: ([*answer.revealed], [*answer.present])
        )
        return hashes, listed

    hashes, listed = desk.run(scenario)
    revealed = [one for page, _ in listed for one in page]
    assert [1, 2, 3, 4, 5] == [one.pair for one in revealed]
    made = [server_hash(Profile.V2, bytes.fromhex(one.server_seed)) for one in revealed]
    assert hashes[:5] == made
    present = [one for _, page in listed for one in page]
    assert [(6, hashes[5])] == [(one.pair, one.server_hash) for one in present]


def test_present_pairs_of_all_players_are_listed_in_pages():
    """In byte order of the players, of this tenant alone."""
    desk = Desk()

    async def scenario():
        for player in ("cid", "ann", "Bob"):
            await desk.open(player)
        other = Identity("other", frozenset({Role.DRAW}))
        await desk.open("zoe", who=other)
        request = pb.ListPairsRequest(page_size=2)
        return await pages(
            desk, "list_pairs", request, lambda answer: [one.player for one in answer.present]
        )

    assert [["Bob", "ann"], ["cid"]] == desk.run(scenario)


def test_lines_are_read_some_at_a_time(monkeypatch):
    """As many as were asked for, from wherever; the ledger is asked for few at once."""
    desk, asked = Desk(), []
    monkeypatch.setattr(line_records, "ROWS_A_TURN", 2)
    subjects = desk.table.ledger.subjects

    def counted(*words):
        asked.append(words[-1])
        return subjects(*words)

    monkeypatch.setattr(desk.table.ledger, "subjects", counted)

    async def scenario():
        for player in "abcde":
            await desk.open(player)

    desk.run(scenario)
    found = {
        (after, limit): "".join(player for player, _ in desk.records.lines("site", after, limit))
        for after, limit in (("", 9), ("", 5), ("", 4), ("b", 3), ("c", 2), ("e", 1), ("", 0))
    }
    assert ["abcde", "abcde", "abcd", "cde", "de", "", ""] == list(found.values())
    assert {1, 2} == set(asked)


@pytest.mark.parametrize("of", ["a pair's rounds", "a player's pairs", "all players"])
def test_pages_are_made_apart(monkeypatch, of):
    """A thousand rounds are 0.2 s of work, and other callers call meanwhile."""
    desk, threads = Desk(), set()
    method, request, read = {
        "a pair's rounds": ("list_rounds", pb.ListRoundsRequest(player="ann"), "rounds"),
        "a player's pairs": ("list_pairs", pb.ListPairsRequest(player="ann"), "revealed"),
        "all players": ("list_pairs", pb.ListPairsRequest(), "lines"),
    }[of]
    reading = getattr(desk.records, read)

    def noted(*words):
        threads.add(threading.current_thread())
        return reading(*words)

    async def scenario():
        await desk.begin()
        await desk.rotate(1)
        await desk.choose()
        await desk.mines("m")
        monkeypatch.setattr(desk.records, read, noted)
        await desk.ask(method, request, AUDITOR, None)

    desk.run(scenario)
    assert 1 == len(threads)
    assert threading.current_thread() not in threads


def test_a_refused_call_changes_no_line():
    """However it is refused, the steps are those of before."""
    desk = Desk()

    async def scenario():
        await desk.begin()
        before = desk.steps()
        for call in (
            desk.play(expected_nonce=5),
            desk.rotate(9),
            desk.choose("x", shown=bytes(32)),
            desk.close("none"),
            desk.mines(mines=0),
        ):
            await refused(EntropydError, call)
        return before

    assert desk.run(scenario) == desk.steps()


def test_the_clock_of_these_tests_stands_where_it_is_said():
    """A pair is present since it was opened."""
    desk = Desk()

    async def scenario():
        return (await desk.open()).pair.present_since.ToNanoseconds()

    assert desk.table.clock.wall_ns() == desk.run(scenario)
    assert START_NS <= desk.table.clock()
