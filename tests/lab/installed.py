"""The installed daemon, and what tests do to it by way of systemd and from outside."""

import json

from tests.lab.machine import Machine
from tests.system.harness import Daemon, until
from tests.system.wire import Wire

UNIT = "entropyd.service"
CONFIG = "/etc/entropyd/entropyd.toml"
FAULTS = "/etc/entropyd/faults"
SOCKET = "/run/entropyd/poker.sock"

# What docs/install.md lets the operator edit. The device is an emulator, so it is not production.
EMULATED = f"""\
[node]
name = "lab"

[mode]
production = false

[[source]]
id = "quantis"
driver = "quantis-emulator"
options = {{ serial = "LAB00001", control = "{FAULTS}" }}

[gate]
max_hold = "5s"

[[listener]]
address = "unix:{SOCKET}"
tenant = "acme"
roles = ["deal_all", "contribute"]

[ledger]
min_free = "16MiB"

[log]
level = "info"
"""


class Installed:
    """The daemon of one machine. A test finds it stopped, as after the installation."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        # The callers of the system tests find its sockets where the machine has them.
        self.sockets = Daemon(machine.path("/run/entropyd"))
        self._cursor = ""

    def reset(self) -> None:
        """Stop it, take back what tests changed, and make systemd forget how it failed."""
        run = self.machine.run
        run("systemctl", "stop", UNIT)
        run("rm", "-rf", f"/etc/systemd/system/{UNIT}.d", FAULTS, "/var/lib/entropyd")
        run("systemctl", "daemon-reload")
        run("systemctl", "reset-failed", check=False)
        run("cp", "/root/entropyd/docs/examples/entropyd.toml", CONFIG)
        self._cursor = run("journalctl", "-n0", "--show-cursor").rpartition("cursor: ")[2].strip()

    def configure(self, text: str = EMULATED) -> None:
        """Write the configuration file."""
        self.machine.path(CONFIG).write_text(text)

    def drop_in(self, text: str) -> None:
        """Change the unit as an operator does."""
        folder = self.machine.path(f"/etc/systemd/system/{UNIT}.d")
        folder.mkdir(exist_ok=True)
        (folder / "lab.conf").write_text(text)
        self.machine.run("systemctl", "daemon-reload")

    def start(self) -> None:
        """Start it; systemd says when that is done."""
        done = self.machine.attempt("systemctl", "start", UNIT)
        assert done.returncode == 0, self.said()

    def start_dealing(self) -> None:
        """Start it on the emulated device and wait until it deals."""
        self.configure()
        self.start()
        self.wait_for_status("dealing")

    def show(self, name: str) -> str:
        """Return one property of the unit."""
        return self.machine.show(UNIT, name)[name]

    def wait_for(self, **wanted: str) -> None:
        """Wait until properties of the unit have these values."""
        self.machine.wait_for(UNIT, **wanted)

    def wait_for_status(self, beginning: str) -> None:
        """Wait until the status text begins so."""
        until(f"status {beginning}", lambda: self.show("StatusText").startswith(beginning))

    @property
    def pid(self) -> str:
        """Its process id inside the machine; "0" while it does not run."""
        return self.show("MainPID")

    def said(self) -> str:
        """Return what it wrote to the journal, and systemd about it, since the last reset."""
        return self.machine.journal("-u", UNIT, f"--after-cursor={self._cursor}")

    def page(self, path: str) -> int:
        """Return the status of a page of the daemon; 0 if nobody listens."""
        program = (
            "import sys, urllib.error, urllib.request\n"
            "try: print(urllib.request.urlopen(sys.argv[1]).status)\n"
            "except urllib.error.HTTPError as error: print(error.code)\n"
            "except OSError: print(0)\n"
        )
        return int(self.machine.run("python3", "-c", program, f"http://127.0.0.1:9464{path}"))

    def faults(self, *names: str) -> None:
        """Put faults of the emulated device in force; none makes it healthy again."""
        self.machine.path(FAULTS + ".new").write_text("".join(f"{name}\n" for name in names))
        self.machine.run("mv", FAULTS + ".new", FAULTS)

    def wire(self) -> Wire:
        """Connect to the poker server's socket from outside of the machine."""
        return Wire(self.sockets)

    def log(self, event: str) -> list[dict[str, object]]:
        """Return the lines of its log that report `event`, since the last reset."""
        lines = self.said().splitlines()
        parsed = [json.loads(line) for line in lines if line.startswith("{")]
        return [line for line in parsed if line["event"] == event]
