"""What the daemon tells of itself: health to watchers, metrics from the first scrape, a log."""

import base64
import queue
import threading
import time
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2

from entropyd.config import load
from entropyd.daemon.ledger import open_ledger
from entropyd.ledger.contract import HandRecord
from tests.system.harness import Daemon, running, until
from tests.system.wire import Wire, changes, claim_of, log_lines, order, told


def watch(wire: Wire, service: str) -> "queue.Queue[str]":
    """Watch a service's health; every status that comes is put into the queue."""
    seen: queue.Queue[str] = queue.Queue()
    stream = wire.health.Watch(health_pb2.HealthCheckRequest(service=service))

    def follow() -> None:
        try:
            for answer in stream:
                seen.put(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
        except grpc.RpcError as error:
            seen.put(error.code().name)

    threading.Thread(target=follow, daemon=True).start()
    return seen


def test_watchers_are_told(daemon: Daemon):
    """Watch flips when dealing is held and again when it goes on; the process keeps serving."""
    daemon.start()
    with Wire(daemon) as wire:
        shuffles, process = (
            watch(wire, "entropyd.v1.ShuffleService"),
            watch(wire, "entropyd.v1.EntropyService"),
        )
        assert shuffles.get(timeout=10) == "SERVING"
        assert process.get(timeout=10) == "SERVING"
        for _ in range(2):
            daemon.faults("F9")
            assert shuffles.get(timeout=10) == "NOT_SERVING"
            assert wire.check() == "NOT_SERVING"
            daemon.faults()
            assert shuffles.get(timeout=20) == "SERVING"
            assert wire.check() == "SERVING"
        assert process.empty()
        assert daemon.terminate() == 0
        assert shuffles.get(timeout=10) == "NOT_SERVING"
        assert process.get(timeout=10) == "NOT_SERVING"


# --- metrics ---------------------------------------------------------------


def samples(page: str) -> dict[str, float]:
    """Return the series of a page and their values."""
    lines = (line for line in page.splitlines() if line and not line.startswith("#"))
    return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines)}


def test_every_series_is_there_before_the_first_draw(daemon: Daemon):
    """What the last scrape shows, the first one shows too: an alert never waits for an event."""
    daemon.faults("F9")
    daemon.start(wait=False)
    until("it answers", lambda: daemon.http("/metrics")[0] == 200)
    first = samples(daemon.http("/metrics")[1])
    daemon.faults()
    daemon.wait_until_dealing()
    with Wire(daemon) as wire:
        wire.draw("t-metrics", "one")
        wire.replay("t-metrics", "one")
        told(wire.shuffle, order("t-metrics", "two", claim=b""))
        told(wire.shuffle, order("t-metrics", "one", claim=bytes(16)))
        daemon.faults("F16:zeros")
        until("the source failed", lambda: wire.source_state() == "failed")
        told(wire.shuffle, order("t-metrics", "held"), timeout_s=0.3)
    time.sleep(0.6)  # the ledger's series are brought up to date twice a second
    last = samples(daemon.http("/metrics")[1])
    assert set(last) - set(first) == set()
    assert last['entropyd_draws_total{outcome="recorded"}'] == 1
    assert last['entropyd_draws_total{outcome="replayed"}'] == 1
    assert last['entropyd_draws_total{outcome="held"}'] >= 1
    assert last['entropyd_draws_total{outcome="refused"}'] == 1
    assert last['entropyd_requests_total{code="INVALID_ARGUMENT",method="Shuffle"}'] == 1
    assert last['entropyd_source_state{source="quantis",state="failed"}'] == 1
    assert last["entropyd_ledger_hands"] == 1
    assert not any("other" in series and value for series, value in last.items())
    assert daemon.terminate() == 0


# --- the log ---------------------------------------------------------------

HANDS = 40


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Daemon, list[HandRecord]]:
    """A stopped daemon that dealt, refused, alarmed and held, and its hands with their secrets."""
    home = tmp_path_factory.mktemp("played")
    with running(home) as daemon:
        with Wire(daemon) as wire:
            for number in range(HANDS):
                wire.draw("t-log", f"hand-{number}")
            wire.replay("t-log", "hand-0")
            told(wire.shuffle, order("t-log", "hand-1", claim=bytes(16)))
            told(wire.shuffle, order("t-log", "hand 1"))
            daemon.faults("F4")
            until("the device is lost", lambda: wire.source_state() == "lost")
            told(wire.shuffle, order("t-log", "held"), timeout_s=0.3)
            daemon.faults("F16:ones")
            until("the source failed", lambda: wire.source_state() == "failed")
        assert daemon.terminate() == 0
    with open_ledger(load(home / "entropyd.toml")) as ledger:
        hands = [ledger.find("acme", f"hand-{n}", with_secrets=True) for n in range(HANDS)]
    return daemon, [hand for hand in hands if hand is not None]


def spellings(secret: bytes) -> list[str]:
    """Return how a secret could be written in a line of text."""
    plain = base64.b64encode(secret).decode().rstrip("=")
    return [secret.hex(), secret.hex().upper(), plain, repr(secret)[2:-1], str(list(secret))[1:-1]]


def test_no_secret_is_logged(played: tuple[Daemon, list[HandRecord]]):
    """Seeds, keys, cards, claims and master key of what was dealt are nowhere in the log."""
    daemon, hands = played
    log = daemon.log
    assert len(hands) == HANDS
    secrets = [(Path(daemon.home) / "state" / "master.key").read_bytes()]
    for hand in hands:
        draft = hand.draft
        assert draft.seeds, "the ledger gave its secrets"
        secrets += [draft.seeds, draft.seeds[:32], draft.blinding, draft.salt_key]
        secrets += [draft.items[:40], draft.items[3::4][:12], claim_of(draft.hand)]
    for secret in secrets:
        for spelling in spellings(secret):
            assert spelling not in log


def test_draws_are_not_logged(played: tuple[Daemon, list[HandRecord]]):
    """At level info no line is for a hand: neither its id nor its table stands in the log."""
    daemon, _ = played
    lines = log_lines(daemon)
    assert "hand-" not in daemon.log
    assert "t-log" not in daemon.log
    assert len(lines) < HANDS
    assert {line["level"] for line in lines} <= {"info", "warning"}
    assert changes(lines, "source quantis")[-1] == "failed"
    assert lines[-1]["event"] == "stopped"
    assert all(line.startswith("{") for line in daemon.log.splitlines()), "every line is JSON"
