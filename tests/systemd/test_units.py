"""The unit, the user and the sandbox, judged by systemd's own tools.

Needs systemd-analyze and systemd-sysusers (Debian: package systemd), and no
running systemd. Each check is shown to be able to fail.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "systemd" / "entropyd.service"
SYSUSERS = ROOT / "systemd" / "entropyd.sysusers"
UDEV_RULES = ROOT / "drivers" / "udev" / "60-entropyd.rules"

# `systemd-analyze security` counts in tenths: 20 is an exposure of 2.0.
MAX_EXPOSURE = 20


def run(*command):
    """Run one of systemd's tools; missing is a failure and never a skip."""
    if shutil.which(command[0]) is None:
        pytest.fail(f"{command[0]} is missing; install the package systemd")
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def verify(text, folder):
    """Return what systemd-analyze finds wrong with a unit, or "" if nothing.

    The tool exits with 0 on an unknown key unless told otherwise, so its
    output counts as well. The program is not installed where this runs: it is
    the one thing that is replaced.
    """
    path = folder / "entropyd.service"
    path.write_text(re.sub(r"(?m)^(Exec\w+)=/opt/\S+", r"\1=/bin/true", text))
    result = run("systemd-analyze", "verify", "--recursive-errors=no", "--man=no", str(path))
    output = (result.stderr + result.stdout).strip()
    return output or (f"exit code {result.returncode}" if result.returncode else "")


def security(text, folder, threshold=MAX_EXPOSURE):
    """Return whether the exposure is at most `threshold` tenths, and the tool's table."""
    path = folder / "entropyd.service"
    path.write_text(text)
    command = ("systemd-analyze", "security", "--offline=yes", "--json=short", "--no-pager")
    result = run(*command, f"--threshold={threshold}", str(path))
    return result.returncode == 0, json.loads(result.stdout)


def settings(text):
    """Return what a unit sets: each key with its values in order."""
    found: dict[str, list[str]] = {}
    for key, value in re.findall(r"(?m)^([A-Za-z]+)=(.*)$", text):
        found.setdefault(key, []).append(value)
    return found


@pytest.fixture(scope="module")
def unit():
    return UNIT.read_text()


# --- verify -----------------------------------------------------------------


def test_the_unit_is_clean(unit, tmp_path):
    assert verify(unit, tmp_path) == ""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("ProtectSystem=strict", "ProtectSytem=strict"),
        ("WatchdogSec=20s", "WatchdogSec=soon"),
        ("Type=notify", "Type=notfy"),
        ("ExecStart=", "ExecStrat="),
        ("SystemCallFilter=@system-service", "SystemCallFilter=@system-servise"),
        ("StateDirectoryMode=0700", "StateDirectoryMode=rwx"),
    ],
)
def test_the_check_can_fail(unit, tmp_path, right, wrong):
    """A slip of the pen in the unit does not pass."""
    broken = unit.replace(right, wrong, 1)
    assert broken != unit
    assert verify(broken, tmp_path) != ""


# --- security ---------------------------------------------------------------


def test_the_exposure_is_at_most_two(unit, tmp_path):
    passed, table = security(unit, tmp_path)
    assert passed, [row for row in table if row["exposure"]]


@pytest.mark.parametrize(
    "lines",
    [
        ["CapabilityBoundingSet="],
        ["SystemCallFilter=@system-service", "SystemCallFilter=~@privileged @resources",
         "SystemCallFilter=@chown"],
        ["DevicePolicy=closed", "IPAddressDeny=any", "RestrictNamespaces=yes"],
    ],
)  # fmt: skip
def test_a_loosened_unit_fails(unit, tmp_path, lines):
    loosened = "\n".join(line for line in unit.splitlines() if line not in lines)
    assert len(loosened.splitlines()) == len(unit.splitlines()) - len(lines)
    passed, _ = security(loosened, tmp_path)
    assert not passed


def test_every_hole_in_the_sandbox_gives_its_reason(unit, tmp_path):
    """What the tool marks as open is named in a comment that begins with HOLE."""
    _, table = security(unit, tmp_path)
    # These cannot be had by a service that listens on sockets and runs from the host's files,
    # and the loopback is what IPAddressAllow is for.
    inherent = {
        "RootDirectoryOrRootImage", "RestrictAddressFamilies_AF_UNIX",
        "RestrictAddressFamilies_AF_INET_INET6", "IPAddressDeny",
    }  # fmt: skip
    holes = {row["json_field"] for row in table if row["exposure"]} - inherent
    expected = {
        "PrivateDevices": "no PrivateDevices=yes",
        "DeviceAllow": "USB devices, for libusb",
        "RestrictAddressFamilies_AF_NETLINK": "AF_NETLINK",
        "PrivateNetwork": "no PrivateNetwork=yes",
        "PrivateUsers": "no PrivateUsers=yes",
        "ProcSubset": "no ProcSubset=pid",
        "SystemCallFilter_privileged": "chown, which @privileged contains",
    }
    assert holes == set(expected)
    reasons = re.findall(r"(?m)^# HOLE: (.*)", unit)
    assert [text for text in expected.values() if not any(text in r for r in reasons)] == []


# --- what the daemon relies on ----------------------------------------------


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("Type", ["notify"]),
        ("NotifyAccess", ["main"]),
        ("Restart", ["on-failure"]),
        ("RestartPreventExitStatus", ["65 78 243"]),
        ("StateDirectory", ["entropyd"]),
        ("StateDirectoryMode", ["0700"]),
        ("RuntimeDirectory", ["entropyd"]),
        (
            "LoadCredential",
            [
                f"{name}.key:/etc/entropyd/{name}.key"
                for name in ("at-rest", "receipts", "checkpoints")
            ],
        ),
        ("UMask", ["0077"]),
        ("LimitCORE", ["0"]),
        ("LimitMEMLOCK", ["infinity"]),
        ("DeviceAllow", ["char-usb_device rw", "char-ttyACM rw", "char-ttyUSB rw"]),
        ("RestrictAddressFamilies", ["AF_UNIX AF_INET AF_INET6 AF_NETLINK"]),
        ("IPAddressDeny", ["any"]),
        ("IPAddressAllow", ["localhost"]),
        ("MemoryDenyWriteExecute", ["yes"]),
        ("SystemCallErrorNumber", ["EPERM"]),
        ("StartLimitBurst", ["5"]),
    ],
)
def test_the_unit_sets(unit, key, values):
    assert values == settings(unit)[key]


def test_a_drain_fits_into_the_time_to_stop(unit):
    """The daemon takes 5 s to drain; systemd kills it later than that."""
    (stop,) = settings(unit)["TimeoutStopSec"]
    assert int(stop.removesuffix("s")) > 5


def test_the_credentials_are_those_that_the_example_asks_for(unit):
    example = (ROOT / "docs" / "examples" / "entropyd.toml").read_text()
    loaded = [credential.split(":")[0] for credential in settings(unit)["LoadCredential"]]
    keys = example[example.index("# [keys]") : example.index("# [log]")]
    assert re.findall(r'= "credential:([^"]+)"', keys) == loaded


def test_the_sockets_of_the_example_are_in_the_runtime_directory(unit):
    example = (ROOT / "docs" / "examples" / "entropyd.toml").read_text()
    (directory,) = settings(unit)["RuntimeDirectory"]
    assert re.findall(r'"unix:(/run/[^/]+)/', example) == [f"/run/{directory}"]


def test_the_udev_rule_gives_the_devices_to_the_group_of_the_unit(unit):
    groups = set(re.findall(r'GROUP="([^"]+)"', UDEV_RULES.read_text()))
    assert groups == set(settings(unit)["Group"])


def test_sysusers_makes_the_user_of_the_unit(unit, tmp_path):
    """In a root of its own, with the tool that an installation runs."""
    (tmp_path / "etc").mkdir()
    result = run("systemd-sysusers", f"--root={tmp_path}", str(SYSUSERS))
    assert result.returncode == 0, result.stderr
    (user,) = settings(unit)["User"]
    made = [line.split(":") for line in (tmp_path / "etc" / "passwd").read_text().splitlines()]
    (entry,) = [fields for fields in made if fields[0] == user]
    assert entry[5:] == ["/var/lib/entropyd", "/usr/sbin/nologin"]
    assert f"\n{user}:" in "\n" + (tmp_path / "etc" / "group").read_text()
