"""What a verifier opens with the keys that it was given, and how it follows their change."""

from dataclasses import replace

import pytest

from entropyd.errors import (
    CheckpointInvalidError,
    KeyInvalidError,
    ProofInvalidError,
    ReceiptInvalidError,
    SignatureInvalidError,
    SignatureMissingError,
)
from entropyd.log import merkle
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.entry import check_entry
from entropyd.log.events import Event
from entropyd.log.keys import KeyType, SigningKey
from entropyd.log.proofs import inclusion_proof, nodes_of
from entropyd.log.receipt import Receipt
from entropyd.log.seat_note import Outcome, SeatNote
from entropyd.log.signed_note import SignedNote, sign
from entropyd.log.trust import TrustedLog

LOG = "entropyd.example/log"


def new_key(name, number):
    return SigningKey.from_seed(name, bytes([number]) * 32)


HEAD, NEXT_HEAD = new_key(LOG, 1), new_key(LOG, 2)
OLD, NEW, NEWER = (new_key(f"{LOG}/receipts", number) for number in (3, 4, 5))
GIVEN = TrustedLog.given(HEAD.key, OLD.key)


def build(index, log=LOG):
    return Receipt(log=log, index=index, event=Event.BUILD, version="1", time_ms=0)


def change(index, new, old):
    previous = None if old is None else old.key
    return Receipt(log=LOG, index=index, event=Event.KEY, key=new.key, previous=previous, time_ms=0)


def signed(receipt, *keys):
    return sign(receipt.encode(), *keys).encode()


def checkpoint(size, *keys, origin=LOG):
    root = merkle.root([bytes([number]) for number in range(size)])
    return sign(Checkpoint(origin, size, root).encode(), *keys).encode()


def test_a_receipt_is_opened_with_the_key_that_was_given():
    assert build(5) == GIVEN.open_receipt(signed(build(5), OLD))


def test_the_key_of_checkpoints_signs_no_receipt():
    """Each key has one purpose, whoever holds both."""
    with pytest.raises(SignatureMissingError):
        GIVEN.open_receipt(signed(build(5), HEAD))
    with pytest.raises(SignatureMissingError):
        GIVEN.open_checkpoint(checkpoint(3, OLD))


def test_a_receipt_of_another_log_is_refused_though_the_key_signed_it():
    with pytest.raises(ReceiptInvalidError, match=r"line 2: of the log other"):
        GIVEN.open_receipt(signed(build(5, log="other"), OLD))
    with pytest.raises(CheckpointInvalidError, match="of the log other"):
        GIVEN.open_checkpoint(checkpoint(3, HEAD, origin="other"))


def test_after_a_change_each_key_counts_for_its_own_entries():
    """Up to the entry the old one, above it the new one."""
    entry = GIVEN.open_receipt(signed(change(10, NEW, OLD), OLD, NEW))
    log = GIVEN.follow(entry)
    assert build(10) == log.open_receipt(signed(build(10), OLD))
    assert build(11) == log.open_receipt(signed(build(11), NEW))
    for index, key in ((10, NEW), (11, OLD)):
        with pytest.raises(SignatureMissingError, match=f"entry {index}"):
            log.open_receipt(signed(build(index), key))
    # The change itself can be opened again, and who has not followed refuses the new key.
    assert entry == log.open_receipt(signed(change(10, NEW, OLD), OLD, NEW))
    with pytest.raises(SignatureMissingError):
        GIVEN.open_receipt(signed(build(11), NEW))


def test_a_change_of_the_receipts_key_is_signed_by_both():
    """One signature, of either, is not enough; a stranger's beside ours neither."""
    for keys in ((OLD,), (NEW,), (NEW, NEWER)):
        with pytest.raises(SignatureMissingError, match="entry 10"):
            GIVEN.open_receipt(signed(change(10, NEW, OLD), *keys))
    forged = sign(change(10, NEW, OLD).encode(), OLD, NEW)
    good, new = forged.signatures
    broken = SignedNote(forged.text, (good, type(new)(new.name, new.key_id, good.value)))
    with pytest.raises(SignatureInvalidError):
        GIVEN.open_receipt(broken.encode())


def test_keys_change_twice_in_order():
    first = change(10, NEW, OLD)
    second = change(20, NEWER, NEW)
    log = GIVEN.follow(first)
    log = log.follow(log.open_receipt(signed(second, NEW, NEWER)))
    for index, key in ((3, OLD), (10, OLD), (11, NEW), (20, NEW), (21, NEWER)):
        assert build(index) == log.open_receipt(signed(build(index), key))


def test_a_key_may_come_into_force_again():
    """It is known twice, and has not signed twice."""
    log = GIVEN.follow(change(10, NEW, OLD))
    log = log.follow(log.open_receipt(signed(change(20, OLD, NEW), NEW, OLD)))
    for index, key in ((10, OLD), (20, NEW), (21, OLD)):
        assert build(index) == log.open_receipt(signed(build(index), key))
    log = log.follow(log.open_receipt(signed(change(30, NEW, OLD), OLD, NEW)))
    assert build(31) == log.open_receipt(signed(build(31), NEW))


@pytest.mark.parametrize(
    "entry",
    [change(20, NEWER, OLD), change(10, NEWER, NEW), change(5, NEWER, NEW), change(30, OLD, None)],
    ids=["not in force", "at the same entry", "before it", "from nothing"],
)
def test_a_change_that_does_not_follow_from_the_key_in_force_is_refused(entry):
    log = GIVEN.follow(change(10, NEW, OLD))
    with pytest.raises(KeyInvalidError, match="not in force"):
        log.follow(entry)


def test_the_first_entries_of_a_log_state_the_keys_that_were_given():
    """They change nothing, and neither does any other event."""
    for receipt in (change(0, HEAD, None), change(1, OLD, None), build(2)):
        assert GIVEN == GIVEN.follow(GIVEN.open_receipt(signed(receipt, OLD)))


def test_the_key_of_checkpoints_changes_by_an_entry_that_receipts_sign():
    """The first larger checkpoint bears both signatures, so that nobody is left behind."""
    entry = GIVEN.open_receipt(signed(change(10, NEXT_HEAD, HEAD), OLD))
    log = GIVEN.follow(entry)
    assert 10 == log.open_checkpoint(checkpoint(10, HEAD)).checkpoint.size
    both = checkpoint(11, HEAD, NEXT_HEAD)
    assert (HEAD.key,) == GIVEN.open_checkpoint(both).signed_by
    assert (NEXT_HEAD.key,) == log.open_checkpoint(both).signed_by
    assert 12 == log.open_checkpoint(checkpoint(12, NEXT_HEAD)).checkpoint.size
    for size, key in ((10, NEXT_HEAD), (11, HEAD)):
        with pytest.raises(SignatureMissingError):
            log.open_checkpoint(checkpoint(size, key))
    assert 0 == log.open_checkpoint(checkpoint(0, HEAD)).checkpoint.size


def test_a_note_to_a_seat_is_opened_with_any_key_of_the_receipts():
    """It has no index, and both eras' notes may be held."""
    note = SeatNote(
        log=LOG,
        open_hash=bytes(32),
        seat="seat-3",
        leaf_hash=bytes(32),
        outcome=Outcome.ACCEPTED,
    )
    log = GIVEN.follow(change(10, NEW, OLD))
    for key in (OLD, NEW):
        assert note == log.open_seat_note(sign(note.encode(), key).encode())
    with pytest.raises(SignatureMissingError):
        log.open_seat_note(sign(note.encode(), HEAD).encode())
    elsewhere = replace(note, log="other")
    with pytest.raises(ReceiptInvalidError, match="of the log other"):
        log.open_seat_note(sign(elsewhere.encode(), OLD).encode())
    with pytest.raises(ReceiptInvalidError):
        log.open_seat_note(signed(build(3), OLD))
    with pytest.raises(ReceiptInvalidError):
        log.open_receipt(sign(note.encode(), OLD).encode())


@pytest.mark.parametrize(
    ("head", "receipts"),
    [
        (HEAD.key, HEAD.key),
        (OLD.key, HEAD.key),
        (HEAD.key, new_key("other/receipts", 1).key),
        (HEAD.key, SigningKey.from_seed(OLD.key.name, bytes(32), KeyType.COSIGNATURE).key),
    ],
    ids=["one twice", "exchanged", "of two logs", "of a witness"],
)
def test_keys_that_are_not_the_two_of_one_log_are_not_trusted(head, receipts):
    with pytest.raises(KeyInvalidError):
        TrustedLog.given(head, receipts)


def test_an_entry_is_the_one_of_its_own_index_and_log():
    """Another's path, an older tree, another index or another log proves nothing."""
    entries = [build(index) for index in range(5)]
    hashes = [merkle.leaf_hash(entry.leaf()) for entry in entries]
    read = nodes_of(hashes)
    head = Checkpoint(LOG, 5, merkle.root_of_hashes(hashes))
    for index, entry in enumerate(entries):
        check_entry(entry, head, inclusion_proof(read, index, 5))
    path = inclusion_proof(read, 3, 5)
    older = Checkpoint(LOG, 3, merkle.root_of_hashes(hashes[:3]))
    elsewhere = Checkpoint("other", 5, head.root)
    moved = build(2)
    for entry, checkpoint in ((entries[3], older), (entries[3], elsewhere), (moved, head)):
        with pytest.raises(ProofInvalidError):
            check_entry(entry, checkpoint, path)
