"""Run the daemon so that it ails on demand: for the alerts about what should never happen.

    ailing_daemon.py HOME [ARGUMENT...] serve -c FILE

While HOME/reader-dies exists, the driver `mock` has a defect: its reads raise what no driver may.
While HOME/loop-hangs exists, the event loop stands still.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entropyd.cli import entropyd
from entropyd.daemon.process import Daemon
from entropyd_drivers.mock import MockDevice

READER_DIES, LOOP_HANGS = "reader-dies", "loop-hangs"
LOOK_AGAIN_S = 0.05


def ail(home: Path) -> None:
    """Give this process its ailments."""
    read, turn = MockDevice.read, Daemon._turn

    def dying_read(device: MockDevice) -> bytes:
        if (home / READER_DIES).exists():
            raise RuntimeError("a defect of this driver")
        return read(device)

    async def hanging_turn(daemon: Daemon, listeners: Sequence[Any]) -> None:
        while (home / LOOP_HANGS).exists():
            time.sleep(LOOK_AGAIN_S)  # noqa: ASYNC251 - that it blocks the loop is the point
        await turn(daemon, listeners)

    MockDevice.read = dying_read  # type: ignore[assignment, method-assign]
    Daemon._turn = hanging_turn  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    ail(Path(sys.argv[1]))
    sys.argv[1 : sys.argv.index("serve")] = []
    entropyd.main()
