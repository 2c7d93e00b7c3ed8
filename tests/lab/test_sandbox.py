"""The sandbox is proven by what fails in it, and each door by standing open outside."""

import json
from typing import Any

import pytest

from tests.lab.installed import UNIT
from tests.lab.machine import Machine

PROBE = "probe.service"
UNIT_FILE = f"/etc/systemd/system/{UNIT}"
PROGRAM = "/opt/probe.py"

# The shipped unit with another program and directories of its own; nothing of its sandbox differs.
AS_PROBE = f"""\
[Service]
Type=oneshot
Restart=no
ExecStart=
ExecStart=/opt/entropyd/bin/python {PROGRAM} /var/lib/probe/report.json
StateDirectory=
StateDirectory=probe
RuntimeDirectory=
RuntimeDirectory=probe
"""

# `systemd-analyze security` counts in tenths: 20 is an exposure of 2.0.
MAX_EXPOSURE = 2.0

CLOSED = {
    "write /usr": "EROFS",
    "write /etc": "EROFS",
    "write /opt": "EROFS",
    "write /var": "EROFS",
    "list /home": "EACCES",
    "list /root": "EACCES",
    "read the key at rest": "EACCES",
    "see files of /tmp": "ENOENT",
    "open the kernel log": "EACCES",
    "open a forbidden device": "EPERM",
    "write a kernel tunable": "EROFS",
    "see processes of others": "ENOENT",
    "packet socket": "EAFNOSUPPORT",
    "vsock": "EAFNOSUPPORT",
    "connect elsewhere": "timed out",
    "map memory W+X": "EPERM",
    "user namespace": "EPERM",
    "mount namespace": "EPERM",
    "mount": "EPERM",
    "host name": "EPERM",
    "real-time scheduling": "EPERM",
    "set-user-id program": "EPERM",
    "foreign system calls": "EPERM",
}
OPEN = (
    "write its state",
    "write its own /tmp",
    "connect to itself",
    "netlink, for hot-plug",
    "libusb",
)


@pytest.fixture(scope="module")
def rooms(machine: Machine) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the probe found inside the sandbox, and as root outside of it."""
    machine.run("cp", "/root/entropyd/tests/lab/inside/probe.py", PROGRAM)
    machine.script(
        # A device that no rule allows (the kernel log under another name), an address that is not
        # the loopback, and what others keep.
        "mknod -m 666 /dev/forbidden c 1 11\n"
        "ip address add 10.99.0.1/32 dev lo\n"
        "mkdir -p /home/somebody && touch /tmp/of-somebody-else\n"
    )
    machine.run("/opt/entropyd/bin/python", PROGRAM, "/run/outside.json")
    machine.run("cp", UNIT_FILE, f"/etc/systemd/system/{PROBE}")
    drop_ins = machine.path(f"/etc/systemd/system/{PROBE}.d")
    drop_ins.mkdir()
    (drop_ins / "probe.conf").write_text(AS_PROBE)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "start", PROBE)
    inside = json.loads(machine.path("/var/lib/probe/report.json").read_text())
    return inside, json.loads(machine.path("/run/outside.json").read_text())


@pytest.mark.parametrize("door", CLOSED)
def test_closed(rooms, door):
    """Refused inside with the errno of the very line that is meant to refuse it; open outside."""
    inside, outside = rooms
    assert "ok" == outside[door]
    assert CLOSED[door] == inside[door]


@pytest.mark.parametrize("door", OPEN)
def test_open(rooms, door):
    """What the daemon cannot do without works inside."""
    inside, _ = rooms
    assert "ok" == inside[door]


def test_every_door_is_judged(rooms):
    """The probe tries nothing that no test looks at; locked memory has a test of the daemon's."""
    inside, _ = rooms
    assert {*CLOSED, *OPEN, "lock memory", "facts"} == inside.keys()


def test_who_is_inside(rooms, machine):
    """The daemon's user and group, no capability, filtered calls, three credentials."""
    facts = rooms[0]["facts"]
    user = int(machine.run("id", "-u", "entropyd"))
    group = int(machine.run("id", "-g", "entropyd"))
    assert (user, [group]) == (facts["uid"], facts["groups"])
    assert ("0" * 16, "0" * 16) == (facts["CapEff"], facts["CapBnd"])
    assert ("1", "2") == (facts["NoNewPrivs"], facts["Seccomp"])
    assert ["at-rest.key", "checkpoints.key", "receipts.key"] == sorted(facts["credentials"])
    assert rooms[1]["facts"]["CapEff"] != "0" * 16


def test_exposure_as_systemd_sees_it(machine):
    """The loaded unit, with everything that the machine adds, is at most 2.0."""
    lines = machine.run("systemd-analyze", "security", UNIT, "--no-pager").splitlines()
    exposure = lines[-1].rpartition(": ")[2].split()[0]
    assert float(exposure) <= MAX_EXPOSURE


def test_systemd_finds_nothing_wrong_with_the_installed_unit(machine):
    """Every key is known and every program is there: nothing is replaced for this."""
    checked = machine.attempt(
        "systemd-analyze", "verify", "--recursive-errors=no", "--man=no", UNIT_FILE
    )
    assert (0, "") == (checked.returncode, checked.stdout + checked.stderr)
