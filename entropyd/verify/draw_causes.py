"""Why a draw does not fit: which of its parts agree with each other, and what was mixed up.

C binds ids, rules, seeds and r; D binds ids, rules, K and the result; seeds, ids
and rules draw the result. Where two of the three still fit, what only the third
holds is what was changed.
"""

from collections.abc import Iterator
from dataclasses import replace

from entropyd.draw.samplers import WORDS, Sampler
from entropyd.errors import RequestError
from entropyd.games.draw_kind import DrawRules
from entropyd.verify.presented import PresentedDraw


def of_commitment(presented: PresentedDraw, *, draws_result: bool) -> tuple[str, ...]:
    """Return what explains that C does not fit.

    Args:
        presented: the draw.
        draws_result: whether its seeds draw its result.
    """
    found = [cause for tried, cause in _tries(presented) if tried.commitment_fits()]
    if found:
        return tuple(found)
    if draws_result and presented.root_fits():
        return ("all else fits: the commitment or the blinding is another draw's, or was changed",)
    if draws_result:
        return ("the seeds draw this result: commitment or blinding was changed, and more",)
    if presented.root_fits():
        return ("ids, rules and result fit result_root: seeds or blinding are another draw's",)
    return ("neither result nor result_root fits either: ids or rules are not those of the draw",)


def of_result(presented: PresentedDraw) -> tuple[str, ...]:
    """Return what explains a result that the committed seeds do not draw."""
    if presented.root_fits():
        return (
            "result_root is of the result shown: a result was recorded that its seeds do not draw",
        )
    return ("the commitment fits: ids, rules and seeds are right, and the result was changed",)


def of_root(presented: PresentedDraw) -> tuple[str, ...]:
    """Return what explains that D does not fit although everything else does."""
    if presented.changed(salt_key=presented.blinding).root_fits():
        return ("the salt key holds the blinding, and fits",)
    return ("all else fits: result_root or salt_key was changed",)


def _tries(presented: PresentedDraw) -> Iterator[tuple[PresentedDraw, str]]:
    """Yield the draw without each mistake that people make, and the mistake's name."""
    yield (
        presented.changed(blinding=presented.salt_key, salt_key=presented.blinding),
        "blinding and salt_key were exchanged",
    )
    yield (
        presented.changed(commitment=presented.result_root, result_root=presented.commitment),
        "commitment and result_root were exchanged",
    )
    yield (
        presented.changed(match=presented.draw, draw=presented.match),
        "match and draw were exchanged",
    )
    if len(presented.seeds) > 1:
        yield (
            presented.changed(seeds=presented.seeds[::-1]),
            "the seeds stand in the opposite order",
        )
    yield from _other_ids(presented)
    other = _other_sampler(presented.rules)
    if other is not None:
        yield presented.changed(rules=other), f"it was drawn under sampler={other.sampler}"


def _other_ids(presented: PresentedDraw) -> Iterator[tuple[PresentedDraw, str]]:
    for name in ("tenant", "match", "draw"):
        text = getattr(presented, name)
        for other, how in ((text.lower(), "lower case"), (text.upper(), "upper case")):
            if other != text:
                yield presented.changed(**{name: other}), f"{name} is in {how} in the draw"


def _other_sampler(rules: DrawRules) -> DrawRules | None:
    other = Sampler.WORD32 if rules.sampler is Sampler.MASKED else Sampler.MASKED
    if other is Sampler.WORD32 and max(rules.bounds(), default=1) > WORDS:
        return None
    try:
        return replace(rules, sampler=other)
    except RequestError:
        return None
