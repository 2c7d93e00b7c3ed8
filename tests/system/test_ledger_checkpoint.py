"""A stop in the middle of a checkpoint, and another signal on top: nothing is lost or repeated."""

import signal
import subprocess
import time

import pytest

from tests.system.harness import Daemon, send_signal, until
from tests.system.wire import Wire, order

HANDS = 120
SLOW_SYNC_US = 700_000


def slow_syncs(daemon: Daemon) -> subprocess.Popen[bytes]:
    """Make each sync of the running daemon take most of a second, from now on."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync",
         "-e", f"inject=fdatasync,fsync:delay_enter={SLOW_SYNC_US}", "-p", str(daemon.pid)]
    )  # fmt: skip
    status = f"/proc/{daemon.pid}/status"

    def is_traced() -> bool:
        with open(status) as lines:
            return any(line.split() == ["TracerPid:", str(tracer.pid)] for line in lines)

    until("strace is attached", is_traced)
    return tracer


@pytest.mark.parametrize(
    ("second", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)], ids=str
)
def test_a_signal_during_the_checkpoint_of_the_stop(daemon: Daemon, second: int, code: int):
    """The first drains; the ledger's log goes into the file; the second hits just there.

    Another SIGTERM is patient, a kill is not: that it kills shows that it hit.
    """
    daemon.start()
    with Wire(daemon) as wire:
        drawn = {f"h{n}": wire.shuffle(order("t", f"h{n}")) for n in range(HANDS)}
    log = daemon.home / "state" / "ledger.sqlite3-wal"
    assert log.stat().st_size > 100_000
    tracer = slow_syncs(daemon)
    send_signal(daemon.pid, signal.SIGTERM)
    until("everything but the ledger has stopped", lambda: '"event": "stopped"' in daemon.log)
    # The close of the ledger synchronises the log, then the file, and then removes the log.
    time.sleep(SLOW_SYNC_US / 1e6)
    assert log.exists()
    send_signal(daemon.pid, second)
    assert daemon.ended() == code
    tracer.wait(10)

    daemon.start()
    with Wire(daemon) as wire:
        for hand, answer in drawn.items():
            assert wire.replay("t", hand) == answer.shuffle
        assert wire.shuffle(order("t", "next")).shuffle.sequence == HANDS + 1
    assert daemon.terminate() == 0
