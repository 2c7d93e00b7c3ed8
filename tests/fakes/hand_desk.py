"""HandService over a real gate and a ledger in memory, and players' software that speaks to it."""

import hashlib
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from entropyd.hands.cut import contribution_leaf
from entropyd.hands.hand import Hand
from entropyd.hands.seats import signed_bytes
from entropyd.log.keys import SigningKey
from entropyd.log.merkle import leaf_hash
from entropyd.log.receipt import Receipt
from entropyd.log.seat_note import SeatNote
from entropyd.log.signed_note import SignedNote, sign
from entropyd.runtime.hand_store import HandStore
from entropyd.runtime.hand_sweep import HandSweep
from entropyd.runtime.hand_tables import HandLimits
from entropyd.runtime.hand_watch import HandWatch
from entropyd.runtime.hands import Hands
from entropyd.service.hand_core import HandCore
from entropyd.service.hand_feed import HandFeed
from entropyd.service.hand_messages import HandMessages
from entropyd.service.identity import Call, Identity, Role
from entropyd.service.patience import Patience
from entropyd.service.receipt_sources import sources_of
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import types_pb2
from tests.fakes.dealing import SECOND, Table
from tests.fakes.manual_time import play

MS = 10**6
HOUR = 3600 * SECOND
LOG = "room.example/log"
KEY = SigningKey.from_seed(f"{LOG}/receipts", b"r" * 32)
SERVER = Identity("room", frozenset({Role.DEAL, Role.REVEAL, Role.VOID}))
PLAYER = Identity("room", frozenset({Role.CONTRIBUTE}))
AUDITOR = Identity("room", frozenset({Role.AUDIT}))
OUTSIDER = Identity("room", frozenset({Role.DEAL_ALL, Role.DRAW, Role.ADMIN}))
LIMITS = HandLimits(open=2, dealing=1, expire_after_ns=HOUR, max_window_ns=600 * SECOND)


def made(label: str) -> bytes:
    """Return 32 bytes, the same ones whenever they are asked for."""
    return hashlib.sha256(label.encode()).digest()


def claim(place: int = 0, whose: str = "server") -> bytes:
    """Return the claim of somebody for a place."""
    return made(f"claim of {whose} at {place}")[:16]


class CountingHands:
    """Counts steps, voids and alarms."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.voids: list[str] = []
        self.alarms: list[tuple[str, str, str, int]] = []

    def hand_stepped(self, step: str) -> None:
        self.steps.append(step)

    def hand_voided(self, reason: str) -> None:
        self.voids.append(reason)

    def place_dealt_again(self, tenant: str, table: str, hand: str, place: int) -> None:
        self.alarms.append((tenant, table, hand, place))


class Player:
    """A seat's own software: keeps its value until it may be shown."""

    def __init__(self, seat: str, *, keyed: bool = False) -> None:
        self.seat = seat
        self.value = made(f"value of {seat}")
        self._key = Ed25519PrivateKey.from_private_bytes(made(f"key of {seat}")) if keyed else None

    @property
    def as_seat(self) -> pb.Seat:
        key = b"" if self._key is None else self._key.public_key().public_bytes_raw()
        return pb.Seat(seat=self.seat, public_key=key)

    def leaf(self, open_hash: bytes) -> bytes:
        return contribution_leaf(open_hash, self.seat, self.value)

    def signature(self, open_hash: bytes) -> bytes:
        hashed = leaf_hash(self.leaf(open_hash))
        return b"" if self._key is None else self._key.sign(signed_bytes(hashed))

    def speaks(self, open_hash: bytes) -> pb.Contribution:
        """Return what it sends under OPEN."""
        return pb.Contribution(
            seat=self.seat, value=self.value, signature=self.signature(open_hash)
        )

    def seals(self, open_hash: bytes) -> pb.Contribution:
        """Return what it sends under SEALED before the roll."""
        return pb.Contribution(
            seat=self.seat,
            leaf_hash=leaf_hash(self.leaf(open_hash)),
            signature=self.signature(open_hash),
        )

    def opens(self) -> pb.Contribution:
        """Return what it sends after the roll."""
        return pb.Contribution(seat=self.seat, value=self.value)


class HandDesk:
    """A core over a gate that holds `seeds` of credit.

    Attributes:
        said: every message that was answered, in order.
        counted: what the observer was told.
        fatal: what the daemon would end with because of the sweep.
    """

    def __init__(
        self, seeds: int = 20, *, limits: HandLimits = LIMITS, log_begins: int = 0, **table: Any
    ) -> None:
        self.table = Table(**table)
        if seeds:
            self.table.deliver(96 * seeds)
        clock = self.table.clock
        self.counted = CountingHands()
        self.fatal: list[BaseException] = []
        self.store = HandStore(self.table.ledger)
        watch = HandWatch(self.counted)
        self.hands = Hands(
            self.table.dealer.step_calls,
            self.store,
            watch,
            log=LOG,
            limits=limits,
            sources_of=sources_of,
            clock_ns=clock,
            wall_ns=clock.wall_ns,
            log_begins=log_begins,
        )
        self.sweep = HandSweep(self.hands, ["room"], clock_ns=clock, on_fatal=self.fatal.append)
        watch.listen(self.sweep.note)
        watch.listen_to_doubts(self.sweep.look_at)
        self.feed = HandFeed(self.table.dealer.draining)
        watch.listen(self.feed.changed)
        self.core = HandCore(
            self.hands,
            HandMessages(
                log=LOG, sign=lambda text: sign(text, KEY).encode(), receipt=self.store.receipt
            ),
            self.feed,
            events=self.table.writer,
            patience=Patience(clock, max_hold_ns=5 * SECOND, answer_before_deadline_ns=50 * MS),
            wall_ns=clock.wall_ns,
        )
        self.said: list[Any] = []

    def run(self, scenario: Any) -> Any:
        return play(self.table.clock, scenario)

    def call(self, who: Identity, seconds: float | None = 10) -> Call:
        deadline = None if seconds is None else self.table.clock() + round(seconds * SECOND)
        return Call(who, deadline)

    async def ask(
        self, method: str, request: Any, who: Identity = SERVER, seconds: float | None = 10
    ) -> Any:
        """Return the answer, as it comes out of the wire."""
        answer = await getattr(self.core, method)(request, self.call(who, seconds))
        again = type(answer).FromString(answer.SerializeToString())
        self.said.append(again)
        return again

    # --- requests in short ------------------------------------------------------------

    async def open(self, hand: str = "h-1", *, who: Identity = SERVER, **more: Any) -> Any:
        return await self.ask("open_hand", open_request(hand, **more), who)

    async def contribute(
        self, opened: Any, *spoken: pb.Contribution, hand: str = "h-1", **more: Any
    ) -> Any:
        request = pb.ContributeRequest(
            key=key(hand), open_hash=opened.open_hash, contributions=spoken, **more
        )
        return await self.ask("contribute", request, PLAYER if not more else SERVER)

    async def deal(
        self, first: int = 0, *deals: tuple[str, int], hand: str = "h-1", **more: Any
    ) -> Any:
        return await self.ask("deal_cards", deal_request(first, *deals, hand=hand, **more))

    async def show(self, *places: int, hand: str = "h-1", who: Identity = SERVER) -> Any:
        return await self.ask("show_cards", pb.ShowCardsRequest(key=key(hand), places=places), who)

    async def close(self, hand: str = "h-1", **more: Any) -> Any:
        return await self.ask("close_hand", pb.CloseHandRequest(key=key(hand), **more))

    async def void(self, hand: str = "h-1", reason: str = "misdeal") -> Any:
        request = pb.VoidHandRequest(key=key(hand), reason=reason)
        return (await self.ask("void_hand", request)).hand

    async def get(self, hand: str = "h-1", who: Identity = AUDITOR) -> Any:
        return (await self.ask("get_hand", pb.GetHandRequest(key=key(hand)), who)).hand

    def kept(self, hand: str = "h-1") -> Hand:
        """Return a hand as it is recorded."""
        found = self.store.find("room", hand)
        assert found is not None
        return found.hand


def key(hand: str = "h-1", table: str = "t-1") -> types_pb2.HandKey:
    """Return the key of a hand."""
    return types_pb2.HandKey(table=table, hand=hand)


def open_request(
    hand: str = "h-1",
    *,
    table: str = "t-1",
    players: Any = (),
    sealed: bool = False,
    seconds: int = 30,
    **more: Any,
) -> pb.OpenHandRequest:
    """Return a request for a hand that these players may move."""
    request = pb.OpenHandRequest(
        key=key(hand, table), seats=[player.as_seat for player in players], **more
    )
    if players:
        modes = (pb.CONTRIBUTIONS_MODE_OPEN, pb.CONTRIBUTIONS_MODE_SEALED)
        request.contributions = modes[sealed]
        request.contribute_for.seconds = seconds
    return request


def deal_request(
    first: int, *deals: tuple[str, int], hand: str = "h-1", whose: str = "server", **more: Any
) -> pb.DealCardsRequest:
    """Return a request for the next places."""
    return pb.DealCardsRequest(
        key=key(hand),
        first_place=first,
        deals=[pb.Deal(recipient=to, count=count) for to, count in deals],
        claim=claim(first, whose),
        **more,
    )


def receipt_of(signed: types_pb2.SignedReceipt) -> Receipt:
    """Return a receipt whose signature and index hold."""
    receipt = Receipt.decode(_signed_text(signed.note))
    assert receipt.index == signed.log_index
    return receipt


def note_of(outcome: pb.ContributionOutcome) -> SeatNote:
    """Return the note of a seat, whose signature holds."""
    return SeatNote.decode(_signed_text(outcome.note))


def _signed_text(note: str) -> bytes:
    signed = SignedNote.decode(note.encode())
    signed.verify([KEY.key])
    return signed.text
