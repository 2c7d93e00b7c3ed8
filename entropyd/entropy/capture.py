r"""The capture file: samples of one device as its driver delivered them, and who it was.

    entropyd-capture v1\n
    name: value\n          for each field of `CaptureHeader`, in order
    \n
    samples                 one byte each, in order, nothing left out between two of them
    trailer                 u64 number of samples || SHA-256 of everything before the hash

The number and the hash come last, so that a file that was cut off, on a full
disk or in a copy, has none and is refused whole. Neither proves who wrote it.

Pure: bytes in and bytes out. Reading and writing files is for the driver
`replay` and for `entropyd capture`.
"""

import hashlib
import re
from dataclasses import dataclass, fields

from entropyd.encoding import u64
from entropyd.entropy.source import SourceKind

MAGIC = b"entropyd-capture v1\n"
TRAILER_BYTES = 8 + 32
# Seven short lines; more than this is no header.
MAX_HEADER_BYTES = 4096

_CREATED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


@dataclass(frozen=True)
class CaptureHeader:
    """What was captured, as its configuration and its driver had it.

    Attributes:
        driver: entry-point name of the driver.
        serial: serial number of the device, printable ASCII.
        kind: what stood behind it.
        sample_bits: width of a sample, 1 or 8.
        block_bytes: samples in one read of the device; a capture is whole reads.
        claimed_millibits: claimed min-entropy of one sample at the time.
        created: RFC 3339, UTC, whole seconds; a claim of the clock.
    """

    driver: str
    serial: str
    kind: SourceKind
    sample_bits: int
    block_bytes: int
    claimed_millibits: int
    created: str

    def encode(self) -> bytes:
        """Return the beginning of a file, up to its first sample."""
        lines = [f"{field.name}: {getattr(self, field.name)}\n" for field in fields(self)]
        return MAGIC + "".join(lines).encode("ascii") + b"\n"


class CaptureSum:
    """The running hash of one file. Begin with its header, go on with its samples."""

    def __init__(self, header: bytes) -> None:
        """Begin with the header as it stands in the file."""
        self._hash = hashlib.sha256(header)
        self._samples = 0

    def update(self, samples: bytes) -> None:
        """Take the next samples."""
        self._hash.update(samples)
        self._samples += len(samples)

    def trailer(self) -> bytes:
        """Return the end of the file after the samples taken so far."""
        count = u64(self._samples)
        whole = self._hash.copy()
        whole.update(count)
        return count + whole.digest()


def parse_header(start: bytes) -> tuple[CaptureHeader, int]:
    """Return a file's header, and how many bytes it takes.

    Args:
        start: the first MAX_HEADER_BYTES of the file, or all of it.

    Raises:
        ValueError: this is no capture, or not one of this version; the text says how it shows.
    """
    if not start.startswith(MAGIC):
        raise ValueError("is no capture: it does not begin with `entropyd-capture v1`")
    end = start.find(b"\n\n", 0, MAX_HEADER_BYTES)
    if end < 0:
        raise ValueError("is no whole capture: its header does not end")
    try:
        lines = start[len(MAGIC) : end].decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError("is no capture: its header is not ASCII") from error
    given = dict(line.partition(": ")[::2] for line in lines)
    names = [field.name for field in fields(CaptureHeader)]
    if list(given) != names or len(lines) != len(names):
        raise ValueError(f"is no capture of this version: expected the lines {', '.join(names)}")
    return _header(given), end + 2


def _header(given: dict[str, str]) -> CaptureHeader:
    if given["kind"] not in set(SourceKind):
        raise ValueError(f"has kind {given['kind']!r}; expected one of {', '.join(SourceKind)}")
    if not _CREATED.fullmatch(given["created"]):
        raise ValueError(f"has created {given['created']!r}; expected such as 2026-01-31T12:00:00Z")
    bits = _whole(given, "sample_bits", low=1, high=8)
    if bits not in {1, 8}:
        raise ValueError(f"has sample_bits {bits}; expected 1 or 8")
    return CaptureHeader(
        driver=given["driver"],
        serial=given["serial"],
        kind=SourceKind(given["kind"]),
        sample_bits=bits,
        block_bytes=_whole(given, "block_bytes", low=1, high=1 << 24),
        claimed_millibits=_whole(given, "claimed_millibits", low=1, high=1000 * bits),
        created=given["created"],
    )


def _whole(given: dict[str, str], name: str, *, low: int, high: int) -> int:
    text = given[name]
    if not re.fullmatch(r"[1-9]\d{0,9}", text, re.ASCII) or not low <= int(text) <= high:
        raise ValueError(f"has {name} {text!r}; expected a whole number, {low} to {high}")
    return int(text)
