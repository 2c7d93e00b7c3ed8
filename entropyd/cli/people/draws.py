"""`roll`, `pick`, `order`, `cards`, `bag`, `flip`: draws, here or by a daemon."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from entropyd.cli.cards import render_cards
from entropyd.cli.people import asked
from entropyd.cli.people.how import How, with_options
from entropyd.cli.people.local import draw_here
from entropyd.cli.people.told import Answer, save, tell
from entropyd.client import Drawn, Draws
from entropyd.client.proofs import draw_proof
from entropyd.draw.cards import DECKS, Deck, card_text
from entropyd.draw.samplers import Sampler
from entropyd.games.bags import BagRules, custom_tiles
from entropyd.games.draw_kind import DrawRules
from entropyd.games.draw_rules import DiceRules, IntegersRules, ItemsRules, SampleRules
from entropyd.games.labels import labels_hash
from entropyd.games.presets import PRESETS

SIDES = ("heads", "tails")
# Answer, from what came and, by a daemon, its record.
_Told = Callable[[Sequence[int], Drawn | None], Answer]


def _presets(incomplete: str) -> list[str]:
    return [name for name in PRESETS if name.startswith(incomplete)]


def _decks(incomplete: str) -> list[str]:
    return [name for name in DECKS if name.startswith(incomplete)]


Count = Annotated[int, typer.Option("--count", "-n", min=1, help="How many.")]


@with_options
def roll(
    dice: Annotated[str, typer.Argument(help="Such as 2d6, d20 or 2d6,1d20.")], how: How
) -> None:
    """Roll dice of any faces."""
    groups = asked.dice(dice)
    rules = DiceRules(groups=groups, sampler=Sampler(how.sampler))

    def told(faces: Sequence[int], drawn: Drawn | None) -> Answer:
        lines, rest = [], list(faces)
        for count, sides in groups:
            shown, rest = rest[:count], rest[count:]
            name = f"{count}d{sides}: " if len(groups) > 1 else ""
            total = f" = {sum(shown)}" if count > 1 else ""
            lines.append(f"{name}{' + '.join(map(str, shown))}{total}")
        return Answer("dice", faces, lines, {"total": sum(faces)}, drawn)

    _draw(how, rules, lambda draws, match: draws.roll_dice(match, how.id, groups), told)


@with_options
def pick(
    numbers: Annotated[str, typer.Argument(metavar="LOW-HIGH", help="Such as 1-100.")],
    how: How,
    count: Count = 1,
    distinct: Annotated[bool, typer.Option("--distinct", help="No number twice.")] = False,
) -> None:
    """Pick numbers, equal ones allowed unless --distinct is given."""
    low, bound = asked.number_range(numbers)
    sampler = Sampler(how.sampler)
    rules: DrawRules

    def told(result: Sequence[int], drawn: Drawn | None) -> Answer:
        return Answer("integers", result, [*map(str, result)], {}, drawn)

    def told_items(items: Sequence[int], drawn: Drawn | None) -> Answer:
        values = [low + item for item in items]
        # The record of a sample has items, counted from 0, and knows of no numbers.
        note = f"in the record item 0 stands for {low}, item 1 for {low + 1}, and so on"
        more = {"low": low}
        return Answer("sample", values, [*map(str, values)], more, drawn, note=note if low else "")

    if distinct:
        rules = SampleRules(n=bound, m=count, sampler=sampler)
        _draw(how, rules, lambda d, match: d.sample(match, how.id, count, size=bound), told_items)
        return
    rules = IntegersRules(bound=bound, count=count, low=low, sampler=sampler)
    _draw(
        how,
        rules,
        lambda d, match: d.draw_integers(match, how.id, bound=bound, low=low, count=count),
        told,
    )


@with_options
def order(
    how: How,
    items: Annotated[list[str] | None, typer.Argument(help="What is to be ordered.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="One item a line; - is standard input.")
    ] = None,
) -> None:
    """Put a list into an order, each of them equally likely."""
    if bool(items) == (file is not None):
        raise typer.BadParameter("give items, or --file, and not both")
    labels = items or asked.lines(file or asked.STANDARD_INPUT)
    named = labels_hash(labels, len(labels))
    rules = ItemsRules(n=len(labels), labels_hash=named, sampler=Sampler(how.sampler))

    def told(places: Sequence[int], drawn: Drawn | None) -> Answer:
        texts = [labels[place] for place in places]
        return Answer("order", texts, texts, {}, drawn)

    _draw(how, rules, lambda d, match: d.shuffle_items(match, how.id, labels=labels), told)


@with_options
def cards(
    how: How,
    count: Annotated[int, typer.Argument(min=1, help="How many.")] = 1,
    deck: Annotated[
        str, typer.Option(help="standard52, standard54 or short36.", autocompletion=_decks)
    ] = "standard52",
) -> None:
    """Draw cards from one whole deck, each at most once."""
    labels = [card_text(card) for card in Deck(deck).card_ids]
    rules = SampleRules(n=len(labels), m=count, sampler=Sampler(how.sampler))

    def told(places: Sequence[int], drawn: Drawn | None) -> Answer:
        texts = tuple(labels[place] for place in places)
        return Answer("cards", texts, [render_cards(texts)], {}, drawn)

    _draw(how, rules, lambda d, match: d.sample(match, how.id, count, labels=labels), told)


@with_options
def bag(
    tiles: Annotated[
        str,
        typer.Argument(
            help=f"{', '.join(PRESETS)}, or kinds such as red=3,blue=5.", autocompletion=_presets
        ),
    ],
    how: How,
    draw: Annotated[int, typer.Option("--draw", min=1, help="How many tiles.")] = 1,
    name: Annotated[str, typer.Option("--bag", help="Which bag of the match.")] = "main",
) -> None:
    """Draw tiles from a bag; with the same --match the next --id draws from what is left."""
    contents = asked.bag(tiles, list(PRESETS))
    preset = contents.preset
    labels = PRESETS[preset].labels if preset else tuple(label for label, _ in contents.tiles)
    counts = PRESETS[preset].counts if preset else tuple(count for _, count in contents.tiles)
    rules = BagRules(
        bag=name,
        counts=counts,
        m=draw,
        tiles=preset or custom_tiles(labels),
        sampler=Sampler(how.sampler),
    )

    def told(kinds: Sequence[int], drawn: Drawn | None) -> Answer:
        texts = [labels[kind] for kind in kinds]
        left = drawn.left if drawn else sum(counts) - draw
        return Answer("bag", texts, [" ".join(texts)], {"left": left}, drawn)

    def ask(draws: Draws, match: str) -> Drawn:
        return draws.draw_from_bag(match, how.id, name, draw, preset=preset, tiles=contents.tiles)

    # What a bag of a match holds by now only the daemon knows: these are the rules of its first
    # draw, and whatever they refuse no later one may ask for either.
    _draw(how, rules, ask, told)


@with_options
def flip(how: How, count: Count = 1) -> None:
    """Flip coins: 0 is heads, 1 is tails."""
    rules = IntegersRules(bound=len(SIDES), count=count, sampler=Sampler(how.sampler))

    def told(result: Sequence[int], drawn: Drawn | None) -> Answer:
        sides = [SIDES[side] for side in result]
        return Answer("flip", sides, sides, {}, drawn)

    _draw(
        how,
        rules,
        lambda d, match: d.draw_integers(match, how.id, bound=len(SIDES), count=count),
        told,
    )


def _draw(how: How, rules: DrawRules, ask: Callable[[Draws, str], Drawn], told: _Told) -> None:
    """Draw here or ask, tell, and save the proof where it was asked for."""
    if how.local:
        tell(told(draw_here(rules), None), how.form)
        return
    with how.naming() as match, how.connect() as client:
        draws = client.draws(sampler=how.sampler, large=how.large, timeout_s=how.timeout)
        drawn = ask(draws, match)
        tell(told(drawn.result, drawn), how.form)
        if how.save is not None:
            save(how.save, draw_proof(draws.replay_match(match, openings=True), how.id))
