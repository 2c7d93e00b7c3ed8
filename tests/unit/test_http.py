"""The daemon's own pages, over real sockets."""

import gzip
import hashlib
import http.client
import socket
import threading
import time

import pytest
from prometheus_client import CollectorRegistry, Counter

from entropyd.config import TcpEndpoint
from entropyd.errors import ConfigError, InternalError
from entropyd.ops import http as ops_http
from entropyd.ops.http import MAX_CONNECTIONS, MAX_HEARTBEAT_AGE_S, Heartbeat, OpsServer
from entropyd.web import page


class State:
    """What is wrong with the daemon, settable; None is nothing."""

    def __init__(self):
        self.dead = None
        self.held = None


@pytest.fixture
def state():
    return State()


@pytest.fixture
def server(state):
    registry = CollectorRegistry()
    Counter("entropyd_things", "Things.", registry=registry).inc(3)
    server = OpsServer(
        TcpEndpoint("127.0.0.1", 0), registry, alive=lambda: state.dead, ready=lambda: state.held
    )
    server.start()
    yield server
    server.stop()


def ask(server, path, method="GET", headers=None):
    """Return status, headers and body of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def test_metrics_are_served(server):
    status, headers, body = ask(server, "/metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain")
    assert b"entropyd_things_total 3.0" in body


def test_metrics_are_compressed_for_who_asks(server):
    _, headers, body = ask(server, "/metrics", headers={"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip"
    assert b"entropyd_things_total 3.0" in gzip.decompress(body)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_all_is_well(server, path):
    status, _, body = ask(server, path)
    assert (status, body) == (200, b"ok\n")


def test_a_hold_is_not_ready_and_not_dead(server, state):
    state.held = "SOURCE_LOST: q1 is not there"
    assert ask(server, "/healthz")[0] == 200
    status, _, body = ask(server, "/readyz")
    assert (status, body) == (503, b"SOURCE_LOST: q1 is not there\n")
    state.held = None
    assert ask(server, "/readyz")[0] == 200


def test_a_hanging_loop_is_dead_and_not_ready(server, state):
    state.dead = "the event loop has not turned for 9.0 s"
    for path in ("/healthz", "/readyz"):
        status, _, body = ask(server, path)
        assert (status, body) == (503, b"the event loop has not turned for 9.0 s\n")


def test_the_page_is_served_with_its_policy(server):
    """As it is on disk; no site may frame it, and no browser take it for anything else."""
    status, headers, body = ask(server, "/verify")
    assert (status, body) == (200, page())
    assert "text/html; charset=utf-8" == headers["Content-Type"]
    assert "nosniff" == headers["X-Content-Type-Options"]
    assert "no-store" == headers["Cache-Control"]
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.endswith("frame-ancestors 'none'")
    assert "unsafe" not in policy


def test_the_hash_of_the_page_is_served(server):
    """A line that sha256sum reads."""
    status, _, body = ask(server, "/verify.sha256")
    digest = hashlib.sha256(ask(server, "/verify")[2]).hexdigest()
    assert (status, body) == (200, f"{digest}  verify.html\n".encode())


@pytest.mark.parametrize(
    "path", ["/", "/verify/", "/verify.html", "/metrics/", "/metricsx", "/debug/pprof"]
)
def test_there_is_nothing_else(server, path):
    status, _, body = ask(server, path)
    assert status == 404
    assert b"entropyd_things" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/nothing"])
def test_only_get_and_head_are_answered(server, method, path):
    status, headers, _ = ask(server, path, method=method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/verify", "/nothing"])
def test_head_has_the_status_and_no_body(server, path):
    status, headers, _ = ask(server, path)
    head_status, head_headers, body = ask(server, path, method="HEAD")
    assert (head_status, body) == (status, b"")
    assert head_headers["Content-Type"] == headers["Content-Type"]


def test_a_taken_port_is_a_configuration_error_with_its_remedy(server):
    address = TcpEndpoint("127.0.0.1", server.port)
    second = OpsServer(address, CollectorRegistry(), alive=lambda: None, ready=lambda: None)
    with pytest.raises(ConfigError, match=r"http\.address: .*Address already in use.*another port"):
        second.start()
    second.stop()
    assert ask(server, "/healthz")[0] == 200


def test_a_server_starts_once(server):
    with pytest.raises(InternalError):
        server.start()


def test_stopping_is_quick_and_frees_the_port(server):
    """Also while a client holds its connection open and says nothing."""
    with socket.create_connection(("127.0.0.1", server.port)):
        begin = time.monotonic()
        server.stop()
        assert time.monotonic() - begin < 1
    server.stop()
    again = OpsServer(
        TcpEndpoint("127.0.0.1", server.port),
        CollectorRegistry(),
        alive=lambda: None,
        ready=lambda: None,
    )
    again.start()
    assert ask(again, "/healthz")[0] == 200
    again.stop()
    assert [t.name for t in threading.enumerate() if t.name == "http"] == []


def test_ipv6_loopback():
    server = OpsServer(
        TcpEndpoint("::1", 0), CollectorRegistry(), alive=lambda: None, ready=lambda: None
    )
    server.start()
    with socket.create_connection(("::1", server.port), timeout=5) as client:
        client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b" 200 " in client.makefile("rb").readline()
    server.stop()


def test_silent_clients_are_cut_off_and_the_rest_is_served(server, monkeypatch):
    """As many silent connections as there are places; after their time there is room again."""
    monkeypatch.setattr(ops_http._Handler, "timeout", 0.3)
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(MAX_CONNECTIONS)]
    time.sleep(0.15)
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as surplus:
        assert surplus.recv(1) == b""
    for client in silent:
        client.settimeout(5)
        assert client.recv(1) == b""
        client.close()
    assert status_within(5, server) == 200


def status_within(limit_s, server):
    """Ask until there is an answer: a place is free some instants after its client was cut off."""
    end = time.monotonic() + limit_s
    while True:
        try:
            return ask(server, "/healthz")[0]
        except (ConnectionError, http.client.RemoteDisconnected):
            if time.monotonic() >= end:
                raise
            time.sleep(0.02)


def test_a_client_that_dribbles_is_cut_off(server, monkeypatch):
    """Each byte comes in time, the request never ends."""
    monkeypatch.setattr(ops_http, "CONNECTION_LIMIT_S", 0.4)
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as client:
        client.sendall(b"GET /healthz HTTP/1.0\r\nX-Slow: ")
        begin = time.monotonic()
        while time.monotonic() - begin < 4:
            try:
                client.sendall(b"x")
            except OSError:
                break
            time.sleep(0.05)
        assert time.monotonic() - begin < 2
    assert ask(server, "/healthz")[0] == 200


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /" + b"x" * 70_000 + b" HTTP/1.0\r\n\r\n",
        b"GET /healthz HTTP/1.0\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.0\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
)
def test_oversized_and_foreign_requests_are_refused(server, request_bytes):
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as client:
        try:
            client.sendall(request_bytes)
            answer = client.recv(4096)
        except ConnectionError:
            answer = b""
        assert b" 200 " not in answer
    assert ask(server, "/healthz")[0] == 200


def test_a_body_that_is_announced_is_not_waited_for(server):
    status, _, _ = ask(server, "/healthz", headers={"Content-Length": "1000000000"})
    assert status == 200


def test_a_heartbeat_grows_old():
    now = [0]
    heartbeat = Heartbeat(lambda: now[0])
    assert heartbeat.probe() is None
    now[0] = int(MAX_HEARTBEAT_AGE_S * 1e9)
    assert heartbeat.probe() is None
    now[0] += 100_000_000
    assert heartbeat.probe() == "the event loop has not turned for 5.1 s"
    heartbeat.beat()
    assert heartbeat.probe() is None
