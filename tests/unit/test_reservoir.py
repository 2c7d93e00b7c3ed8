"""The reservoir: first in first out, each sample once, exact sums."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from entropyd.entropy.credited import CreditedBlock
from entropyd.entropy.reservoir import Reservoir
from entropyd.entropy.spent import SPENT_LIMIT_BYTES, SpentBucket
from entropyd.errors import InternalError

SECOND = 10**9
NOW = 1000 * SECOND
CREDIT = {"q": 6000, "s": 500}


def block(samples, *, source="q", credit=6000, at=NOW):
    return CreditedBlock(source, samples, credit, at)


def filled(*blocks, capacity=1000, max_age=60 * SECOND):
    reservoir = Reservoir(capacity, max_age)
    for each in blocks:
        reservoir.add(each)
    return reservoir


def take(reservoir, *amounts, now=NOW, credit=CREDIT):
    """Plan and commit; return [(source, samples, credited)] for each amount, or None."""
    plan = reservoir.plan(amounts, now, credit)
    if plan is None:
        return None
    reservoir.commit(plan)
    return [[(t.source_id, t.samples, t.credited_millibits) for t in part] for part in plan.takes]


def test_samples_leave_in_the_order_of_arrival():
    """A take goes over block borders, and the next one goes on where it ended."""
    reservoir = filled(block(b"abcd"), block(b"efgh"))
    assert take(reservoir, 30_000) == [[("q", b"abcde", 30_000)]]
    assert take(reservoir, 6_000, 12_000) == [[("q", b"f", 6_000)], [("q", b"gh", 12_000)]]
    assert reservoir.waiting_bytes == 0


def test_oldest_source_first():
    """Across sources the older block goes first; a source is named once in a take."""
    reservoir = filled(
        block(b"ab", at=NOW - 3), block(b"xy", source="s", credit=500, at=NOW - 2), block(b"cd")
    )
    expected = [[("q", b"abcd", 24_000), ("s", b"xy", 1_000)]]
    assert expected == take(reservoir, 25_000)


def test_only_whole_samples_are_spent():
    """One millibit above 54 samples costs the 55th, and its credit is not kept."""
    reservoir = filled(block(bytes(60)))
    assert take(reservoir, 320_000) == [[("q", bytes(54), 324_000)]]
    assert reservoir.level_millibits(NOW, CREDIT) == 36_000
    assert take(reservoir, 30_001) == [[("q", bytes(6), 36_000)]]


def test_nothing_is_taken_when_it_is_too_little():
    """All amounts or none: the level is what it was, and the same bytes come later."""
    reservoir = filled(block(b"abc"))
    assert take(reservoir, 12_000, 6_001) is None
    assert reservoir.level_millibits(NOW, CREDIT) == 18_000
    assert take(reservoir, 12_000, 6_000) == [[("q", b"ab", 12_000)], [("q", b"c", 6_000)]]


def test_an_amount_of_nothing_takes_nothing():
    """A seed without cover has an empty take in its place."""
    assert take(filled(block(b"ab")), 6_000, 0, 6_000) == [
        [("q", b"a", 6_000)],
        [],
        [("q", b"b", 6_000)],
    ]


@pytest.mark.parametrize(("at_arrival", "now", "counted"), [(6000, 4000, 4000), (4000, 6000, 4000)])
def test_samples_count_at_the_lower_credit(at_arrival, now, counted):
    """Credit that fell counts as fallen; credit that rose does not raise what was there."""
    reservoir = filled(block(b"abcdef", credit=at_arrival))
    assert reservoir.level_millibits(NOW, {"q": now}) == 6 * counted
    assert take(reservoir, 8_000, credit={"q": now}) == [[("q", b"ab", 8_000)]]


@pytest.mark.parametrize("credit", [{}, {"q": 0}])
def test_a_source_without_credit_is_not_dealt_from(credit):
    """Samples of a source that does not count are passed over, and stay."""
    reservoir = filled(block(b"abc"), block(b"xyz", source="s", credit=500))
    credit = credit | {"s": 500}
    assert reservoir.level_millibits(NOW, credit) == 1_500
    assert take(reservoir, 1_500, credit=credit) == [[("s", b"xyz", 1_500)]]
    assert take(reservoir, 1, credit=credit) is None
    assert reservoir.waiting_bytes == 3


def test_withdrawn_credit_empties_the_source():
    """After a withdrawal nothing of the source is dealt from; all of it is to be stirred."""
    reservoir = filled(block(b"abcd"), block(b"xyz", source="s", credit=500), block(b"efg"))
    take(reservoir, 6_000)
    reservoir.withdraw_credit("q")
    assert reservoir.level_millibits(NOW, CREDIT) == 1_500
    assert take(reservoir, 2_000) is None
    assert reservoir.take_spent() == (("q", b"bcdefg"),)
    assert reservoir.take_spent() == ()
    reservoir.add(block(b"new"))
    assert take(reservoir, 18_000) == [[("q", b"new", 18_000)]]


def test_withdrawing_from_an_unknown_source_does_nothing():
    """A source that never delivered has nothing to lose."""
    reservoir = filled(block(b"abc"))
    reservoir.withdraw_credit("s")
    assert reservoir.level_millibits(NOW, CREDIT) == 18_000


def test_old_samples_are_spent_undealt():
    """At exactly max_age a sample is dealt from no more."""
    reservoir = filled(block(b"old", at=NOW), block(b"new", at=NOW + 1), max_age=SECOND)
    assert reservoir.level_millibits(NOW + SECOND - 1, CREDIT) == 36_000
    assert take(reservoir, 6_000, now=NOW + SECOND) == [[("q", b"n", 6_000)]]
    assert reservoir.take_spent() == (("q", b"old"),)


def test_overflow_pushes_out_the_oldest():
    """The reservoir holds its capacity; exactly the oldest excess is to be stirred."""
    reservoir = filled(block(b"abcd"), block(b"xy", source="s", credit=500), capacity=8)
    reservoir.add(block(b"efgh"))
    assert reservoir.waiting_bytes == 8
    assert reservoir.take_spent() == (("q", b"ab"),)
    assert take(reservoir, 37_000) == [[("q", b"cdefgh", 36_000), ("s", b"xy", 1_000)]]


def test_a_block_larger_than_the_reservoir_keeps_its_newest_samples():
    """A block that does not fit loses its oldest samples."""
    reservoir = filled(block(b"abcdefgh"), capacity=3)
    assert reservoir.take_spent() == (("q", b"abcde"),)
    assert take(reservoir, 18_000) == [[("q", b"fgh", 18_000)]]


def test_samples_that_never_counted_go_straight_to_the_stir_bucket():
    """A source that is not trusted delivers to the bucket."""
    reservoir = filled()
    reservoir.spend("q", b"abc")
    assert (reservoir.waiting_bytes, reservoir.take_spent()) == (0, (("q", b"abc"),))


@pytest.mark.parametrize(
    ("malformed", "text"),
    [
        (block(b""), "has 0 samples"),
        (block(b"a", credit=0), "at 0 millibits"),
        (block(b"a", credit=-1), "at -1 millibits"),
        (block(b"a", at=NOW - 1), "arrived before its predecessor"),
    ],
)
def test_a_malformed_block_is_a_defect(malformed, text):
    """No samples, no credit, or an arrival out of order: nothing is added."""
    reservoir = filled(block(b"abc"))
    with pytest.raises(InternalError, match=text):
        reservoir.add(malformed)
    assert reservoir.level_millibits(NOW, CREDIT) == 18_000


def test_a_plan_committed_twice_is_a_defect():
    """Mutant "credit spent twice": samples of a plan cannot be spent again."""
    reservoir = filled(block(b"abc"))
    plan = reservoir.plan([12_000], NOW, CREDIT)
    assert plan is not None
    reservoir.commit(plan)
    with pytest.raises(InternalError, match="spent twice"):
        reservoir.commit(plan)


def test_a_plan_alone_spends_nothing():
    """Planning twice finds the same samples."""
    reservoir = filled(block(b"abc"))
    for _ in range(2):
        plan = reservoir.plan([12_000], NOW, CREDIT)
        assert plan is not None
        assert [part.samples for part in plan.takes[0]] == [b"ab"]


def test_oldest_arrival_is_told():
    """A take knows when its oldest sample came, for the receipt."""
    reservoir = filled(block(b"ab", at=NOW - 7), block(b"cd", at=NOW - 5))
    plan = reservoir.plan([6_000, 18_000], NOW, CREDIT)
    assert plan is not None
    assert [part[0].oldest_arrived_ns for part in plan.takes] == [NOW - 7, NOW - 7]


def test_texts_hold_no_samples():
    """Neither a block nor a take shows its samples."""
    reservoir = filled(block(b"secret"))
    plan = reservoir.plan([6_000], NOW, CREDIT)
    assert plan is not None
    assert "secret" not in repr(block(b"secret"))
    assert "samples" not in repr(plan.takes)


def test_the_stir_bucket_is_bounded():
    """Beyond its limit the oldest are forgotten, also those of one long piece."""
    bucket = SpentBucket(limit_bytes=5)
    bucket.add("q", b"abc")
    bucket.add("s", b"xy")
    bucket.add("q", b"d")
    assert bucket.take() == (("s", b"xy"), ("q", b"d"))
    bucket.add("q", b"0123456789")
    assert bucket.take() == (("q", b"56789"),)
    assert SPENT_LIMIT_BYTES == 2**20


class Ledger(RuleBasedStateMachine):
    """Every byte is numbered: it may leave once, in order, and credit adds up."""

    def __init__(self):
        super().__init__()
        self.reservoir = Reservoir(40, 50)
        self.now = 0
        self.number = 0
        self.credit = {"q": 3000, "s": 700}
        # What must be there: source -> [(number, credit at arrival, arrived)], oldest first.
        self.waiting: dict[str, list[tuple[int, int, int]]] = {"q": [], "s": []}
        self.seen: list[str] = []  # of two that arrived at once, the source first heard of is older
        self.dealt: list[int] = []
        self.stirred: dict[str, list[int]] = {"q": [], "s": []}

    @rule(source=st.sampled_from("qs"), size=st.integers(1, 30), credit=st.integers(1, 8000))
    def add(self, source, size, credit):
        # A sample's byte is its number's last eight bits: enough to see a step back or a gap.
        numbers = [self.number + n for n in range(size)]
        self.number += size
        self.reservoir.add(CreditedBlock(source, bytes(n % 256 for n in numbers), credit, self.now))
        self.waiting[source] += [(n, credit, self.now) for n in numbers]
        self.seen += [source] if source not in self.seen else []
        while sum(map(len, self.waiting.values())) > 40:
            waiting = [name for name in self.seen if self.waiting[name]]
            self.model_spend(min(waiting, key=lambda name: self.waiting[name][0][2]), 1)

    def model_spend(self, source, count):
        self.stirred[source] += [n for n, _, _ in self.waiting[source][:count]]
        del self.waiting[source][:count]

    def model_expire(self):
        for source, samples in self.waiting.items():
            self.model_spend(source, sum(self.now - at >= 50 for _, _, at in samples))

    @rule(amounts=st.lists(st.integers(0, 40_000), min_size=1, max_size=3))
    def take(self, amounts):
        self.model_expire()
        plan = self.reservoir.plan(amounts, self.now, self.credit)
        before = self.level()
        if plan is None:
            # Short by more than the rounding of the samples that it would have taken.
            highest = max(*self.credit.values(), 1)
            assert before < sum(amounts) + highest * len(amounts)
            return
        self.reservoir.commit(plan)
        for amount, parts in zip(amounts, plan.takes, strict=True):
            for part in parts:
                self.model_deal(part)
            credited = sum(part.credited_millibits for part in parts)
            assert amount <= credited < amount + max(self.credit.values())
        spent = sum(part.credited_millibits for parts in plan.takes for part in parts)
        assert before - spent == self.reservoir.level_millibits(self.now, self.credit)

    def model_deal(self, part):
        count = len(part.samples)
        mine = self.waiting[part.source_id]
        assert [n % 256 for n, _, _ in mine[:count]] == list(part.samples)
        limit = self.credit[part.source_id]
        assert sum(min(c, limit) for _, c, _ in mine[:count]) == part.credited_millibits
        self.dealt += [n for n, _, _ in mine[:count]]
        del mine[:count]

    @rule(source=st.sampled_from("qs"))
    def withdraw(self, source):
        self.reservoir.withdraw_credit(source)
        self.model_spend(source, len(self.waiting[source]))
        assert self.reservoir.level_millibits(self.now, {source: 8000}) == 0
        self.model_expire()

    @rule(source=st.sampled_from("qs"), millibits=st.integers(0, 8000))
    def change_credit(self, source, millibits):
        self.credit[source] = millibits

    @rule(passed=st.integers(1, 30))
    def wait(self, passed):
        self.now += passed

    @rule()
    def stir(self):
        self.model_expire()
        self.reservoir.expire(self.now)
        for source, samples in self.reservoir.take_spent():
            assert [n % 256 for n in self.stirred[source]] == list(samples)
        self.stirred = {"q": [], "s": []}

    def level(self):
        return sum(
            min(credit, self.credit[source])
            for source, samples in self.waiting.items()
            for _, credit, _ in samples
        )

    @invariant()
    def level_is_the_sum(self):
        """The level is never negative and always the sum over the waiting samples."""
        self.model_expire()
        assert self.level() == self.reservoir.level_millibits(self.now, self.credit)
        assert sum(map(len, self.waiting.values())) == self.reservoir.waiting_bytes

    @invariant()
    def no_sample_was_dealt_twice(self):
        """No byte enters two seeds."""
        assert len(set(self.dealt)) == len(self.dealt)


TestLedger = Ledger.TestCase
TestLedger.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


@given(st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=20), st.data())
@settings(max_examples=60, deadline=None)
def test_all_that_came_leaves_in_order(pieces, data):
    """However it is cut on the way in and out, the bytes dealt are the bytes delivered."""
    reservoir = filled(*map(block, pieces))
    whole = b"".join(pieces)
    dealt = b""
    while len(dealt) < len(whole):
        count = data.draw(st.integers(1, len(whole) - len(dealt)))
        [[(_, samples, _)]] = take(reservoir, 6_000 * count)
        dealt += samples
    assert whole == dealt


def test_keeps_up_with_240_mbit_a_second():
    """30 MB in blocks of 512 bytes pass within 5 s, levels asked for all the while.

    Half a second is normal, most of it making blocks. A level that walks over
    the 8,192 waiting blocks would take a minute.
    """
    reservoir = Reservoir(4 << 20, SECOND)
    samples = bytes(512)
    started = time.process_time()
    for number in range(30_000_000 // 512):
        reservoir.add(block(samples, at=number))
        reservoir.level_millibits(number, CREDIT)
    assert time.process_time() - started < 5
    assert reservoir.waiting_bytes == 4 << 20
