"""Certificates that change, tokens that are revoked, and calls that run meanwhile."""

import asyncio
import os
import queue
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import grpc
import pytest
from cryptography import x509

from entropyd.client import AsyncClient, Client
from entropyd.v1 import shuffle_service_pb2, shuffle_service_pb2_grpc
from tests.fakes.certificates import DAY, Pair
from tests.system.doors import Doors, client_table, token_of, token_table
from tests.system.harness import Daemon, refused, started, until
from tests.system.wire import Told, Wire, log_lines, order, told

UNPLUGGED = "F9"
ROLES = ("deal_all", "contribute")
CLIENTS = token_table("poker", ROLES) + client_table("san", "poker.test", ROLES)


@pytest.fixture
def doors(home: Path) -> Doors:
    return Doors(home)


def shown_certificate(doors: Doors) -> x509.Certificate:
    """Return what a new connection is shown."""
    context = ssl.create_default_context(cadata=doors.servers.pem.decode())
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection(("127.0.0.1", doors.tokens), 10) as plain,
        context.wrap_socket(plain) as connection,
    ):
        der = connection.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)


def reload_with(daemon: Daemon, change: Callable[[str], str]) -> None:
    """Change the configuration file, and wait until the daemon says that it read it."""
    daemon.config = change(daemon.config)
    daemon.write_config()
    since = len(daemon.log)
    os.kill(daemon.pid, signal.SIGHUP)
    until("the file was read again", lambda: "configuration read again" in daemon.log[since:])


# --- clients ---------------------------------------------------------------------------------


def test_the_client_deals_by_certificate_and_by_token(doors: Doors):
    """One tenant, three doors, one deck: who calls differs, whose hand it is does not."""
    with started(doors.daemon(CLIENTS)) as daemon:
        shown = doors.clients.issue("poker.test")
        with doors.client(doors.certificates, shown) as dealer:
            dealt = dealer.shuffle("table", "hand")
            assert not dealt.replayed
        for port in (doors.tokens, doors.plain):
            with doors.client(port, token=token_of("poker")) as dealer:
                again = dealer.shuffle("table", "hand")
                assert (again.replayed, again.card_ids) == (True, dealt.card_ids)

        async def by_asyncio() -> tuple[int, ...]:
            async with AsyncClient(
                f"127.0.0.1:{doors.tokens}",
                claim_key_file=doors.home / "claim.key",
                tls=doors.tls(),
                token=token_of("poker"),
            ) as dealer:
                assert (await dealer.status()).can_deal
                return (await dealer.get_shuffle("table", "hand")).card_ids

        assert asyncio.run(by_asyncio()) == dealt.card_ids
        with doors.client(doors.tokens, token=token_of("nobody")) as stranger:
            refusal = refused(lambda: stranger.shuffle("table", "hand"))
        assert (refusal.code, refusal.reason) == (
            grpc.StatusCode.UNAUTHENTICATED,
            "IDENTITY_UNKNOWN",
        )
        assert token_of("poker") not in daemon.log


def test_the_command_takes_certificates_and_a_token_from_files(doors: Doors):
    """Never from its command line, which everybody on the machine can read."""
    with started(doors.daemon(CLIENTS)):
        shown = doors.clients.issue("poker.test")
        shown.write(doors.home, "mine")
        (doors.home / "ca.pem").write_bytes(doors.servers.issue("ca").cert)
        (doors.home / "token").write_text(token_of("poker") + "\n")
        os.chmod(doors.home / "token", 0o600)

        def status(*options: str, port: int) -> tuple[int, str]:
            command = [sys.executable, "-m", "entropyd.cli.entropyctl", *options, "status"]
            ended = subprocess.run(
                [*command, "--target", f"127.0.0.1:{port}", "--claim-key", str(doors.home / "k")],
                capture_output=True,
                text=True,
                check=False,
            )
            return ended.returncode, ended.stdout + ended.stderr

        token = ("--token-file", str(doors.home / "token"))
        code, out = status(*token, port=doors.plain)
        assert (code, "can deal" in out) == (0, True)
        code, out = status(port=doors.plain)
        assert (code, "UNAUTHENTICATED" in out) == (1, True)
        code, out = status("--cert", str(doors.home / "mine.pem"), port=doors.certificates)
        assert (code, "need --ca" in out) == (2, True)


def test_a_token_never_leaves_in_the_clear(doors: Doors):
    """Refused before anything is sent; in TLS, and on this machine, it is right."""
    for target in ("192.0.2.1:7443", "poker.example:7443", "dns:///127.0.0.1:7443"):
        with pytest.raises(ValueError, match="in the clear") as caught:
            Client(target, claim_key_file=doors.home / "k", token=token_of("poker"))
        assert token_of("poker") not in str(caught.value)
    for token in ("", "a b", "a\n", "ä"):
        with pytest.raises(ValueError, match="expected letters"):
            Client("127.0.0.1:1", claim_key_file=doors.home / "k", token=token)
    for target in ("unix:/run/x.sock", "127.0.0.1:7443", "[::1]:7443"):
        Client(target, claim_key_file=doors.home / "k", token=token_of("poker")).close()


# --- certificates ----------------------------------------------------------------------------


class Load:
    """Callers who deal all the time, some on one connection and some on ever new ones."""

    def __init__(self, doors: Doors, shown: Pair) -> None:
        self._doors = doors
        self._shown = shown
        self._stop = threading.Event()
        self.answered: list[str] = []
        self.lost: list[Told] = []
        self._threads = [
            threading.Thread(target=self._deal, args=(number, number % 2 == 0))
            for number in range(4)
        ]

    def _deal(self, number: int, keeps: bool) -> None:
        while not self._stop.is_set():
            with self._doors.channel(self._doors.certificates, self._shown) as channel:
                stub = shuffle_service_pb2_grpc.ShuffleServiceStub(channel)
                while not self._stop.is_set():
                    hand = f"{number}-{len(self.answered)}"
                    try:
                        stub.Shuffle(order(f"table-{number}", hand), timeout=20)
                        self.answered.append(hand)
                    except grpc.RpcError as error:
                        self.lost.append(Told.by(error))
                    if not keeps:
                        break

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def test_certificates_rotate_under_load_and_no_call_is_lost(doors: Doors):
    """Five pairs, each written file by file; connections that stand and new ones, no retries."""
    with started(doors.daemon(CLIENTS)) as daemon:
        serials = {shown_certificate(doors).serial_number}
        with Load(doors, doors.clients.issue("poker.test")) as load:
            for turn in range(5):
                before = len(load.answered)
                pair = doors.servers.issue("entropyd.test", ends=(turn + 2) * DAY)
                pair.write(doors.home, "server")
                wanted = x509.load_pem_x509_certificate(pair.cert).serial_number
                until(
                    "a new connection is shown the new certificate",
                    lambda wanted=wanted: shown_certificate(doors).serial_number == wanted,  # type: ignore[misc]
                )
                serials.add(wanted)
                until(
                    "calls are answered",
                    lambda before=before: len(load.answered) > before + 20,  # type: ignore[misc]
                )
        assert load.lost == []
        assert len(serials) == 6
        told_of = [line for line in log_lines(daemon) if line["event"] == "certificate read again"]
        # A line for each listener; a pair that is seen half written is a line of its own.
        assert len(told_of) >= 2 * 5


def test_connections_that_come_all_at_once_while_certificates_change(doors: Doors):
    """Sixteen at a time, hundreds a second: gRPC's core keeps its certificates for all of them."""
    made, failed = [0] * 16, []
    ends = threading.Event()

    def connect(number: int) -> None:
        while not ends.is_set():
            try:
                shown_certificate(doors)
                made[number] += 1
            except OSError as error:
                failed.append(error)

    with started(doors.daemon(CLIENTS)) as daemon:
        threads = [threading.Thread(target=connect, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for _ in range(6):
            time.sleep(0.6)
            doors.servers.issue("entropyd.test").write(doors.home, "server")
        ends.set()
        for thread in threads:
            thread.join()
        assert failed == []
        assert sum(made) > 300
        assert daemon.terminate() == 0


@pytest.mark.parametrize("how", ["expired", "swapped", "another key", "gone"])
def test_a_bad_pair_keeps_the_old_one_and_is_one_line(doors: Doors, how: str):
    """Dealing goes on, with the old certificate; a good one is taken whenever it comes."""
    with started(doors.daemon(CLIENTS)) as daemon:
        before = shown_certificate(doors).serial_number
        good = doors.servers.issue("entropyd.test")
        cert, key = good.cert, good.key
        if how == "expired":
            bad = doors.servers.issue("entropyd.test", begins=-2 * DAY, ends=-DAY)
            cert, key = bad.cert, bad.key
        elif how == "swapped":
            cert, key = key, cert
        elif how == "another key":
            key = doors.servers.issue("entropyd.test").key
        (doors.home / "server.key").unlink()
        if how != "gone":
            (doors.home / "server.pem").write_bytes(cert)
            (doors.home / "server.key").write_bytes(key)

        def complaints() -> list[str]:
            lines = log_lines(daemon)
            return [
                line["reason"] for line in lines if line["event"] == "certificate stays as it was"
            ]

        until("it was told", lambda: len(complaints()) >= 2)
        with doors.client(doors.tokens, token=token_of("poker")) as dealer:
            assert not dealer.shuffle("table", "hand").replayed
        assert shown_certificate(doors).serial_number == before
        # The looks, two a second, can also have seen the files half written.
        time.sleep(1.5)
        settled = complaints()
        listener = f'{{listener="[::]:{doors.tokens}"}}'
        assert daemon.metric(f"entropyd_certificate_stale{listener}") == 1
        time.sleep(1.5)
        assert complaints() == settled
        assert not any("PRIVATE" in complaint for complaint in settled)
        good.write(doors.home, "server")
        until("it recovered", lambda: shown_certificate(doors).serial_number != before)
        assert daemon.metric(f"entropyd_certificate_stale{listener}") == 0
        ends = daemon.metric(f"entropyd_certificate_not_after_timestamp_seconds{listener}")
        assert ends == good.not_after.timestamp()


@pytest.mark.parametrize("how", ["expired", "swapped", "another key"])
def test_a_daemon_does_not_start_with_a_bad_pair(doors: Doors, how: str):
    """Exit code 78, which the unit does not restart, and a text with the file and the remedy."""
    daemon = doors.daemon(CLIENTS)
    pair = doors.servers.issue(
        "entropyd.test", begins=-2 * DAY, ends=-DAY if how == "expired" else DAY
    )
    if how == "swapped":
        pair.cert, pair.key = pair.key, pair.cert
    elif how == "another key":
        pair.key = doors.servers.issue("entropyd.test").key
    pair.write(doors.home, "server")
    daemon.start(wait=False)
    assert daemon.ended(patience_s=60) == 78
    assert f"listener 0.0.0.0:{doors.certificates}: " in daemon.log
    assert "expected" in daemon.log


def test_an_address_off_the_loopback_never_speaks_plain_text(doors: Doors):
    """Refused at start, and on the TLS port a plain client gets nothing."""
    with started(doors.daemon(CLIENTS)) as daemon:
        with Wire(daemon, f"127.0.0.1:{doors.tokens}") as plain:
            assert told(plain.shuffle, order("t", "h")).code is grpc.StatusCode.UNAVAILABLE
        with doors.client(doors.certificates) as nameless:
            assert refused(nameless.status).code is grpc.StatusCode.UNAVAILABLE
        # Not a line, so that nobody can fill the log by knocking; all others are JSON.
        assert len(log_lines(daemon)) == len(daemon.log.splitlines())
        assert daemon.terminate() == 0
    naked = 'tenant = "acme"\nroles = ["deal_all"]'
    text = daemon.config.replace(
        f'tls = {{ cert = "{doors.home}/server.pem", key = "{doors.home}/server.key" }}', naked
    )
    assert text != daemon.config
    daemon.config = text
    daemon.start(wait=False)
    assert daemon.ended(patience_s=60) == 78
    assert "not on the loopback" in daemon.log


# --- tokens ----------------------------------------------------------------------------------


def test_a_stolen_token_is_revoked_while_its_calls_run(doors: Doors):
    """Its calls wait for entropy, it is revoked, the device comes back: recorded, and not told."""
    thief = token_table("thief", ROLES)
    daemon = doors.daemon(CLIENTS + thief, listeners="")
    daemon.config = daemon.config.replace("[gate]", '[gate]\nmax_hold = "1m"')
    with started(daemon), doors.channel(doors.tokens) as channel:
        stub = shuffle_service_pb2_grpc.ShuffleServiceStub(channel)
        metadata = (("authorization", f"Bearer {token_of('thief')}"),)
        assert stub.Shuffle(order("t", "before"), timeout=20, metadata=metadata).shuffle.cards
        daemon.faults(UNPLUGGED)
        until("dealing is held", lambda: daemon.http("/readyz")[0] == 503)
        calls = [
            stub.Shuffle.future(order("t", f"stolen-{n}"), timeout=50, metadata=metadata)
            for n in range(8)
        ]
        until("they wait", lambda: daemon.metric("entropyd_waiters") == 8)
        reload_with(daemon, lambda text: text.replace(thief, ""))
        at_once = told(stub.Shuffle, order("t", "before"), timeout=20, metadata=metadata)
        assert at_once.code is grpc.StatusCode.UNAUTHENTICATED
        daemon.faults()
        ended = [told(call.result) for call in calls]
        assert {(answer.code, answer.reason) for answer in ended} == {
            (grpc.StatusCode.UNAUTHENTICATED, "IDENTITY_UNKNOWN")
        }
        # They were drawn and recorded: whoever may ask, with the claim, is told.
        for number in range(8):
            answer: shuffle_service_pb2.ShuffleResponse = stub.Shuffle(
                order("t", f"stolen-{number}"),
                timeout=20,
                metadata=(("authorization", f"Bearer {token_of('poker')}"),),
            )
            assert answer.replayed


def test_a_stream_ends_when_its_token_is_revoked(doors: Doors):
    """What it asks for afterwards is not even drawn."""
    thief = token_table("thief", ROLES)
    asked: queue.SimpleQueue[str] = queue.SimpleQueue()

    def requests() -> Iterator[shuffle_service_pb2.StreamShufflesRequest]:
        while hand := asked.get():
            yield shuffle_service_pb2.StreamShufflesRequest(hands=[order("t", hand)])

    with started(doors.daemon(CLIENTS + thief)) as daemon, doors.channel(doors.tokens) as channel:
        stub = shuffle_service_pb2_grpc.ShuffleServiceStub(channel)
        metadata = (("authorization", f"Bearer {token_of('thief')}"),)
        answers = stub.StreamShuffles(requests(), timeout=60, metadata=metadata)
        asked.put("before")
        assert next(answers).answers[0].dealt.shuffle.cards
        reload_with(daemon, lambda text: text.replace(thief, ""))
        asked.put("after")
        assert told(next, answers).code is grpc.StatusCode.UNAUTHENTICATED
        asked.put("")
        metadata = (("authorization", f"Bearer {token_of('poker')}"),)
        replayed = [
            stub.Shuffle(order("t", hand), timeout=20, metadata=metadata).replayed
            for hand in ("before", "after")
        ]
        assert replayed == [True, False]


def test_a_file_that_is_wrong_revokes_nobody_and_lets_nobody_in(doors: Doors):
    """The old directory stays in force, the log says what is wrong."""
    with started(doors.daemon(CLIENTS)) as daemon:
        daemon.config += token_table("late", ["deal_all", "everything"])
        daemon.write_config()
        os.kill(daemon.pid, signal.SIGHUP)
        until("it was refused", lambda: "configuration not in effect" in daemon.log)
        with doors.client(doors.tokens, token=token_of("poker")) as dealer:
            assert not dealer.shuffle("table", "hand").replayed
        with doors.client(doors.tokens, token=token_of("late")) as late:
            assert refused(late.status).code is grpc.StatusCode.UNAUTHENTICATED
        reload_with(daemon, lambda text: text.replace(', "everything"', ""))
        with doors.client(doors.tokens, token=token_of("late")) as late:
            assert late.status().can_deal


def test_a_certificate_whose_client_is_gone_is_refused_on_its_open_connection(doors: Doors):
    """TLS still holds; we look at every call."""
    shown = doors.clients.issue("poker.test")
    with (
        started(doors.daemon(CLIENTS)) as daemon,
        doors.client(doors.certificates, shown) as dealer,
    ):
        dealer.shuffle("table", "hand")
        reload_with(daemon, lambda text: text.replace("poker.test", "other.test"))
        assert refused(dealer.status).code is grpc.StatusCode.UNAUTHENTICATED
