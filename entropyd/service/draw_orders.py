"""From rules to an order for the dealer: how many seeds, where it is computed, what is recorded.

Both kinds of draws that services ask for come this way: those of matches and
those of raffles.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from entropyd.errors import RequestError
from entropyd.games.bags import BagRules, after_draw
from entropyd.games.draw_kind import DrawRules
from entropyd.games.draws import Outcome, binding_of, draw
from entropyd.ledger.packed import pack_texts
from entropyd.ledger.subjects import StepDraft, SubjectKind
from entropyd.rbg.construction import DrawSeeds
from entropyd.runtime.orders import StepOrder
from entropyd.service.draw_entries import with_draw_entry
from entropyd.service.draw_records import DRAW_STEP, Bag, DrawRecord, MatchState
from entropyd.service.draw_wishes import Prepared, Wish
from entropyd.v1 import draw_service_pb2 as pb

# So many numbers are drawn in 5 ms; what takes longer is computed on another thread.
HEAVY_NUMBERS = 2000


@dataclass(frozen=True, slots=True)
class Settled:
    """Rules that say how many seeds the draw is made from.

    Attributes:
        rules: the rules.
        seeds: how many.
        gathers: whether they come in parts.
    """

    rules: DrawRules
    seeds: int
    gathers: bool


def settle(rules: DrawRules, large: "pb.Large.ValueType", large_seeds: int) -> Settled:
    """Return how a draw is made.

    Args:
        rules: of the draw, as if all of its seeds were waited for.
        large: what the caller says is to be done with a large one.
        large_seeds: a draw of more seeds is large.

    Raises:
        RequestError: it is large and the caller says nothing; names `large`.
    """
    seeds = rules.seeds_needed()
    if seeds <= large_seeds:
        return Settled(rules, seeds, gathers=False)
    if large == pb.LARGE_WAIT:
        return Settled(rules, seeds, gathers=True)
    if large == pb.LARGE_COMPUTATIONAL:
        return Settled(replace(rules, computational=True), 1, gathers=False)
    raise RequestError(
        "large",
        f"is not said, and the draw takes {seeds} seeds, more than the {large_seeds} of"
        " draws.large_seeds; expected LARGE_WAIT, to wait for all of them, or LARGE_COMPUTATIONAL,"
        " to draw from one seed, which the rules then say",
    )


def is_heavy(rules: DrawRules) -> bool:
    """Return whether computing a draw, or counting its seeds, would keep others waiting."""
    return len(rules.bounds()) > HEAVY_NUMBERS


def match_order(
    wish: Wish, prepared: Prepared, settled: Settled, match: MatchState, log: str
) -> StepOrder:
    """Return the order of a draw of a match, as the match stands now; `log` is an origin."""
    binding = binding_of(settled.rules, wish.tenant, wish.match, wish.draw)
    return StepOrder(
        tenant=wish.tenant,
        place=wish.match,
        key=wish.key,
        binding=binding,
        seeds=settled.seeds,
        make=partial(
            _match_steps, log, wish, replace(prepared, rules=settled.rules), match, binding
        ),
        heavy=is_heavy(settled.rules),
        gathers=settled.gathers,
    )


def record_of(
    prepared: Prepared, outcome: Outcome, seeds: DrawSeeds, provenance: bytes
) -> DrawRecord:
    """Return what is kept of a draw that neither takes from a bag nor puts back."""
    return DrawRecord(
        rules=prepared.rules,
        commitment=outcome.commitment,
        result_root=outcome.result_root,
        provenance=provenance,
        result=outcome.encoded_result,
        packed_labels=pack_texts(prepared.labels),
        returns=(),
        left=0,
        seeds=seeds.seeds,
        blinding=seeds.blinding,
        salt_key=seeds.salt_key,
    )


def drawn_outcome(rules: DrawRules, binding: bytes, seeds: DrawSeeds) -> Outcome:
    """Draw."""
    return draw(
        rules,
        binding,
        seeds=seeds.seeds,
        blinding=seeds.blinding,
        salt_key=seeds.salt_key,
    )


def _match_steps(  # noqa: PLR0917  the first five are bound where the order is made
    log: str,
    wish: Wish,
    prepared: Prepared,
    match: MatchState,
    binding: bytes,
    seeds: DrawSeeds,
    provenance: bytes,
    drawn_at_ns: int,
) -> Sequence[StepDraft]:
    rules = prepared.rules
    outcome = drawn_outcome(rules, binding, seeds)
    record = record_of(prepared, outcome, seeds, provenance)
    after, expected = match, None
    if isinstance(rules, BagRules) or not match.steps:
        # What changes the match is drawn alone: its snapshot is the last one.
        expected = match.steps
    if isinstance(rules, BagRules):
        before = match.bags.get(rules.bag)
        state = after_draw(None if before is None else before.state, rules, outcome.result)
        after = replace(match, bags={**match.bags, rules.bag: Bag(state, prepared.labels)})
        record = replace(record, returns=wish.returns, left=sum(state.left))
    draft = StepDraft(
        kind=SubjectKind.MATCH,
        tenant=wish.tenant,
        name=wish.match,
        expected=expected,
        step=DRAW_STEP,
        key=wish.draw,
        public=record.public,
        secret=record.secret,
        state=after.claim_digest,
        state_secret=after.secret,
        label="",
        at_ns=drawn_at_ns,
    )
    return [with_draw_entry(draft, record, log)]
