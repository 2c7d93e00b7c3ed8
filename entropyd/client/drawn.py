"""What a client gets of draws and raffles."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from entropyd.client.deal import SourceUse, source_uses
from entropyd.v1 import draw_service_pb2, raffle_service_pb2


@dataclass(frozen=True)
class Drawn:
    """A recorded draw of a match.

    Attributes:
        match, draw: which.
        number: its number in the match, from 1.
        result: numbers, faces shown, or places in the list from 0; of a bag the kinds, from 0.
        labels: the list that was given, of a bag its kinds; empty where there was none.
        left: tiles in the bag after the draw; 0 for other kinds.
        rules: the canonical rules that the draw is bound to.
        commitment, result_root: C and D of docs/protocol.md, 32 bytes each.
        replayed: drawn by an earlier call and served from the ledger.
        mock: a source was an emulator or a recording: do not play for money on this.
        degraded: a configured source was not healthy, or user entropy was waived.
        sources: where the bits came from.
        log_index: where its receipt is in the log, for `Client.log`; 0: it has none.
    """

    match: str
    draw: str
    number: int
    result: tuple[int, ...] = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    left: int
    rules: str
    commitment: bytes = field(repr=False)
    result_root: bytes = field(repr=False)
    replayed: bool
    mock: bool
    degraded: bool
    sources: tuple[SourceUse, ...] = field(repr=False)
    log_index: int = 0

    @property
    def texts(self) -> tuple[str, ...]:
        """What came, as labels; empty where there are none."""
        return tuple(self.labels[item] for item in self.result) if self.labels else ()

    @classmethod
    def from_message(cls, message: draw_service_pb2.RecordedDraw, *, replayed: bool) -> "Drawn":
        """Return the draw that a message holds."""
        return cls(
            match=message.key.match,
            draw=message.key.draw,
            number=message.number,
            result=(*message.values, *message.items),
            labels=tuple(message.labels),
            left=message.left,
            rules=message.rules,
            commitment=message.commitment,
            result_root=message.result_root,
            replayed=replayed,
            mock=message.provenance.mock,
            degraded=message.provenance.degraded,
            sources=source_uses(message.provenance),
            log_index=message.log_index,
        )


@dataclass(frozen=True)
class Opening:
    """What a draw was made from. With it anybody computes the draw again.

    Attributes:
        seeds: S_0, S_1, ...: 64 bytes each.
        blinding: r, 32 bytes.
        salt_key: K, 32 bytes.
    """

    seeds: tuple[bytes, ...] = field(repr=False)
    blinding: bytes = field(repr=False)
    salt_key: bytes = field(repr=False)

    @classmethod
    def from_message(cls, message: draw_service_pb2.DrawOpening) -> "Opening":
        """Return the opening that a message holds."""
        return cls(tuple(message.seeds), message.blinding, message.salt_key)


@dataclass(frozen=True)
class ReplayedDraw:
    """One draw of a match that was read back.

    Attributes:
        drawn: as it was recorded.
        opening: what it was made from; None unless it was asked for.
    """

    drawn: Drawn
    opening: Opening | None

    @classmethod
    def from_message(cls, message: draw_service_pb2.ReplayedDraw) -> "ReplayedDraw":
        """Return what a message holds of one draw."""
        opening = Opening.from_message(message.opening) if message.HasField("opening") else None
        return cls(Drawn.from_message(message.draw, replayed=True), opening)


@dataclass(frozen=True)
class Match:
    """A match that was read back.

    Attributes:
        tenant: whose it is; every draw is bound to it.
        match: its id.
        draws: all of them, in the order of their numbers.
    """

    tenant: str
    match: str
    draws: tuple[ReplayedDraw, ...]


@dataclass(frozen=True)
class DrawSummary:
    """A draw without what came of it.

    Attributes:
        draw: its id.
        number: its number in the match.
        rules: its canonical rules.
        commitment, result_root: C and D, 32 bytes each.
    """

    draw: str
    number: int
    rules: str
    commitment: bytes = field(repr=False)
    result_root: bytes = field(repr=False)

    @classmethod
    def from_message(cls, message: draw_service_pb2.DrawSummary) -> "DrawSummary":
        """Return the summary that a message holds."""
        return cls(
            message.key.draw,
            message.number,
            message.rules,
            message.commitment,
            message.result_root,
        )


@dataclass(frozen=True)
class Raffle:
    """A raffle as it was sealed and, if it was, drawn.

    Attributes:
        raffle: its id.
        number: its number among the tenant's raffles, from 1 without gaps.
        entries_hash: E, 32 bytes: publish it before the draw.
        size: how many entries.
        rules: the canonical rules that the draw is bound to.
        drawn: whether there is a result.
        result: places in the list of canonical entries, from 0, winners first; empty until drawn.
        winners, alternates: their entries; empty until drawn.
        commitment, result_root: C and D, 32 bytes each; empty until drawn.
        mock: a source was an emulator or a recording.
        replayed: sealed (or drawn) by an earlier call.
        log_index: where the receipt that it was sealed is in the log; 0: it has none.
        draw_log_index: where that of its draw is; 0 until drawn.
    """

    raffle: str
    number: int
    entries_hash: bytes
    size: int
    rules: str
    drawn: bool
    result: tuple[int, ...] = field(repr=False)
    winners: tuple[str, ...] = field(repr=False)
    alternates: tuple[str, ...] = field(repr=False)
    commitment: bytes = field(repr=False)
    result_root: bytes = field(repr=False)
    mock: bool
    replayed: bool
    log_index: int = 0
    draw_log_index: int = 0

    @classmethod
    def from_message(cls, message: raffle_service_pb2.Raffle, *, replayed: bool) -> "Raffle":
        """Return the raffle that a message holds."""
        return cls(
            raffle=message.raffle,
            number=message.number,
            entries_hash=message.entries_hash,
            size=message.n,
            rules=message.rules,
            drawn=message.HasField("result"),
            result=tuple(message.result.items),
            winners=tuple(message.result.winners),
            alternates=tuple(message.result.alternates),
            commitment=message.result.commitment,
            result_root=message.result.result_root,
            mock=message.result.provenance.mock,
            replayed=replayed,
            log_index=message.log_index,
            draw_log_index=message.result.log_index,
        )


@dataclass(frozen=True)
class OpenedRaffle:
    """A raffle that was read back.

    Attributes:
        tenant: whose it is.
        raffle: how it stands.
        entries: the canonical list; empty unless it was asked for.
        opening: what it was drawn from; None unless it was drawn and asked for.
    """

    tenant: str
    raffle: Raffle
    entries: Sequence[str] = field(repr=False)
    opening: Opening | None

    @classmethod
    def from_message(cls, message: raffle_service_pb2.GetRaffleResponse) -> "OpenedRaffle":
        """Return what a message holds."""
        return cls(
            tenant=message.tenant,
            raffle=Raffle.from_message(message.raffle, replayed=True),
            entries=tuple(message.entries),
            opening=Opening.from_message(message.opening) if message.HasField("opening") else None,
        )
