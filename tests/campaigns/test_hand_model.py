"""Small hands in every order of calls, with every fault at every step, judged by lists and dicts.

`python -m tests.campaigns.model` goes on from there for as long as one lets it.
"""

from collections.abc import Callable
from typing import Any

import pytest

from entropyd.hands.hand import Hand
from entropyd.runtime.hand_tables import HandTables
from entropyd.runtime.kept_hands import KeptHand
from entropyd.service import hand_core, hand_messages
from tests.campaigns.hand_burst import FAULTS, ViolationError
from tests.campaigns.hand_scripts import OPENLY, SCRIPTS, SEALEDLY, TABLE, Script
from tests.campaigns.model import Explorer, explore
from tests.fakes.manual_time import ManualClock, play

# Seconds of each script, on a machine that does nothing else a third of them.
LIMIT_S = 15.0
STATES = 30


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_nothing_that_must_never_be(script: Script):
    """Counts of what was explored are printed (-rP)."""
    explorer = Explorer(script, states=STATES, overlapping=1, limit_s=LIMIT_S)
    broken = ""
    try:
        play(ManualClock(), explorer.explore)
    except ViolationError as error:
        broken = str(error)
    assert broken == ""
    tally = explorer.tally
    print(tally.line())
    assert tally.states >= 50
    for fault in FAULTS:
        assert tally.faults[fault] >= 10, fault


# --- and what must never be is seen ---------------------------------------------------------


def cut_at_will(monkeypatch: Any) -> None:
    """A window ends when one seat has spoken."""
    monkeypatch.setattr(Hand, "_window_is_over", lambda hand, now_ns: bool(hand.spoken))


def uncounted(monkeypatch: Any) -> None:
    """Whatever is open, there is room for one more."""
    monkeypatch.setattr(
        HandTables,
        "reserve",
        lambda tables, tenant, table, limit, *, child: setattr(
            of := tables._of(tenant, table), "opening", of.opening + 1
        ),
    )


def burned_leaves(monkeypatch: Any) -> None:
    """Cards of a deal that were burned are told."""
    as_ever = hand_messages.cards
    monkeypatch.setattr(
        hand_core, "cards", lambda *which, **how: as_ever(*which, **how | {"burned": True})
    )


def index_off_by_one(monkeypatch: Any) -> None:
    """A receipt's index is another one's."""
    as_ever = KeptHand.after

    def after(kept: KeptHand, hand: Hand, receipts: Any) -> KeptHand:
        return as_ever(kept, hand, {event: index + 1 for event, index in receipts.items()})

    monkeypatch.setattr(KeptHand, "after", after)


DEFECTS = (
    (cut_at_will, OPENLY, "nobody's step"),
    (cut_at_will, SEALEDLY, "nobody's step"),
    (uncounted, TABLE, "nobody's step|was told|hands are open"),
    (burned_leaves, OPENLY, "left, which may not"),
    (index_off_by_one, OPENLY, "is not in the log|would end|was told"),
)


@pytest.mark.parametrize(("defect", "script", "seen"), DEFECTS)
def test_a_defect_is_seen(
    monkeypatch: Any, defect: Callable[[Any], None], script: Script, seen: str
):
    """Each breaks one rule, and the explorer says which way led there."""
    defect(monkeypatch)
    with pytest.raises(ViolationError, match=seen):
        explore(script, states=100, overlapping=0, limit_s=60)
