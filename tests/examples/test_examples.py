"""The clients in other languages, built as their readers would, against a real daemon."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from entropyd.client import ClaimKey
from tests.examples.programs import Dealt, Program, build, dealt_by
from tests.system.custom import custom_daemon
from tests.system.doors import SERVER_NAME, Doors, client_table, token_of, token_table
from tests.system.harness import Daemon, started, until

ROOT = Path(__file__).parents[2]
UNPLUGGED = "F9"
ROLES = ("deal_all",)
CLIENTS = token_table("poker", ROLES) + client_table("san", "poker.test", ROLES)


@pytest.fixture(scope="module", params=["node", "cpp"])
def program(request) -> Program:
    return build(request.param)


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ed-") as path:
        ClaimKey.load_or_create(Path(path) / "claim.key")
        yield Path(path)


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    with started(Daemon(home)) as daemon:
        yield daemon


def at(daemon: Daemon, *more: str, target: str = "") -> tuple[str, ...]:
    """Return the arguments for a daemon: its poker socket, or another target."""
    key = str(daemon.home / "claim.key")
    return ("--target", target or daemon.target, "--claim-key", key, *more)


def as_the_client_has_it(daemon: Daemon, table: str, hand: str) -> Dealt:
    """Read a hand back with the project's own client and the same claim key."""
    with daemon.client() as client:
        deal = client.get_shuffle(table, hand)
    return Dealt(hand, True, " ".join(deal.cards), str(deal.sequence))


def test_hands_are_dealt_once_and_told_again(program: Program, daemon: Daemon):
    """The claim is derived as the protocol says: each client reads what another one dealt."""
    hands = ["hand-1", 'hand"2\\', "~!"]
    first = program.deal(*at(daemon, "table/7", *hands))
    assert [(dealt.hand, dealt.replayed) for dealt in first] == [(hand, False) for hand in hands]
    assert [dealt.sequence for dealt in first] == ["1", "2", "3"]
    again = program.deal(*at(daemon, "table/7", *hands))
    assert again == [Dealt(dealt.hand, True, dealt.cards, dealt.sequence) for dealt in first]
    assert again == [as_the_client_has_it(daemon, "table/7", hand) for hand in hands]
    assert {len(set(dealt.cards.split())) for dealt in first} == {52}


def test_every_door(program: Program, home: Path):
    """By socket, by token on the loopback and in TLS, by certificate: one tenant, one deck."""
    doors = Doors(home)
    with started(doors.daemon(CLIENTS)) as daemon:
        doors.clients.issue("poker.test").write(home, "mine")
        (home / "ca.pem").write_bytes(doors.servers.pem)
        (home / "token").write_text(token_of("poker") + "\n")
        tls = ("--ca", str(home / "ca.pem"), "--server-name", SERVER_NAME)
        token = ("--token-file", str(home / "token"))
        pair = ("--cert", str(home / "mine.pem"), "--key", str(home / "mine.key"))
        ways = {
            daemon.target: (),
            f"127.0.0.1:{doors.plain}": token,
            f"127.0.0.1:{doors.tokens}": (*tls, *token),
            f"127.0.0.1:{doors.certificates}": (*tls, *pair),
        }
        dealt = [
            program.deal(*at(daemon, *shown, "table", "hand", target=target))[0]
            for target, shown in ways.items()
        ]
        assert [answer.replayed for answer in dealt] == [False, True, True, True]
        assert len({answer.cards for answer in dealt}) == 1
        (home / "token").write_text(token_of("nobody"))
        stranger = program.start(
            *at(daemon, *tls, *token, "table", "hand", target=f"127.0.0.1:{doors.tokens}")
        )
        out, err = stranger.communicate(timeout=60)
        assert (stranger.returncode, out) == (1, "")
        # 16 is UNAUTHENTICATED, which is not to be retried.
        assert "refused: 16" in err
        assert "held" not in err


def test_a_hold_is_outlasted_by_the_retries_of_the_library(program: Program, home: Path):
    """Unplugged: gRPC asks again by our service config and when the daemon says, and then deals."""
    daemon = custom_daemon(home, {"[gate]": '[gate]\nmax_hold = "300ms"'})
    refused = 'entropyd_requests_total{code="UNAVAILABLE",method="Shuffle"}'
    with started(daemon):
        first = program.deal(*at(daemon, "table", "before"))
        daemon.faults(UNPLUGGED)
        until("dealing is held", lambda: daemon.http("/readyz")[0] == 503)
        waits = program.start(*at(daemon, "table", "before", "during"))
        until("it asked twice", lambda: daemon.metric(refused) >= 2)
        daemon.faults()
        out, err = waits.communicate(timeout=90)
        assert waits.returncode == 0, err
        assert "held" not in err
        dealt = [Dealt(**json.loads(line)) for line in out.splitlines()]
        # A hand that was dealt is told during a hold, too.
        assert dealt[0] == Dealt("before", True, first[0].cards, "1")
        assert dealt[1] == Dealt("during", False, dealt[1].cards, "2")


def test_a_daemon_that_dies_and_comes_back(program: Program, daemon: Daemon):
    """Killed, not reached, started again: the same requests, the same decks, and no other."""
    first = program.deal(*at(daemon, "table", "hand-1"))
    daemon.kill()
    waits = program.start(*at(daemon, "table", "hand-1", "hand-2"))
    assert waits.stderr is not None
    # Its own loop goes on when the retries of the library are used up.
    assert re.match(r"held, again in \d+ ms", waits.stderr.readline())
    daemon.start()
    dealt = dealt_by(waits)
    assert dealt[0] == Dealt("hand-1", True, first[0].cards, "1")
    assert dealt[1].sequence == "2"


def test_the_lock_file_names_no_place_to_download_from():
    """What is pinned is taken by its hash from the registry that npm's user has configured."""
    here = ROOT / "examples" / "node"
    packages = json.loads((here / "package-lock.json").read_text())["packages"]
    fetched = {path: entry for path, entry in packages.items() if path}
    assert len(fetched) > 10
    assert [path for path, entry in fetched.items() if "resolved" in entry] == []
    assert [path for path, entry in fetched.items() if "integrity" not in entry] == []
    assert "omit-lockfile-registry-resolved=true" in (here / ".npmrc").read_text()
