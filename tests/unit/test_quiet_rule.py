"""When a batch is complete."""

from entropyd.runtime.quiet_rule import MAX_BATCH_ROWS, MAX_WAIT_NS, QUIET_NS, QuietRule

T = 5_000_000_000


def test_a_call_that_is_alone_waits_for_nobody():
    assert QuietRule().arrived(T, 1, alone=True)


def test_a_call_among_others_waits_until_nothing_arrived_for_a_millisecond():
    rule = QuietRule()
    assert not rule.arrived(T, 1, alone=False)
    assert not rule.is_complete(T + QUIET_NS - 1)
    assert rule.is_complete(T + QUIET_NS)


def test_a_loop_that_is_late_has_not_seen_a_quiet():
    """Until the batch has waited for as long as any may."""
    rule = QuietRule()
    rule.arrived(T, 1, alone=False)
    assert not rule.is_complete(T + 2 * QUIET_NS, late_ns=QUIET_NS)
    assert rule.is_complete(T + 2 * QUIET_NS, late_ns=QUIET_NS - 1)
    assert rule.is_complete(T + MAX_WAIT_NS, late_ns=QUIET_NS)


def test_every_arrival_moves_the_end_of_the_burst():
    rule = QuietRule()
    for number in range(10):
        assert not rule.arrived(T + number * (QUIET_NS - 1), number + 1, alone=False)
        assert not rule.is_complete(T + (number + 1) * (QUIET_NS - 1))
    assert rule.is_complete(T + 9 * (QUIET_NS - 1) + QUIET_NS)


def test_a_second_call_of_a_batch_is_never_alone():
    """The one before it is in flight too, whatever the count says."""
    rule = QuietRule()
    rule.arrived(T, 1, alone=False)
    assert not rule.arrived(T + 1, 2, alone=True)


def test_drafts_that_came_together_wait_for_nobody_if_nobody_else_is_there():
    assert QuietRule().arrived(T, 100, came=100, alone=True)
    rule = QuietRule()
    rule.arrived(T, 1, alone=False)
    assert not rule.arrived(T + 1, 101, came=100, alone=True)


def test_a_stream_without_gaps_is_cut():
    rule = QuietRule()
    arrivals = 0
    while not rule.is_complete(now := T + arrivals * QUIET_NS // 2) or not arrivals:
        arrivals += 1
        rule.arrived(now, arrivals, alone=False)
    assert T + MAX_WAIT_NS <= now < T + MAX_WAIT_NS + QUIET_NS


def test_the_wait_begins_anew_with_each_batch():
    rule = QuietRule()
    rule.arrived(T, 1, alone=False)
    later = T + 2 * MAX_WAIT_NS
    rule.arrived(later, 1, alone=False)
    assert not rule.is_complete(later + 1)


def test_a_full_batch_waits_for_nothing():
    rule = QuietRule()
    assert not rule.arrived(T, MAX_BATCH_ROWS - 1, alone=False)
    assert rule.arrived(T, MAX_BATCH_ROWS, alone=False)
