"""RaffleService of a real daemon on an emulated Quantis: sealed, drawn once, checked by anybody."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from entropyd.games import draw_rules
from entropyd.games.draws import draw
from entropyd.games.raffle import RaffleRules, published_entries, raffle_binding
from entropyd.v1 import draw_service_pb2
from entropyd.v1 import raffle_service_pb2 as pb
from tests.system.drawing import CLAIM, OTHER_CLAIM, TIMEOUT_S, Code, desk, patiently, told
from tests.system.harness import running, until

FRESH = "entropyd_drbg_reseeds_total"
NAMES = ["Zoe", "Ada", " Eve ", "Bob"]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with running(tmp_path_factory.mktemp("r")) as one:
        yield one


@pytest.fixture
def at(daemon):
    with desk(daemon) as one:
        yield one


def seal(at, raffle, **request):
    given: dict[str, Any] = {"claim": CLAIM, "entries": NAMES, "winners": 1, "alternates": 1}
    asked = pb.SealEntriesRequest(raffle=raffle, **(given | request))
    return at.raffles.SealEntries(asked, timeout=TIMEOUT_S)


def drawn(at, raffle, **request):
    asked = pb.DrawRequest(raffle=raffle, **({"claim": CLAIM} | request))
    return at.raffles.Draw(asked, timeout=TIMEOUT_S)


def told_of(at, raffle, **request):
    asked = pb.GetRaffleRequest(raffle=raffle, **({"claim": CLAIM} | request))
    return at.raffles.GetRaffle(asked, timeout=TIMEOUT_S)


def test_a_raffle_is_sealed_drawn_and_checked_from_what_is_published(at):
    """The list in canonical form gives E; E, the rules and the opening give who won."""
    sealed = seal(at, "whole").raffle
    assert not sealed.HasField("result")
    result = drawn(at, "whole", entries_hash=sealed.entries_hash).raffle.result
    answer = told_of(at, "whole", entries=True, opening=True)
    assert list(answer.entries) == ["Ada", "Bob", "Eve", "Zoe"]
    assert published_entries(answer.entries).digest == sealed.entries_hash
    rules = draw_rules.decode(answer.raffle.rules.encode())
    assert isinstance(rules, RaffleRules)
    outcome = draw(
        rules,
        raffle_binding(answer.tenant, "whole", rules),
        seeds=answer.opening.seeds,
        blinding=answer.opening.blinding,
        salt_key=answer.opening.salt_key,
    )
    assert outcome.result == tuple(result.items)
    assert (outcome.commitment, outcome.result_root) == (result.commitment, result.result_root)
    names = [answer.entries[item] for item in result.items]
    assert names == [*result.winners, *result.alternates]


def test_the_raffles_of_a_tenant_are_numbered_without_gaps(daemon, at):
    """Also those that are sealed at once; another tenant counts its own."""
    first = seal(at, "number-0").raffle.number
    with ThreadPoolExecutor(8) as callers:
        numbers = list(callers.map(lambda n: seal(at, f"number-{n + 1}").raffle.number, range(12)))
    assert sorted(numbers) == list(range(first + 1, first + 13))
    with desk(daemon, "other.sock") as other:
        assert seal(other, "number-0").raffle.number == 1


def test_a_raffle_drawn_twice_has_one_result(at, daemon):
    """The second answer is the first one again, and so are those of many at once."""
    seal(at, "twice")
    reseeds = daemon.metric(FRESH)
    with ThreadPoolExecutor(8) as callers:
        answers = list(callers.map(lambda _: drawn(at, "twice"), range(16)))
    assert len({answer.raffle.SerializeToString() for answer in answers}) == 1
    assert sum(not answer.replayed for answer in answers) == 1
    assert daemon.metric(FRESH) == reseeds + 1


def test_sealing_again_changes_nothing(at):
    """The same list in another order is the same raffle; any other thing is refused."""
    first = seal(at, "fixed")
    again = seal(at, "fixed", entries=list(reversed(NAMES)))
    assert (first.replayed, again.replayed) == (False, True)
    assert first.raffle == again.raffle
    others: list[dict[str, Any]] = [
        {"entries": [*NAMES, "Mallory"]},
        {"winners": 2},
        {"alternates": 0},
        {"claim": OTHER_CLAIM},
        {"sampler": draw_service_pb2.SAMPLER_WORD32},
    ]
    for other in others:
        refusal = told(partial(seal, at, "fixed", **other))
        assert (Code.ALREADY_EXISTS, "RAFFLE_SEALED") == (refusal.code, refusal.reason)


def test_after_sealing_only_the_sealed_entries_can_be_drawn_from(at, daemon):
    """Another hash, another claim, a raffle that is none: refused, and nothing spent."""
    seal(at, "guarded")
    reseeds = daemon.metric(FRESH)
    changed = told(lambda: drawn(at, "guarded", entries_hash=bytes(32)))
    assert (Code.INVALID_ARGUMENT, "entries_hash") == (changed.code, changed.field)
    stolen = told(lambda: drawn(at, "guarded", claim=OTHER_CLAIM))
    assert (Code.ALREADY_EXISTS, "RAFFLE_SEALED") == (stolen.code, stolen.reason)
    assert told(lambda: told_of(at, "guarded", claim=OTHER_CLAIM)).reason == "RAFFLE_SEALED"
    nobody = told(lambda: drawn(at, "nobody's"))
    assert (Code.NOT_FOUND, "RAFFLE_NOT_FOUND") == (nobody.code, nobody.reason)
    assert daemon.metric(FRESH) == reseeds


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no entries": ({"entries": []}, "entries"),
    "equal entries": ({"entries": ["Ada", "Bob", " Ada"]}, "entries"),
    "an empty entry": ({"entries": ["  "]}, "entries"),
    "a control character": ({"entries": ["a\x07b"]}, "entries"),
    "a long entry": ({"entries": ["a" * 257]}, "entries"),
    "no winners": ({"winners": 0}, "winners"),
    "more winners than entries": ({"winners": 5}, "winners"),
    "more alternates than entries": ({"alternates": 4}, "alternates"),
    "a short claim": ({"claim": b"c"}, "claim"),
    "a sampler that is none": ({"sampler": 9}, "sampler"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_entries_are_told_and_nothing_is_sealed(at, case):
    """INVALID_ARGUMENT names the field."""
    request, field = BAD[case]
    refusal = told(lambda: seal(at, "bad", **request))
    assert (Code.INVALID_ARGUMENT, field) == (refusal.code, refusal.field)
    assert told(lambda: told_of(at, "bad")).reason == "RAFFLE_NOT_FOUND"


def test_equal_entries_are_named_by_their_lines(at):
    """With the remedy."""
    refusal = told(lambda: seal(at, "bad", entries=["Ada", "Bob", " Ada"]))
    assert "lines 1 and 3" in refusal.text
    assert "ticket number" in refusal.text


def test_the_largest_raffle_waits_for_all_of_its_seeds(at):
    """100,000 entries who all win: what is to be done is sealed, and the draw takes its time."""
    entries = [f"{number:09d}" for number in range(100_000)]
    unsaid = told(lambda: seal(at, "large", entries=entries, winners=100_000, alternates=0))
    assert (Code.INVALID_ARGUMENT, "large") == (unsaid.code, unsaid.field)
    seal(
        at,
        "large",
        entries=entries,
        winners=100_000,
        alternates=0,
        large=draw_service_pb2.LARGE_WAIT,
    )
    result = patiently(lambda: drawn(at, "large")).raffle.result
    assert sorted(result.winners) == entries
    assert result.provenance.seeds == 6555
    assert len(told_of(at, "large", entries=True, opening=True).opening.seeds) == 6555


def test_audit_reads_without_a_claim_and_every_read_is_recorded(daemon, at):
    """And can neither seal nor draw."""
    seal(at, "audited")
    with desk(daemon, "audit.sock") as audit:
        assert len(told_of(audit, "audited", claim=b"", entries=True).entries) == 4
        assert told(lambda: drawn(audit, "audited")).code is Code.PERMISSION_DENIED
        assert told(lambda: seal(audit, "new")).code is Code.PERMISSION_DENIED

    def noted():
        with sqlite3.connect(daemon.home / "state" / "ledger.sqlite3") as file:
            return file.execute("SELECT subject FROM events WHERE kind = 'raffle-read'").fetchall()

    until("the read is noted", lambda: ("acme/audited",) in noted())


def test_a_sealed_raffle_survives_kill_and_is_drawn_once(tmp_path):
    """What was sealed can be drawn after kill -9; what was drawn stays so."""
    with running(tmp_path) as daemon:
        with desk(daemon) as at:
            sealed = seal(at, "r").raffle
            daemon.kill()
        daemon.start()
        with desk(daemon) as at:
            assert seal(at, "r").raffle == sealed
            result = drawn(at, "r").raffle
            daemon.kill()
        daemon.start()
        with desk(daemon) as at:
            again = drawn(at, "r")
            assert again.replayed
            assert again.raffle == result


def test_a_raffle_is_sealed_while_the_device_is_gone_and_drawn_when_it_is_back(tmp_path):
    """Sealing needs no entropy; drawing says what is awaited."""
    with running(tmp_path, gate='max_hold = "300ms"') as daemon, desk(daemon) as at:
        daemon.faults("F9")
        until("dealing holds", lambda: not daemon.can_deal())
        seal(at, "r")
        refusal = told(lambda: drawn(at, "r"))
        assert (Code.UNAVAILABLE, "ENTROPY_HOLD") == (refusal.code, refusal.reason)
        daemon.faults()
        daemon.wait_until_dealing()
        assert not drawn(at, "r").replayed
