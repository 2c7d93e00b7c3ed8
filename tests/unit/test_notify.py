"""The service manager hears the truth: fed only while everything that must move moves."""

import os
import socket
import uuid

import pytest

from entropyd.ops.notify import FEEDS_PER_LIMIT, Notifier, Progress, Watchdog, watchdog_limit_ns

LIMIT_NS = 20_000_000_000
INTERVAL_NS = LIMIT_NS // FEEDS_PER_LIMIT
NAMES = ("loop", "gate", "writer", "reader:q1")


def at(count, **others):
    """Return the progress of all parts: at `count`, save those given by name."""
    parts = {name: Progress(count) for name in NAMES}
    return {**parts, **others}


@pytest.fixture
def watchdog():
    return Watchdog(NAMES, limit_ns=LIMIT_NS, now_ns=0)


# --- the decision -----------------------------------------------------------


def test_it_is_fed_at_once_and_then_at_each_interval(watchdog):
    assert watchdog.should_feed(at(0), 0) is True
    assert watchdog.should_feed(at(1), INTERVAL_NS - 1) is False
    assert watchdog.should_feed(at(1), INTERVAL_NS) is True


@pytest.mark.parametrize("name", NAMES)
def test_one_part_that_does_not_move_starves_it(watchdog, name):
    """Whatever the others do, and for however long."""
    assert watchdog.should_feed(at(1), 0)
    stuck = {name: Progress(1)}
    for turn in range(1, 20):
        progress = {**at(1 + turn), **stuck}
        assert watchdog.should_feed(progress, turn * INTERVAL_NS) is False
        assert watchdog.stalled(progress) == (name,)
    assert watchdog.should_feed(at(30), 20 * INTERVAL_NS) is True


@pytest.mark.parametrize("name", NAMES)
def test_a_part_that_is_gone_starves_it(watchdog, name):
    progress = at(1)
    del progress[name]
    assert watchdog.should_feed(progress, 0) is False
    assert watchdog.stalled(progress) == (name,)


def test_a_part_with_nothing_to_do_does_not_starve_it(watchdog):
    idle = {"writer": Progress(0, idle=True), "gate": Progress(0, idle=True)}
    assert watchdog.should_feed({**at(1), **idle}, 0)
    assert watchdog.should_feed({**at(2), **idle}, INTERVAL_NS)
    busy = {"writer": Progress(0), "gate": Progress(0, idle=True)}
    assert not watchdog.should_feed({**at(3), **busy}, 2 * INTERVAL_NS)


def test_a_late_part_puts_off_the_feed_and_no_more(watchdog):
    """It is fed as soon as the last part moved, and the next interval counts from there."""
    assert watchdog.should_feed(at(1), 0)
    assert not watchdog.should_feed({**at(2), "loop": Progress(1)}, INTERVAL_NS)
    assert watchdog.should_feed(at(2), INTERVAL_NS + 5)
    assert not watchdog.should_feed(at(3), 2 * INTERVAL_NS + 4)
    assert watchdog.should_feed(at(3), 2 * INTERVAL_NS + 5)


def test_being_asked_often_does_not_lose_progress(watchdog):
    """A part that moves once an interval is seen however often the question comes."""
    assert watchdog.should_feed(at(1), 0)
    times = range(0, INTERVAL_NS + 1, INTERVAL_NS // 10)
    answers = [watchdog.should_feed(at(2), now_ns) for now_ns in times]
    assert answers == [False] * 10 + [True]


def test_a_count_that_went_back_has_not_moved(watchdog):
    assert watchdog.should_feed(at(5), 0)
    assert not watchdog.should_feed(at(4), INTERVAL_NS)


def test_a_part_that_came_later_must_move_from_then_on(watchdog):
    assert watchdog.should_feed(at(1, extra=Progress(1)), 0)
    assert not watchdog.should_feed(at(2, extra=Progress(1)), INTERVAL_NS)
    assert not watchdog.should_feed(at(2), INTERVAL_NS)


def test_two_feeds_fit_into_the_limit():
    """sd_watchdog_enabled(3) asks for half; one late feed must still be in time."""
    assert FEEDS_PER_LIMIT >= 4


# --- the datagrams ----------------------------------------------------------


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    """A service manager's socket and the address that it puts into the environment."""
    name = str(tmp_path / "notify")
    if request.param == "abstract":
        name = f"@entropyd-test-{uuid.uuid4()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(f"\0{name[1:]}" if name[0] == "@" else name)
        server.settimeout(5)
        yield server, name


@pytest.mark.parametrize(
    ("say", "expected"),
    [
        (lambda n: n.ready("dealing"), b"READY=1\nSTATUS=dealing"),
        (lambda n: n.status("holding: q1\nREADY=1"), b"STATUS=holding: q1 READY=1"),
        (
            lambda n: n.reloading("reading", 12_345_678_999),
            b"RELOADING=1\nMONOTONIC_USEC=12345678\nSTATUS=reading",
        ),
        (lambda n: n.stopping("draining 64 calls"), b"STOPPING=1\nSTATUS=draining 64 calls"),
        (lambda n: n.feed(), b"WATCHDOG=1"),
    ],
)
def test_each_message_is_one_datagram(manager, say, expected):
    server, address = manager
    assert say(Notifier(address)) is True
    assert server.recv(4096) == expected


@pytest.mark.parametrize("address", [None, ""])
def test_without_a_service_manager_nothing_happens(address):
    assert Notifier(address).ready("dealing") is True


def test_a_service_manager_that_is_gone_stops_nothing(tmp_path):
    assert Notifier(str(tmp_path / "nobody")).feed() is False


def test_a_service_manager_that_does_not_listen_blocks_nothing(tmp_path):
    """Its queue is full: the send fails at once instead of waiting."""
    path = str(tmp_path / "deaf")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(path)
        notifier = Notifier(path)
        assert not all(notifier.feed() for _ in range(10_000))


def test_the_socket_comes_from_the_environment(manager, monkeypatch):
    server, address = manager
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    assert Notifier.from_environment().feed()
    assert server.recv(4096) == b"WATCHDOG=1"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "20000000"}, LIMIT_NS),
        ({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": str(os.getpid())}, LIMIT_NS),
        ({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_limit_is_for_this_process_or_none(environ, expected):
    assert expected == watchdog_limit_ns(environ, os.getpid())
