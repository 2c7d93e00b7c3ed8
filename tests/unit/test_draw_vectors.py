"""docs/vectors/match_draws.json and raffles.json: the code that draws agrees with the reference."""

import json
from pathlib import Path

import pytest

from entropyd.errors import RequestError
from entropyd.games import bags, claims, draw_rules, draws
from entropyd.games.bags import BagRules, BagState
from entropyd.games.draw_rules import ServerSeedRules
from entropyd.games.labels import labels_hash
from entropyd.games.presets import PRESETS
from entropyd.games.raffle import (
    RaffleRules,
    canonical_entries,
    published_entries,
    raffle_binding,
)
from entropyd.hands.rules import rules_hash
from tests.reference import naive, naive_draws

VECTORS = Path(__file__).parents[2] / "docs/vectors"
MATCHES = json.loads((VECTORS / "match_draws.json").read_text("utf-8"))
RAFFLES = json.loads((VECTORS / "raffles.json").read_text("utf-8"))
unhex = bytes.fromhex


def label(case):
    return case["label"]


def reason(case):
    return case["reason"]


def secrets(case):
    return {
        "seeds": [unhex(seed) for seed in case["seeds"]],
        "blinding": unhex(case["blinding"]),
        "salt_key": unhex(case["salt_key"]),
    }


# --- Draws ---------------------------------------------------------------------


@pytest.mark.parametrize("case", MATCHES["match_draws"], ids=label)
def test_production_draws_the_same(case):
    """X, segments, result, C and D of every kind, by both samplers, from all seeds and from one."""
    encoded = case["rules"].encode("ascii")
    rules = draw_rules.decode(encoded)
    X = draws.binding_of(rules, case["tenant"], case["match"], case["draw"])
    outcome = draws.draw(rules, X, **secrets(case))
    shown = [str(number) for number in outcome.result]
    assert encoded == rules.encode()
    assert case["rules_hash"] == rules_hash(encoded).hex()
    assert case["X"] == X.hex()
    assert case["segment_bounds"] == [len(segment) for segment in rules.segments()]
    assert len(case["seeds"]) == rules.seeds_needed()
    assert case["C"] == outcome.commitment.hex()
    assert case["D"] == outcome.result_root.hex()
    if isinstance(rules, ServerSeedRules):
        assert (case["result"], []) == (outcome.encoded_result.hex(), shown)
    else:
        assert case["result"] == shown
        assert outcome.result == rules.decode_result(outcome.encoded_result)


def test_every_kind_is_drawn_from_all_its_seeds_and_from_one_and_by_both_samplers():
    """No combination that rules can have is left out of the vectors."""
    decoded = [draw_rules.decode(case["rules"].encode()) for case in MATCHES["match_draws"]]
    drawn = {(rules.kind.value, rules.sampler.value) for rules in decoded}
    kinds = ["integers", "dice", "items", "sample", "bag"]
    both = {(kind, sampler) for kind in kinds for sampler in ("masked", "word32")}
    assert both | {("server_seed", "masked")} == drawn
    assert {"dice", "items", "sample", "bag"} == {
        rules.kind.value for rules in decoded if rules.computational
    }


@pytest.mark.parametrize("case", MATCHES["presets"], ids=lambda case: case["name"])
def test_presets(case):
    """Labels and counts, in order."""
    preset = PRESETS[case["name"]]
    assert (case["labels"], case["counts"]) == ([*preset.labels], [*preset.counts])


def test_presets_have_as_many_tiles_as_the_games():
    """A hundred, a hundred, a hundred and four, twenty-eight; and no others."""
    expected = {"english": 100, "polish": 100, "ukrainian": 104, "dominoes": 28}
    assert expected == {name: sum(preset.counts) for name, preset in PRESETS.items()}
    assert all(len(set(preset.labels)) == len(preset.counts) for preset in PRESETS.values())


@pytest.mark.parametrize("case", MATCHES["labels"], ids=lambda case: case["labels_hash"][:8])
def test_labels(case):
    """Of one, of equal ones, of the longest, of what no entry of a raffle may have."""
    digest = labels_hash(case["labels"], len(case["labels"]))
    assert case["labels_hash"] == digest.hex()
    assert bags.custom_tiles(case["labels"]) == f"custom-{case['labels_hash']}"


@pytest.mark.parametrize("case", MATCHES["match_claims"], ids=lambda case: case["match"][:9])
def test_claims_of_matches(case):
    """From the claim key, and what the ledger keeps."""
    claim = claims.derive_match_claim(unhex(case["claim_key"]), case["match"])
    assert case["claim"] == claim.hex()
    digest = claims.match_claim_digest(case["tenant"], case["match"], claim)
    assert case["claim_digest"] == digest.hex()


@pytest.mark.parametrize("case", MATCHES["bags"], ids=label)
def test_bags_from_draw_to_draw(case):
    """What is in before each draw and left after it, with what was put back."""
    tiles, first = bags.custom_tiles(["x"] * len(case["first"])), tuple(case["first"])
    state = None
    for step in case["steps"]:
        counts = first if state is None else state.counts_after(step["returns"])
        assert step["counts"] == [*counts]
        rules = BagRules(bag="b", counts=counts, m=len(step["result"]), tiles=tiles)
        state = bags.after_draw(state, rules, step["result"])
        assert step["left"] == [*state.left]


# --- What is refused -----------------------------------------------------------


@pytest.mark.parametrize("case", MATCHES["refused_draw_rules"], ids=reason)
def test_rules_are_refused_by_both_implementations(case):
    """And both name the line."""
    with pytest.raises(naive.Refused) as naively:
        naive_draws.draw_rules(unhex(case["rules_hex"]))
    with pytest.raises(RequestError) as refused:
        draw_rules.decode(unhex(case["rules_hex"]))
    named = (naively.value.field, refused.value.field.removeprefix("rules."))
    assert (case["field"], case["field"]) == named


@pytest.mark.parametrize("case", MATCHES["refused_labels"], ids=reason)
def test_labels_are_refused_by_both_implementations(case):
    """Before anything is drawn under them."""
    with pytest.raises(naive.Refused):
        naive_draws.labels_hash(case["labels"], case["n"])
    with pytest.raises(RequestError) as refused:
        labels_hash(case["labels"], case["n"])
    assert refused.value.field == "labels"


@pytest.mark.parametrize("case", MATCHES["refused_returns"], ids=reason)
def test_returns_are_refused_by_both_implementations(case):
    """Nothing comes back that was not out."""
    with pytest.raises(naive.Refused):
        naive_draws.counts_after(case["first"], case["left"], case["returns"])
    state = BagState("dominoes", tuple(case["first"]), tuple(case["left"]))
    with pytest.raises(RequestError) as refused:
        state.counts_after(case["returns"])
    assert refused.value.field == "returns"


def follow(match):
    """Go through the bags of a match with the code that a daemon and a verifier have."""
    states: dict[str, BagState] = {}
    for drawn in match:
        rules = draw_rules.decode(drawn["rules"].encode("ascii"))
        if isinstance(rules, BagRules):
            kinds = [int(number) for number in drawn["result"]]
            states[rules.bag] = bags.after_draw(states.get(rules.bag), rules, kinds)


@pytest.mark.parametrize("case", MATCHES["refused_matches"], ids=reason)
def test_matches_are_refused_by_both_implementations(case):
    """A bag that is not what the draw before it left, and what was put back."""
    naively = [
        (drawn["rules"].encode(), [int(number) for number in drawn["result"]])
        for drawn in case["draws"]
    ]
    with pytest.raises(naive.Refused) as by_reference:
        naive_draws.check_bags(naively)
    with pytest.raises(RequestError) as refused:
        follow(case["draws"])
    assert (case["field"], case["field"]) == (by_reference.value.field, refused.value.field)
    naive_draws.check_bags(naively[:-1])
    follow(case["draws"][:-1])


# --- Raffles -------------------------------------------------------------------


@pytest.mark.parametrize("case", RAFFLES["raffles"], ids=label)
def test_production_draws_the_same_winners(case):
    """From the list as it was handed in to winners, alternates, C and D."""
    entries = canonical_entries(case["given"])
    rules = draw_rules.decode(case["rules"].encode("ascii"))
    assert isinstance(rules, RaffleRules)
    X = raffle_binding(case["tenant"], case["raffle"], rules)
    outcome = draws.draw(rules, X, **secrets(case))
    names = [entries.texts[number] for number in outcome.result]
    assert (case["entries"], case["E"]) == ([*entries.texts], entries.digest.hex())
    assert (rules.entries, rules.n) == (entries.digest, len(entries))
    assert case["X"] == X.hex()
    assert case["segment_bounds"] == [len(segment) for segment in rules.segments()]
    assert case["result"] == [str(number) for number in outcome.result]
    assert (case["winners"], case["alternates"]) == (names[: rules.winners], names[rules.winners :])
    assert (case["C"], case["D"]) == (outcome.commitment.hex(), outcome.result_root.hex())


@pytest.mark.parametrize("case", RAFFLES["raffles"], ids=label)
def test_claims_of_raffles(case):
    """From the claim key, and what the ledger keeps."""
    claim = claims.derive_raffle_claim(unhex(case["claim_key"]), case["raffle"])
    assert case["claim"] == claim.hex()
    digest = claims.raffle_claim_digest(case["tenant"], case["raffle"], claim)
    assert case["claim_digest"] == digest.hex()


@pytest.mark.parametrize("case", RAFFLES["raffles"], ids=label)
def test_a_published_list_is_read_as_it_stands(case):
    """It is canonical already: reading it again gives the same E."""
    assert case["E"] == published_entries(case["entries"]).digest.hex()


@pytest.mark.parametrize("case", RAFFLES["refused_entries"], ids=reason)
def test_entries_are_refused_by_both_implementations(case):
    """Nothing is merged, shortened or repaired."""
    with pytest.raises(naive.Refused):
        naive_draws.canonical_entries(case["given"])
    with pytest.raises(RequestError) as refused:
        canonical_entries(case["given"])
    assert refused.value.field == "entries"


@pytest.mark.parametrize("case", RAFFLES["refused_raffles"], ids=reason)
def test_raffles_are_refused_by_the_reference(case):
    """Rules that are not those of the list, and ids that are none."""
    with pytest.raises(naive.Refused) as refused:
        naive_draws.raffled(
            case["tenant"], case["raffle"], case["given"], case["rules"].encode(), [], b"", b""
        )
    assert case["field"] == refused.value.field
