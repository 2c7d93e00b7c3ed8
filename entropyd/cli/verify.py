"""`entropyctl verify`: proof files, checked here, without a daemon and without a network.

Exit codes: 0 everything follows, 1 something does not or cannot be read, 2 wrong usage.
"""

import json
import stat
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from entropyd.errors import (
    KeyInvalidError,
    ProofError,
    ProofMalformedError,
    ProofMismatchError,
)
from entropyd.log.keys import VerifierKey
from entropyd.verify import Report, check_proof
from entropyd.verify.document import MAX_BYTES

EXIT_FALSE = 1
STANDARD_INPUT = Path("-")
# What a directory is searched for: files of every kind, and signed notes as they are given out.
SUFFIXES = (".json", ".txt", ".note")


@dataclass(frozen=True)
class Finding:
    """What became of one file.

    Attributes:
        file: its name, as it was given.
        report: what was checked; None if it does not verify.
        error: why not; None if it does.
    """

    file: str
    report: Report | None
    error: ProofError | None


def add_command(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(verify)


def verify(
    path: Annotated[
        Path,
        typer.Argument(
            help="A proof file, a directory of *.json, *.txt and *.note, or - for standard input."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Exit code alone.")] = False,
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="A key that you trust, of a log or a witness: name+id+base64. May be given again."
        ),
    ] = None,
) -> None:
    """Compute draws, matches, raffles, rounds, hands and ranges of a log again, offline.

    A file of a hand or a log that names its own keys is looked at with these, and nobody vouches
    for them, unless keys are given. A receipt, a note to a seat or a checkpoint, as it is, takes
    a key.

    Of a directory, what has other names is not looked at, and it is said what; nor are directories
    within it.

    Ends with 0 if everything follows, and with 1 if something does not.
    """
    keys = _keys(key or ())
    check = _check_listed if path.is_dir() else _check
    findings = [check(file, keys) for file in _files(path)]
    if as_json:
        # In ASCII: a name of a file need not be text.
        print(json.dumps(list(map(_as_dict, findings)), indent=2))
    elif not quiet:
        _show(findings, table=path.is_dir())
        _tell_others(path)
    if any(finding.error is not None for finding in findings):
        raise typer.Exit(EXIT_FALSE)


def _files(path: Path) -> Sequence[Path]:
    if not path.is_dir():
        return [path]
    files = [entry for entry in _inside(path) if _is_listed(entry)]
    if not files:
        # Nothing checked must not look like all checked.
        raise typer.BadParameter(f"{path} holds no file {_patterns()}")
    return files


def _inside(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError as error:
        raise _unreadable(directory, error) from error


def _is_listed(entry: Path) -> bool:
    """Return whether an entry of a directory is to be checked, if only to fail.

    A link that leads nowhere is: whoever put it there meant a file.
    """
    if entry.suffix not in SUFFIXES:
        return False
    try:
        return stat.S_ISREG(entry.stat().st_mode)
    except OSError:
        return True


def _patterns() -> str:
    return ", ".join(f"*{suffix}" for suffix in SUFFIXES)


def _tell_others(path: Path) -> None:
    """Name what of a directory was left out, so that none of it seems to have been checked."""
    others = [entry for entry in _inside(path) if not _is_listed(entry)] if path.is_dir() else []
    if others:
        names = _printable(", ".join(entry.name for entry in others))
        print(f"entropyctl: not looked at, being no file {_patterns()}: {names}", file=sys.stderr)


def _keys(texts: Sequence[str]) -> Sequence[VerifierKey]:
    try:
        return tuple(map(VerifierKey.decode, texts))
    except KeyInvalidError as error:
        raise typer.BadParameter(f"--key: {error}") from error


def _check(file: Path, keys: Sequence[VerifierKey]) -> Finding:
    try:
        return Finding(str(file), check_proof(_read(file), keys), None)
    except ProofError as error:
        return Finding(str(file), None, error)


def _check_listed(file: Path, keys: Sequence[VerifierKey]) -> Finding:
    """Check a file of a directory. One that cannot be read keeps none of the others unread."""
    try:
        return _check(file, keys)
    except typer.BadParameter as error:
        return Finding(str(file), None, ProofMalformedError(error.message))


def _read(file: Path) -> bytes:
    """Return a file, or as much of it as shows that it is too large."""
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(path: Path, error: OSError) -> typer.BadParameter:
    return typer.BadParameter(f"{_printable(str(path))} cannot be read ({error.strerror})")


def _show(findings: Sequence[Finding], *, table: bool) -> None:
    console = Console(highlight=False, soft_wrap=not table)
    if table:
        console.print(_table(findings))
        good = sum(finding.report is not None for finding in findings)
        console.print(f"{good} of {len(findings)} verify", markup=False)
        return
    for finding in findings:
        for line in _lines(finding):
            console.print(line)


def _lines(finding: Finding) -> list[Text]:
    if finding.report is None:
        return [Text("does not verify", "bold red"), *map(_text, _why(finding.error))]
    report = finding.report
    lines = [Text("verifies", "bold green"), _text(report.subject)]
    if report.result:
        lines.append(_text(f"result   {report.result}"))
    lines += [_text(f"checked  {step}") for step in report.checked]
    lines += [_text(f"cannot be checked: {limit}", "dim") for limit in report.not_checked]
    return lines


def _text(told: str, style: str = "") -> Text:
    return Text(_printable(told), style)


def _printable(told: str) -> str:
    """Return a line so that nothing in it moves a cursor or makes a line of its own.

    Files and their names come from strangers.
    """
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in told)


def _why(error: ProofError | None) -> list[str]:
    causes = error.causes if isinstance(error, ProofMismatchError) else ()
    return [str(error), *(f"possible cause: {cause}" for cause in causes)]


def _table(findings: Sequence[Finding]) -> Table:
    # A hash is folded, not cut: half of one can be compared with nothing.
    columns = (Column(name, overflow="fold") for name in ("", "file", "what", "result"))
    table = Table(*columns, box=box.SIMPLE_HEAD)
    for finding in findings:
        file = _text(Path(finding.file).name)
        if finding.report is None:
            why = _text("; ".join(_why(finding.error)))
            table.add_row(Text("FALSE", "bold red"), file, why, "")
        else:
            report = finding.report
            table.add_row(Text("ok", "green"), file, _text(report.subject), _text(report.result))
    return table


def _as_dict(finding: Finding) -> dict[str, object]:
    told: dict[str, object] = {"file": finding.file, "verifies": finding.report is not None}
    if finding.report is not None:
        return told | asdict(finding.report)
    error = finding.error
    return told | {
        "reason": error.reason if error else "",
        "field": error.field if error else "",
        "message": str(error),
        "causes": list(error.causes) if isinstance(error, ProofMismatchError) else [],
    }
