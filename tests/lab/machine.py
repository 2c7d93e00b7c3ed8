"""A throw-away Debian with a real systemd as process 1, in namespaces of its own.

The tree is the lower half of an overlay and is never written to: whatever
happens in a machine is gone with it. Its processes, mounts, network, host name
and cgroups are its own; its kernel, memory and devices are this machine's.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from tests.system.harness import until

BOOT_PATIENCE_S = 60.0
STOP_PATIENCE_S = 20.0
STEP_PATIENCE_S = 120.0
NAMESPACES = ("--pid", "--mount", "--net", "--uts", "--ipc", "--cgroup")
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}

# What a container manager does before it hands over to process 1.
# $1: the tree, $2: an empty directory, $3: what to show read-only in /root/entropyd.
BOOT = r"""
set -eu
tree=$1 work=$2 shown=$3
mount --make-rprivate /
mount -t tmpfs tmpfs "$work"
mkdir "$work/upper" "$work/work" "$work/root"
root=$work/root
mount -t overlay -o "lowerdir=$tree,upperdir=$work/upper,workdir=$work/work" overlay "$root"
mount -t proc proc "$root/proc"
# Read-only: the devices in it are the host's, and udev stays away.
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in null zero full random urandom tty kmsg; do
    [ -e /dev/$node ] || continue
    : > "$root/dev/$node"
    mount --bind /dev/$node "$root/dev/$node"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
: > "$work/console"
: > "$root/dev/console"
mount --bind "$work/console" "$root/dev/console"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mkdir "$root/root/entropyd"
mount --bind "$shown" "$root/root/entropyd"
mount -o remount,bind,ro "$root/root/entropyd"
mkdir "$root/.old"
cd "$root"
pivot_root . .old
umount -l /.old
rmdir /.old
# systemd leaves propagation as it is in a container; services get their credentials only if shared.
mount --make-rshared /
exec env -i container=lab /lib/systemd/systemd --system
"""

# All that BOOT needs of the kernel, tried out and thrown away.
CAPABILITY = r"""
set -eu
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/lower" "$1/upper" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"
mkdir "$1/root/proc" "$1/root/cgroup" "$1/root/old"
mount -t proc proc "$1/root/proc"
mount -t cgroup2 cgroup2 "$1/root/cgroup"
cd "$1/root"
pivot_root . old
"""


def why_not_possible() -> str:
    """Return why no machine can be booted here, or "" if one can."""
    if os.geteuid() != 0:
        return "not root"
    with tempfile.TemporaryDirectory(prefix="entropyd-lab-") as work:
        command = ["unshare", "--fork", *NAMESPACES, "sh", "-c", CAPABILITY, "sh", work]
        tried = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return "" if tried.returncode == 0 else tried.stderr.strip() or "unshare failed"


class Machine:
    """One booted machine, from `with` to the end of its block."""

    def __init__(self, tree: Path, shown: Path) -> None:
        """Prepare a machine.

        Args:
            tree: a Debian root directory; shared with other machines, never written to.
            shown: a directory that the machine sees read-only as /root/entropyd.
        """
        self._work = Path(tempfile.mkdtemp(prefix="entropyd-lab-"))
        self._console = self._work.with_suffix(".console")
        self._cgroup = _cgroup_root() / self._work.name
        self._arguments = [str(tree), str(self._work), str(shown)]
        self._process: subprocess.Popen[bytes] | None = None
        self._leader = 0

    def __enter__(self) -> Self:
        try:
            self._boot()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def path(self, inside: str) -> Path:
        """Return where a file of the machine is seen from outside; no symbolic link on the way."""
        return Path(f"/proc/{self._leader}/root{inside}")

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command in the machine as root and return what it wrote, standard error last."""
        done = self.attempt(*command)
        assert not check or done.returncode == 0, (
            f"{command} gave {done.returncode}: {done.stdout}{done.stderr}"
        )
        return done.stdout + done.stderr

    def attempt(self, *command: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command that may fail in the machine as root."""
        return subprocess.run(
            self.inside(*command),
            input=text,
            capture_output=True,
            text=True,
            check=False,
            env=ENVIRONMENT,
            timeout=STEP_PATIENCE_S,
        )

    def inside(self, *command: str) -> list[str]:
        """Return the command that runs `command` in the machine."""
        where = ("-m", "-u", "-i", "-n", "-p", "-C")
        return ["nsenter", "-t", str(self._leader), *where, "--", *command]

    def script(self, text: str) -> str:
        """Run shell commands in the machine's checkout; the first that fails fails the test."""
        return self.run("sh", "-euxc", f"cd /root/entropyd\n{text}")

    def show(self, unit: str, *properties: str) -> dict[str, str]:
        """Return properties of a unit."""
        out = self.run("systemctl", "show", unit, "-p", ",".join(properties))
        return dict(line.split("=", 1) for line in out.splitlines() if "=" in line)

    def wait_for(self, unit: str, **wanted: str) -> None:
        """Wait until properties of a unit have these values."""
        until(
            f"{unit} has {wanted}",
            lambda: self.show(unit, *wanted) == wanted,
        )

    def journal(self, *arguments: str) -> str:
        """Return messages of the journal, one a line."""
        self.run("journalctl", "--sync")
        return self.run("journalctl", "--no-pager", "--quiet", "-o", "cat", *arguments)

    def _boot(self) -> None:
        self._cgroup.mkdir()
        with self._console.open("wb") as console:
            self._process = subprocess.Popen(
                # The shell joins the cgroup before the cgroup namespace is made: it is the root of
                # what the machine's systemd then sees.
                [
                    "sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(self._cgroup),
                    "unshare", "--fork", "--kill-child", *NAMESPACES,
                    "sh", "-c", BOOT, "sh", *self._arguments,
                ],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console,
            )  # fmt: skip
        until(f"booted; {self._console}", self._is_up, patience_s=BOOT_PATIENCE_S)

    def _is_up(self) -> bool:
        assert self._process is not None
        said = self._console.read_text(errors="replace")
        assert self._process.poll() is None, f"ended with {self._process.returncode}: {said}"
        self._leader = self._leader or _systemd_below(self._process.pid)
        if not self._leader:
            return False
        state = self.attempt("systemctl", "is-system-running").stdout.strip()
        assert state != "degraded", self.run("systemctl", "--failed", "--no-pager")
        return state == "running"

    def _stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            if self._leader:
                self.attempt("systemctl", "poweroff")
            try:
                self._process.wait(STOP_PATIENCE_S)
            except subprocess.TimeoutExpired:
                # Process 1 dies with its parent, and all others with process 1.
                self._process.kill()
                self._process.wait()
        for group in (*sorted(self._cgroup.rglob("*/"), reverse=True), self._cgroup):
            group.rmdir()
        shutil.rmtree(self._work)
        self._console.unlink(missing_ok=True)


def _cgroup_root() -> Path:
    """Return where the tree of version 2 is mounted: alone, or beside version 1."""
    both = Path("/sys/fs/cgroup/unified")
    return both if both.is_dir() else Path("/sys/fs/cgroup")


def _systemd_below(pid: int) -> int:
    """Return the process id of the child that has become systemd, 0 while there is none."""
    try:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                return int(child)
    except FileNotFoundError:
        return 0
    return 0
