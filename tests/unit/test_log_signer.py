"""Who signs what of a log, also after its keys changed."""

import pytest

from entropyd.errors import InternalError, KeyInvalidError, SignatureMissingError
from entropyd.log.checkpoint import Checkpoint, open_checkpoint
from entropyd.log.events import Event
from entropyd.log.keys import SigningKey, VerifierKey
from entropyd.log.merkle import EMPTY_ROOT
from entropyd.log.receipt import Receipt
from entropyd.log.seat_note import Outcome, SeatNote
from entropyd.log.signed_note import SignedNote
from entropyd.log.signer import LogSigner, Term
from entropyd.log.trust import TrustedLog

ORIGIN = "example/log"
ROOT = bytes(range(32))


def key(name: str, seed: int) -> SigningKey:
    return SigningKey.from_seed(name, bytes([seed]) * 32)


OLD, NEW = key(f"{ORIGIN}/receipts", 1), key(f"{ORIGIN}/receipts", 2)
TREE, NEXT_TREE = key(ORIGIN, 3), key(ORIGIN, 4)
SIGNER = LogSigner(ORIGIN, (Term(OLD), Term(NEW, 5)), (Term(TREE), Term(NEXT_TREE, 6)))


def build(index: int) -> bytes:
    return Receipt(log=ORIGIN, index=index, event=Event.BUILD, version="1", time_ms=0).encode()


def change() -> Receipt:
    return Receipt(log=ORIGIN, index=5, event=Event.KEY, key=NEW.key, previous=OLD.key, time_ms=0)


def test_a_verifier_that_follows_the_log_opens_every_receipt() -> None:
    trusted = TrustedLog.given(TREE.key, OLD.key)
    assert trusted.open_receipt(SIGNER.sign_receipt(build(4))).index == 4
    trusted = trusted.follow(trusted.open_receipt(SIGNER.sign_receipt(change().encode())))
    assert trusted.open_receipt(SIGNER.sign_receipt(build(6))).index == 6
    assert trusted.open_receipt(SIGNER.sign_receipt(build(4))).index == 4


@pytest.mark.parametrize(
    ("text", "signers"),
    [
        (build(0), [OLD.key]),
        (build(4), [OLD.key]),
        (change().encode(), [OLD.key, NEW.key]),
        (build(6), [NEW.key]),
    ],
)
def test_a_receipt_is_signed_by_the_key_in_force_for_its_index(
    text: bytes, signers: list[VerifierKey]
) -> None:
    note = SignedNote.decode(SIGNER.sign_receipt(text))
    assert list(note.verify([OLD.key, NEW.key])) == signers


def test_a_note_to_a_seat_is_signed_by_the_newest_key() -> None:
    told = SeatNote(log=ORIGIN, open_hash=ROOT, seat="1", leaf_hash=ROOT, outcome=Outcome.ACCEPTED)
    note = SignedNote.decode(SIGNER.sign_receipt(told.encode()))
    assert note.verify([OLD.key, NEW.key]) == (NEW.key,)


def test_a_signed_receipt_is_the_same_each_time() -> None:
    assert SIGNER.sign_receipt(build(9)) == SIGNER.sign_receipt(build(9))


def test_the_checkpoint_of_a_change_is_signed_by_both_keys() -> None:
    note = SIGNER.sign_checkpoint(Checkpoint(ORIGIN, 7, ROOT), change=True)
    assert open_checkpoint(note, [TREE.key]).checkpoint.size == 7
    assert open_checkpoint(note, [NEXT_TREE.key]).checkpoint.size == 7


def test_later_checkpoints_are_signed_by_the_new_key_alone() -> None:
    note = SIGNER.sign_checkpoint(Checkpoint(ORIGIN, 8, ROOT))
    assert open_checkpoint(note, [NEXT_TREE.key]).signed_by == (NEXT_TREE.key,)
    with pytest.raises(SignatureMissingError):
        open_checkpoint(note, [TREE.key])


@pytest.mark.parametrize(
    "checkpoint",
    [Checkpoint("other", 7, ROOT), Checkpoint(ORIGIN, 6, ROOT), Checkpoint(ORIGIN, 0, EMPTY_ROOT)],
)
def test_no_checkpoint_of_another_log_or_from_before_the_key_is_signed(
    checkpoint: Checkpoint,
) -> None:
    with pytest.raises(InternalError):
        SIGNER.sign_checkpoint(checkpoint)


@pytest.mark.parametrize(
    "receipts",
    [(), (Term(TREE),), (Term(OLD, 3),), (Term(OLD), Term(NEW)), (Term(OLD), Term(NEW, -2))],
)
def test_keys_under_another_name_or_in_no_order_are_refused(receipts: tuple[Term, ...]) -> None:
    with pytest.raises(KeyInvalidError):
        LogSigner(ORIGIN, receipts, (Term(TREE),))


def test_no_text_of_a_signer_shows_a_private_key() -> None:
    assert "rivate" not in repr(SIGNER)
    assert "rivate" not in repr(SIGNER.receipts[0])
