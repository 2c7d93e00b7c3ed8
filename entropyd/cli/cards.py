"""Cards for a terminal."""

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from entropyd.client import Deal

SUITS = {"c": ("♣", "green"), "d": ("♦", "blue"), "h": ("♥", "red"), "s": ("♠", "bold")}
CARDS_A_LINE = 13


def render_card(card: str) -> Text:
    """Return "As" as a spade ace in colour; jokers as they are."""
    symbol, style = SUITS.get(card[1], (card[1], "magenta"))
    return Text(card[0] + symbol, style=style)


def render_cards(cards: tuple[str, ...]) -> Text:
    """Return the cards in dealing order, thirteen a line."""
    text = Text()
    for place, card in enumerate(cards):
        if place:
            text.append("\n" if place % CARDS_A_LINE == 0 else " ")
        text.append_text(render_card(card))
    return text


def render_deal(deal: Deal) -> RenderableType:
    """Return a whole deal: cards, what binds them, and where the bits came from."""
    origin = "from the ledger" if deal.replayed else "drawn now"
    head = Text.from_markup(
        f"[bold]{escape(deal.table)}[/] hand [bold]{escape(deal.hand)}[/]"
        f"  number {deal.sequence} at its table, {origin}"
    )
    parts: list[RenderableType] = [head, render_cards(deal.cards), _sources(deal)]
    if deal.mock:
        parts.append(Text("mock: a source is an emulator or a recording, not for play", "yellow"))
    if deal.degraded:
        parts.append(Text("degraded: a source was not healthy, or users were waived", "yellow"))
    parts.append(Text(f"O {deal.open_hash.hex()}", style="dim"))
    return Group(*parts)


def _sources(deal: Deal) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("used as", "source", "kind", "serial", "samples", "bits", "age", "health"):
        table.add_column(heading, no_wrap=True)
    for use in deal.sources:
        table.add_row(
            use.use,
            escape(use.source),
            use.kind,
            escape(use.serial),
            str(use.samples),
            str(use.credited_bits),
            f"{use.age_s * 1000:.0f} ms",
            use.health,
        )
    return table
