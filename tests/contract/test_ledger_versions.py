"""A ledger goes from one schema version to the next, back by one, and up again: nothing is lost.

`tests/vectors/ledger/v1.sqlite3` was written by the entropyd that knew version 1 only, `v2.sqlite3`
by the last that knew no version 3; `tests/fakes/ledger_v1.py` and `ledger_v2.py` are their SQL.
"""

import errno
import shutil
import sqlite3
from pathlib import Path

import pytest

from entropyd.errors import LedgerRefusedError, LedgerUnavailableError
from entropyd.ledger.chain import EMPTY
from entropyd.ledger.contract import AlreadySpent, Event, EventKind, HandDraft, Recorded
from entropyd.ledger.hand_rows import HandRows
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite import FILE_NAME, SqliteLedger
from entropyd.ledger.sqlite_file import take_back_file
from entropyd.ledger.sqlite_schema import SCHEMA_VERSION
from entropyd.ledger.subjects import StepRecorded
from tests.contract.ledger_child import MASTER_KEY, open_ledger
from tests.fakes.drafts import make_draft
from tests.fakes.ledger_v1 import LedgerV1
from tests.fakes.ledger_v2 import LedgerV2
from tests.fakes.sqlite_faults import failing_writes
from tests.fakes.step_drafts import make_step

VECTORS = Path(__file__).parents[1] / "vectors" / "ledger"
# What the files were made of.
HANDS = (
    make_draft("h1", table="a"),
    make_draft("h2", table="b"),
    make_draft("h3", table="a"),
    make_draft("h4", table="a", size=104, seeds=3),
)
EVENTS = [
    Event(EventKind.DAEMON_START, "dc1-a", "{}", 1),
    Event(EventKind.HAND_READ, "room/h1", "{}", 2),
]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A ledger of version 1."""
    return of_version(1, tmp_path)


@pytest.fixture(params=[1, 2])
def any_state(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A ledger of each version before ours."""
    return of_version(request.param, tmp_path)


def of_version(number: int, parent: Path) -> Path:
    state = parent / "state"
    state.mkdir(mode=0o700)
    shutil.copy(VECTORS / f"v{number}.sqlite3", state / FILE_NAME)
    return state


def version(state: Path) -> int:
    connection = sqlite3.connect(state / FILE_NAME)
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(number)


def stored(ledger: SqliteLedger | LedgerV1 | LedgerV2, hand: str) -> HandDraft | None:
    record = ledger.find("room", hand, with_secrets=True)
    return None if record is None else record.draft


def older(state: Path) -> LedgerV2:
    return LedgerV2(state / FILE_NAME, HandRows(SecretBox(MASTER_KEY)))


def test_an_older_file_comes_up_with_everything_in_it(any_state):
    """Hands with their secrets, numbers, spent ids, events and health states; steps follow."""
    state = any_state
    assert SCHEMA_VERSION > version(state)
    ledger = open_ledger(state)
    for draft in HANDS:
        assert draft == stored(ledger, draft.hand)
    assert EVENTS == ledger.events()
    assert {"q1": '{"latch": null}'} == ledger.health_states()
    spent, new = ledger.commit([make_draft("h1", attempt=2), make_draft("h5", table="a")])
    assert isinstance(spent, AlreadySpent)
    assert isinstance(new, Recorded)
    assert (4, 5) == (new.record.sequence, ledger.count())
    (step,) = ledger.commit([make_step()])
    assert isinstance(step, StepRecorded)
    ledger.close()
    assert SCHEMA_VERSION == version(state)


def test_the_chain_begins_behind_what_version_1_wrote(state):
    """Its last record has something in place of a link, which the next one hashes."""
    ledger = open_ledger(state)
    before = ledger.position()
    assert (4, 2) == (before.hands, before.events)
    assert before.link == ledger.link_at(4) != ledger.link_at(3) != EMPTY
    ledger.commit([make_draft("h5")])
    after = ledger.position()
    assert 5 == after.hands
    assert after.link == ledger.link_at(5) != before.link == ledger.link_at(4)
    ledger.close()


def test_two_upgrades_are_two_histories(state, tmp_path):
    """Each names itself, for a copy that goes on by itself is another ledger."""
    twin = tmp_path / "twin"
    shutil.copytree(state, twin)
    ledgers = [open_ledger(directory) for directory in (state, twin)]
    one, other = [ledger.origin() for ledger in ledgers]
    assert 32 == len(one)
    assert one != other
    for ledger in ledgers:
        ledger.close()


@pytest.mark.parametrize("written", [False, True], ids=["not-written", "written"])
def test_an_upgrade_that_dies_at_any_write_leaves_a_whole_version(any_state, written):
    """Before or after, never between; the next start goes on from there."""
    state, vector = any_state, any_state.with_name("vector")
    shutil.copy(state / FILE_NAME, vector)
    for number in range(100):
        shutil.copy(vector, state / FILE_NAME)
        for suffix in ("-wal", "-shm", ".begun"):
            (state / f"{FILE_NAME}{suffix}").unlink(missing_ok=True)
        try:
            with failing_writes(errno.EIO, first=number, written=written):
                open_ledger(state).close()
        except LedgerUnavailableError:
            ledger = open_ledger(state)
            assert HANDS[3] == stored(ledger, "h4")
            ledger.close()
            assert SCHEMA_VERSION == version(state)
        else:
            break
    assert number > 2


def test_the_older_program_refuses_a_newer_file_until_it_was_taken_back(state):
    open_ledger(state).close()
    with pytest.raises(ValueError, match="schema version 3"):
        older(state)
    assert 2 == take_back_file(state / FILE_NAME)
    older(state).close()


def test_back_by_one_version_and_up_again(state):
    """The older program reads ours, writes its own, spends ids; then all of it is ours again."""
    ledger = open_ledger(state)
    ledger.commit([make_draft("h5", table="a")])
    origin = ledger.origin()
    ledger.close()
    take_back_file(state / FILE_NAME)

    before = older(state)
    for draft in (*HANDS, make_draft("h5", table="a")):
        assert draft == stored(before, draft.hand)
    hands = [make_draft("h6", table="a"), make_draft("h5", attempt=2), make_draft("h7", table="b")]
    assert [5, None, 2] == before.record(hands)
    before.close()

    ledger = open_ledger(state)
    assert (7, origin) == (ledger.position().hands, ledger.origin())
    spent, new = ledger.commit([make_draft("h6", attempt=2), make_draft("h8", table="a")])
    assert isinstance(spent, AlreadySpent)
    assert isinstance(new, Recorded)
    assert spent.record is not None
    assert make_draft("h6").items == spent.record.draft.items
    assert 6 == new.record.sequence
    assert ledger.position().link == ledger.link_at(8)
    ledger.close()


def test_a_file_that_went_back_to_version_1_comes_up_again(state):
    """The entropyd before this one took files back to version 1: what lies there is taken up."""
    ledger = open_ledger(state)
    origin = ledger.origin()
    ledger.close()
    take_back_file(state / FILE_NAME)
    connection = sqlite3.connect(state / FILE_NAME)
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    before = LedgerV1(state / FILE_NAME, HandRows(SecretBox(MASTER_KEY)))
    assert [4] == before.record([make_draft("h5", table="a")])
    before.close()
    ledger = open_ledger(state)
    assert make_draft("h5", table="a") == stored(ledger, "h5")
    assert (5, origin) == (ledger.position().hands, ledger.origin())
    ledger.close()


def test_there_is_no_way_back_with_steps(state):
    """The older program would draw again what it does not see; without steps it would not."""
    ledger = open_ledger(state)
    ledger.commit([make_step(), make_step()])
    ledger.close()
    with pytest.raises(LedgerRefusedError, match=r"holds 2 step\(s\) .* stay with this one"):
        take_back_file(state / FILE_NAME)
    assert SCHEMA_VERSION == version(state)


def test_there_is_one_way_back_and_no_second(any_state):
    number = version(any_state)
    with pytest.raises(LedgerRefusedError, match=f"has schema version {number} already"):
        take_back_file(any_state / FILE_NAME)


def test_a_position_tells_ledgers_apart_that_recorded_otherwise(tmp_path):
    """The same numbers of hands and events; another claim in one of them is enough."""
    links = set()
    for number, hands in enumerate((("h1", "h2"), ("h2", "h1"), ("h1", "h3"))):
        ledger = open_ledger(tmp_path / str(number))
        assert EMPTY == ledger.position().link == ledger.link_at(0)
        ledger.commit([make_draft(hand) for hand in hands])
        links.add(ledger.position().link)
        assert ledger.link_at(3) is None
        ledger.close()
    assert 3 == len(links)
