"""How something is drawn: here or by a daemon, under which ids, and what becomes of the answer.

The options that all commands for people share stand here once: `with_options`
gives a command those that it does not use itself.
"""

import datetime as dt
import inspect
import os
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from grpc import StatusCode

from entropyd.cli.options import (
    DEFAULT_CLAIM_KEY,
    DEFAULT_TARGET,
    AsJson,
    ClaimKeyFile,
    Target,
    Timeout,
    connect,
)
from entropyd.cli.people.told import Form, say
from entropyd.client import Client, Large, Refusal, SamplerName
from entropyd.errors import RequestError

# After these nobody knows here what the daemon did, or goes on with.
_MAY_BE_DRAWN = frozenset(
    {
        StatusCode.CANCELLED,
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.INTERNAL,
        StatusCode.UNAVAILABLE,
        StatusCode.UNKNOWN,
    }
)
# 64 bits: of a thousand matches a day no two meet in a million years.
_NAME_BYTES = 8
# What people gave no name for, as the rules of draws call it.
_IN_WORDS = {"m": "how many"}

Local = Annotated[
    bool, typer.Option("--local", help="Draw here, without a daemon: nothing is recorded.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="The result alone, one value a line.")]
MatchId = Annotated[
    str | None,
    typer.Option("--match", help="Id of the match, or of the raffle; a new one if not given."),
]
DrawId = Annotated[
    str, typer.Option("--id", help="The draw in its match; the same id gets the same draw again.")
]
Save = Annotated[
    Path | None, typer.Option("--save", help="Write the proof file; it must not be there yet.")
]
Sampler = Annotated[SamplerName, typer.Option(help="The rule by which bits become numbers.")]
LargeDraw = Annotated[
    Large, typer.Option(help="Of a draw of very many seeds: refuse it, wait, or take one seed.")
]


@dataclass(frozen=True)
class How:
    """The options that all commands for people share.

    Attributes:
        local: draw here.
        target, claim_key_file, timeout: how the daemon is asked.
        match: id of the match; None for a new one.
        id: of the draw in its match.
        save: where the proof goes; None for nowhere.
        sampler: the rule of the draw.
        large: what is to be done with a draw of very many seeds.
        as_json, quiet: how it is told.
    """

    local: Local = False
    target: Target = DEFAULT_TARGET
    match: MatchId = None
    id: DrawId = "1"
    save: Save = None
    sampler: Sampler = SamplerName.MASKED
    large: LargeDraw = Large.REFUSE
    as_json: AsJson = False
    quiet: Quiet = False
    claim_key_file: ClaimKeyFile = DEFAULT_CLAIM_KEY
    timeout: Timeout = 10.0

    def __post_init__(self) -> None:
        """Refuse what cannot be done together."""
        if self.as_json and self.quiet:
            raise typer.BadParameter("--json and --quiet are two forms of one answer")
        if self.match == "":
            # Such as an unset variable of a script, whose retry would then be another draw.
            raise typer.BadParameter("--match is empty; leave it out for a new one")
        if self.local and (self.match is not None or self.save is not None):
            raise typer.BadParameter("--local records nothing: it takes neither --match nor --save")
        if self.save is not None and self.save.exists():
            # Before anything is drawn.
            raise typer.BadParameter(f"--save {self.save} is there already")

    @property
    def form(self) -> Form:
        """How much is said."""
        if self.as_json:
            return Form.JSON
        return Form.QUIET if self.quiet else Form.PEOPLE

    @contextmanager
    def naming(self) -> Iterator[str]:
        """Give the match that was given, or a new one's id, for a block that asks the daemon.

        If the block fails and what it asked for may be drawn all the same, the new id is told: to
        ask again without it would be another draw.
        """
        if self.match is not None:
            yield self.match
            return
        made = new_match_id()
        try:
            yield made
        except (Refusal, KeyboardInterrupt) as error:
            if not isinstance(error, Refusal) or error.code in _MAY_BE_DRAWN:
                say(f"it may be drawn all the same: ask again with --match {made}, which finds it")
            raise

    def connect(self) -> Client:
        """Return a client of the daemon."""
        return connect(self.target, self.claim_key_file)


def new_match_id() -> str:
    """Return an id that no match had: today's date, for people, and 64 random bits."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    return f"people/{today}-{os.urandom(_NAME_BYTES).hex()}"


def with_options(
    command: Callable[..., None], *, without: Container[str] = ()
) -> Callable[..., None]:
    """Give a command whose last argument is `how: How` the options of How instead.

    Typer reads options from a signature and has no way to share them.

    Args:
        command: what is run.
        without: names of options that mean nothing to it; they keep their defaults.
    """
    options = [option for option in fields(How) if option.name not in without]
    shared = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=How.__annotations__[option.name],
        )
        for option in options
    ]

    @wraps(command)
    def run(*arguments: Any, **given: Any) -> None:
        how = How(**{option.name: given.pop(option.name) for option in options})
        try:
            command(*arguments, **given, how=how)
        except RequestError as error:
            raise _in_words(error) from error

    signature = inspect.signature(command)
    own = [parameter for name, parameter in signature.parameters.items() if name != "how"]
    run.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in (*own, *shared)}
    return run


def _in_words(error: RequestError) -> RequestError:
    name = _IN_WORDS.get(error.field, error.field)
    return RequestError(name, str(error).removeprefix(f"{error.field}: "))
