"""Receipts of hands: what each step says, and the fast text against the careful one."""

import pytest

from entropyd.draw.cards import Deck
from entropyd.errors import InternalError
from entropyd.hands import receipts
from entropyd.hands.contributions import Spoken
from entropyd.hands.hand import HandState
from entropyd.hands.receipts import Sources
from entropyd.hands.rules import Contributions, Parent, Rules, rules_hash
from entropyd.hands.seats import Seat
from entropyd.hands.shuffle_receipt import whole_deck_receipt
from entropyd.log.events import Delivery, Event
from entropyd.log.merkle import EMPTY_ROOT
from entropyd.log.receipt import Receipt
from entropyd.log.source_line import (
    ReceiptHealth,
    ReceiptSourceKind,
    Setting,
    SourceClass,
    SourceLine,
)
from tests.fakes.opened_hands import OPENED_AT, WINDOW, made, opened

MS = OPENED_AT // 1_000_000
LOG = "entropyd.example/log"
SOURCES = Sources(
    "hardware=320 user=249 shortfall=cover",
    (
        SourceLine(
            SourceClass.HARDWARE,
            ReceiptSourceKind.HARDWARE,
            "quantis-usb",
            "serial number %7",
            samples=54,
            credited=324,
            age_ms=17,
            health=ReceiptHealth.HEALTHY,
        ),
        SourceLine(SourceClass.USER, ReceiptSourceKind.USER, samples=16, credited=3, age_ms=60_000),
        SourceLine(SourceClass.OS, ReceiptSourceKind.OS, samples=64),
    ),
)


@pytest.mark.parametrize("degraded", [False, True])
@pytest.mark.parametrize("lines", [SOURCES.lines, SOURCES.lines[2:]])
@pytest.mark.parametrize("deck", [Deck(), Deck("short36", 2, (4,)), Deck("standard54", 8)])
def test_the_fast_text_of_a_shuffle_is_that_of_its_receipt(deck, lines, degraded):
    """Byte for byte, whatever the hand, the sources and the time."""
    rules = Rules(deck=deck)
    encoded = rules.encode()
    sources = Sources(SOURCES.policy, lines, degraded)
    C, D, O = (made(name, 32) for name in "CDO")  # noqa: E741  the document's letter
    for index, sequence, hand in ((0, 1, "h"), (2**40, 2**64 - 1, "x" * 128)):
        fast = whole_deck_receipt(
            log=LOG,
            tenant="acme",
            table="nl50/table-7",
            hand=hand,
            rules=encoded,
            commitment=C,
            deck_root=D,
            sources=sources,
            ms=MS + index,
        )
        careful = Receipt(
            log=LOG,
            index=index,
            event=Event.CLOSE,
            tenant="acme",
            table="nl50/table-7",
            hand=hand,
            sequence=sequence,
            rules_hash=rules_hash(encoded),
            n=rules.size,
            commitment=C,
            deck_root=D,
            seats_root=EMPTY_ROOT,
            open_hash=O,
            delivery=Delivery.WHOLE_DECK,
            dealt=rules.size,
            policy=sources.policy,
            sources=sources.lines,
            degraded=degraded,
            time_ms=MS + index,
        )
        assert careful.encode() == fast(index, sequence, O)


def test_every_step_of_a_hand_has_its_receipt():
    """Open, roll, seal and close name the hand, its number and O; each is read back."""
    hand, _ = opened(Contributions.SEALED, seats=(Seat("seat-1"),), sequence=3)
    texts = [receipts.open_receipt(hand, LOG, 4, SOURCES, MS)]
    sealed = hand.after_window(OPENED_AT + WINDOW)
    texts.append(receipts.seal_receipt(sealed, LOG, 5, MS))
    dealt = sealed.deal(0, ["seat-1", "burn"], made("claim", 32))
    texts.append(receipts.end_receipt(dealt.close(), LOG, 6, MS))
    texts.append(receipts.end_receipt(dealt.void("misdeal"), LOG, 7, MS))
    read = [Receipt.decode(text) for text in texts]
    assert [Event.OPEN, Event.SEAL, Event.CLOSE, Event.VOID] == [one.event for one in read]
    assert {(3, hand.opened.open_hash, "hand-1")} == {
        (one.sequence, one.open_hash, one.hand) for one in read
    }
    assert [4, 5, 6, 7] == [one.index for one in read]
    opening, sealing, closing, voiding = read
    assert opening.deadline_ms == (OPENED_AT + WINDOW) // 1_000_000
    assert opening.seats_root == hand.opened.seats_root
    assert opening.sources == SOURCES.lines
    assert (0, EMPTY_ROOT) == (sealing.contributions, sealing.contributions_root)
    assert (2, dealt.deals_root) == (closing.dealt, closing.deals_root)
    assert (2, "misdeal") == (voiding.dealt, voiding.reason)


def test_a_roll_receipt_has_the_deadline_of_the_leaves():
    """And R of the hashes that it closes."""
    hand, _ = opened(Contributions.SEALED, seats=(Seat("seat-1"),))
    rolled = hand.with_spoken("seat-1", Spoken(made("leaf", 32))).after_window(OPENED_AT)
    assert rolled.state is HandState.ROLLED
    assert rolled.roll is not None
    read = Receipt.decode(receipts.roll_receipt(rolled, LOG, 0, MS))
    assert (1, rolled.roll.root) == (read.contributions, read.contributions_root)
    assert read.deadline_ms == (OPENED_AT + WINDOW) // 1_000_000


def test_a_hand_without_contributions_has_no_deadline():
    """There is nothing that anybody may be late for."""
    hand, _ = opened(Contributions.NONE)
    assert Receipt.decode(receipts.open_receipt(hand, LOG, 0, SOURCES, MS)).deadline_ms is None


def test_what_a_hand_comes_from_stands_in_its_open_receipt():
    """The parent's digest, and the void hand that it replaces."""
    hand, _ = opened(
        Contributions.NONE, parent=Parent(made("parent", 32), 5), replaces=made("void", 32)
    )
    read = Receipt.decode(receipts.open_receipt(hand, LOG, 0, SOURCES, MS))
    assert (made("parent", 32), made("void", 32), 5) == (read.parent, read.replaces, read.n)


def test_a_table_begins_with_a_receipt():
    """Its policy, setting by setting."""
    settings = (Setting("expire_after", "1h"), Setting("per_table_open", "2"))
    assert settings == table_begun(settings, 0).settings
    assert 0 == table_begun(settings, 0).hands_before


def test_a_table_that_had_hands_says_how_many_among_its_settings():
    """In byte order of their names."""
    settings = (Setting("a", "1"), Setting("hands.per_table_open", "2"), Setting("z", "3"))
    read = table_begun(settings, 41)
    assert 41 == read.hands_before
    assert [*settings[:2], Setting("hands_before", "41"), settings[2]] == list(read.settings)


def table_begun(settings, hands_before):
    text = receipts.table_receipt(
        log=LOG,
        index=0,
        tenant="acme",
        table="t",
        policy="hands",
        settings=settings,
        hands_before=hands_before,
        ms=MS,
    )
    return Receipt.decode(text)


def test_receipts_of_steps_that_were_not_taken():
    """Whoever asks for one is broken."""
    hand, _ = opened(Contributions.OPEN, seats=(Seat("seat-1"),))
    for make in (receipts.roll_receipt, receipts.seal_receipt, receipts.end_receipt):
        with pytest.raises(InternalError):
            make(hand, LOG, 0, MS)


def test_no_receipt_names_a_seat_or_a_recipient():
    """What is logged for ever tells of no player."""
    hand, _ = opened(Contributions.NONE, plan=("somebody",))
    sealed = hand.after_window(OPENED_AT).deal(0, ["somebody"], made("claim", 32))
    closed = sealed.close()
    texts = receipts.open_receipt(hand, LOG, 0, SOURCES, MS) + receipts.end_receipt(
        closed, LOG, 1, MS
    )
    assert b"somebody" not in texts
