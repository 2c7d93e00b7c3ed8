"""The hand file: what is public of a hand, and the cards that were shown, in one file.

Spec: docs/protocol.md, "The hand file".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from entropyd.client.dealt import DealtCard, Hand
from entropyd.client.log import Log, SignedReceipt
from entropyd.client.proofs import Proof
from entropyd.errors import RequestError
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.keys import VerifierKey
from entropyd.log.receipt import Receipt, key_names
from entropyd.log.signed_note import SignedNote


def hand_file(log: Log, hand: Hand, shown: Sequence[DealtCard] = ()) -> Proof:
    """Return the file of a hand, as the game server can tell it.

    It has the newest checkpoint, and that the receipts which it covers are in the log; neither for
    a hand of a log that ended when the ledger was adopted, and of such a hand no receipt of the log
    after it. It has not what the daemon does not tell again: notes to seats, and whom cards went to
    that are not shown.

    Args:
        log: where the receipts are.
        hand: as it stands, at any step from the open on.
        shown: cards of it, each with its proof, as `show` returns them.

    Raises:
        RequestError: a card is there without its proof; names its place.
        Refusal: the daemon refuses or is not reached.
    """
    head = log.head()
    checkpoint = SignedNote.decode(head.checkpoint.encode())
    of_open = _receipt(next(iter(hand.receipts.values())))
    receipts = {
        event: signed
        for event, signed in hand.receipts.items()
        if _receipt(signed).log == of_open.log
    }
    notes = [SignedNote.decode(signed.note.encode()) for signed in receipts.values()]
    head_of = Checkpoint.decode(checkpoint.text)
    file: Proof = {
        "entropyd": "hand/v1",
        "tenant": of_open.tenant,
        "table": hand.table,
        "hand": hand.hand,
        "rules": hand.rules,
        "seats": [{"seat": seat, "key": key.hex()} for seat, key in sorted(hand.seats.items())],
        "keys": _signers(_under_names_of(of_open.log, head.verifier_keys), [checkpoint, *notes]),
        "receipts": {event: signed.note for event, signed in receipts.items()},
        "leaves": [leaf.hex() for leaf in hand.leaves],
        "cards": [card_entry(card) for card in sorted(shown, key=lambda card: card.place)],
    }
    if of_open.log == head_of.origin:
        file["checkpoint"] = head.checkpoint
        file["inclusion"] = _inclusion(log, receipts, head_of.size)
    if hand.leaf_hashes:
        file["leaf_hashes"] = [each.hex() for each in hand.leaf_hashes]
    return file


def _receipt(signed: SignedReceipt) -> Receipt:
    return Receipt.decode(SignedNote.decode(signed.note.encode()).text)


def _under_names_of(log: str, texts: Sequence[str]) -> list[str]:
    """Return the keys, those of receipts also as they are called in the log of the hand.

    An adopted ledger goes on under another name of its log, and its keys under other names.
    """
    name = key_names(log)[1]
    keys = [VerifierKey.decode(text) for text in texts]
    renamed = (replace(key, name=name) for key in keys if key.name.endswith("/receipts"))
    return [*dict.fromkeys((*texts, *(key.encode() for key in renamed)))]


def _signers(texts: Iterable[str], notes: Sequence[SignedNote]) -> list[str]:
    """Return the keys that signed one of the notes: a daemon may have more than a file takes."""
    signatures = [signature for note in notes for signature in note.signatures]
    return [
        text
        for text in texts
        if any(signature.names(VerifierKey.decode(text)) for signature in signatures)
    ]


def card_entry(card: DealtCard) -> dict[str, object]:
    """Return a card as it stands in a hand file, and in the messages to a player's software.

    Raises:
        RequestError: it has no proof; names its place.
    """
    if card.item is None or not card.salt:
        raise RequestError("cards", f"place {card.place} has no proof; ask `show` for it")
    return {
        "place": card.place,
        "recipient": card.recipient,
        "leaf_index": card.leaf_index,
        "item": card.item,
        "salt": card.salt.hex(),
        "path": [node.hex() for node in card.path],
    }


def _inclusion(log: Log, receipts: Mapping[str, SignedReceipt], size: int) -> dict[str, object]:
    """Return where in the tree of `size` leaves each receipt is; newer ones are in none yet."""
    return {
        event: {
            "index": signed.index,
            "path": [node.hex() for node in log.inclusion(signed.index, size).path],
        }
        for event, signed in receipts.items()
        if signed.index < size
    }
