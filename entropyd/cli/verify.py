"""`entropyctl verify`: proof files, checked here, without a daemon and without a network.

Exit codes: 0 everything follows, 1 something does not, 2 wrong usage.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from entropyd.errors import KeyInvalidError, ProofError, ProofMismatchError
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
    for them, unless keys are given. A receipt or a note to a seat, as it is, takes a key.

    Of a directory, files with other names are not looked at, and it is said which.

    Ends with 0 if everything follows, and with 1 if something does not.
    """
    keys = _keys(key or ())
    findings = [_check(file, keys) for file in _files(path)]
    if as_json:
        print(json.dumps(list(map(_as_dict, findings)), indent=2, ensure_ascii=False))
    elif not quiet:
        _show(findings, table=path.is_dir())
        _tell_others(path)
    if any(finding.error is not None for finding in findings):
        raise typer.Exit(EXIT_FALSE)


def _files(path: Path) -> Sequence[Path]:
    if not path.is_dir():
        return [path]
    files = [file for file in _inside(path) if file.suffix in SUFFIXES]
    if not files:
        # Nothing checked must not look like all checked.
        raise typer.BadParameter(f"{path} holds no file {_patterns()}")
    return files


def _inside(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if file.is_file())


def _patterns() -> str:
    return ", ".join(f"*{suffix}" for suffix in SUFFIXES)


def _tell_others(path: Path) -> None:
    """Name the files of a directory that were left out, so that none seems to have been checked."""
    others = (
        [file for file in _inside(path) if file.suffix not in SUFFIXES] if path.is_dir() else []
    )
    if others:
        names = ascii(", ".join(file.name for file in others))[1:-1]
        print(f"entropyctl: not looked at, being no {_patterns()}: {names}", file=sys.stderr)


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


def _read(file: Path) -> bytes:
    """Return a file, or as much of it as shows that it is too large."""
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read ({error.strerror})") from error


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
        return [Text("does not verify", "bold red"), *map(Text, _why(finding.error))]
    report = finding.report
    lines = [Text("verifies", "bold green"), Text(report.subject)]
    if report.result:
        lines.append(Text(f"result   {report.result}"))
    lines += [Text(f"checked  {step}") for step in report.checked]
    lines += [Text(f"cannot be checked: {limit}", "dim") for limit in report.not_checked]
    return lines


def _why(error: ProofError | None) -> list[str]:
    causes = error.causes if isinstance(error, ProofMismatchError) else ()
    return [str(error), *(f"possible cause: {cause}" for cause in causes)]


def _table(findings: Sequence[Finding]) -> Table:
    table = Table("", "file", "what", "result", box=box.SIMPLE_HEAD)
    for finding in findings:
        file = Text(Path(finding.file).name)
        if finding.report is None:
            why = Text("; ".join(_why(finding.error)))
            table.add_row(Text("FALSE", "bold red"), file, why, "")
        else:
            report = finding.report
            table.add_row(Text("ok", "green"), file, Text(report.subject), Text(report.result))
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
