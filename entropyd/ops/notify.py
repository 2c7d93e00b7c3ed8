"""What the service manager is told: ready, status, stopping, and that all of us still work.

`Watchdog` decides and does no I/O; `Notifier` sends datagrams and decides
nothing. The watchdog is fed only while *everything* that has to move moves: a
daemon whose loop turns over a dead reader or a stuck writer is not alive.

Spec: sd_notify(3), sd_watchdog_enabled(3).
"""

import os
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass

NANOSECONDS_PER_MICROSECOND = 1_000

# Half the limit is what sd_watchdog_enabled(3) asks for; a quarter leaves room
# for one feed that is put off because something had not moved yet.
FEEDS_PER_LIMIT = 4


@dataclass(frozen=True)
class Progress:
    """How far one part of the daemon has come.

    Attributes:
        count: counts up with each turn of its work and never goes down.
        idle: it has nothing to do, and nobody waits for it. A part that turns
            on its own (a reader, the event loop) is never idle.
    """

    count: int
    idle: bool = False


class Watchdog:
    """Decides when to feed. Used by one thread; does no I/O and reads no clock."""

    def __init__(self, names: Collection[str], *, limit_ns: int, now_ns: int) -> None:
        """Begin with nothing fed.

        Args:
            names: the parts that must move, such as `loop`, `gate`, `writer`, `reader:q1`.
            limit_ns: the service manager's limit, in nanoseconds.
            now_ns: monotonic time, in nanoseconds.
        """
        self._seen = dict.fromkeys(names, -1)
        self._interval_ns = limit_ns // FEEDS_PER_LIMIT
        self._due_ns = now_ns

    def should_feed(self, progress: Mapping[str, Progress], now_ns: int) -> bool:
        """Return whether to feed now; if so, progress counts from here.

        True if it is time and every part moved since the last feed or is idle.
        A part that is missing from `progress` has not moved. One that is late
        puts off the feed, not more: ask again at any time.
        """
        if now_ns < self._due_ns or self.stalled(progress):
            return False
        self._seen.update({name: part.count for name, part in progress.items()})
        self._due_ns = now_ns + self._interval_ns
        return True

    def stalled(self, progress: Mapping[str, Progress]) -> tuple[str, ...]:
        """Return the names of the parts that keep the watchdog from being fed, in order."""
        return tuple(
            name for name, count in sorted(self._seen.items()) if not _moves(progress, name, count)
        )


def _moves(progress: Mapping[str, Progress], name: str, count: int) -> bool:
    part = progress.get(name)
    return part is not None and (part.idle or part.count > count)


class Notifier:
    """The service manager's socket; without one, everything is a silent success.

    Sending never blocks and never raises: a service manager that does not
    listen must not stop the dealing. If it misses the feeds, it acts.
    """

    def __init__(self, address: str | None) -> None:
        """Remember where to send.

        Args:
            address: `$NOTIFY_SOCKET`: a path, or "@name" for an abstract one.
        """
        # sd_notify(3): a leading "@" stands for the zero byte of an abstract socket.
        self._address = f"\0{address[1:]}" if address and address[0] == "@" else address

    @classmethod
    def from_environment(cls) -> "Notifier":
        """Take the socket that the service manager put into the environment."""
        return cls(os.environ.get("NOTIFY_SOCKET"))

    def ready(self, status: str) -> bool:
        """Say that start-up is over. Return whether it was sent, or there is nobody to tell."""
        return self._send(f"READY=1\nSTATUS={_one_line(status)}")

    def status(self, status: str) -> bool:
        """Say in a few words what the daemon is doing."""
        return self._send(f"STATUS={_one_line(status)}")

    def reloading(self, status: str, now_ns: int) -> bool:
        """Say that the configuration is read again; `ready` ends it.

        Args:
            status: what to show meanwhile.
            now_ns: CLOCK_MONOTONIC in nanoseconds, which tells newer service managers
                that this answers their signal and not an earlier one.
        """
        now_us = now_ns // NANOSECONDS_PER_MICROSECOND
        return self._send(f"RELOADING=1\nMONOTONIC_USEC={now_us}\nSTATUS={_one_line(status)}")

    def stopping(self, status: str) -> bool:
        """Say that the daemon is on its way out."""
        return self._send(f"STOPPING=1\nSTATUS={_one_line(status)}")

    def feed(self) -> bool:
        """Feed the watchdog."""
        return self._send("WATCHDOG=1")

    def _send(self, message: str) -> bool:
        if not self._address:
            return True
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        try:
            with socket.socket(socket.AF_UNIX, kind) as channel:
                channel.connect(self._address)
                channel.sendall(message.encode())
        except OSError:
            return False
        return True


def watchdog_limit_ns(environ: Mapping[str, str], pid: int) -> int | None:
    """Return the service manager's limit in nanoseconds, or None if it does not watch us.

    Args:
        environ: the environment: `WATCHDOG_USEC`, and `WATCHDOG_PID` where it
            was meant for one process alone.
        pid: our process id.
    """
    limit, meant_for = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not limit.isdecimal() or int(limit) == 0 or (meant_for and meant_for != str(pid)):
        return None
    return int(limit) * NANOSECONDS_PER_MICROSECOND


def _one_line(text: str) -> str:
    # A newline would begin another assignment of the protocol.
    return " ".join(text.split())
