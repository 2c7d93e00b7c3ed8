"""What a process asked of the kernel, in order, as strace saw it.

The order of the lines is the order of the effects. A call's first line is
written while the kernel holds its thread back before the call, and its last
line while the thread is held back after it. So a call whose last line stands
above another's first line ended before the other began, whichever threads
they were.

Everything that can change a file or leave the process is traced. What would
be a way around the trace is refused by whoever reads it: a shared writable
mapping of a watched file, a call of a name that he does not know, data that
strace cut off.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.system.harness import Daemon, until

SYNCS = frozenset({"fsync", "fdatasync"})
SENDS = frozenset({"write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg"})
NAMING = frozenset({
    "open", "openat", "creat", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link",
    "linkat", "symlink", "symlinkat", "mkdir", "mkdirat", "rmdir",
})  # fmt: skip
# Not expected, and refused where they touch a watched file.
SURPRISES = frozenset({
    "sendmmsg", "sendfile", "splice", "vmsplice", "copy_file_range", "fallocate", "truncate",
    "sync_file_range", "msync", "openat2", "io_submit",
})  # fmt: skip
TRACED = SYNCS | SENDS | NAMING | SURPRISES | {"ftruncate", "mmap"}

# More than any one write: a page has 4 KiB, an answer about 1 KiB.
LONGEST_DATA = 1 << 20

_LINE = re.compile(r"(\d+) +(.*)")
_CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+|\?)")
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)")
_UNFINISHED = " <unfinished ...>"
_DESCRIPTOR = re.compile(r"\d+<((?:\\x[0-9a-f]{2})*)>(\(deleted\))?")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
_VECTOR = re.compile(r'iov_base="((?:\\x[0-9a-f]{2})*)"(\.\.\.)?, iov_len=(\d+)')


@dataclass(frozen=True)
class Call:
    """One system call.

    Attributes:
        name: of the call.
        arguments: as strace wrote them, with every text in hexadecimal.
        begun: number of the line at which it was entered.
        ended: number of the line at which it returned; None if its process was killed in it.
        result: what it returned; None if it did not.
    """

    name: str
    arguments: str
    begun: int
    ended: int | None
    result: int | None

    @cached_property
    def path(self) -> str:
        """What its descriptor (its first argument) refers to: a path, or such as socket:[7]."""
        found = _DESCRIPTOR.match(self.arguments)
        return "" if found is None else _text(found[1]) + (found[2] or "")

    @cached_property
    def mapped(self) -> str:
        """What a mapping maps: its fifth argument."""
        found = _DESCRIPTOR.search(self.arguments)
        return "" if found is None else _text(found[1])

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Its text arguments, such as paths."""
        return tuple(_text(found[1]) for found in _STRING.finditer(self.arguments))

    @cached_property
    def data(self) -> bytes:
        """What was written or sent; all that was offered, if its process was killed in it."""
        if self.result is not None and self.result <= 0:
            return b""
        pieces = list(self._pieces())
        return b"".join(pieces)[: self.result]

    @property
    def offset(self) -> int:
        """Where in its file a pwrite64 wrote: its last argument."""
        assert self.name == "pwrite64", f"{self.name} has no offset"
        return int(self.arguments.rpartition(", ")[2])

    def _pieces(self) -> Iterator[bytes]:
        if "iov_base" in self.arguments:
            vectors = self.arguments.count("iov_base=")
            found = list(_VECTOR.finditer(self.arguments))
            assert vectors == len(found), f"strace left out a part of {self.name}"
            for piece in found:
                data = _bytes(piece[1])
                assert int(piece[3]) == len(data), f"strace cut off the data of {self.name}"
                yield data
            return
        first = _STRING.search(self.arguments)
        assert first is not None, f"no data in {self.name}({self.arguments})"
        assert first[2] is None, f"strace cut off the data of {self.name}"
        yield _bytes(first[1])


def strace(trace: Path, *more: str) -> tuple[str, ...]:
    """Return the command in front of a daemon's that writes its trace.

    The tracer is a grandchild (-D), so that the process which a test starts,
    signals and waits for is the daemon itself.

    Args:
        trace: the file to write.
        more: further options of strace.
    """
    return (
        "strace", "-D", "-f", "-y", "-xx", "-s", str(LONGEST_DATA),
        "-e", "signal=kill", "-e", f"trace={','.join(sorted(TRACED))}", "-o", str(trace),
        *more,
    )  # fmt: skip


def read_trace(trace: Path, daemon: Daemon, *, first_line: int = 0) -> list[Call]:
    """Return the calls of a daemon that has ended, in the order in which they began.

    Args:
        trace: the file that `strace` was told to write.
        daemon: whose.
        first_line: number of the first line, for traces of several lives.
    """
    last = re.compile(rf"^{daemon.pid} +\+\+\+ ", re.MULTILINE)
    until("the trace is complete", lambda: bool(last.search(trace.read_text("ascii")[-4096:])))
    return parse(trace.read_text("ascii"), first_line=first_line)


def parse(text: str, *, first_line: int = 0) -> list[Call]:
    """Return the calls in the text of a trace, in the order in which they began."""
    calls: list[Call] = []
    entered: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(text.splitlines(), first_line):
        found = _LINE.fullmatch(line)
        assert found is not None, f"line {number} of the trace is none of strace's: {line[:200]}"
        thread, event = found.groups()
        if event.startswith(("+++", "---")):
            continue
        if event.endswith(_UNFINISHED):
            entered[thread] = (number, event.removesuffix(_UNFINISHED))
            continue
        begun = number
        resumed = _RESUMED.fullmatch(event)
        if resumed is not None:
            begun, half = entered.pop(thread)
            assert half.startswith(resumed[1] + "("), f"line {number} resumes another call"
            event = half + resumed[2]
        calls.append(_call(event, begun, number))
    for number, half in entered.values():
        name, _, arguments = half.partition("(")
        calls.append(Call(name, arguments, number, None, None))
    return sorted(calls, key=lambda call: call.begun)


def _call(event: str, begun: int, ended: int) -> Call:
    found = _CALL.match(event)
    assert found is not None, f"line {ended} of the trace is no call: {event[:200]}"
    name, arguments, result = found.groups()
    if result == "?":
        return Call(name, arguments, begun, None, None)
    return Call(name, arguments, begun, ended, int(result, 0))


def _bytes(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))


def _text(escaped: str) -> str:
    return _bytes(escaped).decode("utf-8", "surrogateescape")
