"""A pseudo-terminal that stands in for a serial device, and somebody who sends on it."""

import os
import pty
import select
import threading
import tty

from entropyd_drivers.noise import SeededNoise

SEED = b"serial"


class Line:
    """A pseudo-terminal under a name that stays, as udev's links do."""

    def __init__(self, link):
        self.link = link
        self.plug()

    def plug(self):
        self.master, slave = pty.openpty()
        tty.setraw(slave)
        name = os.ttyname(slave)
        os.close(slave)
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(name)

    def unplug(self):
        os.close(self.master)
        self.link.unlink()

    def send(self, data):
        os.write(self.master, data)


class Sender:
    """Sends without end from a thread of its own; a port that is reopened is flushed.

    `alter` changes what is sent, a piece of 256 bytes at a time; `pause_s` comes after each write.
    """

    def __init__(self, line, alter=bytes, pause_s=0.0):
        self._master = line.master
        self._alter = alter
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        noise, left = SeededNoise(SEED), b""
        os.set_blocking(self._master, False)
        while not self._stop.is_set():
            _, writable, _ = select.select([], [self._master], [], 0.02)
            if writable:
                left = left or self._alter(noise.take(256))
                try:
                    left = left[os.write(self._master, left) :]
                except BlockingIOError:
                    continue
                self._stop.wait(self._pause_s)

    def stop(self):
        self._stop.set()
        self._thread.join()
