"""Mutants of hands that are dealt card by card; mutants.py prints them with the others.

Some would leave every hand playable. Each dies in the test that is named for its rule.
"""

from tests.campaigns.mutation import Edit, Mutant

HAND = "entropyd/hands/hand.py"
STEPS = "entropyd/runtime/hand_steps.py"
CORE = "entropyd/service/hand_core.py"
IN_HAND = "tests/unit/test_hand.py"
IN_CORE = "tests/unit/test_hand_core.py"
FAMILY = "entropyd/hands/family.py"
OPENING = "entropyd/runtime/hand_opening.py"
IN_FAMILY = "tests/unit/test_hand_family.py"


def _one(name: str, file: str, old: str, new: str, test: str) -> Mutant:
    return Mutant(name, (Edit(file, old, new),), test)


HANDS = (
    _one(
        "a window ends at will",
        HAND,
        "        if self.after_window(now_ns).state is HandState.OPEN:\n",
        "        if False:\n",
        f"{IN_HAND}::test_a_window_ends_at_its_deadline_and_not_before",
    ),
    _one(
        "a window ends when one seat has spoken",
        HAND,
        "len(self.spoken) == len(self.opened.seats) or now_ns",
        "bool(self.spoken) or now_ns",
        f"{IN_HAND}::test_open_contributions_seal_the_hand_when_every_seat_has_spoken",
    ),
    _one(
        "deadline of the window ignored",
        HAND,
        "len(self.spoken) == len(self.opened.seats) or now_ns >= self.opened.deadline_ns",
        "len(self.spoken) == len(self.opened.seats)",
        f"{IN_CORE}::test_a_window_ends_at_its_deadline_without_anybody_asking",
    ),
    _one(
        "an unopened leaf is waited for for ever",
        HAND,
        "now_ns >= self.roll.deadline_ns",
        "False",
        f"{IN_HAND}::test_a_leaf_that_is_missing_voids_the_hand",
    ),
    _one(
        "the cut ignores one leaf",
        "entropyd/hands/cut.py",
        "    ordered = sort_leaves(leaves)\n    joined",
        "    ordered = sort_leaves(leaves)[:-1]\n    joined",
        "tests/unit/test_hands.py::test_published_hands_in_production",
    ),
    _one(
        "cards leave before their recipients are recorded",
        "entropyd/runtime/hands.py",
        "                return await self._step(turn, kept, after, DEAL), False\n",
        "                kept = KeptHand(after, kept.receipts, kept.provenance, kept.steps)\n"
        "                return kept, False\n",
        f"{IN_CORE}::test_another_claim_for_a_dealt_place_is_an_alarm",
    ),
    _one(
        "a burned card leaves",
        CORE,
        "burned=False",
        "burned=True",
        f"{IN_CORE}::test_a_burned_card_does_not_leave_before_the_hand_is_closed",
    ),
    _one(
        "undealt places are shown",
        HAND,
        "place >= len(recipients) or recipients[place] == BURN",
        "place < len(recipients) and recipients[place] == BURN",
        f"{IN_HAND}::test_showing",
    ),
    _one(
        "a reveal without the rule",
        HAND,
        "        if self.opened.rules.reveal is not Reveal.AFTER_CLOSE:\n",
        "        if False:\n",
        f"{IN_HAND}::test_revealing",
    ),
    _one(
        "a reveal before the close",
        HAND,
        "        if self.state is not HandState.CLOSED:\n"
        '            raise self._wrong_state("it is revealed"',
        '        if False:\n            raise self._wrong_state("it is revealed"',
        f"{IN_HAND}::test_revealing",
    ),
    _one(
        "the claim of a dealt place is not compared",
        HAND,
        "        if run in self.runs:\n            return run\n",
        "        if run.recipients in [one.recipients for one in self.runs]:\n"
        "            return run\n",
        f"{IN_HAND}::test_a_wrong_deal_is_refused",
    ),
    _one(
        "values are taken before the roll",
        "entropyd/hands/judgement.py",
        "    if hand.roll is None:\n",
        "    if False:\n",
        f"{IN_HAND}::test_a_refused_contribution_changes_nothing",
    ),
    _one(
        "one hand too many is open",
        "entropyd/runtime/hand_tables.py",
        "        if taken >= limit + ",
        "        if taken > limit + ",
        f"{IN_CORE}::test_a_table_has_so_many_open_hands_and_no_more",
    ),
    _one(
        "hands whose opening is under way take no room",
        "entropyd/runtime/hand_tables.py",
        "        taken = counted.open + counted.opening\n",
        "        taken = counted.open\n",
        f"{IN_CORE}::test_a_table_has_so_many_open_hands_and_no_more",
    ),
    _one(
        "one hand too many is dealt",
        HAND,
        "        if not self.runs and dealing >= limit:\n",
        "        if not self.runs and dealing > limit:\n",
        f"{IN_CORE}::test_one_hand_of_a_table_is_dealt_at_a_time",
    ),
    _one(
        "a void is not public",
        STEPS,
        "    if before.state not in ENDED and after.state in ENDED:\n",
        "    if before.state not in ENDED and after.state is HandState.CLOSED:\n",
        "tests/campaigns/test_hand_model.py::test_nothing_that_must_never_be[two seats, open]",
    ),
    _one(
        "O without the number",
        "entropyd/hands/commitment.py",
        "    numbers = u64(sequence) + u32(size)\n",
        "    numbers = u64(1) + u32(size)\n",
        "tests/unit/test_hands.py::test_every_number_has_its_own_open_hash",
    ),
    _one(
        "the second receipt of a step has the index of the first",
        STEPS,
        "assigned.index + 1, now_ns",
        "assigned.index, now_ns",
        f"{IN_CORE}::test_nobody_contributes_and_the_hand_is_sealed_as_it_is_opened",
    ),
    _one(
        "a turn ends when its caller hangs up",
        "entropyd/runtime/hand_turns.py",
        "            if turn.waiter is None or turn.waiter.decided:\n",
        "            if True:\n",
        f"{IN_CORE}::test_a_cancelled_caller_leaves_its_step_to_be_found",
    ),
    _one(
        "a child is revealed while its parent goes on",
        FAMILY,
        "            if ancestor.state is not HandState.CLOSED:\n",
        "            if False:\n",
        f"{IN_FAMILY}::test_a_child_is_not_revealed_before_its_parent_is_closed",
    ),
    _one(
        "a child of a secret hand may be revealed",
        FAMILY,
        "    if reveal is Reveal.AFTER_CLOSE and parent",
        "    if False and parent",
        f"{IN_FAMILY}::test_a_child_is_not_opened_to_be_revealed_where_its_parent_never_is",
    ),
    _one(
        "a parent shows what its child is dealt from",
        FAMILY,
        "        for other in self.going_on:\n",
        "        for other in ():\n",
        f"{IN_FAMILY}::test_a_parent_shows_nothing_that_a_child_is_dealt_from",
    ),
    _one(
        "a card is dealt in two children",
        OPENING,
        "            self._require_undealt(ask, parent.hand)\n",
        "",
        f"{IN_FAMILY}::test_no_card_is_dealt_in_two_children",
    ),
    _one(
        "a parent ends while its child is opened",
        OPENING,
        "                held.waiter = turn.waiter\n",
        "                pass\n",
        f"{IN_FAMILY}::test_a_parent_has_its_turn_until_the_child_is_recorded",
    ),
    _one(
        "a clock that is set ends windows",
        "entropyd/runtime/hand_clock.py",
        "_whole(self._clock_ns() + self._wall_ahead_ns(hand))",
        "_whole(self._wall_ns())",
        "tests/unit/test_hand_clock.py::test_a_clock_that_is_set_forward_voids_no_hand",
    ),
    _one(
        "cards are shown before that is recorded",
        "entropyd/service/hand_reads.py",
        "            durable=True,\n",
        "            durable=False,\n",
        f"{IN_CORE}::test_nothing_is_shown_that_the_ledger_could_not_record",
    ),
)
