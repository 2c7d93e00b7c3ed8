"""DrawService of a real daemon on an emulated Quantis: every method, good days and bad."""

import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from entropyd.games import draw_rules
from entropyd.games.draws import binding_of, draw
from entropyd.v1 import draw_service_pb2 as pb
from tests.system.drawing import OTHER_CLAIM, Code, desk, patiently, told
from tests.system.harness import running, until

FRESH = "entropyd_drbg_reseeds_total"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with running(tmp_path_factory.mktemp("d")) as one:
        yield one


@pytest.fixture
def at(daemon):
    with desk(daemon) as one:
        yield one


def verified(answer, match):
    """Compute every draw of a replay again from its opening; return how many there were."""
    for replayed in answer.draws:
        told, opened = replayed.draw, replayed.opening
        rules = draw_rules.decode(told.rules.encode())
        binding = binding_of(rules, answer.tenant, match, told.key.draw)
        outcome = draw(
            rules,
            binding,
            seeds=opened.seeds,
            blinding=opened.blinding,
            salt_key=opened.salt_key,
        )
        assert outcome.result == tuple(told.values or told.items)
        assert outcome.commitment == told.commitment
        assert outcome.result_root == told.result_root
    return len(answer.draws)


# --- good days --------------------------------------------------------------------------


def test_every_method_draws_within_its_bounds_and_anybody_can_compute_it_again(at):
    """Numbers, dice, an order, a sample, tiles; replayed with openings, and recomputed."""
    numbers = at.integers(match="all", count=50, low=2**64 - 3, bound="3").draw
    assert set(numbers.values) <= {2**64 - 3, 2**64 - 2, 2**64 - 1}
    dice = [pb.Dice(count=3, faces=6), pb.Dice(count=1, faces=2**32)]
    rolled = at.roll(match="all", dice=dice).draw
    assert all(1 <= face <= 6 for face in rolled.values[:3])
    assert 1 <= rolled.values[3] <= 2**32
    ordered = at.order(match="all", labels=["a", "b", "b"]).draw
    assert sorted(ordered.items) == [0, 1, 2]
    assert list(ordered.labels) == ["a", "b", "b"]
    sampled = at.sample(match="all", n=2**32, count=5).draw
    assert len(set(sampled.items)) == 5
    drawn = at.tiles(match="all", contents=pb.BagContents(preset="polish")).draw
    assert (len(drawn.items), drawn.left, len(drawn.labels)) == (7, 93, 33)
    assert [1, 2, 3, 4, 5] == [one.number for one in (numbers, rolled, ordered, sampled, drawn)]
    answer = at.replay("all", openings=True)
    assert verified(answer, "all") == 5
    assert [one.draw for one in answer.draws] == [numbers, rolled, ordered, sampled, drawn]


def test_any_bound_from_1_to_2_64(at):
    """The smallest and the largest, under the sampler that takes them."""
    one = at.integers("one", "bounds", low=7, bound="1").draw
    assert list(one.values) == [7, 7, 7]
    assert len(at.integers("all", "bounds", bound=str(2**64)).draw.values) == 3
    word = at.integers("word", "bounds", bound=str(2**32), sampler=pb.SAMPLER_WORD32).draw
    assert "sampler=word32\n" in word.rules


def test_the_same_request_gets_the_same_draw(at, daemon):
    """Nothing is drawn again, and the answer says that it was replayed."""
    first = at.roll("again", "same")
    reseeds = daemon.metric(FRESH)
    second = at.roll("again", "same")
    assert (first.replayed, second.replayed) == (False, True)
    assert first.draw == second.draw
    assert daemon.metric(FRESH) == reseeds


def test_a_bag_gives_each_tile_once_and_takes_back_what_it_gave(at):
    """Its tiles come out in the end as they were put in; returned ones can come again."""
    contents = pb.BagContents(
        tiles=[pb.TileKind(label="x", count=2), pb.TileKind(label="y", count=3)]
    )
    first = at.tiles("1", "bags", count=2, contents=contents).draw
    second = at.tiles("2", "bags", count=3).draw
    assert Counter([*first.items, *second.items]) == {0: 2, 1: 3}
    assert second.left == 0
    third = at.tiles("3", "bags", count=1, returns=[first.items[0]]).draw
    assert list(third.items) == [first.items[0]]
    assert at.tiles("3", "bags", count=1, returns=[first.items[0]]).replayed
    assert at.tiles("2", "bags", count=3, contents=contents).replayed


def test_pages_of_a_match(at):
    """A list is told in pages, without results; a replay too, each draw once."""
    rolled = [at.roll(str(number), "pages").draw for number in range(7)]
    listed, token = [], ""
    while True:
        page = at.listed("pages", page_size=3, page_token=token)
        assert len(page.draws) <= 3
        listed += page.draws
        token = page.next_page_token
        if not token:
            break
    assert [one.number for one in listed] == [1, 2, 3, 4, 5, 6, 7]
    assert [one.commitment for one in listed] == [one.commitment for one in rolled]
    first = at.replay("pages", page_size=4)
    rest = at.replay("pages", page_size=4, page_token=first.next_page_token)
    assert [one.draw for one in (*first.draws, *rest.draws)] == rolled
    assert rest.next_page_token == ""
    # base64 of 2^63: a number that no ledger gives, and that SQLite cannot look for.
    for none in ("x", "OTIyMzM3MjAzNjg1NDc3NTgwOA=="):
        assert told(partial(at.listed, "pages", page_token=none)).field == "page_token"
    assert told(lambda: at.listed("pages", page_size=-1)).field == "page_size"


def test_audit_reads_a_match_without_its_claim_and_every_read_is_recorded(daemon, at):
    """Whoever read it, and whether with openings, stands in the ledger."""
    at.roll("r", "audited")
    with desk(daemon, "audit.sock") as audit:
        assert len(audit.replay("audited", claim=b"", openings=True).draws) == 1
        assert told(lambda: audit.roll("x", "audited")).code is Code.PERMISSION_DENIED

    def noted():
        with sqlite3.connect(daemon.home / "state" / "ledger.sqlite3") as file:
            return file.execute(
                "SELECT subject, detail FROM events WHERE kind = 'match-read'"
            ).fetchall()

    until(
        "the read is noted",
        lambda: ("acme/audited", '{"role": "audit", "openings": true}') in noted(),
    )


def test_metrics_count_draws_by_kind(daemon, at):
    """From the first scrape, and once for each recorded draw."""
    series = 'entropyd_draws_by_kind_total{kind="sample"}'
    before = daemon.metric(series)
    at.sample("counted", "metrics", n=10, count=2)
    at.sample("counted", "metrics", n=10, count=2)
    assert daemon.metric(series) == before + 1
    assert daemon.metric('entropyd_rounds_total{game="mines"}') == 0


# --- large draws ----------------------------------------------------------------------------


def test_a_large_draw_must_say_how(at):
    """The refusal says how many seeds it takes and both ways out."""
    refusal = told(lambda: at.order("large", "large", n=100_000))
    assert (refusal.code, refusal.field) == (Code.INVALID_ARGUMENT, "large")
    assert "6555 seeds" in refusal.text
    assert "LARGE_WAIT" in refusal.text
    assert "LARGE_COMPUTATIONAL" in refusal.text


def test_a_large_draw_waits_for_all_of_its_seeds(at):
    """More than the reservoir holds; others are dealt to meanwhile."""
    rolls = []
    over = threading.Event()

    def others():
        number = 0
        while not over.is_set():
            began = time.monotonic()
            at.roll(str(number), "beside")
            rolls.append(time.monotonic() - began)
            number += 1

    beside = threading.Thread(target=others)
    beside.start()
    began = time.monotonic()
    try:
        drawn = patiently(lambda: at.order("wait", "wait", n=100_000, large=pb.LARGE_WAIT)).draw
        took = time.monotonic() - began
    finally:
        over.set()
        beside.join()
    assert sorted(drawn.items) == list(range(100_000))
    assert drawn.provenance.seeds == 6555
    assert "computational" not in drawn.rules
    # A busy machine is slow; but a daemon that let nobody in would take the whole draw's time.
    assert len(rolls) > 5
    assert sorted(rolls)[len(rolls) // 2] < took / 4


def test_a_computational_draw_says_so(at):
    """One seed, a line of the rules, and what it computes to is what was answered."""
    drawn = at.order("one", "computational", n=100_000, large=pb.LARGE_COMPUTATIONAL).draw
    assert drawn.provenance.seeds == 1
    assert "seeds=computational\n" in drawn.rules
    again = at.order("one", "computational", n=100_000, large=pb.LARGE_COMPUTATIONAL)
    assert again.replayed
    assert verified(at.replay("computational", openings=True), "computational") == 1
    refusal = told(lambda: at.order("one", "computational", n=100_000, large=pb.LARGE_WAIT))
    assert refusal.reason == "DRAW_SPENT"
    small = at.order("small", "computational", n=10, large=pb.LARGE_COMPUTATIONAL).draw
    assert "computational" not in small.rules


# --- many at once -----------------------------------------------------------------------------


def test_sixteen_callers_of_one_bag_never_draw_more_than_it_holds(at):
    """28 dominoes, three at a time: nine get three, the others are told how many are left."""
    contents = pb.BagContents(preset="dominoes")

    def one(number):
        try:
            return at.tiles(str(number), "rush", count=3, contents=contents).draw
        except Exception as error:  # noqa: BLE001  a refusal, which is looked at below
            return error

    with ThreadPoolExecutor(16) as callers:
        answers = list(callers.map(one, range(16)))
    drawn = [answer for answer in answers if isinstance(answer, pb.RecordedDraw)]
    assert len(drawn) == 9
    tiles = [kind for answer in drawn for kind in answer.items]
    assert len(set(tiles)) == len(tiles) == 27
    assert sorted(answer.number for answer in drawn) == list(range(1, 10))
    refusals = [told_of for told_of in answers if told_of not in drawn]
    assert all("holds 1 tiles" in refusal.details() for refusal in refusals)


def test_callers_of_one_draw_get_one_draw(at):
    """Sixteen at once: one is drawn, and all are answered with it."""
    with ThreadPoolExecutor(16) as callers:
        answers = list(callers.map(lambda _: at.roll("one", "together"), range(16)))
    assert len({answer.draw.SerializeToString() for answer in answers}) == 1
    assert sum(not answer.replayed for answer in answers) == 1
    assert len(at.listed("together").draws) == 1


def test_draws_of_one_match_at_once_are_numbered_without_gaps(at):
    """The first has the match alone; the others go beside each other."""
    with ThreadPoolExecutor(16) as callers:
        answers = list(callers.map(lambda n: at.roll(str(n), "numbers"), range(64)))
    assert sorted(answer.draw.number for answer in answers) == list(range(1, 65))


# --- bad input: a clear error, and nothing spent --------------------------------------------------

D, K = pb.Dice, pb.TileKind
BAD = {
    "no number of items": (lambda at: at.order("x"), "n"),
    "n = 0 of a sample": (lambda at: at.sample("x", count=1), "n"),
    "n and labels": (lambda at: at.order("x", n=2, labels=["a", "b"]), "n"),
    "n above its limit": (lambda at: at.order("x", n=100_001), "n"),
    "a bound above 2^64": (lambda at: at.integers("x", bound=str(2**64 + 1)), "bound"),
    "a bound of 0": (lambda at: at.integers("x", bound="0"), "bound"),
    "a bound of a thousand digits": (lambda at: at.integers("x", bound="9" * 1000), "bound"),
    "a bound with a sign": (lambda at: at.integers("x", bound="-5"), "bound"),
    "a bound of word32 above 2^32": (
        lambda at: at.integers("x", bound=str(2**33), sampler=pb.SAMPLER_WORD32),
        "bound",
    ),
    "low + bound above 2^64": (lambda at: at.integers("x", low=2**64 - 1, bound="2"), "low"),
    "no numbers": (lambda at: at.integers("x", count=0), "count"),
    "10^9 numbers": (lambda at: at.integers("x", count=10**9), "count"),
    "10^9 dice": (lambda at: at.roll("x", dice=[D(count=10**9, faces=6)]), "dice"),
    "no dice": (lambda at: at.roll("x", dice=[]), "dice"),
    "dice without faces": (lambda at: at.roll("x", dice=[D(count=1)]), "dice"),
    "faces above 2^32": (lambda at: at.roll("x", dice=[D(count=1, faces=2**32 + 1)]), "dice"),
    "a sample of more than there is": (lambda at: at.sample("x", n=3, count=4), "count"),
    "a label with a control character": (lambda at: at.order("x", labels=["a\n"]), "labels"),
    "an empty label": (lambda at: at.order("x", labels=[""]), "labels"),
    "a label of 257 bytes": (lambda at: at.order("x", labels=["a" * 257]), "labels"),
    "an empty bag": (
        lambda at: at.tiles("x", contents=pb.BagContents(tiles=[K(label="a")])),
        "contents",
    ),
    "no contents": (lambda at: at.tiles("x", "fresh"), "contents"),
    "contents of neither kind": (lambda at: at.tiles("x", contents=pb.BagContents()), "contents"),
    "an unknown preset": (
        lambda at: at.tiles("x", contents=pb.BagContents(preset="klingon")),
        "contents",
    ),
    "more tiles than the bag ever held": (
        lambda at: at.tiles("x", "fresh", count=29, contents=pb.BagContents(preset="dominoes")),
        "count",
    ),
    "returns before anything was drawn": (
        lambda at: at.tiles("x", "fresh", returns=[0], contents=pb.BagContents(preset="dominoes")),
        "returns",
    ),
    "a bag that is none": (
        lambda at: at.tiles("x", bag="A!", contents=pb.BagContents(preset="dominoes")),
        "bag",
    ),
    "no tiles": (lambda at: at.tiles("x", count=0), "count"),
    "a sampler that is none": (lambda at: at.roll("x", sampler=7), "sampler"),
    "a way of large draws that is none": (lambda at: at.roll("x", large=7), "large"),
    "a short claim": (lambda at: at.roll("x", claim=b"short"), "claim"),
    "no match": (lambda at: at.roll("x", ""), "key.match"),
    "a draw with a space": (lambda at: at.roll("a b"), "key.draw"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_and_spends_nothing(daemon, at, case):
    """INVALID_ARGUMENT names the field; no seed is spent and no draw is made."""
    call, field = BAD[case]
    reseeds = daemon.metric(FRESH)
    refusal = told(lambda: call(at))
    assert (Code.INVALID_ARGUMENT, field) == (refusal.code, refusal.field)
    assert daemon.metric(FRESH) == reseeds


def test_a_bag_that_does_not_allow_it_says_what_it_holds(daemon, at):
    """More than is left, other contents, tiles that it never gave: WRONG_STATE, nothing spent."""
    contents = pb.BagContents(preset="dominoes")
    at.tiles("1", "wrong", count=20, contents=contents)
    reseeds = daemon.metric(FRESH)
    cases: dict[str, dict[str, Any]] = {
        "holds 8 tiles": {"count": 9},
        "not those of this bag": {"contents": pb.BagContents(preset="english")},
        "the kinds of this bag": {"returns": [28]},
    }
    for text, request in cases.items():
        refusal = told(partial(at.tiles, "2", "wrong", **({"count": 1} | request)))
        assert (Code.FAILED_PRECONDITION, "WRONG_STATE") == (refusal.code, refusal.reason)
        assert text in refusal.text
    assert daemon.metric(FRESH) == reseeds
    assert len(at.listed("wrong").draws) == 1


def test_spent_draws_and_taken_matches(daemon, at):
    """Other parameters and other claims are refused, by names of their own; nothing is spent."""
    at.roll("1", "mine")
    reseeds = daemon.metric(FRESH)
    spent = {
        "other dice": lambda: at.roll("1", "mine", dice=[D(count=2, faces=8)]),
        "another kind": lambda: at.integers("1", "mine"),
        "another sampler": lambda: at.roll("1", "mine", sampler=pb.SAMPLER_WORD32),
    }
    for call in spent.values():
        refusal = told(call)
        assert (Code.ALREADY_EXISTS, "DRAW_SPENT") == (refusal.code, refusal.reason)
    taken = {
        "the same draw": lambda: at.roll("1", "mine", claim=OTHER_CLAIM),
        "another draw": lambda: at.roll("2", "mine", claim=OTHER_CLAIM),
        "reading": lambda: at.replay("mine", claim=OTHER_CLAIM),
        "listing": lambda: at.listed("mine", claim=OTHER_CLAIM),
    }
    for call in taken.values():
        refusal = told(call)
        assert (Code.ALREADY_EXISTS, "MATCH_TAKEN") == (refusal.code, refusal.reason)
    assert told(lambda: at.replay("nobody's")).reason == "MATCH_NOT_FOUND"
    assert daemon.metric(FRESH) == reseeds
    with desk(daemon, "other.sock") as other:
        assert not other.roll("1", "mine", claim=OTHER_CLAIM).replayed


# --- bad days ---------------------------------------------------------------------------------


def test_a_match_survives_restart_and_kill(tmp_path):
    """Draws are found again; a bag goes on with what was left in it."""
    with running(tmp_path) as daemon:
        with desk(daemon) as at:
            first = at.tiles("1", count=20, contents=pb.BagContents(preset="dominoes")).draw
            rolled = at.roll("2").draw
        daemon.terminate()
        daemon.start()
        with desk(daemon) as at:
            assert at.roll("2").draw == rolled
            daemon.kill()
        daemon.start()
        with desk(daemon) as at:
            assert at.tiles("1", count=20).draw == first
            second = at.tiles("3", count=8).draw
            assert sorted([*first.items, *second.items]) == list(range(28))
            assert second.number == 3
            assert verified(at.replay(openings=True), "m") == 3


def test_kill_in_the_middle_of_draws_loses_none_that_was_shown(tmp_path):
    """Kill -9 under load: whatever was answered is found as it was; numbers have no gap."""
    with running(tmp_path) as daemon:
        shown = {}
        with desk(daemon) as at:
            at.roll("first")

            def keep_rolling(caller):
                for number in range(10_000):
                    try:
                        answer = at.roll(f"{caller}-{number}")
                    except Exception:  # noqa: BLE001  the daemon is gone
                        return
                    shown[f"{caller}-{number}"] = answer.draw

            callers = [threading.Thread(target=keep_rolling, args=(n,)) for n in range(8)]
            for caller in callers:
                caller.start()
            until("some draws are shown", lambda: len(shown) > 100)
            daemon.kill()
            for caller in callers:
                caller.join()
        daemon.start()
        with desk(daemon) as at:
            for name, drawn in list(shown.items())[-50:]:
                assert at.roll(name).draw == drawn
            numbers, token = [], ""
            while True:
                page = at.listed(page_size=1000, page_token=token)
                numbers += [one.number for one in page.draws]
                token = page.next_page_token
                if not token:
                    break
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= len(shown)


def test_a_draw_holds_while_the_device_is_gone_and_goes_on(tmp_path):
    """UNAVAILABLE with the reason while it is unplugged; replays are answered meanwhile."""
    with running(tmp_path, gate='max_hold = "300ms"') as daemon, desk(daemon) as at:
        before = at.roll("before").draw
        daemon.faults("F9")
        until("dealing holds", lambda: not daemon.can_deal())
        refusal = told(lambda: at.roll("during"))
        assert (Code.UNAVAILABLE, "ENTROPY_HOLD") == (refusal.code, refusal.reason)
        assert at.roll("before").draw == before
        large = told(lambda: at.order("large", n=100_000, large=pb.LARGE_WAIT))
        assert (Code.UNAVAILABLE, "LARGE_DRAW") == (large.code, large.why)
        daemon.faults()
        daemon.wait_until_dealing()
        drawn = patiently(lambda: at.order("large", n=100_000, large=pb.LARGE_WAIT))
        assert drawn.draw.provenance.seeds == 6555
        assert not at.roll("during").replayed


def test_a_stop_ends_a_large_draw_with_nothing_recorded(tmp_path):
    """The daemon stops in its usual time; the retry after its start draws from the beginning."""
    with running(tmp_path, gate='max_hold = "300ms"') as daemon, desk(daemon) as at:
        at.roll("first")
        daemon.faults("F9")
        until("dealing holds", lambda: not daemon.can_deal())
        told(lambda: at.order("large", n=100_000, large=pb.LARGE_WAIT))
        assert daemon.terminate() == 0
        daemon.faults()
        daemon.start()
        assert [one.key.draw for one in at.listed().draws] == ["first"]
        drawn = patiently(lambda: at.order("large", n=100_000, large=pb.LARGE_WAIT))
        assert drawn.draw.number == 2


def test_a_match_of_another_node_is_refused_but_what_was_drawn_here_is_answered(tmp_path):
    """WRONG_NODE, as of tables."""
    with running(tmp_path) as daemon:
        with desk(daemon) as at:
            drawn = at.roll(match="old").draw
        daemon.terminate()
        config = daemon.write_config().read_text()
        daemon.config = config.replace('name = "test"', 'name = "test"\nserves_tables = ["dc1/*"]')
        daemon.start()
        with desk(daemon) as at:
            assert at.roll(match="old").draw == drawn
            assert at.roll(match="dc1/new").draw.number == 1
            for call in (lambda: at.roll(match="new"), lambda: at.replay("new")):
                refusal = told(call)
                assert (Code.FAILED_PRECONDITION, "WRONG_NODE") == (refusal.code, refusal.reason)
