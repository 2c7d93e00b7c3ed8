"""What every ledger must do with subjects and their steps; beside tests/contract/ledger.py."""

import threading
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import InternalError, LedgerUnavailableError
from entropyd.ledger.contract import AlreadySpent, Event, EventKind, Ledger, Recorded
from entropyd.ledger.subjects import (
    StepConflict,
    StepDraft,
    StepRecord,
    StepRecorded,
    StepTaken,
    Subject,
    SubjectKind,
)
from tests.fakes.drafts import make_draft
from tests.fakes.ledger import FaultyLedger
from tests.fakes.step_drafts import make_step

MATCH, RAFFLE, PAIRS = SubjectKind.MATCH, SubjectKind.RAFFLE, SubjectKind.PAIRS
READ = Event(EventKind.HAND_READ, "room/match-1", "{}", 3)


def recorded(draft: StepDraft, number: int) -> StepRecord:
    """What must come back of a draft."""
    return StepRecord(number, draft.step, draft.key, draft.public, draft.secret, draft.at_ns)


def after(draft: StepDraft, steps: int) -> Subject:
    """What its subject must be after a draft."""
    return Subject(
        draft.kind, draft.tenant, draft.name, steps, draft.state, draft.state_secret, draft.label
    )


def all_steps(ledger: Ledger, name: str = "match-1", kind: SubjectKind = MATCH) -> list[StepRecord]:
    return ledger.steps(kind, "room", name, 0, 1000)


class StepsContract:
    # --- steps and their numbers ---

    def test_a_new_subject_has_its_first_step_and_its_state(self, ledger):
        """Byte for byte, secrets included, at once and for whoever asks."""
        draft = make_step(expected=0, key="k1", label="open")
        assert [StepRecorded(recorded(draft, 1))] == ledger.commit([draft])
        assert after(draft, 1) == ledger.subject(MATCH, "room", "match-1")
        assert recorded(draft, 1) == ledger.step(MATCH, "room", "match-1", "k1")
        assert [recorded(draft, 1)] == all_steps(ledger)

    def test_what_was_never_recorded_is_not_found(self, ledger):
        """Nor under another kind, tenant, name or key."""
        ledger.commit([make_step(key="k1")])
        for other in ((RAFFLE, "room", "match-1"), (MATCH, "x", "match-1"), (MATCH, "room", "m")):
            assert ledger.subject(*other) is None
            assert ledger.step(*other, "k1") is None
            assert [] == ledger.steps(*other, 0, 10)
        assert ledger.step(MATCH, "room", "match-1", "k2") is None

    def test_a_step_follows_and_replaces_the_state(self, ledger):
        """What was recorded stays; the snapshot is the last draft's, its label too."""
        first = make_step(expected=0, attempt=1, label="open")
        second = make_step(expected=1, attempt=2, label="closed", secret=False)
        ledger.commit([first])
        assert [StepRecorded(recorded(second, 2))] == ledger.commit([second])
        assert after(second, 2) == ledger.subject(MATCH, "room", "match-1")
        assert [recorded(first, 1), recorded(second, 2)] == all_steps(ledger)

    def test_whoever_expects_nothing_appends(self, ledger):
        """To a new subject and to an old one."""
        outcomes = [ledger.commit([make_step(attempt=n)])[0] for n in range(1, 4)]
        assert [1, 2, 3] == [outcome.record.number for outcome in outcomes]

    @pytest.mark.parametrize(("steps", "expected"), [(0, 1), (1, 0), (2, 1), (2, 3), (2, 0)])
    def test_another_number_of_steps_than_expected_is_told_and_nothing_written(
        self, ledger, steps, expected
    ):
        ledger.commit([make_step(attempt=number) for number in range(steps)])
        before = ledger.subject(MATCH, "room", "match-1"), all_steps(ledger)
        refused = make_step(expected=expected, key="k", attempt=9)
        assert [StepConflict(steps)] == ledger.commit([refused])
        assert before == (ledger.subject(MATCH, "room", "match-1"), all_steps(ledger))
        assert ledger.step(MATCH, "room", "match-1", "k") is None

    def test_a_key_that_is_taken_finds_its_step_however_far_the_subject_went_on(self, ledger):
        """Before any conflict: the caller did not hear that it was recorded."""
        first = make_step(expected=0, key="k1", attempt=1)
        ledger.commit([first])
        ledger.commit([make_step(expected=1, key="k2", attempt=2)])
        again = make_step(expected=0, key="k1", attempt=3)
        assert [StepTaken(recorded(first, 1))] == ledger.commit([again])
        assert 2 == len(all_steps(ledger))

    def test_a_key_is_unique_in_its_subject_alone(self, ledger):
        drafts = [
            make_step("m1", key="k"),
            make_step("m2", key="k"),
            make_step("m1", key="k", kind=RAFFLE),
            make_step("m1", key="k", tenant="other"),
        ]
        assert [1] * 4 == [outcome.record.number for outcome in ledger.commit(drafts)]

    def test_an_empty_key_is_none(self, ledger):
        """Any number of steps have it, and it finds none of them."""
        outcomes = ledger.commit([make_step(attempt=1), make_step(attempt=2)])
        assert [1, 2] == [outcome.record.number for outcome in outcomes]

    def test_keys_and_names_are_told_apart_to_the_byte(self, ledger):
        drafts = [make_step(key=key) for key in ("a", "A", "a ", "\u00e4", "a\u0308")]
        outcomes = ledger.commit(drafts)
        assert [1, 2, 3, 4, 5] == [outcome.record.number for outcome in outcomes]
        assert recorded(drafts[3], 4) == ledger.step(MATCH, "room", "match-1", "\u00e4")
        ledger.commit([make_step("MATCH-1")])
        assert 1 == ledger.subject(MATCH, "room", "MATCH-1").steps

    def test_ids_that_run_together_are_two_subjects(self, ledger):
        one, two = ledger.commit([make_step("c", tenant="ab"), make_step("bc", tenant="a")])
        assert (1, 1) == (one.record.number, two.record.number)

    # --- one commit ---

    def test_two_drafts_of_one_subject_in_one_commit_follow_each_other(self, ledger):
        first, second = make_step(expected=0, key="k1"), make_step(expected=1, key="k2")
        outcomes = ledger.commit([first, second])
        assert [StepRecorded(recorded(first, 1)), StepRecorded(recorded(second, 2))] == outcomes
        assert after(second, 2) == ledger.subject(MATCH, "room", "match-1")

    def test_later_drafts_of_a_commit_see_earlier_ones(self, ledger):
        """A key taken and a number gone in the same commit, and a third that goes on."""
        first = make_step(expected=0, key="k1", attempt=1)
        drafts = [
            first,
            make_step(expected=0, key="k1", attempt=2),
            make_step(expected=0, key="k2", attempt=3),
            make_step(expected=1, key="k2", attempt=4),
        ]
        assert [
            StepRecorded(recorded(first, 1)),
            StepTaken(recorded(first, 1)),
            StepConflict(1),
            StepRecorded(recorded(drafts[3], 2)),
        ] == ledger.commit(drafts)

    def test_hands_and_steps_mix_and_keep_their_order(self, ledger):
        """Each outcome stands where its draft stood."""
        ledger.commit([make_draft("h0")])
        outcomes = ledger.commit(
            [
                make_step("m1"),
                make_draft("h1"),
                make_draft("h0", attempt=2),
                make_step("m2", expected=4),
                make_step("m1"),
                make_draft("h2"),
            ],
            [READ],
            [("q1", "{}")],
        )
        kinds = [StepRecorded, Recorded, AlreadySpent, StepConflict, StepRecorded, Recorded]
        assert kinds == [type(outcome) for outcome in outcomes]
        assert [2, 3] == [outcomes[1].record.sequence, outcomes[5].record.sequence]
        assert (3, [READ], {"q1": "{}"}) == (
            ledger.count(),
            ledger.events(),
            ledger.health_states(),
        )

    def test_many_steps_of_many_subjects_in_one_commit(self, ledger):
        """More than any statement takes at once."""
        drafts = [make_step(f"m{n % 90}", key=f"k{n}", attempt=n) for n in range(400)]
        ledger.commit(drafts[:200])
        outcomes = ledger.commit(drafts)
        assert [StepTaken] * 200 + [StepRecorded] * 200 == [type(one) for one in outcomes]
        for draft, outcome in zip(drafts, outcomes, strict=True):
            assert recorded(draft, outcome.record.number) == outcome.record
        assert [1, 2, 3, 4, 5] == [one.number for one in all_steps(ledger, "m5")][:5]

    @pytest.mark.parametrize(
        "change",
        [
            {"tenant": ""},
            {"tenant": "a room"},
            {"name": ""},
            {"name": "caf\u00e9"},
            {"name": "x" * 129},
            {"step": ""},
            {"key": "\ud800"},
            {"label": "\udfff"},
            {"expected": -1},
        ],
        ids=ascii,
    )
    def test_a_step_that_could_not_be_read_back_is_refused_with_its_whole_commit(
        self, ledger, change
    ):
        with pytest.raises(InternalError, match="nothing was written"):
            ledger.commit([make_draft(), make_step(), replace(make_step(), **change)], [READ])
        assert (0, []) == (ledger.count(), ledger.events())
        assert ledger.subject(MATCH, "room", "match-1") is None

    # --- pages ---

    def test_steps_come_in_pages(self, ledger):
        drafts = [make_step(attempt=number) for number in range(1, 8)]
        ledger.commit(drafts)
        pages = [ledger.steps(MATCH, "room", "match-1", begin, 3) for begin in (0, 3, 6, 7)]
        whole = [recorded(draft, number) for number, draft in enumerate(drafts, 1)]
        assert [whole[:3], whole[3:6], whole[6:], []] == pages

    def test_subjects_come_in_byte_order_of_their_names_without_secrets(self, ledger):
        """Upper case before lower, a shorter name before what it begins."""
        names = ["b", "a~", "B", "a", "aa", "a-", "10", "9"]
        ledger.commit([make_step(name) for name in names])
        ledger.commit([make_step("c", tenant="other"), make_step("d", kind=RAFFLE)])
        found = ledger.subjects(MATCH, "room", "", None, "", 100)
        assert sorted(names, key=str.encode) == [subject.name for subject in found]
        assert {b""} == {subject.state_secret for subject in found}
        assert replace(after(make_step("10"), 1), state_secret=b"") == found[0]

    @pytest.mark.parametrize(
        ("prefix", "label", "begin", "limit", "names"),
        [
            ("", None, "", 3, ["a1", "a2", "a3"]),
            ("", None, "a3", 3, ["b1", "b2", "b3"]),
            ("b", None, "", 2, ["b1", "b2"]),
            ("b", None, "b2", 9, ["b3"]),
            ("b", None, "b3", 9, []),
            ("b", None, "c", 9, []),
            ("b", None, "a", 9, ["b1", "b2", "b3"]),
            ("a2", None, "", 9, ["a2"]),
            ("c", None, "", 9, []),
            ("\U0010ffff", None, "", 9, []),
            ("", "open", "", 9, ["a1", "a3", "b2"]),
            ("", "open", "a1", 1, ["a3"]),
            ("b", "open", "", 9, ["b2"]),
            ("", "", "", 9, ["a2", "b1", "b3"]),
            ("", "other", "", 9, []),
        ],
        ids=ascii,
    )
    def test_a_page_has_the_subjects_that_were_asked_for(
        self, ledger, prefix, label, begin, limit, names
    ):
        labelled = {"a1", "a3", "b2"}
        ledger.commit(
            [
                make_step(name, label="open" if name in labelled else "")
                for name in ("b3", "a1", "b2", "a2", "b1", "a3")
            ]
        )
        found = ledger.subjects(MATCH, "room", prefix, label, begin, limit)
        assert names == [subject.name for subject in found]

    def test_a_label_follows_the_last_step(self, ledger):
        ledger.commit([make_step(label="open")])
        ledger.commit([make_step(label="closed")])
        assert [] == ledger.subjects(MATCH, "room", "", "open", "", 9)
        assert 1 == len(ledger.subjects(MATCH, "room", "", "closed", "", 9))

    # --- secrets, opening, closing ---

    def test_no_text_shows_a_secret(self, ledger):
        draft = replace(make_step(), secret=b"hidden-1", state_secret=b"hidden-2")
        (outcome,) = ledger.commit([draft])
        shown = f"{draft!r} {outcome!r} {ledger.subject(MATCH, 'room', 'match-1')!r}"
        assert "hidden" not in shown

    @pytest.mark.parametrize("secret", [b"", b"x", bytes(100_000)], ids=len)
    def test_secrets_of_any_length_come_back(self, ledger, secret):
        ledger.commit([replace(make_step(), secret=secret, state_secret=secret[::-1])])
        assert secret == all_steps(ledger)[0].secret
        assert secret == ledger.subject(MATCH, "room", "match-1").state_secret

    def test_steps_are_there_after_reopening_and_go_on(self, store):
        draft = make_step(kind=PAIRS, expected=0, key="k1")
        first = store.open()
        first.commit([draft])
        first.close()
        second = store.open()
        assert after(draft, 1) == second.subject(PAIRS, "room", "match-1")
        assert [StepTaken(recorded(draft, 1))] == second.commit([replace(draft, public=b"")])
        (outcome,) = second.commit([replace(draft, expected=1, key="k2")])
        assert 2 == outcome.record.number
        second.close()

    def test_a_closed_ledger_answers_nothing_about_subjects(self, store):
        ledger = store.open()
        ledger.close()
        for use in (
            lambda: ledger.commit([make_step()]),
            lambda: ledger.subject(MATCH, "room", "match-1"),
            lambda: ledger.step(MATCH, "room", "match-1", "k"),
            lambda: ledger.steps(MATCH, "room", "match-1", 0, 1),
            lambda: ledger.subjects(MATCH, "room", "", None, "", 1),
        ):
            with pytest.raises(LedgerUnavailableError, match="is closed"):
                use()

    # --- faults, in pairs ---

    def test_a_step_that_failed_and_was_not_written_leaves_nothing(self, ledger):
        """Neither step, nor key, nor state; the retry gets the number."""
        faulty = FaultyLedger(ledger)
        faulty.commit([make_step(expected=0)])
        before = faulty.subject(MATCH, "room", "match-1")
        faulty.fail_not_written = 1
        with pytest.raises(LedgerUnavailableError):
            faulty.commit([make_step(expected=1, key="k", attempt=1), make_draft()])
        assert faulty.step(MATCH, "room", "match-1", "k") is None
        assert before == faulty.subject(MATCH, "room", "match-1")
        assert faulty.find("room", "hand-1") is None
        retried = make_step(expected=1, key="k", attempt=2)
        assert [StepRecorded(recorded(retried, 2))] == faulty.commit([retried])

    def test_a_step_that_failed_but_was_written_is_found(self, ledger):
        """The retry finds the first draft, which nobody saw, and there is no second."""
        faulty = FaultyLedger(ledger)
        faulty.fail_but_written = 1
        first = make_step(expected=0, key="k", attempt=1)
        with pytest.raises(LedgerUnavailableError):
            faulty.commit([first, make_draft()])
        assert recorded(first, 1) == faulty.step(MATCH, "room", "match-1", "k")
        assert faulty.find("room", "hand-1") is not None
        again = make_step(expected=0, key="k", attempt=2)
        assert [StepTaken(recorded(first, 1))] == faulty.commit([again])
        assert after(first, 1) == faulty.subject(MATCH, "room", "match-1")

    # --- threads ---

    def test_readers_see_a_subject_with_all_its_steps_or_none(self, ledger):
        """A state is never there without its step, and a step never without its hand."""
        done = threading.Event()
        torn: list[object] = []

        def read() -> None:
            while not done.is_set():
                subject = ledger.subject(MATCH, "room", "match-1")
                steps = all_steps(ledger)
                if subject is not None and len(steps) < subject.steps:
                    torn.append(subject)
                for record in steps[-2:]:
                    if ledger.find("room", f"h{record.key}") is None:
                        torn.append(record)
                page = ledger.subjects(MATCH, "room", "", None, "", 9)
                if subject is not None and page[0].steps < subject.steps:
                    torn.append(page)

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for number in range(60):
            step = make_step(expected=number, key=str(number), attempt=number)
            ledger.commit([step, make_draft(f"h{number}")])
        done.set()
        for reader in readers:
            reader.join()
        assert [] == torn
        assert 60 == len(all_steps(ledger))

    # --- anything at all ---

    def test_any_history_is_what_one_list_a_subject_would_be(self, store):
        """Whatever is committed, failed and reopened, against a list in memory."""
        drafts = st.tuples(
            st.sampled_from("ab"), st.sampled_from([None, 0, 1, 2, 3]), st.sampled_from(["", *"xy"])
        )
        fates = st.sampled_from(["ok", "ok", "not written", "written", "reopen"])
        histories = st.lists(st.tuples(fates, st.lists(drafts, max_size=5)), max_size=8)

        @settings(max_examples=25, deadline=None)
        @given(histories)
        def holds(history: list[tuple[str, list[tuple[str, int | None, str]]]]) -> None:
            check_history(store.fresh(), history)

        holds()


def check_history(store, history: list[tuple[str, list[tuple[str, int | None, str]]]]) -> None:
    """Play a history and compare the ledger with lists that were kept beside it."""
    expected: dict[str, list[StepDraft]] = {"a": [], "b": []}
    ledger = store.open()
    for attempt, (fate, asked) in enumerate(history):
        if fate == "reopen":
            ledger.close()
            ledger = store.open()
        drafts = [
            make_step(name, expected=steps, key=key, attempt=100 * attempt + number)
            for number, (name, steps, key) in enumerate(asked)
        ]
        faulty = FaultyLedger(ledger)
        faulty.fail_not_written, faulty.fail_but_written = fate == "not written", fate == "written"
        outcomes = None
        try:
            outcomes = faulty.commit(drafts)
        except LedgerUnavailableError:
            assert fate in {"not written", "written"}
        if fate != "not written":
            told = [_play(expected[draft.name], draft) for draft in drafts]
            assert outcomes in (None, told)
    for name, made in expected.items():
        assert [recorded(d, n) for n, d in enumerate(made, 1)] == all_steps(ledger, name)
        subject = ledger.subject(MATCH, "room", name)
        assert (after(made[-1], len(made)) if made else None) == subject
    ledger.close()


def _play(made: list[StepDraft], draft: StepDraft) -> StepRecorded | StepTaken | StepConflict:
    for number, one in enumerate(made, 1):
        if draft.key and one.key == draft.key:
            return StepTaken(recorded(one, number))
    if draft.expected not in {None, len(made)}:
        return StepConflict(len(made))
    made.append(draft)
    return StepRecorded(recorded(draft, len(made)))
