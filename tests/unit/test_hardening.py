"""What the process asks of the kernel, seen from a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
import ctypes, json, os, resource, sys
from entropyd.ops.hardening import harden
before = resource.getrlimit(resource.RLIMIT_CORE)
{prepare}
refused = harden(lock_memory={lock_memory})
umask = os.umask(0)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({{
    "dumpable": ctypes.CDLL(None).prctl(3, 0, 0, 0, 0),
    "core": resource.getrlimit(resource.RLIMIT_CORE),
    "umask": umask,
    "refused": refused,
    "locked_kb": int(status["VmLck"].split()[0]),
}}))
"""


def harden(*, lock_memory: bool = False, prepare: str = "") -> dict[str, object]:
    program = PROGRAM.format(lock_memory=lock_memory, prepare=prepare)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_no_core_file_no_debugger_and_no_file_for_others():
    """PR_SET_DUMPABLE also shuts /proc/self/mem to the user's other processes."""
    found = harden()
    assert (0, [0, 0], 0o077, [], 0) == (
        found["dumpable"],
        found["core"],
        found["umask"],
        found["refused"],
        found["locked_kb"],
    )


def test_the_core_limit_cannot_be_raised_again():
    """The hard limit is 0 too."""
    assert [0, 0] == harden(prepare="resource.setrlimit(resource.RLIMIT_CORE, before)")["core"]


# Root may lock what it likes.
NOBODY = "os.geteuid() or os.setuid(65534)"
LIMITED = "resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))"


def test_memory_that_may_not_be_locked_is_told_and_left_unlocked():
    """A later allocation beyond the limit would fail; the text says what to set."""
    found = harden(lock_memory=True, prepare=f"{LIMITED}; {NOBODY}")
    assert ["memory locked: LimitMEMLOCK is 65536 bytes; the unit sets infinity"] == found[
        "refused"
    ]
    assert 0 == found["locked_kb"]


DEAF_KERNEL = """
import types
from entropyd.ops import hardening
refuse = lambda *arguments: -1
libc = types.SimpleNamespace(prctl=refuse, mlockall=refuse)
hardening.ctypes = types.SimpleNamespace(CDLL=lambda *a, **k: libc, get_errno=lambda: 1)
hardening.os.geteuid = lambda: 0
"""


def test_what_the_kernel_refuses_is_told_and_ends_nothing():
    """A filter that forbids both calls: the daemon warns and goes on."""
    found = harden(lock_memory=True, prepare=DEAF_KERNEL)
    assert ["not dumpable: Operation not permitted", "memory locked: Operation not permitted"] == (
        found["refused"]
    )
