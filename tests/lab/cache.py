"""What is made once and kept outside the checkout: a Debian tree, and wheels of others.

Everything lies in /var/tmp under a name that has the hash of its recipe, so
that another recipe makes another one. `rm -r /var/tmp/entropyd-lab-*` is safe
while no test runs.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import wheelhouse

ROOT = Path(__file__).parents[2]
CACHE = Path("/var/tmp")

RELEASE = "bookworm"
# Of Debian 12, whose Python this is; wheels are fetched for it.
PYTHON = "3.11"
# systemd to be tested; what docs/install.md asks for; ip and ps for the tests.
PACKAGES = "systemd,systemd-sysv,udev,dbus,python3,python3-venv,iproute2,procps"
MMDEBSTRAP = (
    "mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}",
    "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
)  # fmt: skip


def debian_tree() -> Path:
    """Return a root directory of Debian with systemd and Python. The first time takes a minute."""
    if shutil.which("mmdebstrap") is None:
        pytest.fail("mmdebstrap is missing; tests/setup installs it")
    return _kept(repr(MMDEBSTRAP), lambda path: _run(*MMDEBSTRAP, RELEASE, str(path)))


def wheels(to: Path) -> None:
    """Make in `to` what `make wheels` makes of this checkout, for the Python of `debian_tree`."""
    recipe = f"wheels {PYTHON} {wheelhouse.pins()}"
    fetched = _kept(recipe, lambda path: wheelhouse.fetch(path, PYTHON))
    shutil.copytree(fetched, to)
    wheelhouse.build(to)


def _kept(recipe: str, make: Callable[[Path], None]) -> Path:
    """Return the directory that `recipe` names; `make` it if nobody has, one maker at a time."""
    name = f"entropyd-lab-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"
    path, being_made = CACHE / name, CACHE / f"{name}.new"
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            shutil.rmtree(being_made, ignore_errors=True)
            make(being_made)
            being_made.rename(path)
    # /var/tmp is everybody's: a tree of somebody else's is no tree to boot as root.
    owner = path.lstat().st_uid
    assert owner == os.geteuid(), f"{path} belongs to uid {owner}; remove it"
    assert not path.is_symlink(), f"{path} is a link; remove it"
    return path


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"
