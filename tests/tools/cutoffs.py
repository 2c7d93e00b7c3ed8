"""Recompute every cutoff on file by a method of its own; with `--check`, fail on a difference.

Shares nothing with entropyd/entropy/cutoffs.py: integers instead of decimals,
the binomial distribution summed from below instead of from above. p = 2**-H
is enclosed between two multiples of 2**-64, the distribution of each is
summed exactly, and both must agree on the cutoff, for the true tail lies
between theirs.
"""

import csv
import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

VECTORS = Path(__file__).parents[1] / "vectors" / "sp800_90b"
SCALE_BITS = 64


def below(min_entropy: Fraction) -> int:
    """Return the largest a with a / 2**64 <= 2**-H, by bisection in integers."""
    low, high = 0, 1 << SCALE_BITS
    bound = 1 << (SCALE_BITS * min_entropy.denominator)
    while high - low > 1:
        middle = (low + high) // 2
        if middle**min_entropy.denominator << min_entropy.numerator <= bound:
            low = middle
        else:
            high = middle
    return low


def weights(trials: int, a: int) -> Iterator[int]:
    """Yield P(X = k) * 2**(64 * trials) for k = 0, 1, ..., X binomial(trials, a / 2**64)."""
    b = (1 << SCALE_BITS) - a
    weight = b**trials
    for k in range(trials + 1):
        yield weight
        # C(n,k+1) a**(k+1) b**(n-k-1) from C(n,k) a**k b**(n-k); the quotient is an integer.
        weight = weight * a * (trials - k) // (b * (k + 1))


def critbinoms(trials: int, a: int, alphas_log2: list[int]) -> list[int]:
    """Return the smallest k with P(X > k) <= alpha for each alpha, the largest alpha first."""
    whole = 1 << (SCALE_BITS * trials)
    above = whole
    found: list[int] = []
    for k, weight in enumerate(weights(trials, a)):
        above -= weight
        while len(found) < len(alphas_log2) and above << -alphas_log2[len(found)] <= whole:
            found.append(k)
        if len(found) == len(alphas_log2):
            break
    return found


def enclosed_critbinoms(trials: int, min_entropy: Fraction, alphas_log2: list[int]) -> list[int]:
    """Return the cutoffs of both ends of the enclosure, which must agree."""
    a = below(min_entropy)
    found = critbinoms(trials, a, alphas_log2)
    if critbinoms(trials, a + 1, alphas_log2) != found:
        raise SystemExit(f"H {min_entropy}, {trials} trials: 64 bits do not decide the cutoff")
    return found


def repetition(min_entropy: Fraction, alpha_log2: int) -> int:
    """Return the smallest C with 2**(-H * (C - 1)) <= alpha, by counting up."""
    count = 1
    while min_entropy * (count - 1) < -alpha_log2:
        count += 1
    return count


def differences_from_table() -> Iterator[str]:
    """Compare health_cutoffs.csv, every row and column, one distribution for its three alphas."""
    groups: dict[tuple[Fraction, int], list[dict[str, str]]] = {}
    with (VECTORS / "health_cutoffs.csv").open() as lines:
        for row in csv.DictReader(lines):
            groups.setdefault((Fraction(row["H"]), int(row["window"])), []).append(row)
    for (min_entropy, window), rows in groups.items():
        rows.sort(key=lambda row: int(row["neg_log2_alpha"]))
        alphas = [-int(row["neg_log2_alpha"]) for row in rows]
        printed = enclosed_critbinoms(window, min_entropy, alphas)
        corrected = enclosed_critbinoms(window - 1, min_entropy, alphas)
        for row, alpha, p, c in zip(rows, alphas, printed, corrected, strict=True):
            ours = (repetition(min_entropy, alpha), p + 1, c + 2)
            columns = ("rct_cutoff", "apt_cutoff_spec", "apt_cutoff_corrected")
            if ours != tuple(int(row[column]) for column in columns):
                yield f"health_cutoffs.csv: H {row['H']}, alpha 2**{alpha}, window {window}: {ours}"


def differences_from_published() -> Iterator[str]:
    """Compare published_cutoffs.json, each constant by the formula it was made with."""
    for entry in json.loads((VECTORS / "published_cutoffs.json").read_text()):
        min_entropy, window = Fraction(entry["H"]), entry["window"]
        alpha = -entry["neg_log2_alpha"]
        if entry["published_apt_formula"].startswith("1+"):
            apt = 1 + enclosed_critbinoms(window, min_entropy, [alpha])[0]
        else:
            apt = min(window, 2 + enclosed_critbinoms(window - 1, min_entropy, [alpha])[0])
        rct = repetition(min_entropy, alpha)
        if entry["published_apt"] != apt or entry["published_rct"] not in {None, rct}:
            yield f"published_cutoffs.json: {entry['source']}, H {min_entropy}: {rct}, {apt}"


def main() -> int:
    """Print what differs; 0 if nothing does, 1 if something does, 2 if asked for nothing."""
    if sys.argv[1:] != ["--check"]:
        print("usage: cutoffs.py --check", file=sys.stderr)
        return 2
    different = [*differences_from_table(), *differences_from_published()]
    print("\n".join(different) or "cutoffs: every tabulated and published cutoff is confirmed")
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main())
