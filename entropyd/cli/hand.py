"""`entropyctl hand`: a hand that is dealt card by card, as it stands, and its file."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from entropyd.cli.options import (
    DEFAULT_CLAIM_KEY,
    DEFAULT_TARGET,
    AsJson,
    ClaimKeyFile,
    Target,
    Timeout,
    connect,
)
from entropyd.cli.people.told import save
from entropyd.client.dealt import DealtCard, Hand
from entropyd.client.hand_file import hand_file

_PLACES = re.compile(r"[0-9]{1,4}(,[0-9]{1,4})*", re.ASCII)


def add_command(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(hand)


def hand(
    table: Annotated[str, typer.Argument(help="The table's id.")],
    hand: Annotated[str, typer.Argument(help="The hand's id.")],
    target: Target = DEFAULT_TARGET,
    as_json: AsJson = False,
    show: Annotated[
        str,
        typer.Option(
            help="Places such as 0,1 whose cards everybody may see now; needs the role reveal."
        ),
    ] = "",
    file: Annotated[
        Path | None, typer.Option("--save", help="Write the hand file, for `entropyctl verify`.")
    ] = None,
    claim_key_file: ClaimKeyFile = DEFAULT_CLAIM_KEY,
    timeout: Timeout = 5.0,
) -> None:
    """Show what is public of a hand dealt card by card, and the cards that are named.

    The daemon records that cards were shown, and to which credential.
    """
    places = _places(show)
    if file is not None and file.exists():
        raise typer.BadParameter(f"--save {file} is there already")
    with connect(target, claim_key_file) as client:
        hands = client.hands(timeout_s=timeout)
        shown = hands.show(table, hand, places) if places else ()
        found = hands.get(table, hand)
        proof = None if file is None else hand_file(client.log(timeout_s=timeout), found, shown)
    if as_json:
        print(json.dumps(_as_dict(found, shown), indent=2))
    else:
        Console(highlight=False, markup=False, soft_wrap=True).print(
            "\n".join(_lines(found, shown))
        )
    if file is not None and proof is not None:
        save(file, proof)


def _places(text: str) -> list[int]:
    if text and _PLACES.fullmatch(text) is None:
        raise typer.BadParameter(f"--show {text[:40]!a}: expected places such as 0,1")
    return sorted({int(place) for place in text.split(",") if place})


def _lines(found: Hand, shown: Sequence[DealtCard]) -> Iterator[str]:
    yield f"{found.state}: hand {found.hand}, number {found.sequence} at table {found.table}"
    if found.reason:
        yield f"reason: {ascii(found.reason)[1:-1]}"
    spoke = f"{len(found.contributed)} of {len(found.seats)} seats contributed"
    yield f"{found.dealt} of {found.size} cards dealt; {spoke}"
    receipts = (f"{event} {signed.index}" for event, signed in found.receipts.items())
    yield f"receipts in the log: {', '.join(receipts)}"
    for card in shown:
        yield f"place {card.place}, {card.recipient or 'not dealt'}: {card.card}"


def _as_dict(found: Hand, shown: Sequence[DealtCard]) -> dict[str, object]:
    return {
        "table": found.table,
        "hand": found.hand,
        "sequence": found.sequence,
        "state": found.state,
        "reason": found.reason,
        "rules": found.rules,
        "open_hash": found.open_hash.hex(),
        "size": found.size,
        "dealt": found.dealt,
        "seats": list(found.seats),
        "contributed": list(found.contributed),
        "receipts": {event: signed.index for event, signed in found.receipts.items()},
        "shown": [
            {"place": card.place, "recipient": card.recipient, "card": card.card} for card in shown
        ],
    }
