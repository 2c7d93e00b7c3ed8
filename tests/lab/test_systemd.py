"""A real systemd runs the daemon as docs/install.md installs it, and nobody helps."""

import re
import time
from pathlib import Path

import grpc
import pytest

from tests.lab.conftest import commands
from tests.lab.installed import CONFIG, EMULATED, SOCKET, UNIT, Installed
from tests.lab.machine import Machine
from tests.system.harness import until
from tests.system.load import TABLE, Load
from tests.system.wire import Wire, order

EX_CONFIG = "78"
KEYS = [f"/etc/entropyd/{name}.key" for name in ("at-rest", "receipts", "checkpoints")]
# exec_codes of systemd: the credentials could not be set up.
EXIT_CREDENTIALS = "243"
# The unit asks for a watchdog of 20 s; that it works is seen with any limit.
SHORT_WATCHDOG = "[Service]\nWatchdogSec=5s\n"
GONE_WITHIN_S = 5.0
LIBRARY = "/opt/entropyd/lib/python3.11/site-packages/entropyd"


# --- install ----------------------------------------------------------------


def test_a_wheel_that_was_exchanged_is_not_installed(installed: Installed):
    """What `make wheels` pinned is what is installed, or nothing is."""
    machine = installed.machine
    machine.script(
        "cp -r dist /tmp/exchanged && cd /tmp/exchanged\nset -- grpcio_status-*.whl && echo >> $1"
    )
    install = re.findall(r"^/opt/entropyd/bin/pip .*$", commands("Install"), re.MULTILINE)[0]
    done = machine.attempt(
        "sh", "-c", f"cd /tmp && {install.replace(' dist', ' exchanged')} --force-reinstall"
    )
    assert done.returncode == 1
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr


# --- start ------------------------------------------------------------------


def test_configure_and_start_as_the_chapters_say(installed: Installed):
    """No device is there: it starts all the same, and says what it waits for."""
    installed.machine.script(commands("Configure"))
    installed.machine.script(commands("Start"))
    state = installed.machine.show(UNIT, "ActiveState", "SubState", "UnitFileState", "NRestarts")
    assert {
        "ActiveState": "active",
        "SubState": "running",
        "UnitFileState": "enabled",
        "NRestarts": "0",
    } == state
    assert installed.show("StatusText").startswith("holding: source 'quantis-1' is lost; awaited")
    assert (200, 503) == (installed.page("/healthz"), installed.page("/readyz"))
    (line,) = [line for line in installed.log("state changed") if line["state"] == "lost"]
    assert "no USB device 0aba:0102 with serial number 132245A410" in str(line["detail"])


def test_start_returns_when_it_listens(installed: Installed):
    """Whoever is started after it may call at once: no connection is tried a second time."""
    installed.configure()
    installed.start()
    assert 200 == installed.page("/healthz")
    with installed.wire() as wire:
        assert wire.draw("t-start", "first").sequence == 1
    installed.wait_for_status("dealing")
    assert 200 == installed.page("/readyz")


def test_never_ready_with_a_wrong_known_answer(installed: Installed):
    """Known answers come before READY=1: with one wrong, systemd never sees it up."""
    installed.configure()
    path = installed.machine.path(f"{LIBRARY}/rbg/kat.py")
    right = path.read_text()
    wrong = right.replace(
        "def sha512(message: bytes) -> bytes:",
        "def sha512(m):\n    return m\n\n\ndef _(message: bytes) -> bytes:",
    )
    assert wrong != right
    try:
        path.write_text(wrong)
        assert installed.machine.attempt("systemctl", "start", UNIT).returncode == 1
        installed.machine.run("systemctl", "stop", UNIT)
    finally:
        path.write_text(right)
    assert "known-answer test" in installed.said()
    assert "Started entropyd.service" not in installed.said()
    assert "listening" not in installed.said()


def test_status_tells_a_hold_and_its_end(installed: Installed):
    """What `systemctl status` shows follows the device."""
    installed.start_dealing()
    assert "dealing" == installed.show("StatusText")
    installed.faults("F9")
    installed.wait_for_status("holding: source 'quantis' is lost; awaited: the device")
    assert 503 == installed.page("/readyz")
    installed.faults()
    installed.wait_for_status("dealing")
    assert "active" == installed.show("ActiveState")


# --- who it is, and what only it may read ------------------------------------


def test_it_runs_as_a_user_of_its_own_without_privileges(installed: Installed):
    installed.start_dealing()
    run, pid = installed.machine.run, installed.pid
    assert "entropyd" == run("ps", "-o", "user:20=", "-p", pid).strip()
    status = dict(
        line.split(":\t", 1)
        for line in run("cat", f"/proc/{pid}/status").splitlines()
        if ":\t" in line
    )
    user = run("id", "-u", "entropyd").strip()
    assert [user] * 4 == status["Uid"].split()
    assert ("0" * 16, "0" * 16) == (status["CapEff"], status["CapBnd"])
    assert ("1", "2") == (status["NoNewPrivs"], status["Seccomp"])


def test_files_and_sockets_are_its_own(installed: Installed):
    installed.start_dealing()
    out = installed.machine.run(
        "stat", "-c", "%n %U:%G %a", "/var/lib/entropyd", "/var/lib/entropyd/ledger.sqlite3",
        "/run/entropyd", SOCKET, *KEYS,
    )  # fmt: skip
    assert [
        "/var/lib/entropyd entropyd:entropyd 700",
        "/var/lib/entropyd/ledger.sqlite3 entropyd:entropyd 600",
        "/run/entropyd entropyd:entropyd 711",
        f"{SOCKET} entropyd:entropyd 660",
        *(f"{key} root:root 600" for key in KEYS),
    ] == out.splitlines()


@pytest.mark.parametrize("key", KEYS)
def test_a_key_reaches_the_daemon_alone(installed: Installed, key: str):
    """A credential that it and root can read; the file itself it cannot read."""
    installed.start_dealing()
    machine, credential = installed.machine, f"/run/credentials/{UNIT}/{Path(key).name}"
    assert "entropyd 400 32" == machine.run("stat", "-c", "%U %a %s", credential).strip()
    same = machine.attempt("cmp", credential, key)
    assert same.returncode == 0
    for user, path in [("nobody", credential), ("nobody", key), ("entropyd", key)]:
        denied = machine.attempt("runuser", "-u", user, "--", "cat", path)
        assert denied.returncode != 0, f"{user} read {path}"
        assert "Permission denied" in denied.stderr
    environment = machine.run("cat", f"/proc/{installed.pid}/environ")
    assert f"CREDENTIALS_DIRECTORY=/run/credentials/{UNIT}" in environment


def test_memory_is_locked_as_far_as_the_machine_allows(installed: Installed):
    """In production; where process 1 itself may not lock more, one line says so."""
    installed.start()
    refused = [str(line["what"]) for line in installed.log("hardening not to be had")]
    if _may_lock_all(installed.machine):
        assert [] == refused
        locked = installed.machine.run("grep", "VmLck", f"/proc/{installed.pid}/status")
        assert int(locked.split()[1]) > 10_000
    else:
        assert ["memory locked"] == [what.partition(":")[0] for what in refused]


def _may_lock_all(machine: Machine) -> bool:
    """Whether the limit of process 1 lets it give the unit what the unit asks for."""
    limits = machine.run("cat", "/proc/1/limits").splitlines()
    (line,) = [line for line in limits if line.startswith("Max locked memory")]
    capabilities = machine.run("grep", "CapEff", "/proc/1/status").split()[1]
    may_raise = int(capabilities, 16) >> 24 & 1  # CAP_SYS_RESOURCE
    return bool(may_raise) or line.split()[4] == "unlimited"


# --- the operator's commands ---------------------------------------------------


def test_commands_of_the_daemon_have_its_user_and_its_keys(installed: Installed):
    """A backup beside it, a restore and a check without it; it opens what they leave."""
    machine = installed.machine
    machine.run("install", "-d", "-o", "entropyd", "-g", "entropyd", "-m", "700", "/var/backup")
    installed.start_dealing()
    with installed.wire() as wire:
        drawn = wire.draw("t-run", "before")
    machine.run("entropyd-run", "ledger", "backup", "/var/backup/one")
    held = machine.attempt("entropyd-run", "ledger", "check")
    assert (75, True) == (held.returncode, "is held by pid" in held.stderr)
    machine.run("systemctl", "stop", UNIT)
    machine.run("rm", "-rf", "/var/lib/entropyd/ledger.sqlite3")
    machine.run("entropyd-run", "ledger", "restore", "/var/backup/one")
    assert "1 hand(s)" in machine.run("entropyd-run", "ledger", "check")
    machine.run("entropyd-run", "alarms")
    installed.start_dealing()
    with installed.wire() as wire:
        assert drawn == wire.replay("t-run", "before")


# --- death and return ---------------------------------------------------------


def assert_it_deals_on(wire: Wire, drawn: object) -> None:
    """The hand before is the same hand, and the next has the next number."""
    until("it is back", lambda: _answers(wire))
    assert drawn == wire.replay("t-death", "before")
    assert 2 == wire.draw("t-death", "after").sequence


def _answers(wire: Wire) -> bool:
    try:
        return wire.check() == "SERVING"
    except grpc.RpcError:
        return False


def test_the_watchdog_ends_a_frozen_daemon(installed: Installed):
    """It holds its sockets and does nothing: systemd kills it, and no hand is dealt twice."""
    installed.drop_in(SHORT_WATCHDOG)
    installed.start_dealing()
    with installed.wire() as wire:
        drawn = wire.draw("t-death", "before")
        frozen = installed.pid
        installed.machine.run("kill", "-STOP", frozen)
        installed.wait_for(NRestarts="1", ActiveState="active")
        assert "Watchdog timeout (limit 5s)!" in installed.said()
        assert frozen != installed.pid
        assert_it_deals_on(wire, drawn)


def test_the_watchdog_spares_a_daemon_that_waits(installed: Installed):
    """No device for longer than the limit is no reason to be killed."""
    installed.drop_in(SHORT_WATCHDOG)
    installed.start()
    time.sleep(6)
    assert "holding" in installed.show("StatusText")
    assert "0" == installed.show("NRestarts")


def test_it_comes_back_after_kill_9(installed: Installed):
    installed.start_dealing()
    with installed.wire() as wire:
        drawn = wire.draw("t-death", "before")
        installed.machine.run("kill", "-KILL", installed.pid)
        installed.wait_for(NRestarts="1", ActiveState="active")
        assert_it_deals_on(wire, drawn)


def test_a_wrong_configuration_is_not_tried_again(installed: Installed):
    """Exit code 78: a person has to mend the file, and the journal says what."""
    installed.configure(EMULATED.replace('max_hold = "5s"', 'max_hold = "5"'))
    assert installed.machine.attempt("systemctl", "start", UNIT).returncode == 1
    state = installed.machine.show(UNIT, "ActiveState", "NRestarts", "ExecMainStatus")
    assert {"ActiveState": "failed", "NRestarts": "0", "ExecMainStatus": EX_CONFIG} == state
    assert "gate.max_hold" in installed.said()


def test_without_its_key_it_does_not_start(installed: Installed):
    """The start fails before the daemon runs, and is not tried again."""
    run = installed.machine.run
    run("mv", "/etc/entropyd/at-rest.key", "/etc/entropyd/away")
    try:
        assert installed.machine.attempt("systemctl", "start", UNIT).returncode == 1
        state = installed.machine.show(UNIT, "ActiveState", "NRestarts", "ExecMainStatus")
        assert {
            "ActiveState": "failed",
            "NRestarts": "0",
            "ExecMainStatus": EXIT_CREDENTIALS,
        } == state
    finally:
        run("mv", "/etc/entropyd/away", "/etc/entropyd/at-rest.key")


# --- reload -------------------------------------------------------------------


def test_reload_takes_over_what_needs_no_restart(installed: Installed):
    installed.start_dealing()
    pid = installed.pid
    installed.configure(EMULATED.replace('level = "info"', 'level = "debug"'))
    installed.machine.script(commands("Change"))
    until("it is logged", lambda: bool(installed.log("configuration read again")))
    (line,) = installed.log("configuration read again")
    assert (["log.level"], []) == (line["in_effect"], line["needs_restart"])
    installed.wait_for(ActiveState="active", SubState="running")
    assert ("dealing", pid) == (installed.show("StatusText"), installed.pid)


def test_reload_tells_what_needs_a_restart(installed: Installed):
    """The status text says so until the restart."""
    installed.start_dealing()
    installed.configure(EMULATED.replace('tenant = "acme"', 'tenant = "globex"'))
    installed.machine.script(commands("Change"))
    installed.wait_for_status("dealing; needs a restart: listener")
    installed.machine.run("systemctl", "restart", UNIT)
    installed.wait_for_status("dealing")
    assert "dealing" == installed.show("StatusText")


def test_reload_of_a_wrong_file_fails_and_changes_nothing(installed: Installed):
    """`systemctl reload` fails, one line of the daemon has the error, and it deals on."""
    installed.start_dealing()
    pid = installed.pid
    with installed.wire() as wire:
        drawn = wire.draw("t-reload", "before")
        installed.configure(EMULATED + "[gaet]\n")
        assert installed.machine.attempt("systemctl", "reload", UNIT).returncode == 1
        installed.wait_for_status("dealing; the configuration file is wrong and not in effect")
        (line,) = installed.log("configuration not in effect")
        assert CONFIG in str(line["reason"])
        assert "gaet" in str(line["reason"])
        assert ("active", pid) == (installed.show("ActiveState"), installed.pid)
        assert drawn == wire.replay("t-reload", "before")
        assert 2 == wire.draw("t-reload", "after").sequence
    installed.configure()
    installed.machine.script(commands("Change"))
    until("the file is right again", lambda: installed.show("StatusText") == "dealing")


# --- stop ---------------------------------------------------------------------


def test_stop_drains_64_callers(installed: Installed):
    """Every hand that was answered is in the ledger; gone in five seconds, with success."""
    installed.start_dealing()
    with Load(installed.sockets, callers=64, prefix="stop") as load:
        until("the load runs", lambda: load.answered > 200)
        began = time.monotonic()
        installed.machine.run("systemctl", "stop", UNIT)
        took_s = time.monotonic() - began
    assert took_s < GONE_WITHIN_S
    state = installed.machine.show(UNIT, "ActiveState", "Result", "ExecMainStatus", "NRestarts")
    assert {
        "ActiveState": "inactive",
        "Result": "success",
        "ExecMainStatus": "0",
        "NRestarts": "0",
    } == state
    assert {refusal.reason for refusal in load.refused if refusal.reason} <= {"SHUTTING_DOWN"}
    assert [] == load.refused_otherwise
    assert not installed.machine.path("/run/entropyd").exists()
    installed.start()
    with installed.wire() as wire:
        load.assert_all_replayed(wire)
        assert all(wire.shuffle(order(TABLE, hand)).replayed for hand in list(load.answers)[:10])


def test_upgrade_as_the_chapter_says(installed: Installed):
    """Configuration, key and hands stay; what was dealt before is answered afterwards."""
    installed.start_dealing()
    kept = (*KEYS, CONFIG)
    before = [installed.machine.path(path).read_bytes() for path in kept]
    with installed.wire() as wire:
        drawn = wire.draw("t-upgrade", "before")
        chapters = (commands("Upgrade"), commands("Install"), commands("Start"))
        installed.machine.script("".join(chapters))
        assert before == [installed.machine.path(path).read_bytes() for path in kept]
        until("it is back", lambda: _answers(wire))
        assert drawn == wire.replay("t-upgrade", "before")


def test_it_starts_with_the_machine(installed: Installed):
    """And nothing at boot waits for it."""
    installed.machine.script(commands("Start"))
    wanted_by = installed.machine.show(UNIT, "WantedBy", "RequiredBy", "Before")
    assert "multi-user.target" == wanted_by["WantedBy"]
    assert "" == wanted_by["RequiredBy"]
    assert {"multi-user.target", "shutdown.target"} == set(wanted_by["Before"].split())


@pytest.mark.parametrize("command", ["status", "shuffle t-cli hand-1"])
def test_the_installed_command_reaches_it(installed: Installed, command: str):
    """By the name that the installation put on PATH."""
    installed.start_dealing()
    arguments = [*command.split(), "--target", f"unix:{SOCKET}"]
    out = installed.machine.run("sh", "-c", 'cd /tmp && exec entropyctl "$@"', "sh", *arguments)
    assert "mock" in out.lower() or "quantis" in out
