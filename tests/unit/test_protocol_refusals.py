"""docs/vectors/encodings.json and refusals.json, in production and in the naive reference."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from entropyd.draw.samplers import MAX_REJECTIONS, SAMPLERS, Sampler
from entropyd.draw.segments import split
from entropyd.draw.shuffle import draw_values
from entropyd.entropy.user_data import from_events
from entropyd.errors import InternalError, RequestError
from entropyd.hands import rules
from entropyd.hands.binding import draw_binding, hand_binding
from entropyd.hands.claim import claim_digest, derive_claim
from entropyd.hands.commitment import seats_root
from entropyd.hands.cut import contribution_leaf
from entropyd.rbg.conditioning import EntropyClass, condition
from entropyd.rbg.construction import SeedConstruction
from tests.reference import naive
from tests.reference.bits import Values
from tests.reference.refusals import inputs_of, refuse

VECTORS = Path(__file__).parents[2] / "docs/vectors"
ENCODINGS = json.loads((VECTORS / "encodings.json").read_text("utf-8"))
REFUSED = json.loads((VECTORS / "refusals.json").read_text("utf-8"))["refused"]
RULES = json.loads((VECTORS / "rules.json").read_text("utf-8"))
TRIES = json.loads((VECTORS / "draws.json").read_text("utf-8"))["tries"]
unhex = bytes.fromhex


def label(case):
    return case["label"]


def reason(case):
    return case["reason"]


def unhexed(mapping):
    return {name: unhex(value) for name, value in mapping.items()}


# --- encodings.json ----------------------------------------------------------


@pytest.mark.parametrize("case", ENCODINGS["draws"], ids=label)
def test_bindings_of_draws(case):
    """X of a draw that is no hand, under rules that are no hand's."""
    digest = rules.rules_hash(case["rules"].encode("ascii"))
    assert case["rules_hash"] == digest.hex()
    assert case["X"] == draw_binding(case["tenant"], case["match"], case["draw"], digest).hex()


@pytest.mark.parametrize("case", ENCODINGS["events"], ids=label)
def test_samples_of_events(case):
    """Sixteen bytes an event, in order."""
    events = [(x, y, int(t)) for x, y, t in case["events"]]
    assert case["samples"] == from_events(events).samples.hex()


@pytest.mark.parametrize("case", ENCODINGS["claims"], ids=label)
def test_claims(case):
    """From keys of every length, for every place."""
    derived = derive_claim(unhex(case["claim_key"]), case["table"], case["hand"], case["place"])
    assert case["claim"] == derived.hex()
    assert case["claim_digest"] == claim_digest(unhex(case["X"]), derived).hex()


# --- Tries -------------------------------------------------------------------


@pytest.mark.parametrize("case", TRIES, ids=label)
def test_tries(case):
    """A draw takes 128 tries and not one more."""
    bits = Values(*case["values"])
    below = SAMPLERS[Sampler(case["sampler"])]
    if case["result"] is None:
        with pytest.raises(InternalError, match=f"{MAX_REJECTIONS} tries"):
            below(bits, case["bound"])
    else:
        assert case["result"] == below(bits, case["bound"])
    assert bits.values == []


# --- refusals.json, rules.json -----------------------------------------------


@pytest.mark.parametrize("case", REFUSED, ids=reason)
def test_the_naive_reference_refuses(case):
    """It names the field."""
    assert case["field"] == refuse(case)


@pytest.mark.parametrize("case", RULES["refused"], ids=reason)
def test_the_naive_reference_refuses_rules(case):
    """It names the line, and accepts what is accepted."""
    with pytest.raises(naive.Refused) as refused:
        naive.hand_rules(unhex(case["rules_hex"]))
    assert case["field"] == refused.value.field


@pytest.mark.parametrize("case", RULES["accepted"], ids=lambda case: case["rules_hash"][:8])
def test_the_naive_reference_accepts_rules(case):
    """With their number of items."""
    _, _, n = naive.hand_rules(case["rules"].encode("ascii"))
    assert case["n"] == n


def make_hand(tenant, table, hand, **given):
    encoded = given["rules"].encode("ascii")
    rules.decode(encoded)
    return hand_binding(tenant, table, hand, rules.rules_hash(encoded))


def make_draw(tenant, match, draw, **given):
    return draw_binding(tenant, match, draw, rules.rules_hash(given["rules"].encode("ascii")))


def make_list(sampler, bounds):
    segments = split([int(bound) for bound in bounds])
    return list(draw_values(segments, [bytes(64)] * len(segments), b"", Sampler(sampler)))


def make_contributions(contributions, **given):
    return [
        contribution_leaf(unhex(given["O"]), c["seat"], unhex(c["value"])) for c in contributions
    ]


MAKE: dict[str, Callable[..., object]] = {
    "hand": make_hand,
    "draw": make_draw,
    "events": lambda events: from_events([(x, y, int(t)) for x, y, t in events]),
    "instantiate": SeedConstruction,
    "seats": lambda seats: seats_root(unhexed(seats)),
    "contributions": make_contributions,
    "claim": lambda claim_key, **given: derive_claim(unhex(claim_key), **given),
    "claim_digest": lambda **given: claim_digest(unhex(given["X"]), unhex(given["claim"])),
}
# Refused elsewhere than by the functions above: `+` in an origin by the configuration, rules of
# other draws and who may contribute by nothing yet, because no call takes either.
ELSEWHERE = {
    "an origin with a +",
    "rules without a line",
    "contributions of a seat that is not in A",
    "contributions of a seat twice",
    "contributions of a seat twice, the same",
    "seats under contributions=none",
    "one under contributions=none",
}
FIELD_OF = {"time_us": "t"}


@pytest.mark.parametrize(
    "case",
    [case for case in REFUSED if case["of"] in MAKE and case["reason"] not in ELSEWHERE],
    ids=reason,
)
def test_production_refuses_what_a_client_sends(case):
    """In the client's terms: the error names the field."""
    with pytest.raises(RequestError) as refused:
        MAKE[case["of"]](**inputs_of(case))
    field = refused.value.field.split(".")[-1]
    assert case["field"] == FIELD_OF.get(field, field)


@pytest.mark.parametrize("case", [c for c in REFUSED if c["of"] == "list"], ids=reason)
def test_production_refuses_bounds(case):
    """No client names a bound: a wrong one is a defect."""
    with pytest.raises(InternalError, match="expected 1 to"):
        make_list(**inputs_of(case))


@pytest.mark.parametrize("case", [c for c in REFUSED if c["field"] == "samples"], ids=reason)
def test_production_refuses_sources_without_samples(case):
    """The gate releases none: one is a defect."""
    with pytest.raises(InternalError, match="has no samples"):
        condition(EntropyClass(case["class"]), unhexed(case["sources"]).items())


def test_what_is_refused_elsewhere_is_among_the_vectors():
    """The list above names nothing that is gone."""
    assert {case["reason"] for case in REFUSED} > ELSEWHERE
