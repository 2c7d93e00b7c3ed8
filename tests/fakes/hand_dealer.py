"""A poker server and the daemon behind it, in one object, for seats that run software of their own.

It plays one hand by the project's own code and signs its receipts. It is honest;
`resigned` and the rest of a test make it lie, with the operator's true key.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from entropyd.hands import commitment, receipts
from entropyd.hands.card_proof import CardTree
from entropyd.hands.contributions import Contribution
from entropyd.hands.hand import Hand
from entropyd.hands.judgement import judge
from entropyd.hands.receipts import NS_A_MS, Sources
from entropyd.hands.rules import Contributions
from entropyd.hands.seats import Seat
from entropyd.log.keys import SigningKey
from entropyd.log.receipt import Receipt
from entropyd.log.seat_note import Outcome, SeatNote
from entropyd.log.signed_note import SignedNote, sign
from entropyd.log.source_line import ReceiptSourceKind, SourceClass, SourceLine
from tests.fakes.opened_hands import OPENED_AT, SECOND, WINDOW, made, opened

LOG = "entropyd.example/log"
RECEIPTS = SigningKey.from_seed(f"{LOG}/receipts", made("receipts key", 32))
# The same name, other bytes.
FORGER = SigningKey.from_seed(f"{LOG}/receipts", made("forger's key", 32))
SOURCES = Sources("test", (SourceLine(SourceClass.OS, ReceiptSourceKind.OS, samples=64),))

# Whose cards everybody sees.
BOARD = "board"

Message = dict[str, Any]


def resigned(message: Message, key: SigningKey = RECEIPTS, **changes: Any) -> Message:
    """Return a message whose receipt says something else, signed by the operator all the same."""
    receipt = Receipt.decode(SignedNote.decode(message["receipt"].encode()).text)
    return {**message, "receipt": signed(replace(receipt, **changes).encode(), key)}


def signed(text: bytes, key: SigningKey = RECEIPTS) -> str:
    return sign(text, key).encode().decode()


def plain(message: Message) -> Message:
    """Return the message as it comes out at the other end of a wire."""
    copy: Message = json.loads(json.dumps(message))
    return copy


class HandDealer:
    """One hand from its open to its end."""

    def __init__(
        self,
        mode: Contributions,
        seats: Iterable[Seat] = (),
        *,
        items: Sequence[int] | None = None,
        at_ns: int = OPENED_AT,
        **more: Any,
    ) -> None:
        """Open it.

        Args:
            mode: of contributions.
            seats: who contributes.
            items: the committed order, of a daemon that does not draw it; None for one that does.
            at_ns: wall clock at which everything happens but deadlines.
            more: as `opened` takes it: hand, sequence, deck, reveal, plan.
        """
        hand, deck = opened(mode, seats=seats, **more)
        if items is not None:
            root = commitment.card_by_card_root(deck.binding, deck.salt_key, items)
            deck = replace(deck, items=tuple(items), deck_root=root)
        self.deck = deck
        self.at_ns = at_ns
        fixed = replace(
            hand.opened,
            deck_root=deck.deck_root,
            open_hash=deck.at_sequence(hand.opened.sequence),
            opened_at_ns=at_ns,
            deadline_ns=at_ns + WINDOW if hand.opened.seats else at_ns,
        )
        self.hand = Hand(fixed)
        self.tree = CardTree(deck.binding, deck.salt_key, deck.items)
        self.index = 3

    @property
    def open_hash(self) -> bytes:
        return self.hand.opened.open_hash

    @property
    def ms(self) -> int:
        return self.at_ns // NS_A_MS

    @property
    def rules(self) -> str:
        return self.hand.opened.rules.encode().decode("ascii")

    # --- what it sends -----------------------------------------------------------

    def open(self) -> Message:
        text = receipts.open_receipt(self.hand, LOG, self._next(), SOURCES, self.ms)
        seats = [
            {"seat": seat.name, "key": seat.public_key.hex()} for seat in self.hand.opened.seats
        ]
        receipt, hand = signed(text), self.hand.opened.hand
        return {
            "type": "open", "hand": hand, "rules": self.rules, "seats": seats, "receipt": receipt,
        }  # fmt: skip

    def accepted(self, answer: Mapping[str, str]) -> Message:
        """Take a contribution or a value, and say what became of it."""
        contribution = Contribution(
            answer["seat"],
            value=bytes.fromhex(answer.get("value", "")),
            leaf_hash=bytes.fromhex(answer.get("leaf_hash", "")),
            signature=bytes.fromhex(answer.get("signature", "")),
        )
        now = self.at_ns + SECOND
        judged = judge(self.hand, contribution, bytes.fromhex(answer["O"]), now)
        self.hand = judged.hand.after_window(now)
        refused = None if judged.refused is None else judged.refused.value
        return self.note(answer["seat"], judged.leaf_hash, refused)

    def note(self, seat: str, leaf_hash: bytes, refused: str | None = None, **changes) -> Message:
        note = SeatNote(
            log=LOG,
            open_hash=self.open_hash,
            seat=seat,
            leaf_hash=leaf_hash,
            outcome=Outcome.ACCEPTED if refused is None else Outcome.REFUSED,
            reason=refused,
        )
        return {"type": "accepted", "note": signed(replace(note, **changes).encode())}

    def roll(self) -> Message:
        assert self.hand.roll is not None
        hashes = [one.hex() for one in self.hand.roll.leaf_hashes]
        text = receipts.roll_receipt(self.hand, LOG, self._next(), self.ms)
        return {"type": "roll", "receipt": signed(text), "leaf_hashes": hashes}

    def seal(self) -> Message:
        self.hand = self.hand.after_window(self.at_ns)
        leaves = [leaf.hex() for leaf in self.hand.leaves]
        text = receipts.seal_receipt(self.hand, LOG, self._next(), self.ms)
        return {"type": "seal", "receipt": signed(text), "leaves": leaves}

    def deal(self, recipients: Sequence[str]) -> None:
        self.hand = self.hand.deal(self.hand.dealt, recipients, made("claim", 32))

    def cards(self, seat: str) -> Message:
        """Return what a seat sees: its own cards, and those of everybody."""
        places = [p for p, to in enumerate(self.hand.recipients) if to in {seat, BOARD}]
        return {"type": "cards", "cards": [self.card(place) for place in places]}

    def shown(self, places: Iterable[int]) -> Message:
        return {"type": "shown", "cards": [self.card(place) for place in places]}

    def card(self, place: int, leaf_index: int | None = None) -> Message:
        """Return a card; of the leaf that the cut brings there unless another is named."""
        leaf = self.hand.cut()[place] if leaf_index is None else leaf_index
        proof = self.tree.prove(place, leaf)
        recipients = self.hand.recipients
        return {
            "place": place,
            "recipient": recipients[place] if place < len(recipients) else "",
            "leaf_index": proof.leaf_index,
            "item": proof.item,
            "salt": proof.salt.hex(),
            "path": [node.hex() for node in proof.path],
        }

    def close(self) -> Message:
        self.hand = self.hand.close()
        return self._end()

    def void(self, reason: str) -> Message:
        self.hand = self.hand.void(reason)
        return self._end()

    def _end(self) -> Message:
        text = receipts.end_receipt(self.hand, LOG, self._next(), self.ms)
        return {"type": "end", "receipt": signed(text), "recipients": list(self.hand.recipients)}

    def _next(self) -> int:
        self.index += 1
        return self.index
