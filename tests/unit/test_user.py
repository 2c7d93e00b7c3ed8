"""User entropy: canonical bytes, estimates, limits, replays, order."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.entropy.user import USER_CAP_MILLIBITS, UserLimits, UserPool
from entropyd.entropy.user_data import from_blob, from_events
from entropyd.errors import OverloadError, RequestError

SECOND = 10**9
WANTED = 249_000


def noisy(count, salt=0):
    """Events that move and lose their rhythm every time."""
    return [(salt + 3 * n, n * n % 1000, salt + n * n + n) for n in range(count)]


def rich(salt):
    """A blob that counts for more than one user may."""
    return bytes((n + salt) % 256 for n in range(200))


def roomy(**limits):
    return UserPool(UserLimits(burst=10_000, **limits))


def take(pool, seeds=1, wanted=WANTED, now=0):
    plan = pool.plan(seeds, wanted, now)
    pool.commit(plan)
    return plan.takes


# --- canonical bytes and estimates ---------------------------------------------


def test_a_blob_is_its_own_canonical_bytes():
    """A blob is mixed as it came."""
    assert from_blob(b"\x00abc").samples == b"\x00abc"


def test_events_become_fixed_width_big_endian():
    """Each event is u32 x || u32 y || u64 time."""
    events = [(1, 2, 3), (2**32 - 1, 0, 2**64 - 1)]
    expected = b"".join(struct.pack(">IIQ", *event) for event in events)
    assert expected == from_events(events).samples


@pytest.mark.parametrize(
    ("blob", "millibits"),
    [
        (b"x", 0),
        (bytes(1024), 0),
        (b"ab" * 500, 500),
        (b"the quick brown fox", 500 * 15),
        (bytes(range(256)) * 4, 500 * 255),
    ],
)
def test_a_blob_counts_by_its_byte_values(blob, millibits):
    """Half a bit for each value beyond the first; length and repetition earn nothing."""
    assert from_blob(blob).estimated_millibits == millibits


@pytest.mark.parametrize(
    ("events", "millibits"),
    [
        ([(0, 0, 0)], 0),
        ([(0, 0, 0), (1, 1, 5)], 0),
        ([(0, 0, 0), (1, 1, 5), (2, 2, 11)], 1000),
        # An even rhythm, a pointer that rests, and one that only trembles in time.
        ([(n, n, 16 * n) for n in range(256)], 0),
        ([(7, 7, n * n) for n in range(256)], 0),
        # One coordinate is enough to have moved.
        ([(0, 0, 0), (0, 1, 5), (0, 2, 11), (1, 2, 18)], 2000),
        (noisy(256), 254_000),
    ],
)
def test_an_event_counts_if_it_moved_and_broke_the_rhythm(events, millibits):
    """One bit for an event that differs in position and in interval from the one before."""
    assert from_events(events).estimated_millibits == millibits


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=1))
@settings(deadline=None)
def test_events_never_count_for_more_than_a_bit(steps):
    """Whatever the events, the estimate is at most one bit each, and none for the first two."""
    clock, events = 0, []
    for x, y, passed in steps[:256]:
        clock += passed
        events.append((x, y, clock))
    assert 0 <= from_events(events).estimated_millibits <= 1000 * max(0, len(events) - 2)


@pytest.mark.parametrize(
    ("events", "field", "text"),
    [
        ([], "events", "has 0 events; expected 1 to 256"),
        (noisy(257), "events", "has 257 events; expected 1 to 256"),
        ([(2**32, 0, 0)], "events[0].x", "expected 0 to 2**32 - 1"),
        ([(0, 0, 0), (0, -1, 0)], "events[1].y", "is -1; expected 0 to 2**32 - 1"),
        ([(0, 0, 2**64)], "events[0].time_us", "expected 0 to 2**64 - 1"),
        ([(0, 0, 9), (0, 0, 8)], "events[1].time_us", "is 8, before the event before it"),
    ],
)
def test_malformed_events_name_the_field(events, field, text):
    """The error names the field, the limit and the remedy; nothing is taken."""
    pool = roomy()
    with pytest.raises(RequestError) as caught:
        pool.add_events("ann", events, 0)
    assert field == caught.value.field
    assert text in str(caught.value)
    assert pool.pooled_millibits(0) == 0


@pytest.mark.parametrize("size", [0, 1025])
def test_malformed_blobs_are_refused(size):
    """Blobs have 1 to 1,024 bytes."""
    with pytest.raises(RequestError, match=f"blob: has {size} bytes; expected 1 to 1024"):
        roomy().add_blob("ann", bytes(size), 0)


@pytest.mark.parametrize("user", ["", "two words", "é", "x" * 129])
def test_a_user_is_an_id(user):
    """A malformed user id is refused, and no user is remembered for it."""
    pool = roomy(max_users=1)
    with pytest.raises(RequestError, match="user"):
        pool.add_blob(user, b"abc", 0)
    pool.add_blob("ann", b"abc", 0)


# --- what seeds take -------------------------------------------------------------


def test_four_users_fill_a_seed_and_three_do_not():
    """What one user counts for is capped at a quarter of 249 bits."""
    assert USER_CAP_MILLIBITS == 62_250
    pool = roomy()
    for number, user in enumerate(("ann", "bob", "cy")):
        pool.add_blob(user, rich(number), 0)
    assert pool.pooled_millibits(0) == 3 * 62_250
    pool.add_blob("dee", rich(3), 0)
    assert pool.pooled_millibits(0) == WANTED
    assert [t.estimated_millibits for t in take(pool)] == [WANTED]
    assert pool.pooled_millibits(0) == 0


def test_one_user_alone_is_capped_however_much_comes():
    """Ten rich blobs of one user count for one cap, in the pool and in the seed."""
    pool = roomy()
    for number in range(10):
        pool.add_blob("ann", rich(number), 0)
    assert pool.pooled_millibits(0) == USER_CAP_MILLIBITS
    [only] = take(pool)
    assert only.estimated_millibits == USER_CAP_MILLIBITS
    assert only.sources == (("ann", b"".join(rich(number) for number in range(10))),)


def test_contributions_leave_whole_and_in_order():
    """A seed takes until it has enough; users stand in the order of their first contribution."""
    pool = roomy()
    for user, blob in (("bob", b"ab"), ("ann", b"abc"), ("bob", b"abcd"), ("ann", b"abcde")):
        pool.add_blob(user, blob, 0)
    first, second, third = take(pool, 3, 1_600)
    assert [t.estimated_millibits for t in (first, second, third)] == [3_000, 2_000, 0]
    assert first.sources == (("bob", b"ababcd"), ("ann", b"abc"))
    assert second.sources == (("ann", b"abcde"),)
    assert (third.sources, third.oldest_arrived_ns) == ((), None)


def test_what_counts_for_nothing_is_mixed_all_the_same():
    """A contribution without credit is taken on the way to those that have some."""
    pool = roomy()
    pool.add_blob("ann", b"aaaa", 0)
    pool.add_blob("bob", b"ab", 5)
    [only] = take(pool, 1, 500, 7)
    assert only.sources == (("ann", b"aaaa"), ("bob", b"ab"))
    assert only.oldest_arrived_ns == 0


def test_a_plan_alone_spends_nothing():
    """Planning twice finds the same contributions."""
    pool = roomy()
    pool.add_blob("ann", rich(0), 0)
    assert pool.plan(1, WANTED, 0) == pool.plan(1, WANTED, 0)
    assert pool.pooled_millibits(0) == USER_CAP_MILLIBITS


def test_old_contributions_are_spent_undealt():
    """At exactly max_age a contribution is only to be stirred."""
    pool = roomy(max_age_ns=SECOND)
    pool.add_blob("ann", b"old", 0)
    pool.add_blob("ann", b"new", 1)
    assert pool.pooled_millibits(SECOND - 1) == 2_000
    assert [t.sources for t in take(pool, now=SECOND)] == [(("ann", b"new"),)]
    assert pool.take_spent() == (("ann", b"old"),)
    assert pool.take_spent() == ()


BLOBS = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "cy"]), st.binary(min_size=1, max_size=40)),
    max_size=12,
    unique_by=lambda given: given[1],
)


@given(BLOBS, st.integers(1, 3), st.integers(1, 30_000))
@settings(max_examples=100, deadline=None)
def test_each_contribution_enters_one_seed(blobs, seeds, wanted):
    """Over all seeds, each user's bytes come once, in order, and estimates add up."""
    pool = roomy()
    for user, blob in blobs:
        pool.add_blob(user, blob, 0)
    takes = [*take(pool, seeds, wanted), *take(pool, 1, 10**9)]
    for user in ("ann", "bob", "cy"):
        expected = b"".join(blob for name, blob in blobs if name == user)
        assert expected == b"".join(dict(t.sources).get(user, b"") for t in takes)
    total = sum(from_blob(blob).estimated_millibits for _, blob in blobs)
    assert 0 <= sum(t.estimated_millibits for t in takes) <= total
    assert pool.pooled_millibits(0) == 0


# --- replays and limits -------------------------------------------------------------


def test_a_replay_counts_for_nothing_whoever_sends_it():
    """The same blob again is thrown away, also after a seed took it."""
    pool = roomy()
    assert not pool.add_blob("ann", rich(0), 0).replayed
    for user in ("ann", "bob"):
        added = pool.add_blob(user, rich(0), 0)
        assert (added.estimated_millibits, added.replayed) == (0, True)
    take(pool)
    assert pool.add_blob("cy", rich(0), 0).replayed
    assert [t.sources for t in take(pool)] == [()]


def test_events_and_a_blob_of_the_same_bytes_are_not_replays():
    """The form is part of what is remembered."""
    pool = roomy()
    pool.add_events("ann", noisy(3), 0)
    assert not pool.add_blob("ann", from_events(noisy(3)).samples, 0).replayed


def test_the_memory_of_replays_is_bounded():
    """The oldest is forgotten first."""
    pool = roomy(remembered=2)
    for blob in (b"1", b"2", b"3"):
        pool.add_blob("ann", blob, 0)
    assert pool.add_blob("ann", b"3", 0).replayed
    assert not pool.add_blob("ann", b"1", 0).replayed
    assert len(pool._seen) == 2


def test_a_user_may_send_a_burst_and_then_one_a_period():
    """The rate limit names its number and says when to come again; others are not touched."""
    pool = UserPool(UserLimits(burst=2, period_ns=SECOND))
    for blob in (b"1", b"2"):
        pool.add_blob("ann", blob, 0)
    with pytest.raises(OverloadError, match="more than 2 contributions at once") as caught:
        pool.add_blob("ann", b"3", SECOND // 4)
    assert caught.value.retry_after_s == 0.75
    pool.add_blob("bob", b"4", SECOND // 4)
    pool.add_blob("ann", b"3", SECOND)
    with pytest.raises(OverloadError):
        pool.add_blob("ann", b"5", SECOND)
    for blob in (b"6", b"7"):
        pool.add_blob("ann", blob, 9 * SECOND)
    with pytest.raises(OverloadError):
        pool.add_blob("ann", b"8", 9 * SECOND)


def test_a_user_has_a_share_of_the_pool():
    """One user cannot fill the pool; the others still get in; a draw makes room."""
    pool = roomy(pool_bytes=400, user_share=4, max_age_ns=60 * SECOND)
    pool.add_blob("ann", rich(0)[:60], 0)
    with pytest.raises(OverloadError, match="user: has 1 contributions of 60 bytes") as caught:
        pool.add_blob("ann", rich(1)[:41], 20 * SECOND)
    assert caught.value.retry_after_s == 40
    pool.add_blob("ann", rich(1)[:40], 20 * SECOND)
    pool.add_blob("bob", rich(2)[:100], 20 * SECOND)
    take(pool, now=20 * SECOND)
    pool.add_blob("ann", rich(3)[:100], 20 * SECOND)


def test_a_refused_contribution_may_be_sent_again():
    """What found no room was not taken, and is no replay later."""
    pool = roomy(pool_bytes=3, user_share=1)
    pool.add_blob("ann", b"ab", 0)
    with pytest.raises(OverloadError):
        pool.add_blob("ann", b"cd", 0)
    take(pool)
    assert not pool.add_blob("ann", b"cd", 0).replayed


def test_the_pool_is_bounded_in_bytes_and_contributions():
    """The tenant's own limits hold over all users together."""
    in_bytes = roomy(pool_bytes=4, user_share=1)
    in_number = roomy(pool_contributions=2, user_share=1)
    for pool in (in_bytes, in_number):
        pool.add_blob("ann", b"ab", 0)
        pool.add_blob("bob", b"cd", 0)
        with pytest.raises(OverloadError, match="waiting; expected at most"):
            pool.add_blob("cy", b"e", 0)


def test_users_are_bounded_and_idle_ones_forgotten():
    """A new user is refused only while nobody is idle."""
    pool = UserPool(UserLimits(max_users=2, burst=1, period_ns=SECOND, max_age_ns=9 * SECOND))
    pool.add_blob("ann", b"1", 0)
    pool.add_blob("bob", b"2", 0)
    with pytest.raises(OverloadError, match="2 users have entropy waiting; expected at most 2"):
        pool.add_blob("cy", b"3", 2 * SECOND)
    take(pool)
    pool.add_blob("cy", b"3", 2 * SECOND)
    assert list(pool._users) == ["bob", "cy"]


def test_forgetting_an_idle_user_does_not_wash_the_rate():
    """A user whose burst is spent is not idle, though nothing of theirs waits."""
    pool = UserPool(UserLimits(max_users=1, burst=1, period_ns=SECOND))
    pool.add_blob("ann", b"1", 0)
    take(pool)
    with pytest.raises(OverloadError):
        pool.add_blob("bob", b"2", SECOND - 1)
    pool.add_blob("bob", b"2", SECOND)


def test_texts_hold_no_user_data():
    """Neither a take nor the data itself shows bytes or names."""
    pool = roomy()
    pool.add_blob("ann", b"secret", 0)
    assert "secret" not in repr(from_blob(b"secret"))
    assert "ann" not in repr(take(pool))
