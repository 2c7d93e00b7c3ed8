"""Make verify.html of src/, or with --check say whether the one that is there is current.

    python -m entropyd.web.build [--check]

The modules are put one after another, each behind those it imports, into one
script; style and script are admitted by their hashes and nothing else is. The
same sources give the same bytes on every machine. Only the plain form of
imports and exports is understood; anything else is refused, as is a name that
two modules give to different things.
"""

import argparse
import base64
import re
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "src"
TARGET = HERE / "verify.html"

_IMPORT = re.compile(r"^import \{([^}]*)\} from '\./(\w+)\.mjs';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class|let)\b)", re.MULTILINE)
_TOP_LEVEL = re.compile(r"^(?:async )?(?:function\*?|const|class|let) (\w+)", re.MULTILINE)
_NOT_UNDERSTOOD = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)

# `'none'` for all that is not named: no network, no image, no font, no frame, no form.
# The icon is an empty data URL, so that a browser asks nobody for one.
# Trusted types: not one place of the page turns text into markup.
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:;"
    " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


class BuildError(Exception):
    """The sources cannot be put together; the text says which line."""


def build(sources: Path = SOURCES) -> bytes:
    """Return the page that the sources make.

    Raises:
        BuildError: a module has an import or export of another form, or a name that another
            module has too.
    """
    script = "\n" + "\n".join(_bodies(sources))
    style = "\n" + (sources / "page.css").read_text("utf-8")
    shell = (sources / "page.html").read_text("utf-8")
    policy = _POLICY.format(script=_source_hash(script), style=_source_hash(style))
    for place, text in (("policy", policy), ("style", style), ("script", script)):
        if re.search(r"</(?:script|style)|<!--", text):
            raise BuildError(f"{place} has text that would end or hide its element")
        shell = shell.replace("{{" + place + "}}", text)
    return shell.encode("utf-8")


def _source_hash(text: str) -> str:
    """Return how a policy names an inline script or style."""
    return "sha256-" + base64.b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")


def _bodies(sources: Path) -> Iterator[str]:
    """Yield the modules without their imports, each behind those that it needs."""
    owner: dict[str, str] = {}
    for name in _in_order(sources, "main", ()):
        text = _EXPORT.sub("", _IMPORT.sub("", _read(sources, name)))
        if found := _NOT_UNDERSTOOD.search(text):
            raise BuildError(f"{name}.mjs: cannot put together: {found[0]}")
        for defined in _TOP_LEVEL.findall(text):
            if defined in owner:
                raise BuildError(f"{name}.mjs: {defined} is a name of {owner[defined]}.mjs too")
            owner[defined] = name
        yield f"// ---- {name}.mjs\n\n{text.strip()}\n"


def _in_order(sources: Path, name: str, importers: tuple[str, ...]) -> list[str]:
    """Return `name` behind the modules it imports, and those behind theirs, each once."""
    if name in importers:
        raise BuildError(f"{name}.mjs imports itself, by way of {importers[-1]}.mjs")
    found: dict[str, None] = {}
    for _, needed in _IMPORT.findall(_read(sources, name)):
        found |= dict.fromkeys(_in_order(sources, needed, (*importers, name)))
    return [*found, name]


def _read(sources: Path, name: str) -> str:
    return (sources / f"{name}.mjs").read_text("utf-8")


def main() -> None:
    """Write the page, or compare it with the one that is checked in."""
    parser = argparse.ArgumentParser(description="Make verify.html of its sources.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check: bool = parser.parse_args().check
    try:
        page = build()
    except BuildError as error:
        sys.exit(f"build: {error}")
    if not check:
        TARGET.write_bytes(page)
    elif not TARGET.exists() or TARGET.read_bytes() != page:
        sys.exit("build: verify.html is out of date; run `python -m entropyd.web.build`")


if __name__ == "__main__":
    main()
