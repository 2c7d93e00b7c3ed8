"""Build the wheel, and fetch what the daemon needs beside it, for a machine without an index.

    wheelhouse.py DIRECTORY [PYTHON_VERSION]

The directory then holds the wheels and a `requirements.txt` that pins and
hashes every one of them. docs/install.md says how it is used.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent
EXTRA = "daemon"
OUR_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


def main() -> None:
    """Make the directory anew."""
    to = Path(sys.argv[1])
    shutil.rmtree(to, ignore_errors=True)
    fetch(to, sys.argv[2] if len(sys.argv) > 2 else OUR_PYTHON)
    build(to)


def fetch(to: Path, python: str) -> None:
    """Make the directory and put into it what the daemon needs, as requirements.txt pins it.

    Args:
        to: the directory, which must not exist.
        python: the target's version of Python, such as 3.11, which need not be the one that
            runs here; the platform is this one.
    """
    to.mkdir(parents=True)
    needed = to / "requirements.txt"
    needed.write_text(pins())
    # All that is needed is named and pinned, so nothing is left to resolve.
    _pip(
        "download", "--no-deps", "--require-hashes", "--only-binary", ":all:",
        "--python-version", python, "--dest", str(to), "--requirement", str(needed),
    )  # fmt: skip


def build(to: Path) -> None:
    """Add our own wheel, and pin it by its hash before the others."""
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(to), str(ROOT))
    (wheel,) = to.glob("entropyd-*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    needed = to / "requirements.txt"
    pin = f"entropyd[{EXTRA}]=={version('entropyd')} --hash=sha256:{digest}\n"
    needed.write_text(pin + needed.read_text())


def pins() -> str:
    """Return what requirements.txt pins of that which the daemon needs, hashes and all."""
    return _entries(_closure("entropyd", frozenset({EXTRA})) - {"entropyd"})


def _closure(name: str, extras: frozenset[str]) -> set[str]:
    """Return the normalised names of all that `name` with `extras` needs, and its own."""
    found: set[str] = set()
    ahead = [(name, extras)]
    while ahead:
        name, extras = ahead.pop()
        found.add(_normal(name))
        for text in requires(name) or ():
            needed = Requirement(text)
            wanted = needed.marker is None or any(
                needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)
            )
            if wanted and _normal(needed.name) not in found:
                ahead.append((needed.name, frozenset(needed.extras)))
    return found


def _entries(names: set[str]) -> str:
    """Return those entries of requirements.txt that are called `names`."""
    text = (ROOT / "requirements.txt").read_text()
    entry = re.compile(r"^([A-Za-z0-9._-]+)==.*\n(?: +.*\n)*", re.MULTILINE)
    found: dict[str, str] = {}
    for match in entry.finditer(text):
        # One that is pinned differently for each Python stands there more than once.
        name = _normal(match[1])
        found[name] = found.get(name, "") + match[0]
    if missing := names - found.keys():
        sys.exit(f"wheelhouse: not pinned in requirements.txt: {', '.join(sorted(missing))}")
    return "".join(found[name] for name in sorted(names))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", *arguments]
    subprocess.run(command, check=True)  # noqa: S603  pip, with what stands above


if __name__ == "__main__":
    main()
