"""A machine on which entropyd is installed as docs/install.md says, and its daemon."""

import re
import shutil
from collections.abc import Iterator

import pytest

from tests.lab.cache import ROOT, debian_tree, wheels
from tests.lab.installed import Installed
from tests.lab.machine import Machine, why_not_possible


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with the daemon installed and not yet configured or started."""
    obstacle = why_not_possible()
    if obstacle:
        pytest.skip(f"a machine in namespaces cannot be had here: {obstacle}")
    checkout = tmp_path_factory.mktemp("checkout")
    wheels(checkout / "dist")
    for folder in ("systemd", "drivers/udev", "docs/examples", "tests/lab/inside"):
        shutil.copytree(ROOT / folder, checkout / folder)
    with Machine(debian_tree(), checkout) as machine:
        machine.script(commands("Install"))
        yield machine


@pytest.fixture
def installed(machine: Machine) -> Iterator[Installed]:
    """The daemon on its machine: stopped, with the example configuration and a new ledger."""
    daemon = Installed(machine)
    daemon.reset()
    yield daemon
    machine.attempt("systemctl", "stop", "entropyd")


def commands(chapter: str) -> str:
    """Return the commands of a chapter of docs/install.md."""
    text = (ROOT / "docs" / "install.md").read_text()
    found = re.search(rf"^## {chapter}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/install.md has no chapter {chapter}"
    blocks: list[str] = re.findall(r"^```sh\n(.*?)^```", found[1], re.MULTILINE | re.DOTALL)
    assert blocks, f"no command in the chapter {chapter}"
    return "".join(blocks)
