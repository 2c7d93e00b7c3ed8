"""Faults below SQLite: its writes fail with an errno, after writing or without.

SQLite's Unix layer lets a test replace single system calls. That reaches each
write of a commit, one by one, without privileges and without a mount.
"""

import _sqlite3  # type: ignore[import-not-found, unused-ignore]
import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class _Vfs(ctypes.Structure):
    """struct sqlite3_vfs, version 3: https://sqlite.org/c3ref/vfs.html."""

    _fields_ = [
        ("iVersion", ctypes.c_int),
        ("szOsFile", ctypes.c_int),
        ("mxPathname", ctypes.c_int),
        ("pNext", ctypes.c_void_p),
        ("zName", ctypes.c_char_p),
        ("pAppData", ctypes.c_void_p),
        # xOpen, xDelete, xAccess, xFullPathname, xDlOpen, xDlError, xDlSym, xDlClose,
        # xRandomness, xSleep, xCurrentTime, xGetLastError, xCurrentTimeInt64
        ("methods", ctypes.c_void_p * 13),
        ("xSetSystemCall", ctypes.c_void_p),
        ("xGetSystemCall", ctypes.c_void_p),
        ("xNextSystemCall", ctypes.c_void_p),
    ]


_Write = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int64,
    use_errno=True,
)
_Get = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_Set = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def _vfs() -> tuple[int, _Vfs]:
    # The library that Python's own module is linked with, whichever that is.
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.c_void_p
    address = library.sqlite3_vfs_find(None)
    return address, _Vfs.from_address(address)


@dataclass
class Writes:
    """How many writes there were."""

    count: int = 0


@contextmanager
def failing_writes(error: int, *, first: int | None, written: bool = False) -> Iterator[Writes]:
    """Make SQLite's writes fail while the block runs, in this whole process.

    Args:
        error: errno of a failed write.
        first: the first write that fails, from 0; all later ones do too. None
            only counts.
        written: the write is done before it fails.
    """
    writes = Writes()
    address, vfs = _vfs()
    get, put = _Get(vfs.xGetSystemCall), _Set(vfs.xSetSystemCall)
    hooks = {}
    for name in (b"pwrite", b"pwrite64"):
        real = get(address, name)
        if real is not None:
            hooks[name] = _Write(_faulty(_Write(real), writes, error, first, written=written))
    for name, hook in hooks.items():
        assert put(address, name, ctypes.cast(hook, ctypes.c_void_p)) == 0
    try:
        yield writes
    finally:
        for name in hooks:
            put(address, name, None)


def _faulty(
    real: Callable[[int, int, int, int], int],
    writes: Writes,
    error: int,
    first: int | None,
    *,
    written: bool,
) -> Callable[[int, int, int, int], int]:
    def write(descriptor: int, data: int, size: int, offset: int) -> int:
        number = writes.count
        writes.count += 1
        if first is None or number < first:
            return real(descriptor, data, size, offset)
        if written:
            real(descriptor, data, size, offset)
        ctypes.set_errno(error)
        return -1

    return write
