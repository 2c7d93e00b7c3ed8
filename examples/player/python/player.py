# ruff: noqa: INP001 - programs to copy from, not a package
"""One seat's own software: what it holds of a hand, and what it checks before its player acts.

A `Player` takes what the poker server sends, in order, and stops at the first
thing that does not hold: to what it has not checked it gives no answer. One
player a hand. The messages are described in ../README.md.

Spec: docs/protocol.md, "What a player's software holds and checks".
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks import (
    Failed,
    card_of,
    check_deadline,
    check_follows,
    check_leaves,
    check_open_hash,
    check_own,
    check_recipients,
    check_roll,
    check_rules,
    hexadecimal,
    listed,
    need,
    receipt_of,
    seats_of,
    signed_text,
    there,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from entropyd.draw.cards import card_text
from entropyd.errors import EntropydError
from entropyd.hands import rules
from entropyd.hands.binding import hand_binding
from entropyd.hands.cut import contribution_leaf, cut
from entropyd.hands.rules import Contributions
from entropyd.hands.seats import Seat, signed_bytes
from entropyd.log import merkle
from entropyd.log.events import Event
from entropyd.log.keys import VerifierKey
from entropyd.log.receipt import Receipt
from entropyd.log.seat_note import Outcome, SeatNote

VALUE_BYTES = 32

Message = Mapping[str, Any]
Answer = dict[str, Any] | None


class DoNotAct(Exception):  # noqa: N818 - what its reader must do
    """A check failed. The player must not act on this hand, nor contribute to it.

    Attributes:
        step: the message that was looked at.
        check: which check failed.
    """

    def __init__(self, step: str, check: str, why: str) -> None:
        super().__init__(
            f"{step}: {check}: {why}. Do not act on this hand; keep its messages as evidence."
        )
        self.step = step
        self.check = check


@dataclass(frozen=True, slots=True)
class Table:
    """What a player knows before a hand begins, and not from the poker server.

    Attributes:
        receipt_key: verifier key `<log>/receipts+...`, from the operator's site.
        tenant, table: ids of the table it sits at.
        seat: its own seat.
        rules: what is played, as the lines of docs/protocol.md, section 4.
        previous: sequence of the table's hand before; None if it saw none.
    """

    receipt_key: str
    tenant: str
    table: str
    seat: str
    rules: str
    previous: int | None = None


def wall_clock_ms() -> int:
    """Return the time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Player:
    """What one seat runs during one hand. `messages` is all it was sent: evidence."""

    def __init__(
        self,
        table: Table,
        secrets: Path,
        signing_key: Ed25519PrivateKey | None = None,
        now_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        """Sit down.

        Args:
            table: what is known beforehand.
            secrets: a directory of this seat's own, where the value is kept until the hand ends.
            signing_key: the seat's; None for a seat without a key.
            now_ms: wall clock.
        """
        self.messages: list[Message] = []
        self._table, self._secrets = table, secrets
        self._rules = rules.decode(table.rules.encode("ascii"))
        self._receipt_key = VerifierKey.decode(table.receipt_key)
        self._signing_key, self._now_ms = signing_key, now_ms
        self._at = ""
        self._answers: dict[str, tuple[Message, Answer]] = {}
        self._refused: DoNotAct | None = None
        self._receipts: dict[str, Receipt] = {}
        self._seats: tuple[Seat, ...] = ()
        self._value = b""
        self._leaf = b""
        self._leaves: list[bytes] = []
        self._cut: list[int] = []
        self._cards: dict[int, dict[str, Any]] = {}
        self._file: dict[str, Any] = {}

    @property
    def cards(self) -> dict[int, str]:
        """Place -> card, of all cards that were checked."""
        ids = self._rules.deck.cards(card["item"] for card in self._cards.values())
        return {place: card_text(card) for place, card in zip(self._cards, ids, strict=True)}

    def take(self, message: Any) -> Answer:
        """Check what the poker server sent, and return what it gets for it, None for nothing.

        The same message again gets the same answer.

        Raises:
            DoNotAct: a check failed, now or before.
        """
        self.messages.append(message)
        if self._refused is not None:
            raise self._refused
        step = str(message.get("type")) if isinstance(message, Mapping) else "nothing"
        known = self._answers.get(step)
        if known is not None and known[0] == message:
            return known[1]
        with self._stops_at(step):
            answer = self._step_of(step)(message)
        self._answers[step] = message, answer
        return answer

    def hand_file(self) -> dict[str, Any]:
        """Return what is held, from the open on, as a file that `entropyctl verify` takes."""
        cards = [self._cards[place] for place in sorted(self._cards)]
        return {**self._file, "leaves": [leaf.hex() for leaf in self._leaves], "cards": cards}

    # --- the order of steps ----------------------------------------------------------

    def _step_of(self, step: str) -> Callable[[Message], Answer]:
        mode = self._rules.contributions
        after_open = "seal" if mode is Contributions.NONE else "accepted"
        after_accepted = "roll" if mode is Contributions.SEALED else "seal"
        following = {
            "": {"open"},
            "open": {after_open, "end"},
            "accepted": {after_accepted, "end"},
            "roll": {"seal", "end"},
            "seal": {"cards", "shown", "end"},
            "end": {"shown"},
        }[self._at]
        need(step in following, "order", f"after {self._at!r} expected {sorted(following)}")
        steps: dict[str, Callable[[Message], Answer]] = {
            "open": self._open,
            "accepted": self._accepted,
            "roll": self._roll,
            "seal": self._seal,
            "cards": self._dealt,
            "shown": self._shown,
            "end": self._end,
        }
        return steps[step]

    @contextmanager
    def _stops_at(self, step: str) -> Iterator[None]:
        """Turn whatever is wrong with a message into the error that ends everything."""
        try:
            yield
        except Failed as failed:
            self._refused = DoNotAct(step, failed.check, str(failed))
            raise self._refused from failed
        except (EntropydError, KeyError, TypeError, ValueError, AttributeError) as error:
            self._refused = DoNotAct(step, "form", f"{type(error).__name__}: {error}")
            raise self._refused from error

    # --- the steps -------------------------------------------------------------------

    def _open(self, message: Message) -> Answer:
        receipt, table = receipt_of(message["receipt"], self._receipt_key, Event.OPEN), self._table
        which = (table.tenant, table.table, message["hand"])
        need((receipt.tenant, receipt.table, receipt.hand) == which, "hand", "of another hand")
        need(message["rules"] == table.rules, "rules", "not those that are played here")
        check_rules(receipt, self._rules)
        self._seats = seats_of(listed(message, "seats"), receipt)
        self._binding = hand_binding(*which, there(receipt.rules_hash))
        check_open_hash(receipt, self._binding, self._rules.size)
        if table.previous is not None:
            need(receipt.sequence == table.previous + 1, "sequence", "a hand before it is missing")
        self._keep("open", message["receipt"], receipt)
        self._file |= {
            "entropyd": "hand/v1", "tenant": which[0], "table": which[1], "hand": which[2],
            "rules": table.rules, "seats": message["seats"], "keys": [table.receipt_key],
        }  # fmt: skip
        return self._contribution(receipt)

    def _accepted(self, message: Message) -> Answer:
        note = SeatNote.decode(signed_text(message["note"], self._receipt_key))
        opened = self._receipts["open"]
        of_hand = (note.log, note.open_hash) == (opened.log, opened.open_hash)
        need(of_hand, "hand", "of another hand")
        need(note.seat == self._table.seat, "seat", "for another seat")
        need(note.leaf_hash == merkle.leaf_hash(self._leaf), "leaf", "of another contribution")
        need(note.outcome is Outcome.ACCEPTED, "outcome", f"refused, {note.reason}")
        self._file["notes"] = [message["note"]]
        self._at = "accepted"
        return None

    def _roll(self, message: Message) -> Answer:
        receipt = self._later(message, Event.ROLL)
        hashes = [hexadecimal(text) for text in listed(message, "leaf_hashes")]
        check_roll(receipt, hashes, len(self._seats))
        need(merkle.leaf_hash(self._leaf) in hashes, "own leaf", "is not in the roll")
        check_deadline(receipt, self._now_ms())
        self._keep("roll", message["receipt"], receipt)
        self._file["leaf_hashes"] = message["leaf_hashes"]
        return self._answer("value", value=self._value.hex())

    def _seal(self, message: Message) -> Answer:
        receipt = self._later(message, Event.SEAL)
        leaves = [hexadecimal(text) for text in listed(message, "leaves")]
        check_leaves(receipt, leaves, self._seats)
        need(not self._leaf or self._leaf in leaves, "own leaf", "is not among the leaves")
        rolled = self._receipts.get("roll", receipt)
        same = rolled.contributions_root == receipt.contributions_root
        need(same, "roll", "the seal has another R")
        self._leaves = leaves
        opened = there(receipt.open_hash)
        self._cut = cut(opened, self._rules.size, leaves, self._rules.sampler)
        self._keep("seal", message["receipt"], receipt)
        return None

    def _dealt(self, message: Message) -> Answer:
        others = {seat.name for seat in self._seats} - {self._table.seat}
        for card in listed(message, "cards"):
            to = card["recipient"]
            need(to not in others | {"", "burn"}, "recipient", f"a card of {to!r}, not ours")
        return self._shown(message)

    def _shown(self, message: Message) -> Answer:
        places = [card["place"] for card in listed(message, "cards")]
        need(len(set(places)) == len(places), "twice", "a place stands there twice")
        opened = self._receipts["open"]
        for card in listed(message, "cards"):
            proof = card_of(card, opened, self._binding, self._cut, self._rules)
            known = self._cards.get(proof.place, card)
            need(known == card, "twice", f"place {proof.place} was dealt otherwise before")
            others = [
                p for p, c in self._cards.items() if p != proof.place and c["item"] == proof.item
            ]
            need(not others, "item", f"places {others} and {proof.place} have one card")
            self._cards[proof.place] = dict(card)
        if self._at == "end":
            check_own(self._file["recipients"], self._cards, self._table.seat)
        return None

    def _end(self, message: Message) -> Answer:
        ends = (Event.VOID, Event.CLOSE) if self._cut else (Event.VOID,)
        receipt, recipients = self._later(message, *ends), listed(message, "recipients")
        need(not recipients or bool(self._cut), "dealt", "cards, before the cut was fixed")
        check_recipients(receipt, recipients, self._rules)
        check_own(recipients, self._cards, self._table.seat)
        self._file["recipients"] = recipients
        self._keep(receipt.event.value, message["receipt"], receipt)
        self._at = "end"
        self._secret_file().unlink(missing_ok=True)
        return None

    def _later(self, message: Message, *events: Event) -> Receipt:
        receipt = receipt_of(message["receipt"], self._receipt_key, *events)
        check_follows(receipt, self._receipts["open"], list(self._receipts.values())[-1])
        return receipt

    def _keep(self, name: str, note: str, receipt: Receipt) -> None:
        self._receipts[name] = receipt
        self._file.setdefault("receipts", {})[name] = note
        self._at = name

    # --- contributing ----------------------------------------------------------------

    def _contribution(self, receipt: Receipt) -> Answer:
        """Return what the seat contributes; nothing where the rules let nobody."""
        mode, key = self._rules.contributions, self._signing_key
        if mode is Contributions.NONE:
            need(not self._seats, "A", "seats, though nobody contributes")
            need(receipt.deadline_ms is None, "deadline", "one, though nobody contributes")
            return None
        public = b"" if key is None else key.public_key().public_bytes_raw()
        own = Seat(self._table.seat, public)
        need(own in self._seats, "seat", "our own, with our key, is not among the seats")
        check_deadline(receipt, self._now_ms())
        self._value = self._kept_value()
        self._leaf = contribution_leaf(there(receipt.open_hash), own.name, self._value)
        leaf_hash = merkle.leaf_hash(self._leaf)
        signature = b"" if key is None else key.sign(signed_bytes(leaf_hash))
        told = {"leaf_hash": leaf_hash} if mode is Contributions.SEALED else {"value": self._value}
        return self._answer("contribution", **_hexes(told), signature=signature.hex())

    def _kept_value(self) -> bytes:
        """Return the value of this hand, the same after a restart; on disk before it is used."""
        path = self._secret_file()
        if path.exists():
            value = path.read_bytes()
            need(len(value) == VALUE_BYTES, "secret", f"{path} was cut off; delete it")
            return value
        value = os.urandom(VALUE_BYTES)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(value)
            file.flush()
            os.fsync(file.fileno())
        return value

    def _secret_file(self) -> Path:
        return self._secrets / there(self._receipts["open"].open_hash).hex()

    def _answer(self, kind: str, **more: str) -> Answer:
        quoted = there(self._receipts["open"].open_hash).hex()
        return {"type": kind, "O": quoted, "seat": self._table.seat, **more}


def _hexes(values: Mapping[str, bytes]) -> dict[str, str]:
    return {name: value.hex() for name, value in values.items()}
