"""What every ledger must do. A store's test file subclasses this and says how to open it."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import InternalError, LedgerConflictError, LedgerUnavailableError
from entropyd.ledger.contract import (
    MAX_ALARM_WINDOWS,
    AlarmWindow,
    AlreadySpent,
    Event,
    EventKind,
    Ledger,
    Recorded,
)
from tests.fakes.drafts import make_draft
from tests.fakes.ledger import FaultyLedger, expected_open_hash, without_secrets


class Store(Protocol):
    """A place where a ledger lies."""

    def open(self) -> Ledger:
        """Open the ledger; exclusive until it is closed."""

    def fresh(self) -> "Store":
        """Return another, empty place."""


ALARM = Event(EventKind.HEALTH_ALARM, "quantis-1", '{"test": "rct"}', 1)
WINDOWED = Event(EventKind.HEALTH_ALARM, "quantis-1", '{"test": "apt"}', 4, window=b"raw")
RESET = Event(EventKind.HEALTH_RESET, "quantis-1", "{}", 2)
READ = Event(EventKind.HAND_READ, "room/hand-1", "{}", 3)


class LedgerContract:
    @pytest.fixture
    def store(self) -> Store:
        raise NotImplementedError

    @pytest.fixture
    def ledger(self, store: Store) -> Iterator[Ledger]:
        ledger = store.open()
        yield ledger
        ledger.close()

    # --- one hand, one deck ---

    def test_what_was_recorded_is_found_with_secrets_only_when_asked(self, ledger):
        """A record comes back byte for byte; seeds, blinding and salt key only on request."""
        draft = make_draft(seeds=3, size=104)
        (outcome,) = ledger.commit([draft])
        assert isinstance(outcome, Recorded)
        whole = ledger.find("room", "hand-1", with_secrets=True)
        assert draft == whole.draft
        assert without_secrets(whole) == ledger.find("room", "hand-1")
        assert outcome.record == ledger.find("room", "hand-1")

    def test_a_hand_that_was_never_drawn_is_not_found(self, ledger):
        ledger.commit([make_draft("hand-1")])
        assert ledger.find("room", "hand-2") is None
        assert ledger.find("other-room", "hand-1") is None

    def test_a_spent_hand_keeps_its_deck(self, ledger):
        """A second draft for a hand is thrown away, whatever it holds."""
        (first,) = ledger.commit([make_draft(attempt=1)])
        (second,) = ledger.commit([make_draft(attempt=2)])
        assert AlreadySpent(first.record) == second
        assert make_draft(attempt=1) == ledger.find("room", "hand-1", with_secrets=True).draft

    def test_spent_hands_are_told_among_many(self, ledger):
        """In one question, whatever their number; another tenant's are not."""
        spent = [f"h{number}" for number in range(0, 600, 7)]
        ledger.commit([make_draft(hand) for hand in spent])
        asked = [f"h{number}" for number in range(600)]
        assert set(spent) == ledger.spent_among("room", asked)
        assert set() == ledger.spent_among("other-room", asked)
        assert {"h7"} == ledger.spent_among("room", ["h7"])
        assert set() == ledger.spent_among("room", [])

    def test_a_second_table_buys_no_second_deck(self, ledger):
        (first,) = ledger.commit([make_draft(table="table-1")])
        (second,) = ledger.commit([make_draft(table="table-2")])
        assert AlreadySpent(first.record) == second

    def test_of_two_drafts_for_one_hand_in_one_commit_the_first_wins(self, ledger):
        first, second, third = ledger.commit(
            [make_draft(attempt=1), make_draft(attempt=2, table="table-2"), make_draft("hand-2")]
        )
        assert isinstance(first, Recorded)
        assert AlreadySpent(first.record) == second
        assert isinstance(third, Recorded)
        assert 2 == third.record.sequence

    def test_tenants_do_not_meet(self, ledger):
        """The same ids in two tenants are two hands at two tables."""
        one, two = ledger.commit([make_draft(tenant="room-a"), make_draft(tenant="room-b")])
        assert (1, 1) == (one.record.sequence, two.record.sequence)
        assert make_draft(tenant="room-b").items == ledger.find("room-b", "hand-1").draft.items

    def test_ids_that_run_together_are_two_hands(self, ledger):
        """(ab, c) and (a, bc) share their letters and nothing else."""
        outcomes = ledger.commit([make_draft("c", tenant="ab"), make_draft("bc", tenant="a")])
        assert [Recorded, Recorded] == [type(outcome) for outcome in outcomes]

    # --- numbers ---

    def test_each_table_counts_from_one_without_gaps(self, ledger):
        tables = ["a", "b", "a", "a", "b"]
        outcomes = ledger.commit([make_draft(f"h{i}", table=t) for i, t in enumerate(tables)])
        assert [1, 1, 2, 3, 2] == [outcome.record.sequence for outcome in outcomes]
        (later,) = ledger.commit([make_draft("h9", table="b")])
        assert 3 == later.record.sequence

    def test_a_spent_hand_takes_no_number(self, ledger):
        ledger.commit([make_draft("h1")])
        _, new = ledger.commit([make_draft("h1", attempt=2), make_draft("h2")])
        assert 2 == new.record.sequence

    def test_the_open_hash_holds_the_number(self, ledger):
        for hand in ("h1", "h2", "h3"):
            ledger.commit([make_draft(hand)])
        assert expected_open_hash(make_draft("h3"), 3) == ledger.find("room", "h3").open_hash

    def test_hands_are_counted(self, ledger):
        assert 0 == ledger.count()
        ledger.commit([make_draft("h1"), make_draft("h2"), make_draft("h1")])
        assert 2 == ledger.count()

    @pytest.mark.parametrize(
        "change",
        [
            {"table": "table-2"},
            {"hand": "hand-2"},
            {"tenant": "other"},
            {"rules": b"deck=short36\n"},
            {"commitment": bytes(31)},
            {"claim_digest": b""},
            {"size": 51},
            {"seeds": bytes(63)},
            {"seeds": b""},
            {"salt_key": bytes(33)},
        ],
        ids=str,
    )
    def test_a_draft_that_contradicts_itself_is_refused_with_its_whole_commit(self, ledger, change):
        with pytest.raises(InternalError, match="nothing was written"):
            ledger.commit([make_draft("h1"), replace(make_draft(), **change)], [ALARM])
        assert (0, []) == (ledger.count(), ledger.events())

    # --- events and health states ---

    def test_events_come_back_in_order_and_by_kind(self, ledger):
        ledger.commit([], [ALARM, READ])
        ledger.commit([make_draft()], [RESET, ALARM])
        assert [ALARM, READ, RESET, ALARM] == ledger.events()
        assert [ALARM, ALARM] == ledger.events(EventKind.HEALTH_ALARM)
        assert [] == ledger.events(EventKind.DAEMON_STOP)

    def test_a_health_state_replaces_the_one_before(self, ledger):
        ledger.commit([], [], [("q1", '{"n": 1}'), ("q2", "{}"), ("q1", '{"n": 2}')])
        ledger.commit([], [], [("q2", '{"n": 3}')])
        assert {"q1": '{"n": 2}', "q2": '{"n": 3}'} == ledger.health_states()

    def test_an_empty_commit_does_nothing(self, ledger):
        assert [] == ledger.commit([])
        assert (0, [], {}) == (ledger.count(), ledger.events(), ledger.health_states())

    # --- windows of alarms ---

    def test_the_window_of_an_alarm_is_kept_beside_its_event(self, ledger):
        """Events come back without it; the window comes back with its event."""
        other = Event(EventKind.HEALTH_ALARM, "quantis-2", "{}", 9, window=bytes(1024))
        ledger.commit([], [READ, WINDOWED, ALARM])
        ledger.commit([make_draft()], [other, RESET])
        bare = [replace(event, window=b"") for event in (WINDOWED, other)]
        assert [AlarmWindow(bare[0], b"raw"), AlarmWindow(bare[1], bytes(1024))] == (
            ledger.alarm_windows()
        )
        assert [READ, bare[0], ALARM, bare[1], RESET] == ledger.events()

    def test_the_oldest_windows_are_forgotten_and_their_events_stay(self, ledger):
        windows = [replace(WINDOWED, at_ns=n, window=bytes([n])) for n in range(100)]
        for first in range(0, 100, 25):
            ledger.commit([], windows[first : first + 25])
        kept = ledger.alarm_windows()
        assert [bytes([n]) for n in range(100 - MAX_ALARM_WINDOWS, 100)] == [
            window.samples for window in kept
        ]
        assert 100 == len(ledger.events())

    def test_a_window_that_is_too_long_is_refused_with_its_whole_commit(self, ledger):
        with pytest.raises(InternalError, match="nothing was written"):
            ledger.commit([make_draft()], [replace(WINDOWED, window=bytes(1025))])
        assert (0, []) == (ledger.count(), ledger.events())

    def test_windows_are_there_after_reopening(self, store):
        first = store.open()
        first.commit([], [WINDOWED])
        first.close()
        second = store.open()
        assert [b"raw"] == [window.samples for window in second.alarm_windows()]
        second.close()

    def test_no_text_shows_a_window(self):
        event = replace(WINDOWED, window=b"secret")
        assert "secret" not in repr(event) + repr(AlarmWindow(event, b"secret"))

    # --- opening and closing ---

    def test_everything_is_there_after_reopening_and_numbers_go_on(self, store):
        first = store.open()
        first.commit([make_draft("h1"), make_draft("h2")], [ALARM], [("q1", "{}")])
        first.close()
        second = store.open()
        assert make_draft("h2") == second.find("room", "h2", with_secrets=True).draft
        assert ([ALARM], {"q1": "{}"}) == (second.events(), second.health_states())
        spent, new = second.commit([make_draft("h1", attempt=2), make_draft("h3")])
        assert isinstance(spent, AlreadySpent)
        assert 3 == new.record.sequence
        second.close()

    def test_a_second_opener_is_refused_until_the_first_has_closed(self, store):
        first = store.open()
        with pytest.raises(LedgerConflictError, match="is held by"):
            store.open()
        first.commit([make_draft()])
        first.close()
        second = store.open()
        assert 1 == second.count()
        second.close()

    def test_a_closed_ledger_refuses_and_may_be_closed_again(self, store):
        ledger = store.open()
        ledger.close()
        ledger.close()
        for use in (
            lambda: ledger.commit([make_draft()]),
            lambda: ledger.find("room", "hand-1"),
            ledger.probe,
            ledger.alarm_windows,
            ledger.count,
        ):
            with pytest.raises(LedgerUnavailableError, match="is closed"):
                use()
        again = store.open()
        assert 0 == again.count()
        again.close()

    # --- faults, in pairs ---

    def test_failed_and_not_written_leaves_nothing_and_no_gap(self, ledger):
        """The retry gets the number that the failed draft would have had."""
        faulty = FaultyLedger(ledger)
        faulty.commit([make_draft("h1")])
        faulty.fail_not_written = 1
        with pytest.raises(LedgerUnavailableError):
            faulty.commit([make_draft("h2")], [ALARM])
        assert faulty.find("room", "h2") is None
        assert [] == faulty.events()
        (retried,) = faulty.commit([make_draft("h2", attempt=2)])
        assert isinstance(retried, Recorded)
        assert 2 == retried.record.sequence
        assert make_draft("h2", attempt=2).items == retried.record.draft.items

    def test_failed_but_written_keeps_the_unseen_deck(self, ledger):
        """The retry finds the first draft, which nobody saw, and there is no second."""
        faulty = FaultyLedger(ledger)
        faulty.fail_but_written = 1
        with pytest.raises(LedgerUnavailableError):
            faulty.commit([make_draft("h1", attempt=1)])
        found = faulty.find("room", "h1")
        assert found is not None
        assert make_draft("h1", attempt=1).items == found.draft.items
        (retried,) = faulty.commit([make_draft("h1", attempt=2)])
        assert AlreadySpent(found) == retried
        assert 1 == faulty.count()

    # --- threads ---

    def test_readers_see_a_commit_whole_or_not_at_all(self, ledger):
        """A reader never meets the second hand of a commit without the first."""
        done = threading.Event()
        torn: list[int] = []

        def read() -> None:
            while not done.is_set():
                for number in range(40):
                    if ledger.find("room", f"b{number}") and not ledger.find("room", f"a{number}"):
                        torn.append(number)

        reader = threading.Thread(target=read)
        reader.start()
        for number in range(40):
            ledger.commit([make_draft(f"a{number}"), make_draft(f"b{number}")])
        done.set()
        reader.join()
        assert [] == torn
        assert 80 == ledger.count()

    # --- anything at all ---

    def test_any_history_is_one_deck_a_hand_and_numbers_without_gaps(self, store):
        """Whatever is committed, failed and reopened: first deck stays, numbers are 1, 2, 3, ..."""
        hands = st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 5))
        fates = st.sampled_from(["ok", "ok", "not written", "written", "reopen"])
        histories = st.lists(st.tuples(fates, st.lists(hands, max_size=4)), max_size=8)

        @settings(max_examples=25, deadline=None)
        @given(histories)
        def holds(history: list[tuple[str, list[tuple[str, str, int]]]]) -> None:
            check_history(store.fresh(), history)

        holds()


def check_history(store: Store, history: list[tuple[str, list[tuple[str, str, int]]]]) -> None:
    """Play a history and compare the ledger with what must have come of it."""
    decks: dict[tuple[str, str], bytes] = {}
    tables: dict[tuple[str, str], list[int]] = {}
    ledger = store.open()
    for attempt, (fate, hands) in enumerate(history):
        if fate == "reopen":
            ledger.close()
            ledger = store.open()
        drafts = [make_draft(f"h{n}", tenant=t, table=b, attempt=attempt) for t, b, n in hands]
        faulty = FaultyLedger(ledger)
        faulty.fail_not_written, faulty.fail_but_written = fate == "not written", fate == "written"
        try:
            faulty.commit(drafts)
        except LedgerUnavailableError:
            assert fate in {"not written", "written"}
        if fate != "not written":
            for draft in drafts:
                decks.setdefault((draft.tenant, draft.hand), draft.items)
    for (tenant, hand), items in decks.items():
        record = ledger.find(tenant, hand)
        assert record is not None
        assert items == record.draft.items
        tables.setdefault((tenant, record.draft.table), []).append(record.sequence)
    assert len(decks) == ledger.count()
    for numbers in tables.values():
        assert list(range(1, len(numbers) + 1)) == sorted(numbers)
    ledger.close()
