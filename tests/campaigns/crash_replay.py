"""What a disk may hold after a power loss, at every moment of a recorded history.

A disk promises this much, and here it keeps not a byte more:

    data     what was written to a file, or cut off it, lasts once a sync of that file
             that began afterwards has ended
    names    a created, renamed or removed name lasts once a sync of its directory that
             began afterwards has ended

Everything younger may be lost: all of it, or some, and what is kept of a write may be
some of its sectors. SQLite's index of the log (-shm) is shared memory that it makes
anew after a power loss, so it is never kept.

Not shown: what a disk does that loses or spoils what was synchronised.
"""

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.campaigns.syscall_trace import NAMING, SENDS, SURPRISES, SYNCS, Call

# What a disk writes whole or not at all, by the loosest promise that is in use.
SECTOR_BYTES = 512
MEMORY_SUFFIX = "-shm"

Image = Mapping[str, bytes]


@dataclass(frozen=True)
class _Change:
    """Bytes written at `offset`; or, without `data`, the file cut or grown to `offset` bytes."""

    ended: int
    offset: int
    data: bytes | None


@dataclass
class _File:
    lasting: bytearray = field(default_factory=bytearray)
    young: list[_Change] = field(default_factory=list)

    def sync(self, begun: int) -> None:
        """Make last whatever ended before the sync began."""
        for change in self.young:
            if change.ended < begun:
                _change(self.lasting, change.offset, change.data)
        self.young = [change for change in self.young if change.ended >= begun]

    def survivor(self, kept: "Kept") -> bytes:
        content = bytearray(self.lasting)
        for change in self.young:
            for offset, data in _sectors(change):
                if kept():
                    _change(content, offset, data)
        return bytes(content)


@dataclass(frozen=True)
class _Naming:
    """Names that a call gave to files, or took away (None), together."""

    ended: int
    names: Mapping[str, _File | None]


class Kept:
    """Decides of each young change whether it survives: nearly `share` of them, by a seeded choice.

    Share 0 keeps nothing, as the worst disk; 1 keeps everything, as a mere kill -9.
    """

    def __init__(self, share: float, seed: int) -> None:
        self._share = share
        self._generator = random.Random(seed)

    def __call__(self) -> bool:
        """Return whether the next change survives."""
        return self._generator.random() < self._share


class Disk:
    """A state directory, from before it was made."""

    def __init__(self, state: Path) -> None:
        self._state = str(state)
        self._names: dict[str, _File] = {}
        self._lasting: dict[str, _File] = {}
        self._young: list[_Naming] = []
        self._made = self._lasts = False

    def apply(self, call: Call) -> None:
        """Do what an operation does. It has ended."""
        assert call.ended is not None
        match call.name:
            case "mkdir":
                assert call.texts == (self._state,), f"{call.texts} is a directory too many"
                self._made = True
            case "open" | "openat" | "creat":
                self._open(call, call.ended)
            case "unlink" | "unlinkat":
                self._name(call.ended, {call.texts[0]: None})
            case "rename":
                old, new = call.texts
                self._name(call.ended, {old: None, new: self._names[old]})
            case "fsync" | "fdatasync":
                self._sync(call)
            case "ftruncate":
                length = int(call.arguments.rpartition(", ")[2])
                self._file(call).young.append(_Change(call.ended, length, None))
            case "pwrite64":
                self._file(call).young.append(_Change(call.ended, call.offset, call.data))
            case "write":
                self._append(call, call.ended)
            case _:
                raise AssertionError(f"this disk does not know {call.name}")

    def survivor(self, kept: Kept) -> Image | None:
        """Return what the directory may hold if the power fails now; None if it is not there."""
        if not (self._lasts or (self._made and kept())):
            return None
        names: dict[str, _File | None] = dict(self._lasting)
        for naming in self._young:
            if kept():
                names.update(naming.names)
        return {
            name: file.survivor(kept)
            for name, file in names.items()
            if file is not None and not name.endswith(MEMORY_SUFFIX)
        }

    def _open(self, call: Call, ended: int) -> None:
        name = call.texts[0]
        if name not in self._names:
            assert "O_CREAT" in call.arguments, f"{name} was there before the recording"
            self._name(ended, {name: _File()})
        if "O_TRUNC" in call.arguments:
            self._names[name].young.append(_Change(ended, 0, None))

    def _name(self, ended: int, names: Mapping[str, _File | None]) -> None:
        self._young.append(_Naming(ended, names))
        for name, file in names.items():
            if file is None:
                del self._names[name]
            else:
                self._names[name] = file

    def _sync(self, call: Call) -> None:
        if call.path == os.path.dirname(self._state):
            self._lasts = self._made
        elif call.path == self._state:
            self._sync_names(call.begun)
        else:
            self._file(call).sync(call.begun)

    def _sync_names(self, begun: int) -> None:
        for naming in self._young:
            if naming.ended < begun:
                for name, file in naming.names.items():
                    self._lasting.pop(name, None)
                    if file is not None:
                        self._lasting[name] = file
        self._young = [naming for naming in self._young if naming.ended >= begun]

    def _append(self, call: Call, ended: int) -> None:
        """Write without an offset: only ever done here to files that nobody wrote before."""
        file = self._file(call)
        length = len(file.lasting) + sum(len(change.data or b"") for change in file.young)
        file.young.append(_Change(ended, length, call.data))

    def _file(self, call: Call) -> _File:
        return self._names[call.path]


def operations(calls: Sequence[Call], state: Path) -> list[Call]:
    """Return the calls that changed or synchronised the state directory, in the order they ended.

    Raises:
        AssertionError: one of them was not let to its end, or could have an
            effect that the recording does not show.
    """
    found = [call for call in calls if call.result != -1 and _touches(call, str(state))]
    # A sync that was cut short promised nothing to anybody.
    found = [call for call in found if call.ended is not None or call.name not in SYNCS]
    for call in found:
        assert call.name not in SURPRISES, f"{call.name} on {call.path}"
        assert call.ended is not None, f"{call.name} on {call.path} was cut short by the kill"
        assert call.name != "mmap", f"{call.mapped} can be written without a call"
    return sorted(found, key=lambda call: call.ended or 0)


def _touches(call: Call, state: str) -> bool:
    inside = state + "/"
    if call.name in {"open", "openat", "creat"}:
        return call.texts[0].startswith(inside) and (
            "O_CREAT" in call.arguments or "O_TRUNC" in call.arguments
        )
    if call.name in NAMING:
        return any(text == state or text.startswith(inside) for text in call.texts)
    if call.name == "mmap":
        shared = "MAP_SHARED" in call.arguments and "PROT_WRITE" in call.arguments
        memory = call.mapped.endswith(MEMORY_SUFFIX)
        return shared and not memory and call.mapped.startswith(inside)
    if call.name in SYNCS:
        return call.path in {state, os.path.dirname(state)} or _is_inside(call.path, inside)
    return call.name in {*SENDS, *SURPRISES, "ftruncate"} and _is_inside(call.path, inside)


def _is_inside(path: str, inside: str) -> bool:
    """Return whether a file is one of the directory's. One that lost its name is nobody's."""
    return path.startswith(inside) and not path.endswith("(deleted)")


def _change(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


def _sectors(change: _Change) -> Iterator[tuple[int, bytes | None]]:
    """Split a write where the disk may split it."""
    if change.data is None:
        yield change.offset, None
        return
    at = 0
    while at < len(change.data):
        room = SECTOR_BYTES - (change.offset + at) % SECTOR_BYTES
        yield change.offset + at, change.data[at : at + room]
        at += room
