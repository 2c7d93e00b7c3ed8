"""The wheel: the same bytes from every build, nothing in it but the two packages, and it runs."""

import base64
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wheel.conftest import ROOT, build

# What the extra `daemon` brings and the base install must do without.
DAEMON_ONLY = (
    "grpc_health", "grpc_reflection", "libusb_package", "numpy", "prometheus_client", "pydantic",
    "rich", "serial", "structlog", "typer", "usb", "uvloop",
)  # fmt: skip


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, bytes]:
    """Name -> bytes of every file in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


# --- the same bytes --------------------------------------------------------------------------


def strange_copy(source: Path, to: Path) -> Path:
    """Copy with other times and modes, written in another order, beside what other tools leave."""
    for path in sorted(source.rglob("*"), reverse=True):
        if path.is_file():
            copied = to / path.relative_to(source)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copied)
            copied.chmod(0o600)
            os.utime(copied, (1_000_000_000, 1_000_000_000))
    cache = to / "entropyd" / "__pycache__"
    cache.mkdir()
    (cache / "units.cpython-311.pyc").write_bytes(b"of another build")
    return to


@pytest.mark.parametrize("epoch", [{}, {"SOURCE_DATE_EPOCH": "1700000000"}], ids=["plain", "epoch"])
def test_two_builds_are_the_same_bytes(source, tmp_path, epoch):
    """Elsewhere, with other file times, modes, order, umask, time zone, language and hash seed."""
    there = strange_copy(source, tmp_path / "a rather longer path" / "copy")
    wheels = [
        build(source, tmp_path / "one", PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C.UTF-8", **epoch),
        build(
            there, tmp_path / "two", umask=0o077, PYTHONHASHSEED="2", TZ="Asia/Tokyo", LC_ALL="C",
            HOME=str(tmp_path), **epoch,
        ),
    ]  # fmt: skip
    first, second = (hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels)
    assert first == second
    assert wheels[0].name == wheels[1].name


def test_no_time_of_the_build_is_in_it(wheel):
    """Every entry carries the one date that hatchling gives, whenever it is built."""
    with zipfile.ZipFile(wheel) as archive:
        assert {(2020, 2, 2, 0, 0, 0)} == {entry.date_time for entry in archive.infolist()}


def test_another_source_is_another_wheel(source, wheel, tmp_path):
    """The comparison can fail: one byte more in one module."""
    there = strange_copy(source, tmp_path / "copy")
    with (there / "entropyd" / "units.py").open("a") as file:
        file.write("\n")
    assert wheel.read_bytes() != build(there, tmp_path / "two").read_bytes()


# --- what is in it ---------------------------------------------------------------------------


def test_the_wheel_holds_the_two_packages_and_nothing_else(contents):
    """No test, bench, document, vector or configuration of ours gets on anybody's machine."""
    tops = {name.partition("/")[0] for name in contents}
    (metadata,) = (top for top in tops if top.endswith(".dist-info"))
    assert {"entropyd", "entropyd_drivers", metadata} == tops
    assert [] == [name for name in contents if "test" in Path(name).stem.split("_")]


def test_every_file_is_the_one_of_the_checkout_and_none_is_missing(contents, source):
    """So what tests say of the checkout's modules, schema and messages is true of the wheel's."""
    expected = {
        str(path.relative_to(root)): path.read_bytes()
        for root, package in ((source, "entropyd"), (source / "drivers", "entropyd_drivers"))
        for path in (root / package).rglob("*")
        if path.is_file()
    }
    assert len(expected) > 100
    files = {name: data for name, data in contents.items() if ".dist-info/" not in name}
    assert expected == files


def test_the_record_names_and_hashes_every_file(contents):
    (name,) = (name for name in contents if name.endswith(".dist-info/RECORD"))
    recorded = {row[0]: row[1] for row in csv.reader(io.StringIO(contents[name].decode()))}
    assert "" == recorded.pop(name)
    found = {
        each: "sha256="
        + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().strip("=")
        for each, data in contents.items()
        if each != name
    }
    assert recorded == found


# --- it runs ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Iterator[Path]:
    """A fresh environment with the wheel, and with what it needs lent by ours; no index is asked.

    A path in a .pth file lends modules only: our own editable install, which is
    another .pth file, is not followed.
    """
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)
    (site_packages,) = home.glob("lib/python*/site-packages")
    (site_packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    yield home
    shutil.rmtree(home)


def told(installed: Path, program: str, *arguments: object) -> str:
    """Run a program of the environment away from the checkout; return what it printed."""
    ended = subprocess.run(
        [str(installed / "bin" / program), *map(str, arguments)],
        cwd=installed,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "") == (ended.returncode, ended.stderr)
    return ended.stdout


@pytest.mark.parametrize("name", ["entropyd.toml", "development.toml"])
def test_the_installed_daemon_takes_the_examples(installed, name):
    """The production example too: drivers are found by their entry points."""
    assert "ok, node" in told(installed, "entropyd", "check-config", ROOT / "docs/examples" / name)


def test_the_installed_commands_are_the_wheels(installed):
    where = "import entropyd, entropyd_drivers as d; print(entropyd.__file__, d.__file__)"
    for path in told(installed, "python", "-c", where).split():
        assert Path(path).is_relative_to(installed)
    assert "shuffle" in told(installed, "entropyctl", "--help")


def test_the_base_install_is_client_and_verifier(installed):
    """`pip install entropyd`: neither needs a module that only the extra `daemon` brings."""
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({DAEMON_ONLY!r}));"
        " import entropyd.client, entropyd.verify.recompute; print('both')"
    )
    assert "both\n" == told(installed, "python", "-c", program)
