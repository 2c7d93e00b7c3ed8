"""The typed client, against real gRPC and a daemon that answers as told."""

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from entropyd.client import (
    SERVICE_CONFIG,
    SERVICE_CONFIG_JSON,
    AsyncClient,
    CardProof,
    ClaimKey,
    Client,
    Deal,
    Refusal,
    SourceUse,
)
from entropyd.errors import (
    EntropydError,
    EntropyHoldError,
    HandSpentError,
    InternalError,
    LedgerDamagedError,
    LedgerUnavailableError,
    OverloadError,
    PermissionDeniedError,
    RequestError,
    ShuttingDownError,
)
from entropyd.hands.claim import derive_claim
from entropyd.hands.commitment import encode_items
from entropyd.service.error_table import refusal
from entropyd.v1 import (
    draw_service_pb2,
    entropy_service_pb2,
    fair_service_pb2,
    hand_service_pb2,
    ledger_service_pb2,
    raffle_service_pb2,
    shuffle_service_pb2,
    types_pb2,
)
from tests.fakes.servicer import ScriptedServicer, Step, serving

Code = grpc.StatusCode
ROOT = Path(__file__).parents[2]
KEY = ClaimKey(bytes(range(32)))

SHUFFLE = shuffle_service_pb2.Shuffle(
    key=types_pb2.HandKey(table="table-7", hand="hand-1"),
    deck=types_pb2.Deck(name="standard52", decks=1),
    cards=bytes([51, 0, 13]),
    text="As 2c 2d",
    sequence=9,
    commitment=b"c" * 32,
    deck_root=b"d" * 32,
    open_hash=b"o" * 32,
    rules="deck=standard52\n",
    provenance=types_pb2.Provenance(
        mock=True,
        degraded=True,
        sources=[
            types_pb2.SourceUse(
                kind=types_pb2.SOURCE_KIND_HARDWARE,
                driver="quantis-usb",
                serial="S1",
                samples=42,
                credited_millibits=252_999,
                health=types_pb2.SOURCE_STATE_HEALTHY,
                source="quantis",
            )
        ],
    ),
)
setattr(SHUFFLE.provenance.sources[0], "class", types_pb2.SOURCE_CLASS_COVER)
SHUFFLE.provenance.sources[0].age.FromMilliseconds(1250)
ANSWER = shuffle_service_pb2.ShuffleResponse(shuffle=SHUFFLE, replayed=True)


class Far:
    """A client and the daemon at the other end."""

    def __init__(self, servicer: ScriptedServicer, target: str, client: Client) -> None:
        self.servicer = servicer
        self.target = target
        self.client = client

    def refused(self, **call) -> Refusal:
        with pytest.raises(Refusal) as caught:
            self.client.shuffle("table-7", "hand-1", **call)
        return caught.value


@pytest.fixture
def play() -> Iterator[Callable[..., Far]]:
    """Start a daemon with a script; all of it is gone when the test ends."""
    with contextlib.ExitStack() as stack:

        def start(*script: Step) -> Far:
            # A path of its own for each: gRPC's throttle of retries goes by the target.
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="ed-"))
            servicer = ScriptedServicer(*script)
            target = stack.enter_context(serving(servicer, Path(home)))
            return Far(servicer, target, stack.enter_context(Client(target, claim_key=KEY)))

        yield start


def of_hand(hand: str, **result: Any) -> shuffle_service_pb2.HandAnswer:
    key = types_pb2.HandKey(table="table-7", hand=hand)
    return shuffle_service_pb2.HandAnswer(key=key, **result)


def hold(retry_s: float) -> EntropyHoldError:
    return EntropyHoldError("held: no device", why="SOURCE_LOST", retry_after_s=retry_s)


# --- answers ----------------------------------------------------------------------------


def test_a_deal_has_the_cards_and_all_that_binds_them(play):
    far = play(ANSWER)
    deal = far.client.shuffle("table-7", "hand-1")
    assert (("As", "2c", "2d"), (51, 0, 13), True, 9) == (
        deal.cards,
        deal.card_ids,
        deal.replayed,
        deal.sequence,
    )
    assert ("table-7", "hand-1", b"c" * 32, b"d" * 32, b"o" * 32) == (
        deal.table,
        deal.hand,
        deal.commitment,
        deal.deck_root,
        deal.open_hash,
    )
    assert (True, True, "deck=standard52\n") == (deal.mock, deal.degraded, deal.rules)
    assert (
        SourceUse(
            source="quantis",
            use="cover",
            kind="hardware",
            driver="quantis-usb",
            serial="S1",
            samples=42,
            credited_bits=252,
            age_s=1.25,
            health="healthy",
        ),
    ) == deal.sources
    assert SHUFFLE == deal.message


def test_a_deal_shows_no_card_in_its_text(play):
    """A deal that is logged by accident gives no hand away."""
    text = repr(play(ANSWER).client.shuffle("table-7", "hand-1"))
    assert "hand-1" in text
    assert "As" not in text
    assert "51" not in text


def test_a_request_carries_hand_deck_and_the_derived_claim(play):
    far = play(ANSWER)
    far.client.shuffle("table-7", "hand-1", deck="short36", decks=2, removed=[4, 5])
    assert [
        shuffle_service_pb2.ShuffleRequest(
            key=types_pb2.HandKey(table="table-7", hand="hand-1"),
            deck=types_pb2.Deck(name="short36", decks=2, removed=[4, 5]),
            claim=derive_claim(KEY.key, "table-7", "hand-1"),
        )
    ] == far.servicer.requests


def proved(*salts: bytes) -> shuffle_service_pb2.ShuffleResponse:
    """An answer of three cards, proved card by card with these salts."""
    answer = shuffle_service_pb2.ShuffleResponse(shuffle=SHUFFLE, replayed=True)
    answer.shuffle.items = encode_items([51, 0, 13])
    for salt in salts:
        answer.proofs.add(salt=salt, path=[b"sibling", b"node"])
    return answer


def test_proofs_of_cards_are_asked_for_and_come_with_their_cards(play):
    """Each as whoever checks it takes it: place, leaf, item, salt and path."""
    answer = proved(b"x" * 32, b"y" * 32, b"z" * 32)
    read = shuffle_service_pb2.GetShuffleResponse(shuffle=answer.shuffle, proofs=answer.proofs)
    far = play(answer, read)
    deal = far.client.shuffle("table-7", "hand-1", card_proofs=True)
    path = (b"sibling", b"node")
    assert (
        CardProof(0, 0, 51, b"x" * 32, path),
        CardProof(1, 1, 0, b"y" * 32, path),
        CardProof(2, 2, 13, b"z" * 32, path),
    ) == deal.proofs
    assert deal == far.client.get_shuffle("table-7", "hand-1")
    assert far.servicer.requests[0].card_proofs


def test_without_being_asked_for_no_proofs_are_sent_for_or_shown(play):
    far = play(proved())
    assert () == far.client.shuffle("table-7", "hand-1").proofs
    assert not far.servicer.requests[0].card_proofs


def test_neither_a_deal_nor_a_proof_shows_a_salt_in_its_text(play):
    """Who has the salt has the card: it is one of fifty-two guesses."""
    answer = proved(b"x" * 32, b"y" * 32, b"z" * 32)
    deal = play(answer).client.shuffle("table-7", "hand-1", card_proofs=True)
    assert "xxx" not in repr(deal)
    assert "CardProof(place=0, leaf_index=0)" == repr(deal.proofs[0])


def test_proofs_that_are_not_one_for_each_card_are_not_guessed_at(play):
    far = play(proved(b"x" * 32, b"y" * 32))
    with pytest.raises(InternalError, match="2 proofs for 12 bytes of cards; expected one for"):
        far.client.shuffle("table-7", "hand-1", card_proofs=True)


def test_reading_back_shows_the_same_claim_and_is_always_a_replay(play):
    far = play(shuffle_service_pb2.GetShuffleResponse(shuffle=SHUFFLE))
    assert far.client.get_shuffle("table-7", "hand-1").replayed
    [request] = far.servicer.requests
    assert derive_claim(KEY.key, "table-7", "hand-1") == request.claim


def test_user_entropy_and_status_are_passed_on(play):
    given = entropy_service_pb2.AddUserEntropyResponse(estimated_millibits=1, pooled_millibits=2)
    far = play(given, entropy_service_pb2.GetStatusResponse(node="dc1-a"))
    assert given == far.client.add_user_entropy("ann", events=[(1, 2, 3)])
    assert "dc1-a" == far.client.status().node
    expected = entropy_service_pb2.AddUserEntropyRequest(
        user="ann", events=[entropy_service_pb2.UserEvent(x=1, y=2, time_us=3)]
    )
    assert [expected, entropy_service_pb2.GetStatusRequest()] == far.servicer.requests


@pytest.mark.parametrize("timeout_s", [3, 30])
def test_every_call_has_the_deadline_that_was_asked_for(play, timeout_s):
    """No more and no less: the daemon refuses a call without one, and holds as long as it lasts."""
    far = play(ANSWER)
    far.client.shuffle("table-7", "hand-1", timeout_s=timeout_s)
    [left_s] = far.servicer.left_s
    assert timeout_s - 2 < left_s <= timeout_s + 1


@pytest.mark.parametrize("method", ["shuffle", "get_shuffle", "add_user_entropy", "status"])
def test_a_call_without_a_timeout_of_its_own_has_ten_seconds(play, method):
    empty: dict[str, Message] = {
        "shuffle": ANSWER,
        "get_shuffle": shuffle_service_pb2.GetShuffleResponse(),
        "add_user_entropy": entropy_service_pb2.AddUserEntropyResponse(),
        "status": entropy_service_pb2.GetStatusResponse(),
    }
    arguments = {"shuffle": ("t", "h"), "get_shuffle": ("t", "h"), "add_user_entropy": ("u",)}
    far = play(empty[method])
    getattr(far.client, method)(*arguments.get(method, ()))
    assert 8 < far.servicer.left_s[0] < 11


# --- retries ------------------------------------------------------------------------------


def test_a_hold_is_retried_when_the_daemon_says_and_not_before(play):
    """Its pushback of 0.4 s is honoured: gRPC's own first back-off is an eighth of that."""
    far = play(hold(0.4), ANSWER)
    deal = far.client.shuffle("table-7", "hand-1")
    assert ("As", "2c", "2d") == deal.cards
    first_s, second_s = far.servicer.arrived_s
    assert 0.39 <= second_s - first_s


def test_a_hold_that_outlasts_the_call_is_told_as_a_hold(play):
    """The daemon says that a retry would come too late: its answer is the caller's, at once."""
    far = play(hold(2.0))
    refusal = far.refused(timeout_s=1.5)
    assert 1 == len(far.servicer.requests)
    assert (Code.UNAVAILABLE, "ENTROPY_HOLD", 2.0) == (
        refusal.code,
        refusal.reason,
        refusal.retry_after_s,
    )


def test_a_retry_is_the_same_request_to_the_byte(play):
    """The claim above all: another one would be refused for good."""
    far = play(hold(0.01), LedgerUnavailableError("not confirmed"), ANSWER)
    far.client.shuffle("table-7", "hand-1")
    assert 3 == len(far.servicer.requests)
    assert 1 == len({request.SerializeToString() for request in far.servicer.requests})


def test_five_attempts_are_made_and_the_last_refusal_is_told(play):
    far = play(hold(0.01))
    refusal = far.refused()
    assert 5 == len(far.servicer.requests)
    assert (Code.UNAVAILABLE, "ENTROPY_HOLD", "", 0.01) == (
        refusal.code,
        refusal.reason,
        refusal.field,
        refusal.retry_after_s,
    )
    assert "UNAVAILABLE: held: no device" == str(refusal)


@pytest.mark.parametrize(
    ("error", "code", "field", "retry_s"),
    [
        (RequestError("key.hand", "is empty"), Code.INVALID_ARGUMENT, "key.hand", None),
        (HandSpentError("spent"), Code.ALREADY_EXISTS, "", None),
        (PermissionDeniedError("no role"), Code.PERMISSION_DENIED, "", None),
        (OverloadError("full", retry_after_s=0.05), Code.RESOURCE_EXHAUSTED, "", 0.05),
        (LedgerDamagedError("damaged"), Code.DATA_LOSS, "", None),
        (InternalError("bug"), Code.INTERNAL, "", None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, EntropydError) else "",
)
def test_nothing_else_is_retried_and_a_refusal_says_what_the_daemon_said(
    play, error, code, field, retry_s
):
    """Also not an overload, whose pushback is there: a second copy of a storm helps nobody."""
    far = play(error)
    refusal = far.refused()
    assert 1 == len(far.servicer.requests)
    assert (code, error.reason, field, retry_s) == (
        refusal.code,
        refusal.reason,
        refusal.field,
        refusal.retry_after_s,
    )


def test_a_daemon_that_says_nothing_ends_with_the_callers_time(play):
    far = play(2.0)
    refusal = far.refused(timeout_s=0.2)
    assert (Code.DEADLINE_EXCEEDED, "", None) == (
        refusal.code,
        refusal.reason,
        refusal.retry_after_s,
    )


def test_a_daemon_that_is_not_there_is_a_refusal_without_a_reason(tmp_path):
    """Nobody sent a reason, and nobody said when to come back."""
    target = f"unix:{tmp_path}/nobody.sock"
    with Client(target, claim_key=KEY) as client, pytest.raises(Refusal) as caught:
        client.status(timeout_s=5)
    assert (Code.UNAVAILABLE, "", None) == (
        caught.value.code,
        caught.value.reason,
        caught.value.retry_after_s,
    )


def test_details_that_do_not_parse_are_not_guessed_at(play):
    far = play((Code.NOT_FOUND, (("grpc-status-details-bin", b"\xff\xff"),)))
    with pytest.raises(InternalError, match="do not parse"):
        far.client.get_shuffle("table-7", "hand-1")


def test_a_status_without_details_is_told_all_the_same(play):
    """From a proxy, which knows nothing of ours."""
    far = play((Code.NOT_FOUND, ()))
    with pytest.raises(Refusal, match="NOT_FOUND: as told") as caught:
        far.client.get_shuffle("table-7", "hand-1")
    assert ("", "", None) == (caught.value.reason, caught.value.field, caught.value.retry_after_s)


# --- asyncio ----------------------------------------------------------------------------------


def test_the_async_client_does_the_same(tmp_path):
    """Answers, retries with pushback, refusals: on a grpc.aio server in the same loop."""

    async def scenario():
        servicer = ScriptedServicer(
            hold(0.3),
            ANSWER,
            HandSpentError("spent"),
            shuffle_service_pb2.GetShuffleResponse(shuffle=SHUFFLE),
            entropy_service_pb2.AddUserEntropyResponse(pooled_millibits=7),
            entropy_service_pb2.GetStatusResponse(node="dc1-a"),
        )
        with tempfile.TemporaryDirectory(prefix="ed-") as home:
            server = grpc.aio.server()
            servicer.add_to(server)
            server.add_insecure_port(f"unix:{home}/fake.sock")
            await server.start()
            async with AsyncClient(f"unix:{home}/fake.sock", claim_key=KEY) as client:
                deal = await client.shuffle("table-7", "hand-1", card_proofs=True)
                with pytest.raises(Refusal) as caught:
                    await client.shuffle("table-7", "hand-2")
                read = await client.get_shuffle("table-7", "hand-1")
                pooled = (await client.add_user_entropy("ann", blob=b"x")).pooled_millibits
                node = (await client.status()).node
            await server.stop(None)
        return servicer, deal, caught.value, read, pooled, node

    servicer, deal, refusal, read, pooled, node = asyncio.run(scenario())
    assert 0.29 <= servicer.arrived_s[1] - servicer.arrived_s[0]
    assert servicer.requests[0] == servicer.requests[1]
    assert [True, True, False] == [one.card_proofs for one in servicer.requests[:3]]
    assert ("HAND_SPENT", Code.ALREADY_EXISTS) == (refusal.reason, refusal.code)
    assert deal == read
    assert (7, "dc1-a") == (pooled, node)


# --- what it is made of ------------------------------------------------------------------------


def test_a_claim_key_is_given_once(tmp_path):
    with pytest.raises(ValueError, match="exactly one"):
        Client("unix:x")
    with pytest.raises(ValueError, match="exactly one"):
        Client("unix:x", claim_key=KEY, claim_key_file=tmp_path / "claim.key")


def test_the_service_config_for_other_languages_is_the_one_we_use():
    assert (ROOT / "docs" / "service-config.json").read_text() == SERVICE_CONFIG_JSON
    assert json.loads(SERVICE_CONFIG_JSON) == SERVICE_CONFIG


def test_the_service_config_covers_every_service_and_retries_unavailable_only():
    services = {
        service.full_name
        for file in (
            shuffle_service_pb2.DESCRIPTOR,
            entropy_service_pb2.DESCRIPTOR,
            draw_service_pb2.DESCRIPTOR,
            raffle_service_pb2.DESCRIPTOR,
            fair_service_pb2.DESCRIPTOR,
            hand_service_pb2.DESCRIPTOR,
            ledger_service_pb2.DESCRIPTOR,
        )
        for service in file.services_by_name.values()
    }
    methods = json.loads(SERVICE_CONFIG_JSON)["methodConfig"]
    assert services == {name["service"] for method in methods for name in method["name"]}
    for method in methods:
        assert {"name", "retryPolicy"} == set(method)
        assert ["UNAVAILABLE"] == method["retryPolicy"]["retryableStatusCodes"]
        assert 5 == method["retryPolicy"]["maxAttempts"]


ONLY_BASE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused}:
            raise ImportError(f"{{name}} is no dependency of the base install")

sys.meta_path.insert(0, Refuse())
{program}
"""
DAEMON_ONLY = [
    *("entropyd_drivers", "grpc_health", "grpc_reflection", "libusb_package", "numpy"),
    *("prometheus_client", "pydantic", "rich", "serial", "structlog", "typer", "usb", "uvloop"),
]


def errors_without(refused: list[str], program: str) -> str:
    """Run a program that cannot import some packages; return what it says of it."""
    text = ONLY_BASE.format(refused=set(refused), program=program)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stderr


def test_the_client_needs_nothing_but_the_base_install():
    """`pip install entropyd` is client and verify; the daemon's dependencies are an extra."""
    program = "from entropyd.client import Client; import entropyd.verify.recompute"
    assert "" == errors_without(DAEMON_ONLY, program)


def test_the_command_needs_the_extra_cli_and_nothing_of_the_daemon():
    refused = set(DAEMON_ONLY) - {"numpy", "rich", "typer"}
    assert "" == errors_without(list(refused), "import entropyd.cli.entropyctl")


@pytest.mark.parametrize(("program", "extra"), [("entropyctl", "cli"), ("entropyd", "daemon")])
def test_a_program_without_its_extra_names_it(program, extra):
    text = (
        f"import sys; sys.modules['typer'] = None; import entropyd.cli.programs as programs;"
        f" programs.{program}()"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, cwd=ROOT
    )
    remedy = f"pip install 'entropyd[{extra}]'"
    assert (69, f"{program}: typer is not installed, which it needs: {remedy}\n") == (
        done.returncode,
        done.stderr,
    )


def test_verification_needs_no_grpc_and_no_protobuf():
    """What anyone runs offline is hashes and arithmetic."""
    refused = [*DAEMON_ONLY, "grpc", "google", "grpc_status", "asyncio", "sqlite3"]
    assert "" == errors_without(refused, "import entropyd.verify.recompute")


def test_the_import_guard_of_these_two_bites():
    """It refuses what it is told to, so a pass means something."""
    assert "json is no dependency of the base install" in errors_without(["json"], "import json")


def test_a_hand_that_is_no_id_is_refused_before_anything_is_sent(play):
    """No claim can be derived for it."""
    far = play(ANSWER)
    with pytest.raises(RequestError, match=r"key\.hand"):
        far.client.shuffle("table-7", "hand 1")
    assert [] == far.servicer.requests


# --- many hands ------------------------------------------------------------------------------

HANDS = [("table-7", f"hand-{number}") for number in range(5)]
HELD = hold(2.5)
STREAMED = shuffle_service_pb2.StreamShufflesResponse(
    answers=[of_hand("hand-1", dealt=ANSWER), of_hand("hand-2", refusal=refusal(HELD))]
)


def test_a_batch_is_asked_for_with_a_claim_for_each_hand(play):
    far = play(shuffle_service_pb2.BatchShuffleResponse(hands=[ANSWER, ANSWER]))
    deals = far.client.shuffle_batch(HANDS[:2], deck="short36", removed=(9,))
    assert [Deal.from_message(SHUFFLE, replayed=True)] * 2 == deals
    [request] = far.servicer.requests
    assert [KEY.claim(*hand) for hand in HANDS[:2]] == [one.claim for one in request.hands]
    assert [("short36", [9])] * 2 == [(one.deck.name, one.deck.removed) for one in request.hands]


def test_a_refused_batch_is_a_refusal(play):
    far = play(RequestError("hands[3].key.hand", "is the hand of hands[1] too"))
    with pytest.raises(Refusal) as caught:
        far.client.shuffle_batch(HANDS)
    assert "hands[3].key.hand" == caught.value.field


def test_a_stream_sends_hands_in_messages_and_yields_answers_one_by_one(play):
    far = play(STREAMED)
    answers = list(far.client.stream_shuffles(iter(HANDS), hands_a_message=2))
    assert [2, 2, 1] == [len(request.hands) for request in far.servicer.requests]
    asked = [hand for request in far.servicer.requests for hand in request.hands]
    assert [KEY.claim(*hand) for hand in HANDS] == [one.claim for one in asked]
    assert 6 == len(answers)
    dealt, held = answers[:2]
    assert ("table-7", "hand-1", None) == (dealt.table, dealt.hand, dealt.refusal)
    assert Deal.from_message(SHUFFLE, replayed=True) == dealt.result()
    assert ("hand-2", None) == (held.hand, held.deal)
    with pytest.raises(Refusal) as caught:
        held.result()
    assert (grpc.StatusCode.UNAVAILABLE, "ENTROPY_HOLD", 2.5) == (
        caught.value.code,
        caught.value.reason,
        caught.value.retry_after_s,
    )


def test_a_stream_that_breaks_is_a_refusal_after_its_answers(play):
    far = play(STREAMED, HandSpentError("as if"))
    answers = far.client.stream_shuffles(HANDS, hands_a_message=1)
    assert "hand-1" == next(answers).hand
    assert "hand-2" == next(answers).hand
    with pytest.raises(Refusal) as caught:
        next(answers)
    assert grpc.StatusCode.ALREADY_EXISTS is caught.value.code


def test_a_hand_that_is_no_id_is_raised_where_the_answers_are_taken(play):
    """Those before it are answered; nothing after it is sent."""
    far = play(STREAMED)
    hands = [*HANDS[:2], ("table-7", "no id"), HANDS[3]]
    answers = far.client.stream_shuffles(hands, hands_a_message=1)
    taken = [next(answers) for _ in range(4)]
    with pytest.raises(RequestError):
        next(answers)
    assert 4 == len(taken)
    assert 2 == len(far.servicer.requests)


def test_a_refusal_with_a_code_of_tomorrow_is_still_one():
    told = Refusal.from_message(shuffle_service_pb2.Refusal(code=99, message="new"))
    assert (grpc.StatusCode.UNKNOWN, None) == (told.code, told.retry_after_s)


def test_a_status_is_watched_until_the_daemon_stops(play):
    status = entropy_service_pb2.GetStatusResponse(node="n", can_deal=True)
    told = entropy_service_pb2.WatchStatusResponse(status=status)
    far = play(told, told, ShuttingDownError("stopping"))
    statuses = far.client.watch_status()
    assert [status, status] == [next(statuses), next(statuses)]
    with pytest.raises(Refusal) as caught:
        next(statuses)
    assert "SHUTTING_DOWN" == caught.value.reason


def test_a_stream_that_the_daemon_ends_under_the_pen_ends_with_what_it_said(play):
    """Half of these found INTERNAL in its place, from gRPC, before it was looked for."""
    far = play(STREAMED, HandSpentError("as if"))
    hands = [("table-7", f"hand-{number}") for number in range(64)]

    async def end(client):
        with pytest.raises(Refusal) as caught:
            [_ async for _ in client.stream_shuffles(hands, hands_a_message=1)]
        return caught.value.code, caught.value.reason

    async def scenario():
        async with AsyncClient(far.target, claim_key=KEY) as client:
            return {await end(client) for _ in range(30)}

    assert {(grpc.StatusCode.ALREADY_EXISTS, "HAND_SPENT")} == asyncio.run(scenario())


def test_the_client_for_asyncio_does_the_same(play):
    """Batch, stream and watch."""
    batch = shuffle_service_pb2.BatchShuffleResponse(hands=[ANSWER])
    status = entropy_service_pb2.WatchStatusResponse()
    far = play(batch, STREAMED, status, ShuttingDownError("stopping"))

    async def scenario():
        async with AsyncClient(far.target, claim_key=KEY) as client:
            deals = await client.shuffle_batch(HANDS[:1])
            answers = [answer async for answer in client.stream_shuffles(HANDS)]
            with pytest.raises(Refusal) as caught:
                [_ async for _ in client.watch_status()]
            return deals, answers, caught.value

    deals, answers, ended = asyncio.run(scenario())
    assert [Deal.from_message(SHUFFLE, replayed=True)] == deals
    assert ["hand-1", "hand-2"] == [answer.hand for answer in answers]
    assert "SHUTTING_DOWN" == ended.reason
