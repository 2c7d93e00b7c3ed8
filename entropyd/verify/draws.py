"""The check of a draw, and of all draws of a match.

Spec: docs/protocol.md, "What a full check of a draw takes".
"""

from collections.abc import Sequence

from entropyd.errors import ProofMismatchError, RequestError
from entropyd.games.bags import CUSTOM, BagRules, BagState, after_draw, custom_tiles
from entropyd.games.draw_kind import DrawRules
from entropyd.games.draw_rules import ItemsRules, SampleRules
from entropyd.games.labels import labels_hash
from entropyd.games.presets import PRESETS
from entropyd.games.raffle import RaffleRules
from entropyd.verify import draw_causes
from entropyd.verify.compare import hex_difference
from entropyd.verify.document import MAX_INTEGER
from entropyd.verify.fields import Fields
from entropyd.verify.presented import PresentedDraw, first_other, read_draw, read_rules
from entropyd.verify.report import (
    DRAWN_ONCE,
    ITS_NUMBER,
    ONE_SEED,
    SEED_ORIGIN,
    WHOLE_LOG,
    Kind,
    Report,
)

# As many as fit a line of a terminal.
_TOLD_AT_MOST = 12

CHECKED = (
    "commitment C: ids, rules and seeds are those that were committed to",
    "the result, number by number, from the seeds",
    "result root D: the result is the one that was recorded",
)
_LABELS = "the labels are those that the rules name"


def check_draw(fields: Fields) -> Report:
    """Check one draw of a match.

    Args:
        fields: a draw file.

    Raises:
        ProofMalformedError: the file has a form that no draw has.
        ProofMismatchError: something does not follow; names what, and the usual cause.
    """
    tenant, match = fields.id("tenant"), fields.id("match")
    presented, labels = _read(fields, tenant, match)
    number = fields.number("number", 1, MAX_INTEGER)
    fields.finish()
    recompute(presented)
    return Report(
        kind=Kind.DRAW,
        subject=f"draw {presented.draw}, number {number}, of match {match}",
        result=told(presented.result, labels),
        checked=(*CHECKED, _LABELS) if labels else CHECKED,
        not_checked=(*not_checked(presented.rules), ITS_NUMBER),
    )


def check_match(fields: Fields) -> Report:
    """Check all draws of a match: each of them, their numbers, and what its bags held.

    Args:
        fields: a match file.

    Raises:
        As `check_draw`.
    """
    tenant, match = fields.id("tenant"), fields.id("match")
    draws = fields.nested_list("draws")
    fields.finish()
    if not draws:
        fields.refuse("draws", "are none; there is nothing to check")
    seen: set[str] = set()
    bags: dict[str, BagState] = {}
    computational = False
    for number, one in enumerate(draws, 1):
        presented, _ = _read(one, tenant, match)
        _check_number(one, number, presented.draw, seen)
        one.finish()
        recompute(presented)
        _check_bag(one, presented, bags)
        computational |= presented.rules.computational
    return _match_report(match, len(draws), bags, computational=computational)


def recompute(presented: PresentedDraw) -> None:
    """Check that C, the result and D follow.

    Raises:
        ProofMismatchError: one does not; names the first, and the usual cause.
    """
    computed = presented.computed()
    other = first_other(presented, computed.result)
    if not presented.commitment_fits():
        raise ProofMismatchError(
            hex_difference(computed.commitment, presented.commitment),
            field=presented.at("commitment"),
            causes=draw_causes.of_commitment(presented, draws_result=other is None),
        )
    if other is not None:
        other.causes = draw_causes.of_result(presented)
        raise other
    if not presented.root_fits():
        raise ProofMismatchError(
            hex_difference(computed.result_root, presented.result_root),
            field=presented.at("result_root"),
            causes=draw_causes.of_root(presented),
        )


def not_checked(rules: DrawRules) -> tuple[str, ...]:
    """Return what no check of a draw under these rules can show."""
    return (DRAWN_ONCE, SEED_ORIGIN, ONE_SEED) if rules.computational else (DRAWN_ONCE, SEED_ORIGIN)


def told(result: Sequence[int], labels: Sequence[str]) -> str:
    """Return the beginning of a result as people read it."""
    texts = [labels[item] if labels else str(item) for item in result[:_TOLD_AT_MOST]]
    more = len(result) - len(texts)
    return " ".join(texts) + (f" ... ({more} more)" if more else "")


def _read(fields: Fields, tenant: str, match: str) -> tuple[PresentedDraw, Sequence[str]]:
    rules = read_rules(fields)
    if isinstance(rules, RaffleRules):
        fields.refuse("rules", "are of a raffle, which is checked with its entries: raffle/v1")
    draw_id = fields.id("draw")
    presented = read_draw(fields, rules, tenant=tenant, match=match, draw_id=draw_id)
    return presented, _labels(fields, rules)


def _labels(fields: Fields, rules: DrawRules) -> Sequence[str]:
    """Return the labels, checked against the rules; none where the rules have none."""
    try:
        if isinstance(rules, BagRules):
            return _tiles(fields, rules)
        if isinstance(rules, (ItemsRules, SampleRules)) and rules.labels_hash:
            labels = fields.texts("labels")
            _require(fields.at("labels"), labels_hash(labels, rules.n), rules.labels_hash)
            return labels
    except RequestError as error:
        raise fields.refused(error) from error
    return ()


def _tiles(fields: Fields, rules: BagRules) -> Sequence[str]:
    """Return what stands on each kind; a preset's may be left out."""
    if not rules.tiles.startswith(CUSTOM):
        labels = PRESETS[rules.tiles].labels
        if fields.has("tiles") and fields.texts("tiles") != labels:
            fields.refuse("tiles", f"are not those of {rules.tiles}")
        return labels
    labels = fields.texts("tiles")
    if len(labels) != len(rules.counts):
        fields.refuse("tiles", f"are {len(labels)}; the rules count {len(rules.counts)} kinds")
    _require(fields.at("tiles"), custom_tiles(labels, field="tiles").encode(), rules.tiles.encode())
    return labels


def _require(path: str, computed: bytes, said: bytes) -> None:
    if computed != said:
        raise ProofMismatchError(
            "are not those that the rules name by their hash",
            field=path,
            causes=("a label has another spelling, white space at an end, or another place",),
        )


def _check_number(fields: Fields, number: int, draw_id: str, seen: set[str]) -> None:
    said = fields.number("number", 1, MAX_INTEGER)
    if said != number:
        raise ProofMismatchError(
            f"is {said}; expected {number}",
            field=fields.at("number"),
            causes=("a draw of the match is left out, or they stand in another order",),
        )
    if draw_id in seen:
        raise ProofMismatchError("stands twice in this match", field=fields.at("draw"))
    seen.add(draw_id)


def _check_bag(fields: Fields, presented: PresentedDraw, bags: dict[str, BagState]) -> None:
    rules = presented.rules
    if not isinstance(rules, BagRules):
        return
    try:
        bags[rules.bag] = after_draw(bags.get(rules.bag), rules, presented.result)
    except RequestError as error:
        raise ProofMismatchError(
            str(error),
            field=fields.at("rules"),
            causes=("a draw of the match is left out, or the bag was filled again",),
        ) from error


def _match_report(
    match: str, draws: int, bags: dict[str, BagState], *, computational: bool
) -> Report:
    checked = [*CHECKED, f"draws are numbered 1 to {draws}, each id once"]
    checked += [
        f"bag {name}: every draw from it follows from what was left; {sum(state.left)} tiles are in"
        for name, state in bags.items()
    ]
    once = [DRAWN_ONCE, SEED_ORIGIN, WHOLE_LOG]
    return Report(
        kind=Kind.MATCH,
        subject=f"match {match}, {draws} draws",
        result="",
        checked=tuple(checked),
        not_checked=(*once, ONE_SEED) if computational else tuple(once),
    )
