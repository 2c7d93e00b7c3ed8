"""`replay`: a match as it was recorded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from entropyd.cli.options import (
    DEFAULT_CLAIM_KEY,
    DEFAULT_TARGET,
    AsJson,
    ClaimKeyFile,
    Target,
    Timeout,
    connect,
)
from entropyd.cli.people.told import Answer, as_dict, save
from entropyd.cli.people.told import as_json as told_json
from entropyd.client import Drawn
from entropyd.client.proofs import match_proof


def replay(
    match: Annotated[str, typer.Argument(help="The match's id.")],
    target: Target = DEFAULT_TARGET,
    as_json: AsJson = False,
    file: Annotated[
        Path | None, typer.Option("--save", help="Write the proof file of the whole match.")
    ] = None,
    claim_key_file: ClaimKeyFile = DEFAULT_CLAIM_KEY,
    timeout: Timeout = 10.0,
) -> None:
    """Show all draws of a match as they were recorded."""
    if file is not None and file.exists():
        raise typer.BadParameter(f"--save {file} is there already")
    with connect(target, claim_key_file) as client:
        openings = file is not None
        found = client.draws(timeout_s=timeout).replay_match(match, openings=openings)
    answers = [_answer(replayed.drawn) for replayed in found.draws]
    if as_json:
        print(told_json(list(map(as_dict, answers))))
    else:
        print(*(line for answer in answers for line in answer.lines), sep="\n")
    if file is not None:
        save(file, match_proof(found))


def _answer(drawn: Drawn) -> Answer:
    kind = drawn.rules.partition("kind=")[2].partition("\n")[0]
    values: Sequence[str | int] = drawn.texts or drawn.result
    line = f"{drawn.number:>4}  {drawn.draw}  {kind}: {' '.join(map(str, values))}"
    return Answer(kind, values, [line], {}, drawn)
