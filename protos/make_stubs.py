"""Generate entropyd/v1 from protos/, or with --check say whether what is checked in is current.

The generators are pinned in requirements.txt; docs and README say nothing that
only a newer one would produce. Run through `make stubs` and `make check`.
"""

import argparse
import filecmp
import sys
import tempfile
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent
TARGET = ROOT.parent / "entropyd" / "v1"


def generate(out: Path) -> None:
    """Write the stubs of every proto file below `out`/entropyd/v1."""
    well_known = resources.files("grpc_tools") / "_proto"
    sources = sorted(str(path) for path in ROOT.glob("entropyd/v1/*.proto"))
    arguments = ["protoc", f"-I{ROOT}", f"-I{well_known}"]
    # `quiet` keeps the plugins from listing on stderr what this script prints itself.
    arguments += ["--mypy_opt=quiet", "--mypy_grpc_opt=quiet"]
    for plugin in ("mypy", "mypy_grpc"):
        # By path, so that it works without the environment being activated.
        arguments.append(
            f"--plugin=protoc-gen-{plugin}={Path(sys.executable).parent}/protoc-gen-{plugin}"
        )
    for plugin in ("python", "mypy", "grpc_python", "mypy_grpc"):
        arguments.append(f"--{plugin}_out={out}")
    if protoc.main(arguments + sources) != 0:
        sys.exit("make_stubs: protoc failed; its message stands above")


def main() -> None:
    """Generate, or compare with what is checked in."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check: bool = parser.parse_args().check
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        made = sorted((Path(scratch) / "entropyd" / "v1").iterdir())
        if check:
            stale = [
                path.name
                for path in made
                if not (TARGET / path.name).exists()
                or not filecmp.cmp(path, TARGET / path.name, shallow=False)
            ]
            if stale:
                sys.exit(f"make_stubs: out of date: {', '.join(stale)}; run `make stubs`")
            return
        for path in made:
            (TARGET / path.name).write_bytes(path.read_bytes())
            print(f"wrote entropyd/v1/{path.name}")


if __name__ == "__main__":
    main()
