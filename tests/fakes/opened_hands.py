"""Opened hands for tests that deal card by card: real rules, real hashes, made-up secrets."""

from hashlib import sha512

from entropyd.draw.cards import Deck
from entropyd.hands import commitment
from entropyd.hands.binding import hand_binding
from entropyd.hands.hand import Hand
from entropyd.hands.opened import OpenedHand
from entropyd.hands.rules import Contributions, Rules, rules_hash, segments_needed
from entropyd.hands.seats import check_seats
from entropyd.hands.whole_deck import CommittedDeck, open_deck

SECOND = 1_000_000_000
OPENED_AT = 1_700_000_000 * SECOND
WINDOW = 30 * SECOND


def made(label: str, length: int = 64) -> bytes:
    """Return `length` bytes, at most 64, the same ones whenever they are asked for."""
    return sha512(label.encode()).digest()[:length]


def committed(
    rules: Rules, *, hand: str = "hand-1", table: str = "table-7", seats=()
) -> CommittedDeck:
    """Return a committed deck of tenant `acme`."""
    return open_deck(
        rules,
        hand_binding("acme", table, hand, rules_hash(rules.encode())),
        seeds=[made(f"{hand} seed {s}") for s in range(segments_needed(rules))],
        blinding=made(f"{hand} blinding", 32),
        salt_key=made(f"{hand} salt key", 32),
        seats_root=commitment.seats_root({seat.name: seat.public_key for seat in seats}),
        discards=None if rules.parent is None else range(3, 3 + rules.parent.cards),
    )


def opened(
    mode: Contributions = Contributions.OPEN,
    *,
    seats=(),
    deck: Deck | None = None,
    hand: str = "hand-1",
    sequence: int = 1,
    window_ns: int = WINDOW,
    **more,
) -> tuple[Hand, CommittedDeck]:
    """Return a hand that was just opened, and its deck."""
    rules = Rules(deck=deck or Deck(), contributions=mode, whole_deck_proof=False, **more)
    ordered = check_seats(seats)
    own = committed(rules, hand=hand, seats=ordered)
    fixed = OpenedHand(
        tenant="acme",
        table="table-7",
        hand=hand,
        rules=rules,
        sequence=sequence,
        size=own.size,
        commitment=own.commitment,
        deck_root=own.deck_root,
        seats_root=own.seats_root,
        open_hash=own.at_sequence(sequence),
        seats=ordered,
        opened_at_ns=OPENED_AT,
        deadline_ns=OPENED_AT + (window_ns if seats else 0),
        leaf_window_ns=window_ns,
    )
    return Hand(fixed), own
