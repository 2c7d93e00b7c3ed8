"""HTTP/2 by hand, for peers that no gRPC library would be (RFC 9113)."""

import socket
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    0, 1, 3, 4, 6, 7, 8, 9,
)  # fmt: skip
END_STREAM, END_HEADERS, ACK = 0x1, 0x4, 0x1
INITIAL_WINDOW_SIZE = 0x4
CANCEL, ENHANCE_YOUR_CALM = 0x8, 0xB

Header = tuple[bytes, bytes]


class Frame(NamedTuple):
    """One frame: see RFC 9113, 4.1."""

    kind: int
    flags: int
    stream: int
    payload: bytes


def headers_of(path: str, *more: Header) -> bytes:
    """Return the header block of a gRPC call, every field a literal (RFC 7541, 6.2.2)."""
    fields: Sequence[Header] = (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path.encode()),
        (b":authority", b"localhost"),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
        *more,
    )
    return b"".join(b"\x00" + _text(name) + _text(value) for name, value in fields)


def message(body: bytes = b"") -> bytes:
    """Return a gRPC message with its prefix: not compressed, and its length."""
    return struct.pack(">BI", 0, len(body)) + body


def _text(value: bytes) -> bytes:
    if len(value) < 127:
        return bytes([len(value)]) + value
    rest, length = len(value) - 127, b"\x7f"
    while rest >= 128:
        length += bytes([rest % 128 | 128])
        rest //= 128
    return length + bytes([rest]) + value


class Peer:
    """A connection that says exactly what it is told to."""

    def __init__(self, path: Path, *, window: int = 65_535) -> None:
        """Connect to a unix socket and offer a window of so many bytes a stream."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(20)
        self._socket.connect(str(path))
        setting = struct.pack(">HI", INITIAL_WINDOW_SIZE, window)
        self._socket.sendall(PREFACE + self.frame(SETTINGS, payload=setting))

    @staticmethod
    def frame(kind: int, *, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
        """Return a frame's bytes."""
        length = struct.pack(">I", len(payload))[1:]
        return length + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    def send(self, *frames: bytes) -> None:
        """Send frames; raises OSError once the other side has closed."""
        self._socket.sendall(b"".join(frames))

    def call(self, stream: int, path: str, *more: Header, body: bytes = b"") -> None:
        """Begin a call, and end what is sent in it."""
        self.send(
            self.frame(HEADERS, flags=END_HEADERS, stream=stream, payload=headers_of(path, *more)),
            self.frame(DATA, flags=END_STREAM, stream=stream, payload=message(body)),
        )

    def frames(self) -> Iterator[Frame]:
        """Yield what comes, until the other side closes; nothing for 20 s fails the test."""
        while header := self._read(9):
            length = int.from_bytes(header[:3], "big")
            stream = int.from_bytes(header[5:9], "big") & 0x7FFFFFFF
            yield Frame(header[3], header[4], stream, self._read(length))

    def goaway(self) -> tuple[int, bytes]:
        """Return code and text of the GOAWAY that comes; 0 and nothing if it just closes."""
        try:
            for frame in self.frames():
                if frame.kind == GOAWAY:
                    return int.from_bytes(frame.payload[4:8], "big"), frame.payload[8:]
        except ConnectionError:
            pass
        return 0, b""

    def _read(self, length: int) -> bytes:
        content = b""
        while len(content) < length:
            more = self._socket.recv(length - len(content))
            if not more:
                return b""
            content += more
        return content

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()
