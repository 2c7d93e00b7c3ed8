"""Try every door of the sandbox, and write what came of it as JSON: "ok" or the name of an errno.

Runs inside the machine, by the daemon's own Python: once under the daemon's
sandbox, once outside as root. usage: probe.py REPORT
"""

import ctypes
import errno
import json
import mmap
import os
import socket
import sys
import tempfile
from pathlib import Path

CLONE_NEWUSER = 0x10000000
CLONE_NEWNS = 0x00020000
NETLINK_KOBJECT_UEVENT = 15

libc = ctypes.CDLL(None, use_errno=True)


def attempt(action):
    """Return "ok" or the errno of `action`."""
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error)) if error.errno else str(error)
    return "ok"


def call(name, *arguments):
    """Call libc, which tells errors by -1."""
    if getattr(libc, name)(*arguments) == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def write(path):
    Path(path).write_text("x")
    Path(path).unlink()


def open_device(path):
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))


def map_writable_and_executable():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def make_set_user_id_program():
    with tempfile.NamedTemporaryFile(dir=os.environ.get("STATE_DIRECTORY")) as file:
        os.chmod(file.name, 0o4755)


def connect(host):
    """Refused by the host itself means that the way there is open."""
    try:
        socket.create_connection((host, 9), timeout=1).close()
    except ConnectionRefusedError:
        return


def load_libusb():
    import libusb_package  # noqa: PLC0415
    import usb.core  # noqa: PLC0415

    backend = libusb_package.get_libusb1_backend()
    if backend is None:
        raise OSError(errno.ENOSYS, "no backend")
    list(usb.core.find(find_all=True, backend=backend))


def in_child(action):
    """What succeeds would change this process for good: a child does it."""

    def forked():
        pid = os.fork()
        if pid == 0:
            try:
                action()
                os._exit(0)
            except OSError as error:
                os._exit(error.errno or 255)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code:
            raise OSError(code, os.strerror(code))

    return forked


DOORS = {
    "write /usr": lambda: write("/usr/probe"),
    "write /etc": lambda: write("/etc/entropyd/probe"),
    "write /opt": lambda: write("/opt/entropyd/probe"),
    "write /var": lambda: write("/var/lib/elsewhere"),
    "list /home": lambda: os.listdir("/home"),
    "list /root": lambda: os.listdir("/root"),
    "read the key at rest": lambda: Path("/etc/entropyd/at-rest.key").read_bytes(),
    "see files of /tmp": lambda: os.stat("/tmp/of-somebody-else"),
    "open the kernel log": lambda: open_device("/dev/kmsg"),
    "open a forbidden device": lambda: open_device("/dev/forbidden"),
    "write a kernel tunable": lambda: Path("/proc/sys/kernel/domainname").write_text("(none)"),
    "see processes of others": lambda: os.stat("/proc/1/status"),
    "packet socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close(),
    "vsock": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close(),
    "connect elsewhere": lambda: connect("10.99.0.1"),
    "map memory W+X": map_writable_and_executable,
    "user namespace": in_child(lambda: call("unshare", CLONE_NEWUSER)),
    "mount namespace": in_child(lambda: call("unshare", CLONE_NEWNS)),
    "mount": in_child(lambda: call("mount", b"none", b"/mnt", b"tmpfs", 0, None)),
    "host name": lambda: call("sethostname", b"lab", 3),
    "real-time scheduling": in_child(
        lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    ),
    "set-user-id program": make_set_user_id_program,
    "foreign system calls": in_child(lambda: call("personality", 0x0020000)),
    # What the daemon cannot do without.
    "write its state": lambda: write(f"{os.environ.get('STATE_DIRECTORY', '/tmp')}/probe"),
    "write its own /tmp": lambda: write("/tmp/probe"),
    "connect to itself": lambda: connect("127.0.0.1"),
    "netlink, for hot-plug": lambda: socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_KOBJECT_UEVENT
    ).close(),
    "libusb": load_libusb,
    "lock memory": lambda: call("mlockall", 1),
}


def main():
    report = {name: attempt(action) for name, action in DOORS.items()}
    status = dict(
        line.split(":\t", 1)
        for line in Path("/proc/self/status").read_text().splitlines()
        if ":\t" in line
    )
    report["facts"] = {
        "uid": os.getuid(),
        "groups": os.getgroups(),
        **{key: status[key] for key in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")},
        "credentials": sorted(os.listdir(os.environ.get("CREDENTIALS_DIRECTORY", "/nowhere")))
        if "CREDENTIALS_DIRECTORY" in os.environ
        else [],
    }
    Path(sys.argv[1]).write_text(json.dumps(report))


if __name__ == "__main__":
    main()
