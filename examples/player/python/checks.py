# ruff: noqa: INP001 - programs to copy from, not a package
"""The checks of a player's software: each returns what it found to hold, or says what does not.

Spec: docs/protocol.md, "What a player's software holds and checks" and "The hand file".
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from entropyd.encoding import check_id
from entropyd.errors import OrderMismatchError, ProofInvalidError, VerificationError
from entropyd.hands import commitment
from entropyd.hands.card_proof import CardProof, check_card
from entropyd.hands.cut import CONTRIBUTION_BYTES, contribution_leaf, sort_leaves
from entropyd.hands.deals import deals_root
from entropyd.hands.rules import Rules, rules_hash
from entropyd.hands.seats import Seat, check_seats
from entropyd.log import merkle
from entropyd.log.events import Event
from entropyd.log.keys import VerifierKey
from entropyd.log.receipt import Receipt
from entropyd.log.signed_note import SignedNote

# A daemon gives seats ten minutes at most; who gives more holds up the table.
MAX_WINDOW_MS = 10 * 60 * 1000

T = TypeVar("T")


class Failed(Exception):  # noqa: N818 - what became of a check
    """A check failed. `check` is its name."""

    def __init__(self, check: str, why: str) -> None:
        super().__init__(why)
        self.check = check


def need(condition: bool, check: str, why: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Go on only where something holds."""
    if not condition:
        raise Failed(check, why)


def hexadecimal(text: str) -> bytes:
    """Return the bytes of lower-case hex, the only spelling that is taken."""
    decoded = bytes.fromhex(text)
    need(decoded.hex() == text, "form", "no lower-case hex")
    return decoded


def listed(message: Mapping[str, Any], name: str) -> list[Any]:
    """Return a member that is a list."""
    value = message[name]
    need(isinstance(value, list), "form", f"{name} is no list")
    return list(value)


def there(value: T | None) -> T:
    """Return a line that a receipt of its event always has."""
    if value is None:
        raise Failed("form", "a line is missing")
    return value


# --- notes and receipts ----------------------------------------------------------------


def signed_text(note: str, key: VerifierKey) -> bytes:
    """Return a text that the trusted key has signed."""
    try:
        opened = SignedNote.decode(note.encode())
        opened.verify([key])
    except VerificationError as error:
        raise Failed("signature", str(error)) from error
    return opened.text


def receipt_of(note: str, key: VerifierKey, *events: Event) -> Receipt:
    """Return a receipt of one of these events, of the log whose key is trusted."""
    receipt = Receipt.decode(signed_text(note, key))
    need(key.name == f"{receipt.log}/receipts", "hand", "of another log")
    need(receipt.event in events, "event", f"a receipt of event {receipt.event}")
    return receipt


def check_follows(receipt: Receipt, opened: Receipt, last: Receipt) -> None:
    """It is of the hand that was opened, and of a step after the last one."""
    for name in ("tenant", "table", "hand", "sequence", "open_hash"):
        need(getattr(receipt, name) == getattr(opened, name), "hand", f"of another {name}")
    need(receipt.index > last.index, "index", f"{receipt.index} is not above {last.index}")


def check_deadline(receipt: Receipt, now_ms: int) -> None:
    """There is time to answer, and the table is not held up."""
    if receipt.deadline_ms is None:
        raise Failed("deadline", "there is none")
    left = receipt.deadline_ms - now_ms
    need(0 < left <= MAX_WINDOW_MS, "deadline", f"in {left} ms; expected 1 to {MAX_WINDOW_MS}")


# --- open --------------------------------------------------------------------------------


def check_rules(receipt: Receipt, rules: Rules) -> None:
    """The receipt is of these rules, and of what follows from them."""
    need(receipt.rules_hash == rules_hash(rules.encode()), "rules", "the receipt has others")
    parent = None if rules.parent is None else rules.parent.digest
    need(receipt.parent == parent, "rules", "of another parent")
    need(receipt.replaces == (rules.replaces or None), "rules", "replaces another hand")
    need(receipt.n == rules.size, "n", "does not follow from the rules")


def seats_of(told: Sequence[Mapping[str, str]], receipt: Receipt) -> tuple[Seat, ...]:
    """Return the seats that may contribute, if A follows from them."""
    seats = tuple(Seat(seat["seat"], hexadecimal(seat["key"])) for seat in told)
    need(check_seats(seats) == seats, "A", "the seats are not in byte order")
    root = commitment.seats_root({seat.name: seat.public_key for seat in seats})
    need(root == receipt.seats_root, "A", "does not follow from the seats")
    return seats


def check_open_hash(receipt: Receipt, binding: bytes, size: int) -> None:
    """O names what the receipt says, this hand and these rules."""
    computed = commitment.open_hash(
        binding,
        sequence=there(receipt.sequence),
        size=size,
        commitment=there(receipt.commitment),
        deck_root=there(receipt.deck_root),
        seats_root=there(receipt.seats_root),
    )
    need(computed == receipt.open_hash, "O", "does not follow from X, q, n, C, D and A")


# --- roll and seal ---------------------------------------------------------------------------


def check_roll(receipt: Receipt, hashes: Sequence[bytes], seats: int) -> None:
    """The receipt closes exactly these leaf hashes."""
    need(receipt.contributions == len(hashes) <= seats, "m", "not as many as the leaf hashes")
    need(list(hashes) == sorted(set(hashes)), "R", "the leaf hashes are not ascending")
    need(merkle.root_of_hashes(hashes) == receipt.contributions_root, "R", "another root")


def check_leaves(receipt: Receipt, leaves: list[bytes], seats: Sequence[Seat]) -> None:
    """The receipt seals exactly these leaves, each of this hand and of another of its seats."""
    need(receipt.contributions == len(leaves), "m", "not as many as the leaves")
    names, opened = [seat.name for seat in seats], there(receipt.open_hash)
    for leaf in leaves:
        value = leaf[-CONTRIBUTION_BYTES:]
        seat = next((s for s in names if contribution_leaf(opened, s, value) == leaf), None)
        if seat is None:
            raise Failed("leaves", "one is of no seat of this hand, or of one that has another")
        names.remove(seat)
    need(leaves == sort_leaves(leaves), "leaves", "not in sorted order")
    need(merkle.root(leaves) == receipt.contributions_root, "R", "another root")


# --- cards -------------------------------------------------------------------------------------


def card_of(
    card: Mapping[str, Any], opened: Receipt, binding: bytes, cut: Sequence[int], rules: Rules
) -> CardProof:
    """Return a card that was committed, and that the cut brings to its place."""
    place, leaf_index, item = card["place"], card["leaf_index"], card["item"]
    need({type(place), type(leaf_index), type(item)} == {int}, "form", "a number is no integer")
    path = tuple(hexadecimal(text) for text in card["path"])
    proof = CardProof(place, leaf_index, item, hexadecimal(card["salt"]), path)
    root = there(opened.deck_root)
    try:
        check_card(proof, binding=binding, size=rules.size, deck_root=root, cut=cut)
    except OrderMismatchError as error:
        raise Failed("cut", str(error)) from error
    except ProofInvalidError as error:
        raise Failed("path", str(error)) from error
    items = rules.deck.decks * len(rules.deck.card_ids)
    need(proof.item < items, "item", f"{proof.item} is none of the {items} of the deck")
    return proof


# --- end -----------------------------------------------------------------------------------------


def check_recipients(receipt: Receipt, recipients: Sequence[str], rules: Rules) -> None:
    """The receipt ends a hand whose places went to these, as the rules plan it."""
    need(receipt.dealt == len(recipients), "dealt", "not as many as the recipients")
    for recipient in recipients:
        check_id("recipients", recipient)
    root = deals_root(there(receipt.open_hash), recipients)
    need(root == receipt.deals_root, "deals", "the recipients have another root")
    for place, (to, plan) in enumerate(zip(recipients, rules.plan, strict=False)):
        need(to == plan, "plan", f"place {place} goes to {plan!r} by the rules")


def check_own(recipients: Sequence[str], cards: Mapping[int, Mapping[str, Any]], seat: str) -> None:
    """Every card that was shown went to whom it was said to go, and every card of ours came."""
    for place, card in cards.items():
        to = recipients[place] if place < len(recipients) else ""
        need(card["recipient"] == to, "recipients", f"place {place} is now said to be {to!r}'s")
    ours = {place for place, to in enumerate(recipients) if to == seat}
    missing = sorted(ours - cards.keys())
    need(not missing, "recipients", f"places {missing} are said to be ours; they never came")
