"""Just enough HTTP/2 to call unary gRPC methods cheaply.

A load generator on grpcio spends more on a call than the server does, and then
measures itself. This costs some 10 us a call. It trusts its server, speaks
prior-knowledge HTTP/2 without TLS, and is no client for anything else.

Spec: RFC 9113; RFC 7541; gRPC over HTTP/2.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 0x1, 0x1, 0x4
FRAME_HEAD_BYTES = 9
MAX_WINDOW = 2**31 - 1
DEFAULT_WINDOW = 65_535
SETTINGS_INITIAL_WINDOW_SIZE = 4
# Entries of the dynamic table are numbered from here, the newest first (RFC 7541, 2.3.3).
FIRST_DYNAMIC = 62

# The answer's message, or None if the call was refused.
Done = Callable[[bytes | None], None]


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
    return head + payload


def _literals(headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return headers as literals that the server puts into its dynamic table."""
    return b"".join(
        b"\x40" + bytes((len(name),)) + name + bytes((len(value),)) + value
        for name, value in headers
    )


class Connection(asyncio.Protocol):
    """One connection that calls one method. Used by one event loop.

    Calls are gathered until `flush`, and those made while answers are taken in
    go out together after them.
    """

    def __init__(self, path: str, *, timeout_s: int = 10) -> None:
        """Prepare calls of `path` (`/package.Service/Method`), each with this deadline."""
        headers = [
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", path.encode()),
            (b":authority", b"localhost"),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc"),
            (b"grpc-timeout", b"%dS" % timeout_s),
        ]
        self._block = _literals(headers)
        newest = FIRST_DYNAMIC + len(headers) - 1
        self._later_block = bytes(0x80 | newest - number for number in range(len(headers)))
        self._out: list[bytes] = []
        self._in = b""
        self._next_stream = 1
        self._waiting: dict[int, Done] = {}
        self._messages: dict[int, bytes] = {}
        self._send_window = DEFAULT_WINDOW
        self._received = 0
        self._blocked: deque[bytes] = deque()
        self.trouble = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are transports by behaviour, not by class.
        self._transport = cast("asyncio.Transport", transport)
        window = SETTINGS_INITIAL_WINDOW_SIZE.to_bytes(2, "big") + MAX_WINDOW.to_bytes(4, "big")
        wider = (MAX_WINDOW - DEFAULT_WINDOW).to_bytes(4, "big")
        self._transport.write(
            PREFACE + _frame(SETTINGS, 0, 0, window) + _frame(WINDOW_UPDATE, 0, 0, wider)
        )

    def connection_lost(self, error: Exception | None) -> None:
        self.trouble = self.trouble or f"connection lost: {error}"
        for done in list(self._waiting.values()):
            done(None)
        self._waiting.clear()

    def call(self, message: bytes, done: Done) -> None:
        """Queue a call; `done` gets its answer."""
        stream, self._next_stream = self._next_stream, self._next_stream + 2
        self._waiting[stream] = done
        self._out.append(_frame(HEADERS, END_HEADERS, stream, self._block))
        self._block = self._later_block
        body = b"\0" + len(message).to_bytes(4, "big") + message
        self._send(_frame(DATA, END_STREAM, stream, body))

    def flush(self) -> None:
        """Send what was queued."""
        if self._out:
            self._transport.write(b"".join(self._out))
            self._out.clear()

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        data = self._in + data
        at, end = 0, len(data)
        while end - at >= FRAME_HEAD_BYTES:
            size = int.from_bytes(data[at : at + 3], "big")
            following = at + FRAME_HEAD_BYTES + size
            if following > end:
                break
            stream = int.from_bytes(data[at + 5 : at + 9], "big")
            payload = data[at + FRAME_HEAD_BYTES : following]
            self._take(data[at + 3], data[at + 4], stream, payload)
            at = following
        self._in = data[at:]
        self._widen()
        self.flush()

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == DATA:
            self._messages[stream] = self._messages.get(stream, b"") + payload
            self._received += len(payload)
        elif (kind == HEADERS and flags & END_STREAM) or kind == RST_STREAM:
            message = self._messages.pop(stream, None)
            done = self._waiting.pop(stream, None)
            if done is not None:
                done(message and message[5:])
        elif kind == WINDOW_UPDATE and not stream:
            self._send_window += int.from_bytes(payload, "big")
            self._unblock()
        elif kind in {SETTINGS, PING} and not flags & ACK:
            self._out.append(_frame(kind, ACK, 0, payload if kind == PING else b""))
        elif kind == GOAWAY:
            self.trouble = f"server closes the connection: {payload[8:].decode('ascii', 'replace')}"

    def _send(self, data_frame: bytes) -> None:
        self._blocked.append(data_frame)
        self._unblock()

    def _unblock(self) -> None:
        while self._blocked:
            size = len(self._blocked[0]) - FRAME_HEAD_BYTES
            if size > self._send_window:
                return
            self._send_window -= size
            self._out.append(self._blocked.popleft())

    def _widen(self) -> None:
        """Give the server its window back before it runs out of it."""
        if self._received > MAX_WINDOW // 2:
            self._out.append(_frame(WINDOW_UPDATE, 0, 0, self._received.to_bytes(4, "big")))
            self._received = 0


async def connect(target: str, path: str, *, timeout_s: int = 10) -> Connection:
    """Connect to "unix:/path" and prepare calls of `path`."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_unix_connection(
        lambda: Connection(path, timeout_s=timeout_s), target.removeprefix("unix:")
    )
    return connection
