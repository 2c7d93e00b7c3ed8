"""What rules, ids, seats and receipts of a hand fix, and whether they fit each other.

Spec: docs/protocol.md, "The hand file", 1 to 5 and 8.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from entropyd.errors import ProofMalformedError, ProofMismatchError, RequestError
from entropyd.hands import commitment
from entropyd.hands.binding import hand_binding
from entropyd.hands.rules import Contributions, Rules, decode, rules_hash
from entropyd.hands.seats import check_seats
from entropyd.log.receipt import Receipt
from entropyd.verify.compare import hex_difference
from entropyd.verify.hand_file import STEPS, PresentedHand
from entropyd.verify.keyring import KeyRing, located

_SAME = ("log", "tenant", "table", "hand", "sequence", "open_hash")
_OTHER_HAND = "the receipt is of another hand, or ids, rules or seats of the file were changed"


@dataclass(frozen=True, slots=True)
class FixedHand:
    """A hand as its receipts fix it.

    Attributes:
        rules: what it is played under.
        binding: X.
        receipts: name of the step -> what it says; always has `open`.
    """

    rules: Rules
    binding: bytes
    receipts: Mapping[str, Receipt]

    @property
    def opened(self) -> Receipt:
        """The open receipt."""
        return self.receipts["open"]

    @property
    def open_hash(self) -> bytes:
        """O."""
        return self.opened.open_hash or b""

    @property
    def sealed(self) -> bool:
        """Whether a seal was seen, so that the cut is fixed."""
        return "seal" in self.receipts

    @property
    def roll(self) -> Receipt | None:
        """The latest receipt that says m and R."""
        return self.receipts.get("seal", self.receipts.get("roll"))

    @property
    def closed(self) -> bool:
        """Whether it was closed, so that every place may be shown."""
        return "close" in self.receipts

    @property
    def end(self) -> Receipt | None:
        """The receipt that ended it."""
        return self.receipts.get("close", self.receipts.get("void"))


def fix_hand(presented: PresentedHand, ring: KeyRing) -> FixedHand:
    """Check rules, seats and receipts.

    Raises:
        ProofMalformedError, ProofMismatchError: one is refused; names the first.
    """
    rules = _rules(presented)
    seats_root = _seats_root(presented, rules)
    binding = hand_binding(
        presented.tenant, presented.table, presented.hand, rules_hash(presented.rules)
    )
    opened = _receipt(presented, ring, "open")
    _check_open(presented, opened, rules, binding, seats_root)
    receipts = {"open": opened}
    for name in STEPS[1:]:
        if name in presented.receipts:
            later = _receipt(presented, ring, name)
            _check_same(name, later, receipts)
            _check_counts(name, later, rules, len(presented.seats), receipts)
            receipts[name] = later
    return FixedHand(rules, binding, receipts)


def _rules(presented: PresentedHand) -> Rules:
    try:
        rules = decode(presented.rules)
    except RequestError as error:
        raise ProofMalformedError(str(error), field="rules") from error
    if rules.whole_deck_proof:
        raise ProofMalformedError(
            "say proofs=deck: no card of such a hand is proved alone", field="rules"
        )
    return rules


def _seats_root(presented: PresentedHand, rules: Rules) -> bytes:
    with located("seats"):
        if check_seats(presented.seats) != presented.seats:
            raise ProofMalformedError("stand in another order than that of bytes", field="seats")
    if presented.seats and rules.contributions is Contributions.NONE:
        raise ProofMalformedError("are there, and the rules say contributions=none", field="seats")
    return commitment.seats_root({seat.name: seat.public_key for seat in presented.seats})


def _receipt(presented: PresentedHand, ring: KeyRing, name: str) -> Receipt:
    with located(f"receipts.{name}"):
        receipt = ring.open_receipt(presented.receipts[name])
    if receipt.event.value != name:
        _mismatch(f"receipts.{name}", f"is of event {receipt.event}", "two receipts were exchanged")
    return receipt


def _check_open(
    presented: PresentedHand, opened: Receipt, rules: Rules, binding: bytes, seats_root: bytes
) -> None:
    for name in ("tenant", "table", "hand"):
        if getattr(opened, name) != getattr(presented, name):
            _mismatch("receipts.open", f"is of another {name} than the file says", _OTHER_HAND)
    _equal("rules", rules_hash(presented.rules), opened.rules_hash, "rules were changed")
    if opened.n != rules.size:
        _mismatch("receipts.open", f"says n: {opened.n}; the rules have {rules.size}")
    _equal("seats", seats_root, opened.seats_root, "a seat or its key was changed or left out")
    computed = commitment.open_hash(
        binding,
        sequence=opened.sequence or 0,
        size=rules.size,
        commitment=opened.commitment or b"",
        deck_root=opened.deck_root or b"",
        seats_root=seats_root,
    )
    _equal("receipts.open", computed, opened.open_hash, "a line of the receipt is not of this hand")
    if (opened.deadline_ms is None) != (rules.contributions is Contributions.NONE):
        _mismatch(
            "receipts.open", "has a deadline where nobody contributes, or none where seats do"
        )
    parent = rules.parent.digest if rules.parent else None
    if (opened.parent, opened.replaces) != (parent, rules.replaces or None):
        _mismatch("receipts.open", "has another parent or replaces than the rules")


def _check_same(name: str, later: Receipt, receipts: Mapping[str, Receipt]) -> None:
    part, opened = f"receipts.{name}", receipts["open"]
    for attribute in _SAME:
        if getattr(later, attribute) != getattr(opened, attribute):
            _mismatch(part, f"has another {attribute} than the open receipt", _OTHER_HAND)
    if later.index <= max(receipt.index for receipt in receipts.values()):
        _mismatch(part, f"has index {later.index}, not above that of the receipts before it")


def _check_counts(
    name: str, later: Receipt, rules: Rules, seats: int, before: Mapping[str, Receipt]
) -> None:
    part, mode, roll = f"receipts.{name}", rules.contributions, before.get("roll")
    said = later.contributions or 0
    if said > seats:
        _mismatch(part, f"says {said} contributions of {seats} seats")
    if name == "roll" and (mode is not Contributions.SEALED or not said):
        _mismatch(part, "is of a hand whose contributions are not sealed, or of none")
    if name == "seal" and (roll is not None) != (mode is Contributions.SEALED and said > 0):
        _mismatch(
            part, "is without its roll, or has one that the rules do not", "the roll is missing"
        )
    if name == "seal" and roll is not None and _counted(roll) != _counted(later):
        _mismatch(
            part,
            "has other contributions or another R than the roll",
            "contributions were changed after the roll was closed",
        )
    if name == "close" and later.delivery is not None:
        _mismatch(part, "is that of a Shuffle, which is the only receipt of its hand")
    if name == "close" and "seal" not in before:
        _mismatch(part, "is of a hand without a seal", "the seal receipt was left out")
    if name == "void" and "close" in before:
        _mismatch(part, "is of a hand that was closed")


def _counted(receipt: Receipt) -> tuple[int | None, bytes | None]:
    return receipt.contributions, receipt.contributions_root


def _equal(part: str, computed: bytes, said: bytes | None, *causes: str) -> None:
    if computed != said:
        message = hex_difference(computed, said or bytes(len(computed)))
        raise ProofMismatchError(message, field=part, causes=causes)


def _mismatch(part: str, message: str, *causes: str) -> NoReturn:
    raise ProofMismatchError(message, field=part, causes=causes)
