"""What is printed: one result on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from rich.console import Console
from rich.text import Text

from entropyd.client import Drawn, Raffle
from entropyd.verify.document import MAX_INTEGER

NOT_RECORDED = (
    "drawn here, from the operating system's generator: recorded nowhere, and nobody can be shown"
    " that it was fair"
)
MOCK = "a source is an emulator or a recording: do not play for money on it"


class Form(StrEnum):
    """How much is said."""

    PEOPLE = "people"
    QUIET = "quiet"
    JSON = "json"


@dataclass(frozen=True)
class Answer:
    """What came, and what is known of how.

    Attributes:
        kind: of the draw, such as "dice".
        values: what came, each as people and programs read it.
        lines: the same for people, line by line.
        more: further members for programs.
        note: what whoever looks at the record has to know; empty for nothing.
        drawn: the recorded draw; None if it was drawn here, or of a raffle.
        raffle: the recorded raffle; None if it was drawn here, or of a draw.
    """

    kind: str
    values: Sequence[str | int]
    lines: Sequence[str | Text]
    more: Mapping[str, object] = field(default_factory=dict)
    drawn: Drawn | None = None
    raffle: Raffle | None = None
    note: str = ""

    @property
    def local(self) -> bool:
        """Whether it was drawn here."""
        return self.drawn is None and self.raffle is None


def tell(answer: Answer, form: Form) -> None:
    """Print an answer, and on standard error what its reader should know."""
    if form is Form.JSON:
        print(as_json(as_dict(answer)))
        return
    if form is Form.QUIET:
        print(*answer.values, sep="\n")
        return
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for line in answer.lines:
        console.print(line)
    sys.stdout.flush()
    for note in _notes(answer):
        say(note)


def as_json(value: object) -> str:
    """Return JSON for standard output: in ASCII unless it takes every letter."""
    return json.dumps(value, indent=2, ensure_ascii=sys.stdout.encoding.lower() != "utf-8")


def exact(value: str | int) -> str | int:
    """Return a number as text where JSON's readers may round it."""
    return str(value) if isinstance(value, int) and value > MAX_INTEGER else value


def say(note: str) -> None:
    """Print a line on standard error."""
    print(f"entropyctl: {note}", file=sys.stderr, flush=True)


def save(path: Path, proof: Mapping[str, object]) -> None:
    """Write a proof file that is not there yet.

    Raises:
        FileExistsError: it is there. Proofs are not written over.
    """
    with path.open("x", encoding="utf-8") as file:
        json.dump(proof, file, indent=1, ensure_ascii=False)
        file.write("\n")
    say(f"proof written; check it with: entropyctl verify {path}")


def _notes(answer: Answer) -> list[str]:
    if answer.drawn is not None:
        return [*_notes_of_draw(answer.drawn), *filter(None, [answer.note])]
    if answer.raffle is not None:
        return _notes_of_raffle(answer.raffle)
    return [NOT_RECORDED]


def _notes_of_draw(drawn: Drawn) -> list[str]:
    origin = "drawn before, given again" if drawn.replayed else "recorded"
    note = (
        f"{origin}: draw {drawn.number}, id {drawn.draw}, of match {drawn.match};"
        f" all of it: entropyctl replay {drawn.match}"
    )
    return [note, MOCK] if drawn.mock else [note]


def _notes_of_raffle(raffle: Raffle) -> list[str]:
    origin = "drawn before, given again" if raffle.replayed else "recorded"
    note = f"{origin}: raffle {raffle.raffle}, number {raffle.number}, {raffle.size} entries"
    return [note, MOCK] if raffle.mock else [note]


def as_dict(answer: Answer) -> dict[str, object]:
    """Return an answer for programs."""
    told: dict[str, object] = {
        "kind": answer.kind,
        "result": list(map(exact, answer.values)),
        **answer.more,
        "local": answer.local,
    }
    if (drawn := answer.drawn) is not None:
        told |= {
            "match": drawn.match,
            "id": drawn.draw,
            "number": drawn.number,
            "rules": drawn.rules,
            "commitment": drawn.commitment.hex(),
            "result_root": drawn.result_root.hex(),
            "replayed": drawn.replayed,
            "mock": drawn.mock,
            "degraded": drawn.degraded,
        }
    if (raffle := answer.raffle) is not None:
        told |= {
            "raffle": raffle.raffle,
            "number": raffle.number,
            "rules": raffle.rules,
            "commitment": raffle.commitment.hex(),
            "result_root": raffle.result_root.hex(),
            "replayed": raffle.replayed,
            "mock": raffle.mock,
        }
    return told
