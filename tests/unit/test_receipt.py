"""Receipts and notes to seats: one spelling each, whatever is done to a text; signed, every bit."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import ReceiptInvalidError, RequestError, VerificationError
from entropyd.log import merkle
from entropyd.log.events import FORMS, Delivery, Event
from entropyd.log.instants import LAST_MS, Time
from entropyd.log.keys import KeyType, SigningKey
from entropyd.log.lines import MAX_TEXT
from entropyd.log.receipt import FIELDS, Receipt
from entropyd.log.seat_note import Outcome, SeatNote
from entropyd.log.signed_note import SignedNote, sign
from entropyd.log.source_line import ReceiptSourceKind, Setting, SourceClass, SourceLine
from entropyd.log.values import BadValueError, OutsideText
from tests.reference import log_cases, naive_log

LOG = "entropyd.example/log"
RECEIPTS = SigningKey.from_seed(f"{LOG}/receipts", bytes(32))
GOOD = [naive_log.write(lines) for _, lines in log_cases.good_receipts()]
SOURCE = SourceLine(SourceClass.HARDWARE, ReceiptSourceKind.HARDWARE, "quantis-usb", "16", 54, 324)


def made(event, **fields):
    return Receipt(log=LOG, index=7, event=event, time_ms=0, **fields)


def table(**fields):
    return made(Event.TABLE, tenant="acme", table="t", policy="p", **fields)


def seal(**fields):
    hand = {"tenant": "acme", "table": "t", "hand": "1", "sequence": 1, "open_hash": bytes(32)}
    opened = {"contributions": 1, "contributions_root": bytes(32)}
    return made(Event.SEAL, **(hand | opened | fields))


def opened_hand(sources):
    hand = {"tenant": "acme", "table": "t", "hand": "1", "sequence": 1, "n": 52, "policy": "p"}
    hashes = ("rules_hash", "commitment", "deck_root", "seats_root", "open_hash")
    return made(Event.OPEN, **hand, **dict.fromkeys(hashes, bytes(32)), sources=sources)


# --- one spelling ---------------------------------------------------------------


def test_a_receipt_has_the_lines_of_the_document():
    """In its order, for people to read."""
    assert table(settings=(Setting("hardware_bits", "320 or more"),)).encode() == (
        b"entropyd-receipt: v1\nlog: entropyd.example/log\nindex: 7\nevent: table\ntenant: acme\n"
        b"table: t\npolicy: p\nsetting: hardware_bits 320%20or%20more\n"
        b"time: 1970-01-01T00:00:00.000Z\n"
    )


def test_the_leaf_is_the_text_without_its_last_newline():
    assert table().encode() == table().leaf() + b"\n"


def test_every_event_and_every_line_is_in_a_vector():
    """No row of the document's tables goes untested."""
    lines = [lines for _, lines in log_cases.good_receipts()]
    assert {event.value for event in Event} == {dict(each)["event"] for each in lines}
    assert {field.name for field in FIELDS} == {name for each in lines for name, _ in each}
    assert set(Event) == set(FORMS)


EDITS = st.lists(
    st.tuples(
        st.integers(0, 2000),
        st.integers(0, 80),
        st.sampled_from(
            [
                b"",
                b"\n",
                b": ",
                b" ",
                b"%",
                b"%0A",
                b"0",
                b"\x00",
                b"a",
                b"degraded: yes\n",
                b"\r",
                b"\xc3",
            ]
        ),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(GOOD), EDITS)
def test_an_edited_text_is_a_receipt_of_its_own_or_none(text, edits):
    """What is read is written again to the byte, and the reference judges the same."""
    for at, cut, inserted in edits:
        place = at % (len(text) + 1)
        text = text[:place] + inserted + text[place + cut :]
    try:
        naive_log.read_receipt(text)
    except naive_log.Refused as refused:
        where = (refused.line, refused.byte)
        with pytest.raises(ReceiptInvalidError) as raised:
            Receipt.decode(text)
        assert where == (raised.value.line, raised.value.byte)
    else:
        assert text == Receipt.decode(text).encode()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_hostile_bytes_are_no_receipt_and_no_note(data):
    with pytest.raises(ReceiptInvalidError):
        Receipt.decode(data)
    with pytest.raises(ReceiptInvalidError):
        SeatNote.decode(data)


@settings(max_examples=300, deadline=None)
@given(st.text(min_size=1, max_size=200))
def test_text_from_outside_ends_no_line_and_comes_back(text):
    """Newlines, spaces, percent signs and all of Unicode, in a reason, a serial and a setting."""
    source = SourceLine(SourceClass.OS, ReceiptSourceKind.OS, text, text)
    alarm = made(Event.HEALTH, reason=text, sources=(source,))
    policy = made(Event.POLICY, policy=text, settings=(Setting("a", text),))
    for receipt in (alarm, policy):
        encoded = receipt.encode()
        assert receipt == Receipt.decode(encoded)
        assert len(encoded.splitlines()) == len(naive_log.read_receipt(encoded))


def test_a_plain_byte_is_never_percent_encoded():
    """Each character of ASCII has one spelling: 93 stand for themselves."""
    codec = OutsideText()
    for character in map(chr, range(0x80)):
        spelt = codec.encode("f", character)
        assert character == codec.decode(spelt)
        for other in {character, f"%{ord(character):02X}", f"%{ord(character):02x}"} - {spelt}:
            with pytest.raises(BadValueError):
                codec.decode(other)
    plain = [each for each in map(chr, range(0x80)) if codec.encode("f", each) == each]
    assert 93 == len(plain)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, LAST_MS))
def test_times_are_those_of_the_calendar(milliseconds):
    """Against Python's own, and back."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    expected = moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03}Z"
    assert expected == Time().encode("time", milliseconds)
    assert milliseconds == Time().decode(expected)


def test_every_day_to_2400_is_the_calendars():
    """157,054 days: each once, in order, with every leap day."""
    day, date = 24 * 60 * 60 * 1000, datetime(1970, 1, 1, tzinfo=UTC)
    for number in range(0, 157_054, 7):
        expected = (date + timedelta(days=number)).strftime("%Y-%m-%dT00:00:00.000Z")
        assert expected == Time().encode("time", number * day)


# --- what cannot be written ---------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: table(hand="1"), "hand"),
        (lambda: table(degraded=True), "degraded"),
        (lambda: made(Event.TABLE, tenant="acme", table="t"), "policy"),
        (lambda: seal(contributions=0), "R"),
        (lambda: seal(contributions_root=merkle.EMPTY_ROOT), "R"),
        (lambda: seal(delivery=Delivery.WHOLE_DECK), "delivery"),
        (lambda: seal(raffle="r"), "table"),
        (lambda: table(settings=(Setting("b", "1"), Setting("a", "1"))), "setting"),
        (lambda: table(settings=(Setting("a", "1"), Setting("a", "1"))), "setting"),
        (lambda: made(Event.KEY, key=SigningKey.from_seed("other", bytes(32)).key), "key"),
        (lambda: made(Event.KEY, key=RECEIPTS.key, previous=RECEIPTS.key), "previous"),
        (
            lambda: made(
                Event.KEY,
                key=SigningKey.from_seed(LOG, bytes(32), KeyType.COSIGNATURE).key,
            ),
            "key",
        ),
    ],
)
def test_a_receipt_that_contradicts_itself_is_not_made(make, field):
    """Whoever makes it learns which line."""
    with pytest.raises(RequestError) as raised:
        make()
    assert field == raised.value.field


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: seal(sequence=0), "sequence"),
        (lambda: seal(sequence=2**64), "sequence"),
        (lambda: seal(open_hash=bytes(31)), "open_hash"),
        (lambda: seal(tenant="a b"), "tenant"),
        (lambda: seal(tenant=""), "tenant"),
        (lambda: table(settings=(Setting("A", "1"),)), "settings"),
        (lambda: made(Event.HEALTH, reason="x" * 1025, sources=(SOURCE,)), "reason"),
        (lambda: made(Event.HEALTH, reason="", sources=(SOURCE,)), "reason"),
        (lambda: made(Event.HEALTH, reason="\ud800", sources=(SOURCE,)), "reason"),
        (
            lambda: Receipt(log="a+b", index=0, event=Event.BUILD, version="1", time_ms=0),
            "log",
        ),
        (
            lambda: Receipt(log="a", index=0, event=Event.BUILD, version="1", time_ms=-1),
            "time_ms",
        ),
        (
            lambda: Receipt(log="a", index=0, event=Event.BUILD, version="1", time_ms=LAST_MS + 1),
            "time_ms",
        ),
        (
            lambda: Receipt(log="a", index=2**63 - 1, event=Event.BUILD, version="1", time_ms=0),
            "index",
        ),
    ],
)
def test_a_value_without_spelling_is_not_written(make, field):
    with pytest.raises(RequestError) as raised:
        make().encode()
    assert field == raised.value.field


def test_a_receipt_ends_at_65535_bytes():
    """The longest is written and read, and one byte more is neither."""
    spare = MAX_TEXT - len(opened_hand((SOURCE,) * 600).encode())
    assert 0 < spare < 1024
    longest = SourceLine(
        SOURCE.source_class, SOURCE.kind, "quantis-usb", "1" * (spare + 2), 54, 324
    )
    text = opened_hand((longest, *(SOURCE,) * 599)).encode()
    assert MAX_TEXT == len(text)
    assert text == Receipt.decode(text).encode()
    one_more = text.replace(b"serial=111", b"serial=1111")
    with pytest.raises(ReceiptInvalidError, match="65536 bytes"):
        Receipt.decode(one_more)
    with pytest.raises(naive_log.Refused):
        naive_log.read_receipt(one_more)
    with pytest.raises(RequestError, match="at most 65535"):
        opened_hand((longest, longest, *(SOURCE,) * 599)).encode()


# --- notes to seats -------------------------------------------------------------------


def test_a_reason_stands_for_a_refusal_and_for_nothing_else():
    about: dict[str, Any] = {
        "log": LOG,
        "open_hash": bytes(32),
        "seat": "seat-3",
        "leaf_hash": bytes(32),
    }
    refusal = SeatNote(**about, outcome=Outcome.REFUSED, reason="window-over")
    assert refusal == SeatNote.decode(refusal.encode())
    with pytest.raises(RequestError):
        SeatNote(**about, outcome=Outcome.REFUSED)
    with pytest.raises(RequestError):
        SeatNote(**about, outcome=Outcome.ACCEPTED, reason="why not")


def test_a_receipt_is_no_note_and_a_note_is_no_receipt():
    """One key signs both; their first lines differ."""
    note = naive_log.write(log_cases.NOTE)
    with pytest.raises(ReceiptInvalidError, match="line 1"):
        Receipt.decode(note)
    with pytest.raises(ReceiptInvalidError, match="line 1"):
        SeatNote.decode(GOOD[0])


# --- signed ------------------------------------------------------------------------------


def test_every_changed_bit_of_a_signed_receipt_is_refused():
    """Of the text, of the key's name and of the signature."""
    note = sign(GOOD[0], RECEIPTS).encode()
    taken = []
    for at in range(len(note)):
        for bit in range(8):
            changed = note[:at] + bytes([note[at] ^ 1 << bit]) + note[at + 1 :]
            try:
                SignedNote.decode(changed).verify([RECEIPTS.key])
            except VerificationError:
                continue
            taken.append((at, bit))
    assert [] == taken
