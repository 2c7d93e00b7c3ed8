"""Peers that no library is: floods, halves, and silence. Everybody else is dealt to meanwhile."""

import contextlib
import itertools
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2

from entropyd.client import CHANNEL_OPTIONS
from entropyd.service.grpc_server import HANDSHAKE_TIMEOUT_MS, SERVER_OPTIONS
from entropyd.v1.entropy_service_pb2 import AddUserEntropyRequest
from tests.system.custom import custom_daemon
from tests.system.doors import Doors, token_table
from tests.system.harness import Daemon, started, until
from tests.system.http2 import (
    CANCEL,
    CONTINUATION,
    END_HEADERS,
    ENHANCE_YOUR_CALM,
    HEADERS,
    PING,
    RST_STREAM,
    SETTINGS,
    Peer,
    headers_of,
)
from tests.system.wire import Wire, order, told

Code = grpc.StatusCode
STATUS = "/entropyd.v1.EntropyService/GetStatus"
SHUFFLE = "/entropyd.v1.ShuffleService/Shuffle"
WATCH = "/grpc.health.v1.Health/Watch"
UNPLUGGED = "F9"
# What a flood may leave behind: allocators keep what they had.
MEMORY_KEPT = 96 * 2**20

_HANDS = itertools.count()


@contextlib.contextmanager
def unharmed(daemon: Daemon, wire: Wire) -> Iterator[None]:
    """Whatever happens in the block, others are dealt to afterwards, and memory stays bounded."""
    before = daemon.metric("process_resident_memory_bytes")
    yield
    began = time.monotonic()
    assert wire.draw("t-hostile", f"hand-{next(_HANDS)}").sequence > 0
    assert time.monotonic() - began < 10
    assert daemon.http("/healthz")[0] == 200
    assert daemon.metric("process_resident_memory_bytes") - before < MEMORY_KEPT
    assert "Traceback" not in daemon.log


# --- keepalive --------------------------------------------------------------------------------


def test_a_peer_that_pings_without_end_is_told_to_calm_down(dealing: Daemon, wire: Wire):
    """GOAWAY with ENHANCE_YOUR_CALM and `too_many_pings`, the word that gRPC clients know."""
    with unharmed(dealing, wire), Peer(dealing.home / "poker.sock") as peer:
        with contextlib.suppress(OSError):
            for _ in range(50):
                peer.send(Peer.frame(PING, payload=bytes(8)))
        assert peer.goaway() == (ENHANCE_YOUR_CALM, b"too_many_pings")


def test_our_client_never_pings_too_often():
    """Every 30 s, also without calls; the daemon allows one every 10 s, and says so in C-core."""
    client, server = dict(CHANNEL_OPTIONS), dict(SERVER_OPTIONS)
    allowed_ms = server["grpc.http2.min_recv_ping_interval_without_data_ms"]
    assert int(client["grpc.keepalive_time_ms"]) >= 2 * allowed_ms
    assert (client["grpc.keepalive_permit_without_calls"], 1) == (
        server["grpc.keepalive_permit_without_calls"],
        1,
    )


# --- floods -------------------------------------------------------------------------------------


def test_calls_that_are_reset_as_soon_as_they_begin(dealing: Daemon, wire: Wire):
    """The rapid reset of CVE-2023-44487: 4,000 calls on one connection, none of them waited for."""
    with unharmed(dealing, wire), Peer(dealing.home / "poker.sock") as peer:
        block = headers_of(STATUS)
        with contextlib.suppress(OSError):
            for stream in range(1, 8001, 2):
                peer.send(
                    Peer.frame(HEADERS, flags=END_HEADERS, stream=stream, payload=block),
                    Peer.frame(RST_STREAM, stream=stream, payload=CANCEL.to_bytes(4, "big")),
                )


def test_headers_that_never_end(dealing: Daemon, wire: Wire):
    """CONTINUATION after CONTINUATION (CVE-2024-27316): 64 MiB of them, and none is kept."""
    with unharmed(dealing, wire), Peer(dealing.home / "poker.sock") as peer:
        peer.send(Peer.frame(HEADERS, stream=1, payload=headers_of(STATUS)))
        more = headers_of(STATUS, (b"x-more", b"x" * 8000))[-8000:]
        with contextlib.suppress(OSError):
            for _ in range(8192):
                peer.send(
                    Peer.frame(CONTINUATION, stream=1, payload=b"\x00" + b"\x06x-more" + more)
                )


def test_settings_without_end(dealing: Daemon, wire: Wire):
    """Each wants an acknowledgement that is never read."""
    with (
        unharmed(dealing, wire),
        Peer(dealing.home / "poker.sock") as peer,
        contextlib.suppress(OSError),
    ):
        for _ in range(200):
            peer.send(*[Peer.frame(SETTINGS)] * 100)


METADATA = {
    "a thousand fields": [(f"x-{number}".encode(), b"v") for number in range(1000)],
    "one of a megabyte": [(b"x", b"v" * 2**20)],
    "a name of nothing": [(b"", b"v")],
    "capitals": [(b"X-Upper", b"v")],
    "a zero in a value": [(b"x-zero", b"a\0b")],
    "a line break in a value": [(b"x-line", b"a\r\nb: c")],
    "bytes that are no text": [(b"x-high", bytes(range(128, 256)))],
    "base64 that is none": [(b"x-bin", b"!!!!")],
    "a status of its own": [(b"grpc-status", b"0"), (b":status", b"200")],
    "a path again": [(b":path", b"/other")],
    "a timeout that is none": [(b"grpc-timeout", b"soon")],
    "a timeout beyond all clocks": [(b"grpc-timeout", b"99999999H")],
    "an encoding that is none": [(b"grpc-encoding", b"rot13")],
    "a thousand attempts": [(b"grpc-previous-rpc-attempts", b"999999999999999999999")],
    "authorization that is no text": [(b"authorization", b"Bearer \xff\xfe")],
    "authorization of a megabyte": [(b"authorization", b"Bearer " + b"a" * 2**20)],
}


@pytest.mark.parametrize("name", METADATA)
@pytest.mark.parametrize("path", [STATUS, SHUFFLE])
def test_hostile_metadata(dealing: Daemon, wire: Wire, path: str, name: str):
    """The call, or the connection, is refused or answered: nothing else ends with it."""
    with unharmed(dealing, wire), Peer(dealing.home / "poker.sock") as peer:
        block = headers_of(path, *METADATA[name])
        parts = [block[start : start + 16_384] for start in range(0, len(block), 16_384)]
        with contextlib.suppress(OSError):
            for number, part in enumerate(parts):
                kind = HEADERS if number == 0 else CONTINUATION
                last = END_HEADERS if number == len(parts) - 1 else 0
                peer.send(Peer.frame(kind, flags=last, stream=1, payload=part))
            peer.send(Peer.frame(0, flags=1, stream=1, payload=bytes(5)))
            next(frame for frame in peer.frames() if frame.stream == 1 or frame.kind == 7)


# --- size ------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_messages_of_ten_mebibytes(dealing: Daemon, wire: Wire, compression: grpc.Compression):
    """Refused by their length; compressed, by what they would become: 10 KiB are no bomb."""
    huge = AddUserEntropyRequest(user="u", blob=bytes(10 * 2**20))
    with unharmed(dealing, wire):
        calls = [
            wire.entropy.AddUserEntropy.future(huge, timeout=30, compression=compression)
            for _ in range(16)
        ]
        assert {told(call.result).code for call in calls} == {Code.RESOURCE_EXHAUSTED}


# --- those who never read -----------------------------------------------------------------------


def test_a_watcher_that_never_reads_holds_nobody_up(home: Path):
    """A window of no byte: what is told to it waits, and the daemon does not."""
    with (
        started(Daemon(home)) as daemon,
        contextlib.ExitStack() as peers,
        Wire(daemon) as wire,
    ):
        for _ in range(4):
            peer = peers.enter_context(Peer(daemon.home / "poker.sock", window=0))
            for stream in range(1, 65, 2):
                peer.call(stream, WATCH)
        watched = wire.health.Watch(health_pb2.HealthCheckRequest(service=""), timeout=60)
        states = (
            health_pb2.HealthCheckResponse.ServingStatus.Name(told.status) for told in watched
        )
        assert next(states) == "SERVING"
        for _ in range(3):
            daemon.faults(UNPLUGGED)
            assert next(states) == "NOT_SERVING"
            daemon.faults()
            assert next(states) == "SERVING"
        assert wire.draw("t", "hand").sequence == 1
        assert daemon.terminate() == 0


def test_callers_who_never_read_their_decks(home: Path):
    """Their decks are recorded and wait in gRPC; others are dealt to, and the daemon stops."""
    with (
        started(Daemon(home)) as daemon,
        Wire(daemon) as wire,
        Peer(daemon.home / "poker.sock", window=0) as peer,
    ):
        for number in range(200):
            body = order("t-deaf", f"deaf-{number}").SerializeToString()
            peer.call(2 * number + 1, SHUFFLE, (b"grpc-timeout", b"30S"), body=body)
        until("all were drawn", lambda: wire.status().hands == 200)
        assert wire.replay("t-deaf", "deaf-7").sequence > 0
        assert wire.draw("t", "hand").sequence == 1
        assert daemon.terminate() == 0


def test_a_connection_that_never_shakes_hands_is_closed(home: Path):
    """After 10 s, so that silence costs a file descriptor and not two minutes of it."""
    doors = Doors(home)
    with started(doors.daemon(token_table("poker", ["deal_all"]))):
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", doors.tokens), 60) as silent:
            assert silent.recv(1) == b""
        waited_s = time.monotonic() - began
        assert HANDSHAKE_TIMEOUT_MS / 1000 - 1 < waited_s < 4 * HANDSHAKE_TIMEOUT_MS / 1000


# --- too many -------------------------------------------------------------------------------------


def test_calls_beyond_max_calls_are_refused_at_once(home: Path):
    """Two wait for entropy; the third is told in no time, and another listener has its own room."""
    limits = {'roles = ["audit"]': 'roles = ["audit"]\nmax_calls = 1'}
    daemon = custom_daemon(home, limits)
    daemon.config = daemon.config.replace(
        'tenant = "acme"\nroles = ["deal_all", "draw", "contribute"]',
        'tenant = "acme"\nroles = ["deal_all", "draw", "contribute"]\nmax_calls = 2',
        1,
    )
    with started(daemon), Wire(daemon) as wire, Wire(daemon, "other.sock") as other:
        daemon.faults(UNPLUGGED)
        until("dealing is held", lambda: daemon.http("/readyz")[0] == 503)
        held = [wire.shuffles.Shuffle.future(order("t", f"held-{n}"), timeout=4) for n in range(2)]
        until("they wait", lambda: daemon.metric("entropyd_waiters") == 2)
        began = time.monotonic()
        for call in (lambda: wire.shuffle(order("t", "more")), wire.status):
            refusal = told(call)
            assert (refusal.code, refusal.reason) == (Code.RESOURCE_EXHAUSTED, "OVERLOADED")
            assert "max_calls" in refusal.message
        assert time.monotonic() - began < 3
        assert not other.status().can_deal
        # Told before their deadline; a busy machine may be too late for the last 50 ms.
        assert {told(call.result).code for call in held} <= {
            Code.UNAVAILABLE,
            Code.DEADLINE_EXCEEDED,
        }
        daemon.faults()
        until("room came back", lambda: wire.status().can_deal)
