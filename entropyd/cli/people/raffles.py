"""`raffle`: a list that is sealed first, and who won."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from entropyd.cli.people import asked
from entropyd.cli.people.how import How, with_options
from entropyd.cli.people.local import draw_here
from entropyd.cli.people.told import Answer, Form, save, say, tell
from entropyd.client import Raffle
from entropyd.client.proofs import raffle_proof
from entropyd.draw.samplers import Sampler
from entropyd.games.raffle import RaffleRules, canonical_entries


# A raffle is drawn once: there is no second draw to tell apart from the first.
@partial(with_options, without=("id",))
def raffle(
    file: Annotated[Path, typer.Argument(help="One entry a line; - is standard input.")],
    how: How,
    winners: Annotated[int, typer.Option("--winners", "-w", min=1, help="How many win.")] = 1,
    alternates: Annotated[
        int, typer.Option("--alternates", "-a", min=0, help="How many stand by, in their order.")
    ] = 0,
    seal: Annotated[
        bool,
        typer.Option("--seal", help="Do not draw yet: record the list, say what to publish first."),
    ] = False,
) -> None:
    """Draw winners of a list; a daemon records the list and its hash before it draws.

    For a raffle that others shall believe in: --seal, publish what it says, then the same
    command with its --match and without --seal.
    """
    if seal and (how.local or how.save is not None):
        raise typer.BadParameter("--seal draws nothing: it takes neither --local nor --save")
    given = asked.lines(file)
    if how.local:
        entries = canonical_entries(given)
        rules = RaffleRules(
            entries=entries.digest,
            n=len(entries),
            winners=winners,
            alternates=alternates,
            sampler=Sampler(how.sampler),
        )
        names = [entries.texts[number] for number in draw_here(rules)]
        tell(_answer(names[:winners], names[winners:], entries.digest, None), how.form)
        return
    _ask(how, given, winners, alternates, seal=seal)


def _ask(how: How, given: Sequence[str], winners: int, alternates: int, *, seal: bool) -> None:
    with how.naming() as name, how.connect() as client:
        raffles = client.raffles(sampler=how.sampler, large=how.large, timeout_s=how.timeout)
        sealed = raffles.seal_entries(name, given, winners=winners, alternates=alternates)
        if seal:
            _tell_sealed(sealed, how.form)
            return
        if how.form is Form.PEOPLE:
            say(f"sealed: {sealed.size} entries, hash {sealed.entries_hash.hex()}")
        drawn = raffles.draw_raffle(name, entries_hash=sealed.entries_hash)
        tell(_answer(drawn.winners, drawn.alternates, drawn.entries_hash, drawn), how.form)
        if how.save is not None:
            save(how.save, raffle_proof(raffles.get_raffle(name, entries=True, opening=True)))


def _tell_sealed(sealed: Raffle, form: Form) -> None:
    """Say what is to be published before the draw, and how it is drawn then."""
    name, digest = sealed.raffle, sealed.entries_hash.hex()
    lines = [f"raffle {name}", f"number {sealed.number}", f"hash {digest}"]
    more = {"entries_hash": digest, "drawn": sealed.drawn}
    tell(Answer("sealed", [digest], lines, more, raffle=sealed), form)
    if form is Form.PEOPLE and sealed.drawn:
        say("it was drawn before: a hash that is published now shows nothing")
    elif form is Form.PEOPLE:
        say(f"publish these and the list, then draw: this command with --match {name}, no --seal")


def _answer(
    winners: Sequence[str], alternates: Sequence[str], digest: bytes, drawn: Raffle | None
) -> Answer:
    lines = [f"{place}. {name}" for place, name in enumerate(winners, 1)]
    lines += [f"alternate {place}. {name}" for place, name in enumerate(alternates, 1)]
    more = {
        "winners": list(winners),
        "alternates": list(alternates),
        "entries_hash": digest.hex(),
    }
    return Answer("raffle", [*winners, *alternates], lines, more, raffle=drawn)
