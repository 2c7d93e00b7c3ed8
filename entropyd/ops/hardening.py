"""What the process asks of the kernel for its secrets: no core files, no swap, no debugger.

The unit asks for the same from outside; a daemon started by hand gets it too.
Python cannot wipe memory, so what can be done is to keep it from leaving.
"""

import ctypes
import os
import resource

PR_SET_DUMPABLE = 4
MCL_CURRENT = 1
MCL_FUTURE = 2


def harden(*, lock_memory: bool) -> list[str]:
    """Keep the process's memory to itself.

    Args:
        lock_memory: also lock it into RAM, if the limit allows.

    Returns:
        What could not be had, for the log; empty if all was.
    """
    refused = []
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        refused.append(f"not dumpable: {os.strerror(ctypes.get_errno())}")
    if lock_memory:
        refused += _lock_memory(libc)
    return refused


def _lock_memory(libc: ctypes.CDLL) -> list[str]:
    """Lock all pages, now and later, where no limit would make a later allocation fail."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft != resource.RLIM_INFINITY and os.geteuid() != 0:
        return [f"memory locked: LimitMEMLOCK is {soft} bytes; the unit sets infinity"]
    if libc.mlockall(MCL_CURRENT | MCL_FUTURE) != 0:
        return [f"memory locked: {os.strerror(ctypes.get_errno())}"]
    return []
