"""The figures of docs/why-fair.md, drawn from the exact counts.

The same SVG comes out each time: no date, fixed ids, letters as outlines of matplotlib's own font.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations
from math import factorial, log2
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.lesson.cases import CARDS, SORTS, SUBTLE, WAYS, place_samples
from bench.lesson.exact import explore, order_counts, paths, place_counts
from bench.lesson.poker1999 import CLOCK_SEEDS, SYNCHRONISED_SEEDS
from bench.lesson.row import count_text
from bench.lesson.ways import BYTE, planet_poker, swap_with_anything
from entropyd.draw.keystream import SEED_BYTES
from entropyd.entropy.policy import HARDWARE_BITS

GOOD, BAD, MIDDLE, LINE = "#2a7f62", "#c0502e", "#8a8f98", "#22262b"


def draw_all(directory: Path) -> list[Path]:
    """Write every figure into a directory and return where they are."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    with mpl.rc_context(
        {
            "svg.hashsalt": "entropyd",
            "svg.fonttype": "path",
            "font.family": "DejaVu Sans",
            "font.size": 10.0,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": LINE,
            "axes.titlesize": 11.0,
            "axes.titlelocation": "left",
            "legend.frameon": False,
        }
    ):
        for name, draw in FIGURES.items():
            figure = draw()
            path = directory / name
            figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
            plt.close(figure)
            written.append(path)
    return written


def remainder_figure() -> Figure:
    """Draw in how many bytes each number from 1 to 100 is met: by remainder, by rejection."""
    figure, axes = _figure(2, height=2.6)
    bound = 100
    share, more = divmod(BYTE, bound)
    # Two wide bars, since a hundred narrow ones show seams.
    axes[0].bar(0.5, share + 1, more, align="edge", color=BAD)
    axes[0].bar(more + 0.5, share, bound - more, align="edge", color=MIDDLE)
    axes[0].set_title(f"Remainder: {BYTE} bytes shared by {bound} numbers")
    axes[1].bar(0.5, share, bound, align="edge", color=GOOD)
    axes[1].set_title(f"Rejection: the last {more} bytes are drawn again")
    for ax in axes:
        ax.set(xlabel="number", ylabel="bytes that give it", ylim=(0, 3.4), yticks=[0, 1, 2, 3])
    return figure


def swap_figure() -> Figure:
    """Draw in how many paths each order of four items comes, by two bad ways."""
    figure, axes = _figure(2, height=2.9)
    size = 4
    names = ["".join("ABCD"[item] for item in items) for items in permutations(range(size))]
    for ax, way, title in (
        (axes[0], swap_with_anything, "Swap with anything"),
        (axes[1], planet_poker, "Online poker, 1999"),
    ):
        steps = way(size)
        counts = order_counts(size, steps)
        heights = [counts[items] for items in permutations(range(size))]
        fair = paths(steps) / factorial(size)
        ax.bar(names, heights, color=[BAD if count > fair else MIDDLE for count in heights])
        ax.axhline(fair, color=GOOD, linewidth=1.6, label="what would be fair")
        ax.set(title=f"{title}: {paths(steps)} paths", ylabel="paths to the order", xmargin=0.02)
        ax.set_ylim(0, max(heights) * 1.25)
        ax.tick_params(axis="x", rotation=90, labelsize=8)
        ax.legend(loc="upper right")
    return figure


def sort_figure() -> Figure:
    """Draw how often each order of three items comes from sorts that toss a coin."""
    figure, axes = _figure(2, height=2.4)
    size = 3
    names = ["".join("ABC"[item] for item in items) for items in permutations(range(size))]
    for ax, (title, sort) in zip(axes, SORTS.items(), strict=True):
        shares = explore(partial(sort, size))
        heights = [shares.get(items, Fraction(0)) for items in permutations(range(size))]
        fair = Fraction(1, factorial(size))
        colors = [BAD if share > fair else MIDDLE for share in heights]
        ax.bar(names, [float(share) for share in heights], color=colors, width=0.7)
        for place, share in enumerate(heights):
            ax.text(place, float(share) + 0.006, str(share), ha="center", fontsize=9)
        ax.axhline(float(fair), color=GOOD, linewidth=1.6, label=f"fair: {fair}")
        ax.set(title=title.capitalize(), ylabel="probability", ylim=(0, 0.36))
        ax.legend(loc="upper right")
    return figure


def places_figure() -> Figure:
    """Draw how likely each card is at each place of a deck, beside 1 in 52."""
    shown = ("swap with anything", "online poker, 1999", "remainder of a byte")
    figure, axes = _figure(len(shown), height=3.0, sharey=True)
    image = None
    for ax, name in zip(axes, shown, strict=True):
        image = ax.imshow(
            place_ratios(name), cmap="RdBu_r", vmin=0.7, vmax=1.3, extent=(0.5, 52.5, 52.5, 0.5),
            interpolation="none",
        )  # fmt: skip
        ax.set(title=name.capitalize(), xlabel="place in the deck", xticks=[1, 13, 26, 39, 52])
        ax.set_yticks([1, 13, 26, 39, 52])
    axes[0].set_ylabel("place before the shuffle")
    assert image is not None
    bar = figure.colorbar(image, ax=list(axes), shrink=0.75, extend="both")
    bar.set_label("times as likely as it should be")
    return figure


def place_ratios(name: str) -> list[list[float]]:
    """Return, for each card and place, how many times as likely as 1 in 52 it is."""
    steps = WAYS[name](CARDS)
    total = paths(steps)
    return [
        [float(Fraction(CARDS * count, total)) for count in row]
        for row in place_counts(CARDS, steps)
    ]


def needed_figure() -> Figure:
    """Draw how many decks it takes to see each bad way."""
    figure, [ax] = _figure(1, height=2.5)
    ways = WAYS | SUBTLE
    needed = sorted(((place_samples(way), name) for name, way in ways.items()), reverse=True)
    ax.barh([name for _, name in needed], [decks for decks, _ in needed], color=BAD, height=0.6)
    for place, (decks, _) in enumerate(needed):
        ax.text(decks * 1.3, place, count_text(decks), va="center", fontsize=9)
    ax.set_xscale("log")
    ax.set(xlim=(100, 1e22), xlabel="decks until the card-position test sees it")
    ax.set_title("How many decks show a bias")
    return figure


def seeds_figure() -> Figure:
    """Draw how many decks there are, and how many of them a seed can reach."""
    figure, [ax] = _figure(1, height=2.7)
    rows = [
        ("1999, clock known to 100 s", log2(SYNCHRONISED_SEEDS), BAD),
        ("milliseconds of a day", log2(CLOCK_SEEDS), BAD),
        ("a seed of 32 bits", 32.0, BAD),
        ("all decks of 52 cards", log2(factorial(CARDS)), LINE),
        ("what opens our gate, at least", float(HARDWARE_BITS), GOOD),
        ("a seed of ours", 8.0 * SEED_BYTES, GOOD),
    ][::-1]
    ax.barh(
        [name for name, _, _ in rows],
        [bits for _, bits, _ in rows],
        color=[color for _, _, color in rows],
        height=0.6,
    )
    for place, (_, bits, _) in enumerate(rows):
        ax.text(bits + 5, place, f"{bits:.1f}" if bits % 1 else f"{bits:.0f}", va="center")
    ax.set(xlim=(0, 560), xlabel="bits: each one more doubles the number")
    ax.set_title("Seeds, and the decks that there are")
    return figure


def _figure(columns: int, *, height: float, sharey: bool = False) -> tuple[Figure, Sequence[Axes]]:
    figure, axes = plt.subplots(
        1, columns, figsize=(9, height), layout="constrained", squeeze=False, sharey=sharey
    )
    return figure, list(np.ravel(axes))


FIGURES: dict[str, Callable[[], Figure]] = {
    "fair-remainder.svg": remainder_figure,
    "fair-swap.svg": swap_figure,
    "fair-sort.svg": sort_figure,
    "fair-places.svg": places_figure,
    "fair-needed.svg": needed_figure,
    "fair-seeds.svg": seeds_figure,
}
