"""What every ledger must do with the log, and with hands of both kinds."""

import threading
from dataclasses import replace

import pytest

from entropyd.errors import HandSpentError, InternalError, LedgerUnavailableError
from entropyd.ledger.contract import AlreadySpent, Draft, DraftOutcome, Ledger, Recorded
from entropyd.ledger.entries import Completed, LogEntry
from entropyd.ledger.subjects import (
    StepConflict,
    StepRecord,
    StepRecorded,
    StepSpent,
    StepTaken,
    SubjectKind,
)
from entropyd.log.frontier import Node, subtrees
from entropyd.log.merkle import leaf_hash, node_hash, root
from entropyd.log.proofs import inclusion_proof, verify_inclusion
from tests.fakes.drafts import make_draft, record_of
from tests.fakes.entries import (
    close_text,
    going_on,
    logged_draft,
    never,
    noted,
    opening,
    refused_opening,
    table_text,
    text,
)
from tests.fakes.ledger import FaultyLedger, expected_open_hash

HAND, MATCH = SubjectKind.HAND, SubjectKind.MATCH


def log_of(ledger: Ledger) -> list[bytes]:
    """Return all texts, after their indices and the tree over them were compared with them."""
    entries = ledger.log_entries(0, 10_000)
    assert list(range(ledger.log_size())) == [entry.index for entry in entries]
    leaves = [entry.text[:-1] for entry in entries]
    if leaves:
        *rest, last = ledger.log_nodes(subtrees(0, len(leaves)))
        for left in reversed(rest):
            last = node_hash(left, last)
        assert root(leaves) == last
    return [entry.text for entry in entries]


def state_of(ledger: Ledger, hand: str = "hand-1") -> tuple[object, ...]:
    """Return all that a refused draft of a hand must leave as it is."""
    return (
        ledger.count(),
        log_of(ledger),
        ledger.subject(HAND, "room", hand),
        ledger.steps(HAND, "room", hand, 0, 100),
        ledger.hands_at("room", "", None, ("", 0), 100),
        ledger.spent_among("room", [hand]),
        ledger.events(),
    )


def step_of(outcome: DraftOutcome) -> StepRecord:
    """Return the record of a step that was written."""
    assert isinstance(outcome, StepRecorded)
    return outcome.record


class LogContract:
    # --- entries ---

    def test_a_log_begins_empty_and_stays_so_without_entries(self, ledger):
        """What has no receipt adds nothing; a hand without one says so."""
        ledger.commit([make_draft(), replace(opening("h2"), complete=None)])
        assert (0, []) == (ledger.log_size(), ledger.log_entries(0, 10))
        assert ledger.find("room", "hand-1").log_index is None

    def test_each_entry_is_made_of_what_was_given_in_the_order_of_drafts(self, ledger):
        """Index, number and open hash; entries of events come behind all drafts."""
        one, two = logged_draft("h1"), logged_draft("h3", table="t2")
        outcomes = ledger.commit(
            [one, opening("h2", entries=2), going_on("m", kind=MATCH, expected=0), two],
            [noted(1), noted(2)],
        )
        lines = {"tenant": "room", "table": "table-1", "hand": "h2", "sequence": 2}
        assert [
            close_text(one, 0, 1, expected_open_hash(one, 1)),
            text(1, "open", **lines),
            text(2, "roll", **lines),
            text(3, "seal", tenant="room", hand="m"),
            close_text(two, 4, 1, expected_open_hash(two, 1)),
            text(5, "health", reason=1),
            text(6, "health", reason=2),
        ] == log_of(ledger)
        assert ["room"] * 5 + [""] * 2 == [entry.tenant for entry in ledger.log_entries(0, 9)]
        assert (0, 4) == (record_of(outcomes[0]).log_index, record_of(outcomes[3]).log_index)
        ledger.commit([logged_draft("h4")])
        assert 7 == ledger.find("room", "h4").log_index
        assert 8 == len(log_of(ledger))

    def test_a_hand_is_found_with_the_index_of_its_receipt(self, ledger):
        """As it was recorded, and by whoever asks again."""
        (first,) = ledger.commit([logged_draft()])
        assert first.record == ledger.find("room", "hand-1")
        assert [AlreadySpent(first.record)] == ledger.commit([logged_draft(attempt=2)])
        assert 1 == ledger.log_size()

    def test_a_step_is_recorded_as_it_was_completed(self, ledger):
        """With its number and its index, in what is shown and in the state."""
        draft = opening("h2")
        (_, outcome) = ledger.commit([logged_draft("h1"), draft])
        record = StepRecord(1, "open", "open", b"2/1/" + draft.public, draft.secret, draft.at_ns)
        assert StepRecorded(record) == outcome
        assert (1, b"2/1/" + draft.state) == (outcome.index, outcome.completed.state)
        texts = [entry.text for entry in ledger.log_entries(1, 9)]
        assert texts == list(outcome.completed.entries)
        assert record == ledger.step(HAND, "room", "h2", "open")
        subject = ledger.subject(HAND, "room", "h2")
        assert (b"2/1/" + draft.state, draft.state_secret) == (subject.state, subject.state_secret)
        later = going_on("h2", entries=3)
        ledger.commit([later])
        assert b"0/2/" + later.state == ledger.subject(HAND, "room", "h2").state
        assert 5 == len(log_of(ledger))

    def test_a_table_has_its_receipt_before_its_first_hand_of_either_kind(self, ledger):
        """And once; a tenant's table is not another's of that name."""
        ledger.set_table_entry(table_text)
        ledger.commit([opening("h1", table="t1"), logged_draft("h2", table="t1")])
        ledger.commit([make_draft("h3", table="t2"), opening("h4", table="t2")])
        ledger.commit([opening("h1", table="t1", tenant="other")])
        texts = log_of(ledger)
        expected = [("room", "t1", 0, 0), ("room", "t2", 3, 1), ("other", "t1", 5, 0)]
        assert [table_text(*place) for place in expected] == [
            one for one in texts if b"event: table\n" in one
        ]
        assert 2 == ledger.find("room", "h2").log_index
        assert ledger.step(HAND, "room", "h1", "open").public.startswith(b"1/1/")
        assert ledger.step(HAND, "room", "h4", "open").public.startswith(b"2/4/")

    def test_a_table_that_had_hands_before_its_first_receipt_says_how_many(self, ledger):
        """Of either kind, in the same commit or before; and once."""
        ledger.set_table_entry(table_text)
        ledger.commit([make_draft("h1", table="t1"), make_draft("h2", table="t1")])
        ledger.commit([replace(opening("h3", table="t2"), complete=None)])
        assert 0 == ledger.log_size()
        ledger.commit([make_draft("h4", table="t1"), logged_draft("h5", table="t1")])
        ledger.commit([opening("h6", table="t2"), opening("h7", table="t3")])
        ledger.commit([opening("h8", table="t1"), logged_draft("h9", table="t2")])
        expected = [("t1", 0, 3), ("t2", 2, 1), ("t3", 4, 0)]
        assert [table_text("room", *place) for place in expected] == [
            one for one in log_of(ledger) if b"event: table\n" in one
        ]
        assert 4 == ledger.find("room", "h5").sequence
        assert 1 == ledger.find("room", "h5").log_index

    def test_a_refused_hand_begins_no_table(self, ledger):
        """Its id is spent: what stands in the log is the table where it was dealt."""
        ledger.set_table_entry(table_text)
        ledger.commit([logged_draft("h1"), refused_opening(opening("h1", table="t2"))])
        ledger.commit([replace(logged_draft("h1", table="t2"), entry=never)])
        assert 2 == ledger.log_size()

    def test_entries_come_in_pages(self, ledger):
        """From any index, none beyond the end, whoever was first in its commit."""
        drafts = [logged_draft(f"h{number}") for number in range(90)]
        ledger.commit(drafts[:2])
        ledger.commit(drafts[2:])
        every = ledger.log_entries(0, 1000)
        assert [LogEntry(n, "room", every[n].text) for n in range(90)] == every
        for first in (0, 1, 2, 31, 33, 34, 35, 65, 66, 89, 90, 500):
            for limit in (1, 2, 31, 32, 33, 64, 1000):
                assert every[first:][:limit] == ledger.log_entries(first, limit)

    def test_every_entry_is_proved_in_every_tree(self, ledger):
        """Of nodes that were kept when they were complete, and of nothing else."""
        for size in range(1, 20):
            ledger.commit([logged_draft(f"h{size}")])
            leaves = [one[:-1] for one in log_of(ledger)]
            for index in range(size):
                path = inclusion_proof(lambda node: ledger.log_nodes([node])[0], index, size)
                verify_inclusion(leaf_hash(leaves[index]), index, size, path, root(leaves))

    def test_nodes_come_as_they_were_asked_for(self, ledger):
        ledger.commit([logged_draft(f"h{number}") for number in range(70)])
        leaves = [one[:-1] for one in log_of(ledger)]
        nodes = [Node(6, 0), Node(0, 69), Node(1, 34), Node(0, 0), Node(6, 0)]
        expected = [root(leaves[n.place << n.level : (n.place + 1) << n.level]) for n in nodes]
        assert expected == ledger.log_nodes(nodes)
        assert [] == ledger.log_nodes([])

    @pytest.mark.parametrize("broken", [b"", b"no newline", b"x" * 65_535 + b"\n"], ids=len)
    def test_what_is_no_receipt_leaves_nothing_of_its_commit(self, ledger, broken):
        """Nor does a step whose completion fails: no number, no id, no entry, no event."""
        ledger.commit([logged_draft("h0")])
        before = state_of(ledger)
        draft = replace(logged_draft("h9"), entry=lambda *_: broken)
        step = replace(opening(), complete=lambda _: Completed(b"", b"", (broken,)))
        event = replace(noted(), entry=lambda _: broken)
        commits = [([opening(), draft], []), ([make_draft("h9"), step], []), ([opening()], [event])]
        for drafts, events in commits:
            with pytest.raises(InternalError):
                ledger.commit(drafts, events)
            assert before == state_of(ledger)
            assert ledger.find("room", "h9") is None
        with pytest.raises(AssertionError, match="not recorded"):
            ledger.commit([make_draft("h9"), refused_opening(opening())])
        assert before == state_of(ledger)
        (outcome,) = ledger.commit([logged_draft("h9")])
        assert (2, 1) == (record_of(outcome).sequence, record_of(outcome).log_index)

    def test_the_longest_receipts_come_back(self, ledger):
        longest = text(0, "x", tenant="room") + b"y" * 65_000
        longest += b"z" * (65_534 - len(longest)) + b"\n"
        drafts = [replace(make_draft(f"h{n}"), entry=lambda *_: longest) for n in range(40)]
        ledger.commit(drafts)
        assert [longest] * 40 == log_of(ledger)

    # --- hands of both kinds ---

    def test_both_kinds_of_hands_count_at_one_table(self, ledger):
        """Without gaps, in the order of drafts, in one commit and over several."""
        outcomes = ledger.commit(
            [logged_draft("h1"), opening("h2"), opening("h3", table="t2"), logged_draft("h4")]
        )
        assert [1, 3] == [record_of(outcomes[0]).sequence, record_of(outcomes[3]).sequence]
        (last,) = ledger.commit([opening("h5")])
        assert last.record.public.startswith(b"4/4/")
        assert ledger.step(HAND, "room", "h2", "open").public.startswith(b"2/1/")
        assert ledger.step(HAND, "room", "h3", "open").public.startswith(b"1/2/")
        (outcome,) = ledger.commit([make_draft("h6")])
        assert 5 == outcome.record.sequence

    def test_an_id_that_was_dealt_card_by_card_is_spent(self, ledger):
        """Told without a record, also by one before it in the commit; and found by no Shuffle."""
        refused = replace(logged_draft(), entry=never)
        _, second = ledger.commit([opening(), refused])
        assert AlreadySpent(None) == second
        before = state_of(ledger)
        assert [AlreadySpent(None)] == ledger.commit([refused])
        assert before == state_of(ledger)
        assert {"hand-1"} == ledger.spent_among("room", ["hand-1", "hand-2"])
        assert set() == ledger.spent_among("other", ["hand-1"])
        with pytest.raises(HandSpentError, match="HandService"):
            ledger.find("room", "hand-1")
        assert 0 == ledger.count()

    def test_an_id_that_was_dealt_whole_opens_no_hand(self, ledger):
        """Also by one before it in the commit: no number is taken and nothing is completed."""
        first, second = ledger.commit([logged_draft(), refused_opening(opening())])
        assert (Recorded, StepSpent()) == (type(first), second)
        before = state_of(ledger)
        assert [StepSpent()] == ledger.commit([refused_opening(opening(table="t2", key="k"))])
        assert before == state_of(ledger)
        (outcome,) = ledger.commit([opening("h2")])
        assert outcome.record.public.startswith(b"2/1/")

    def test_whoever_opens_again_finds_what_was_opened(self, ledger):
        """By its key, in the same commit or later; with another key he is told that it goes on."""
        first, second = ledger.commit([opening(), refused_opening(opening(attempt=2))])
        assert StepTaken(first.record) == second
        before = state_of(ledger)
        assert [StepTaken(first.record)] == ledger.commit([refused_opening(opening(attempt=3))])
        assert [StepConflict(1)] == ledger.commit([refused_opening(opening(key="other"))])
        assert before == state_of(ledger)

    def test_a_tenants_hands_are_its_own(self, ledger):
        one, two = ledger.commit([opening(tenant="a"), opening(tenant="b")])
        assert one.record.public.startswith(b"1/0/")
        assert two.record.public.startswith(b"1/1/")

    def test_steps_of_a_hand_follow_in_one_commit(self, ledger):
        """Several of one call, and of several hands: each sees the one before it."""
        outcomes = ledger.commit(
            [
                opening("h1"),
                going_on("h1", expected=1),
                opening("h2"),
                going_on("h1", expected=2, entries=2, label="closed"),
                going_on("h2", expected=1, entries=0),
                going_on("h2", expected=3),
            ]
        )
        told = [one.record.public[:4] for one in outcomes[:5]]
        assert [b"1/0/", b"0/1/", b"2/2/", b"0/3/", b"0/5/"] == told
        assert StepConflict(2) == outcomes[5]
        assert 5 == len(log_of(ledger))
        assert "closed" == ledger.subject(HAND, "room", "h1").label

    @pytest.mark.parametrize(
        "draft",
        [
            replace(opening(), table=""),
            replace(opening(), table="a table"),
            replace(opening(), expected=1),
            replace(opening(), expected=None),
            replace(opening(), kind=MATCH),
            replace(going_on(), expected=None),
        ],
    )
    def test_a_hand_is_opened_with_its_first_step_and_no_other(self, ledger, draft):
        """Or a hand would have no number, or two."""
        with pytest.raises(InternalError, match="nothing was written"):
            ledger.commit([logged_draft("h9"), draft])
        assert 0 == ledger.log_size() == ledger.count()

    @pytest.mark.parametrize(
        ("prefix", "label", "after", "limit", "hands"),
        [
            ("", None, ("", 0), 9, ["a1", "a3", "b1", "b2", "b3"]),
            ("", None, ("", 0), 2, ["a1", "a3"]),
            ("", None, ("a", 1), 2, ["a3", "b1"]),
            ("", None, ("a", 3), 9, ["b1", "b2", "b3"]),
            ("b", None, ("", 0), 9, ["b1", "b2", "b3"]),
            ("b", None, ("b~", 1), 9, ["b3"]),
            ("b~", None, ("a", 7), 9, ["b2", "b3"]),
            ("b", None, ("c", 0), 9, []),
            ("", "open", ("", 0), 9, ["a1", "b2"]),
            ("", "open", ("a", 1), 9, ["b2"]),
            ("b", "dealing", ("", 0), 1, ["b1"]),
            ("b", "dealing", ("b", 1), 9, ["b3"]),
            ("", "other", ("", 0), 9, []),
            ("c", None, ("", 0), 9, []),
        ],
        ids=ascii,
    )
    def test_hands_come_in_pages_by_table_and_number(
        self, ledger, prefix, label, after, limit, hands
    ):
        """Of those of both kinds the ones that are dealt card by card; without secrets."""
        tables = {"b1": "b", "a1": "a", "b2": "b~", "a3": "a", "b3": "b~"}
        ledger.commit([opening("b1", table="b"), opening("a1", table="a")])
        ledger.commit([make_draft("a2", table="a"), opening("b2", table="b~")])
        ledger.commit([opening("a3", table="a"), opening("b3", table="b~")])
        ledger.commit(
            [opening("x", table="a", tenant="other"), going_on("m", kind=MATCH, expected=0)]
        )
        ledger.commit([going_on(hand) for hand in ("b1", "a3", "b3")])
        found = ledger.hands_at("room", prefix, label, after, limit)
        assert hands == [one.name for one in found]
        assert set(hands) <= set(tables)
        for one in found:
            whole = ledger.subject(HAND, "room", one.name)
            assert replace(whole, state_secret=b"") == one

    # --- much at once, faults, threads ---

    def test_a_thousand_mixed_drafts_in_one_commit(self, ledger):
        """Numbers, indices and outcomes are those of one draft after the other."""
        ledger.set_table_entry(table_text)
        drafts: list[Draft] = []
        for number in range(250):
            table = f"t{number % 7}"
            drafts += [
                logged_draft(f"w{number}", table=table),
                opening(f"c{number}", table=table, entries=1 + number % 3),
                going_on(f"c{number}", entries=number % 2),
                refused_opening(opening(f"w{number}", table=table)),
            ]
        outcomes = ledger.commit(drafts, [noted()])
        kinds = [Recorded, StepRecorded, StepRecorded, StepSpent] * 250
        assert kinds == [type(outcome) for outcome in outcomes]
        texts = log_of(ledger)
        assert [f"index: {n}".encode() for n in range(len(texts))] == [
            one.split(b"\n")[1] for one in texts
        ]
        for place, number in enumerate(range(7, 250, 7), start=2):
            record = ledger.find("room", f"w{number}")
            assert 2 * place - 1 == record.sequence
            draft = logged_draft(f"w{number}", table="t0")
            assert texts[record.log_index] == close_text(
                draft, record.log_index, record.sequence, record.open_hash
            )
        assert 250 == len(ledger.hands_at("room", "t", None, ("", 0), 1000))

    def test_entries_that_failed_and_were_not_written_leave_their_indices(self, ledger):
        """The retry gets them, and the number; nobody saw the others."""
        ledger.set_table_entry(table_text)
        faulty = FaultyLedger(ledger)
        faulty.fail_not_written = 1
        with pytest.raises(LedgerUnavailableError):
            faulty.commit([opening(), logged_draft("h2")], [noted()])
        assert ([], 0) == (log_of(faulty), faulty.count())
        assert faulty.subject(HAND, "room", "hand-1") is None
        assert faulty.find("room", "h2") is None
        one, two = faulty.commit([logged_draft("h2", attempt=2), opening(attempt=2)])
        assert (1, 1) == (record_of(one).sequence, record_of(one).log_index)
        assert step_of(two).public.startswith(b"2/2/")
        assert table_text("room", "table-1", 0) == log_of(faulty)[0]

    def test_entries_that_failed_but_were_written_are_found(self, ledger):
        """Once: the retry appends nothing, and what comes next follows."""
        faulty = FaultyLedger(ledger)
        faulty.fail_but_written = 1
        with pytest.raises(LedgerUnavailableError):
            faulty.commit([opening(), logged_draft("h2")], [noted()])
        before = log_of(faulty)
        assert 3 == len(before)
        step = faulty.step(HAND, "room", "hand-1", "open")
        assert step is not None
        hand = faulty.find("room", "h2")
        assert [StepTaken(step), AlreadySpent(hand)] == faulty.commit(
            [refused_opening(opening(attempt=2)), replace(logged_draft("h2"), entry=never)]
        )
        assert before == log_of(faulty)
        (after,) = faulty.commit([logged_draft("h3")])
        assert (3, 3) == (record_of(after).sequence, record_of(after).log_index)

    def test_the_log_goes_on_after_reopening(self, store):
        first = store.open()
        first.set_table_entry(table_text)
        first.commit([opening(), logged_draft("h2")], [noted()])
        before = log_of(first)
        first.close()
        second = store.open()
        second.set_table_entry(table_text)
        assert before == log_of(second)
        (outcome,) = second.commit([logged_draft("h3")])
        assert (3, 4) == (record_of(outcome).sequence, record_of(outcome).log_index)
        second.close()

    def test_a_closed_ledger_answers_nothing_about_the_log(self, store):
        ledger = store.open()
        ledger.close()
        for use in (
            ledger.log_size,
            lambda: ledger.log_entries(0, 1),
            lambda: ledger.log_nodes([]),
            lambda: ledger.hands_at("room", "", None, ("", 0), 1),
        ):
            with pytest.raises(LedgerUnavailableError, match="is closed"):
                use()

    def test_readers_see_a_hand_with_its_receipt_or_neither(self, ledger):
        """And a log whose tree is whole, whatever is committed meanwhile."""
        done = threading.Event()
        torn: list[object] = []

        def read() -> None:
            while not done.is_set():
                size = ledger.log_size()
                entries = ledger.log_entries(0, 1000)
                nodes = ledger.log_nodes(subtrees(0, size)) if size else []
                if len(entries) < size or len(nodes) != size.bit_count():
                    torn.append((size, len(entries), len(nodes)))
                for one in ledger.hands_at("room", "", None, ("", 0), 1000)[-2:]:
                    index = int(one.state.split(b"/")[1])
                    (entry,) = ledger.log_entries(index, 1) or [None]
                    if entry is None or f"hand: {one.name}\n".encode() not in entry.text:
                        torn.append(one)
                record = ledger.find("room", f"w{size // 2}")
                if record and not ledger.log_entries(record.log_index, 1):
                    torn.append(record)

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for number in range(60):
            ledger.commit([opening(f"c{number}"), logged_draft(f"w{number}")])
        done.set()
        for reader in readers:
            reader.join()
        assert [] == torn
        assert 120 == len(log_of(ledger))
