"""/metrics, /healthz, /readyz and /verify for this machine, on a thread of its own.

It shares nothing with the event loop but the callables it is given, so it can
say that the loop hangs. It answers GET and HEAD, reads no body, serves few
connections at once, waits for none of them longer than a few seconds, and binds
the loopback alone.

/healthz: the process does its work; if not, restart it.
/readyz: a draw asked for now could be dealt; if not, the text says what is missing.
/verify: the page on which a player checks a draw, for a web server to hand on; it asks this daemon
nothing. /verify.sha256: its hash, in the form that `sha256sum --check` reads.
"""

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

from entropyd.config import TcpEndpoint
from entropyd.errors import ConfigError, InternalError
from entropyd.ops.logs import get_logger
from entropyd.web import PAGE, page, page_hash, page_policy

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

# A scraper and a probe or two; more is somebody who does not close.
MAX_CONNECTIONS = 8
# A scraper on the same machine sends its request in one packet. One that waits for longer, or
# dribbles it, is cut off: its connection is one of few.
SOCKET_TIMEOUT_S = 3.0
CONNECTION_LIMIT_S = 6.0
# How soon `stop` is noticed.
POLL_S = 0.05
# An event loop that did not turn for this long deals nothing in the time that a draw may wait.
MAX_HEARTBEAT_AGE_S = 5.0

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
# The page is one file, which changes with the daemon alone and is asked for seldom. `no-store`: who
# compares hashes compares the page of now, and no cache on the way keeps one that knows less.
PAGE_HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
)

# Says what is wrong in a few words, or None. Called from the server's threads.
Probe = Callable[[], str | None]


class Heartbeat:
    """When the event loop last turned. Beaten by the loop, read by anyone."""

    def __init__(self, clock_ns: Callable[[], int]) -> None:
        self._clock_ns = clock_ns
        self._last_ns = clock_ns()

    def beat(self) -> None:
        """Note that the loop turned."""
        self._last_ns = self._clock_ns()

    def probe(self) -> str | None:
        """Return what is wrong if the last beat is older than MAX_HEARTBEAT_AGE_S."""
        age_s = (self._clock_ns() - self._last_ns) / 1e9
        if age_s <= MAX_HEARTBEAT_AGE_S:
            return None
        return f"the event loop has not turned for {age_s:.1f} s"


class OpsServer:
    """The HTTP server of one daemon. Start once, stop once; from one thread.

    Attributes:
        port: the port it listens on, once it was started.
    """

    def __init__(
        self, address: TcpEndpoint, registry: CollectorRegistry, *, alive: Probe, ready: Probe
    ) -> None:
        self._address = address
        self._app = make_app(registry, alive=alive, ready=ready)
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self.port = 0

    def start(self) -> None:
        """Bind the port and serve.

        Raises:
            ConfigError: the port cannot be bound; nothing is left behind.
        """
        if self._server is not None:
            raise InternalError("the HTTP server was started twice")
        self._server = _bind(self._address)
        self._server.set_app(self._app)
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_S,), name="http", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Close the port and let go of it. Open connections end by themselves, unwaited for."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server = self._thread = None


def make_app(registry: CollectorRegistry, *, alive: Probe, ready: Probe) -> "WSGIApplication":
    """Return the pages as a WSGI application."""
    metrics = make_wsgi_app(registry)

    def app(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            return _answer(environ, start_response, "405 Method Not Allowed", "use GET or HEAD")
        match environ["PATH_INFO"]:
            case "/metrics":
                body = b"".join(metrics({**environ, "REQUEST_METHOD": "GET"}, start_response))
                return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
            case "/healthz":
                return _answer_probe(environ, start_response, alive())
            case "/readyz":
                return _answer_probe(environ, start_response, alive() or ready())
            case "/verify" | "/verify.sha256":
                return _answer_page(environ, start_response)
            case _:
                text = (
                    "not found; there are /metrics, /healthz, /readyz, /verify and /verify.sha256"
                )
                return _answer(environ, start_response, "404 Not Found", text)

    return app


def _answer_probe(
    environ: "WSGIEnvironment", start_response: "StartResponse", wrong: str | None
) -> Iterable[bytes]:
    if wrong is None:
        return _answer(environ, start_response, "200 OK", "ok")
    return _answer(environ, start_response, "503 Service Unavailable", wrong)


def _answer_page(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    if environ["PATH_INFO"] == "/verify":
        body, kind = page(), [("Content-Type", HTML), ("Content-Security-Policy", page_policy())]
    else:
        body, kind = f"{page_hash()}  {PAGE}\n".encode(), [("Content-Type", TEXT)]
    start_response("200 OK", [*kind, ("Content-Length", str(len(body))), *PAGE_HEADERS])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


def _answer(
    environ: "WSGIEnvironment", start_response: "StartResponse", status: str, text: str
) -> Iterable[bytes]:
    body = f"{text}\n".encode()
    headers = [("Content-Type", TEXT), ("Content-Length", str(len(body)))]
    if status.startswith("405"):
        headers.append(("Allow", "GET, HEAD"))
    start_response(status, headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


def _bind(address: TcpEndpoint) -> "_Server":
    try:
        return _Server(address)
    except OSError as error:
        raise ConfigError(
            f"http.address: cannot listen on {address.target} ({error.strerror}); stop the process"
            " that has this port, or give another port"
        ) from error


class _Handler(WSGIRequestHandler):
    # Bounds each wait for the client; request line and header lines are
    # bounded to 64 KiB each, and their number to 100, by the base classes.
    timeout = SOCKET_TIMEOUT_S
    server_version = "entropyd"
    sys_version = ""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Stay silent: a scrape every few seconds is no event."""


class _Server(ThreadingMixIn, WSGIServer):
    # A handler that waits for a client must not keep the process alive.
    daemon_threads = True
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, address: TcpEndpoint) -> None:
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        # Filled by the accepting thread, emptied by the handlers; each dict operation is atomic.
        self._ends_s: dict[socket.socket, float] = {}
        super().__init__((address.host, address.port), _Handler)

    def server_bind(self) -> None:
        """Bind without asking a name server for our own name, as the base class does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "localhost", self.server_address[1]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve on a thread, or close at once when there are too many."""
        if len(self._ends_s) >= MAX_CONNECTIONS:
            self.shutdown_request(request)
            return
        self._ends_s[request] = time.monotonic() + CONNECTION_LIMIT_S
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection and close it, however its handling ended."""
        self._ends_s.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cut off those who dribble: their handlers then read the end of the request."""
        now_s = time.monotonic()
        for request, end_s in list(self._ends_s.items()):
            if now_s >= end_s:
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """A client that went away or said nothing is its own affair."""
        get_logger("http").debug("connection failed", error=type(sys.exception()).__name__)
