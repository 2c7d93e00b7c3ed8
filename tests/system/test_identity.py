"""Who reaches the daemon and what it tells them of itself: sockets, reflection, pages."""

import os
import stat
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from entropyd.v1 import entropy_service_pb2
from tests.system.custom import custom_daemon
from tests.system.harness import Daemon, started
from tests.system.wire import Wire, log_lines, told

SOCKETS = ("poker.sock", "audit.sock", "other.sock")


@pytest.mark.parametrize("name", SOCKETS)
def test_socket_is_for_owner_and_group_only(dealing: Daemon, name: str):
    """A socket is the credential: mode 0660, the daemon's own user and group, never others."""
    status = (dealing.home / name).stat()
    assert stat.S_ISSOCK(status.st_mode)
    assert stat.S_IMODE(status.st_mode) == 0o660
    assert (status.st_uid, status.st_gid) == (os.geteuid(), os.getegid())


def test_mode_of_a_socket_is_configured(home: Path):
    """`mode = "0600"` leaves the group out; the other listeners keep theirs."""
    daemon = custom_daemon(home, {'roles = ["audit"]': 'roles = ["audit"]\nmode = "0600"'})
    with started(daemon):
        modes = {name: stat.S_IMODE((home / name).stat().st_mode) for name in SOCKETS}
        assert modes == {"poker.sock": 0o660, "audit.sock": 0o600, "other.sock": 0o660}
        assert daemon.terminate() == 0


def test_state_is_for_the_owner_only(dealing: Daemon):
    """Ledger, lock and keys: nothing in the state directory that others may read."""
    state = dealing.home / "state"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.iterdir()}
    assert "ledger.sqlite3" in modes
    assert set(modes.values()) == {0o600}, modes


def test_reflection_lists_the_services(wire: Wire):
    """A stock tool finds every service and its methods without our files."""
    database = ProtoReflectionDescriptorDatabase(wire.channel)
    assert set(database.get_services()) == {
        "entropyd.v1.ShuffleService",
        "entropyd.v1.DrawService",
        "entropyd.v1.RaffleService",
        "entropyd.v1.FairService",
        "entropyd.v1.HandService",
        "entropyd.v1.LedgerService",
        "entropyd.v1.EntropyService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    }
    service = DescriptorPool(database).FindServiceByName("entropyd.v1.ShuffleService")
    methods = ["Shuffle", "GetShuffle", "BatchShuffle", "StreamShuffles"]
    assert [method.name for method in service.methods] == methods


def test_services_are_the_same_on_every_listener(dealing: Daemon):
    """What a caller may do is its roles' affair; health and status are everybody's."""
    for name in SOCKETS:
        with Wire(dealing, name) as wire:
            assert wire.check() == "SERVING"
            assert wire.status().can_deal


def test_health_of_a_service_that_there_is_not(wire: Wire):
    """Check of an unknown service is NOT_FOUND, as grpc.health.v1 wants it."""
    assert told(wire.check, "entropyd.v2.ShuffleService").code is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/healthz", 200, "ok"),
        ("/readyz", 200, "ok"),
        ("/metrics", 200, "# HELP entropyd_draws_total"),
        ("/", 404, ""),
        ("/metrics/../../etc/passwd", 404, ""),
    ],
)
def test_pages(dealing: Daemon, path: str, code: int, text: str):
    """The three pages are there, and no other."""
    answer = dealing.http(path)
    assert answer[0] == code
    assert text in answer[1]


def test_status_of_another_tenant(dealing: Daemon):
    """What one tenant's users gave is not told to another."""
    with Wire(dealing) as mine, Wire(dealing, "other.sock") as theirs:
        gift = entropy_service_pb2.AddUserEntropyRequest(user="u", blob=bytes(range(200)))
        assert theirs.entropy.AddUserEntropy(gift, timeout=10).pooled_millibits > 0
        assert theirs.status().user_pooled_millibits > 0
        assert mine.status().user_pooled_millibits == 0


def test_owner_that_there_is_not(home: Path):
    """A socket for a user whom nobody knows: refused at start, with the name."""
    owner = 'roles = ["audit"]\nowner = "nobody-at-all"'
    daemon = custom_daemon(home, {'roles = ["audit"]': owner})
    daemon.start(wait=False)
    assert daemon.ended(patience_s=60) == 78
    assert "no such user or group" in daemon.log
    assert "nobody-at-all" in daemon.log


def test_address_of_any_port(home: Path):
    """Where port 0 is asked for, the log says which one it became."""
    with started(custom_daemon(home, {"unix:{home}/other.sock": "127.0.0.1:0"})) as daemon:
        listening = [line for line in log_lines(daemon) if line["event"] == "listening"]
        chosen = next(line["port"] for line in listening if line["address"] == "127.0.0.1:0")
        with Wire(daemon, f"127.0.0.1:{chosen}") as wire:
            assert wire.draw("t-port", "hand").sequence == 1
