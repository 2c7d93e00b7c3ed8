"""What a client gets: a deal, or a refusal that says what to do."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from entropyd.errors import InternalError
from entropyd.hands.card_proof import CardProof
from entropyd.hands.commitment import ITEM_BYTES, decode_items
from entropyd.v1 import shuffle_service_pb2, types_pb2


@dataclass(frozen=True)
class SourceUse:
    """What one source gave to a deal. See `entropyd.v1.SourceUse` for every field.

    Attributes:
        source: the source's name in the daemon's configuration.
        use: "hardware", "cover", "user" or "os".
        kind: "hardware", "os", "mock", "replay" or "user".
        driver, serial: as the daemon knows them; empty for users and the operating system.
        samples: samples used, one byte each.
        credited_bits: credit spent, whole bits, rounded down.
        age_s: age of the oldest sample when it was drawn from, seconds.
        health: "healthy", or another state; empty for users and the operating system.
    """

    source: str
    use: str
    kind: str
    driver: str
    serial: str
    samples: int
    credited_bits: int
    age_s: float
    health: str


@dataclass(frozen=True)
class Deal:
    """A recorded deck.

    Attributes:
        table, hand: which.
        cards: card texts in dealing order, such as "As"; `cards[0]` is dealt first.
        card_ids: the same as ids 0 to 53.
        replayed: drawn by an earlier call and served from the ledger.
        sequence: the hand's number at its table.
        commitment, deck_root, open_hash: C, D and O of docs/protocol.md, 32 bytes each.
        rules: the canonical rules the draw is bound to.
        mock: a source was an emulator or a recording: do not deal money on this.
        degraded: a configured source was not healthy, or user entropy was waived.
        sources: where the bits came from.
        proofs: of every card in dealing order, as `hands.card_proof.check_card` takes them; empty
            unless they were asked for. Each is as secret as its card.
        message: the stored message itself, with everything else.
    """

    table: str
    hand: str
    cards: tuple[str, ...] = field(repr=False)
    card_ids: tuple[int, ...] = field(repr=False)
    replayed: bool
    sequence: int
    commitment: bytes = field(repr=False)
    deck_root: bytes = field(repr=False)
    open_hash: bytes
    rules: str
    mock: bool
    degraded: bool
    sources: tuple[SourceUse, ...] = field(repr=False)
    proofs: tuple[CardProof, ...] = field(repr=False)
    message: shuffle_service_pb2.Shuffle = field(repr=False, compare=False)

    @property
    def log_index(self) -> int:
        """Where its receipt is in the log, for `Client.log`; 0: it has none."""
        return self.message.log_index

    @classmethod
    def from_message(
        cls,
        message: shuffle_service_pb2.Shuffle,
        *,
        replayed: bool,
        proofs: Sequence[shuffle_service_pb2.CardProof] = (),
    ) -> "Deal":
        """Return the deal that a message holds, with the proofs that came beside it.

        Raises:
            InternalError: there are proofs, and not one for each card.
        """
        return cls(
            table=message.key.table,
            hand=message.key.hand,
            cards=tuple(message.text.split()),
            card_ids=tuple(message.cards),
            replayed=replayed,
            sequence=message.sequence,
            commitment=message.commitment,
            deck_root=message.deck_root,
            open_hash=message.open_hash,
            rules=message.rules,
            mock=message.provenance.mock,
            degraded=message.provenance.degraded,
            sources=source_uses(message.provenance),
            proofs=_card_proofs(message.items, proofs),
            message=message,
        )


def _card_proofs(
    items: bytes, proofs: Sequence[shuffle_service_pb2.CardProof]
) -> tuple[CardProof, ...]:
    """Return the proofs with their cards. Nobody moves this deck, so place p is leaf p."""
    if proofs and len(items) != ITEM_BYTES * len(proofs):
        raise InternalError(
            f"the daemon sent {len(proofs)} proofs for {len(items)} bytes of cards;"
            f" expected one for every {ITEM_BYTES} bytes"
        )
    return tuple(
        CardProof(place, place, item, proof.salt, tuple(proof.path))
        for place, (item, proof) in enumerate(zip(decode_items(items), proofs, strict=False))
    )


def source_uses(provenance: types_pb2.Provenance) -> tuple[SourceUse, ...]:
    """Return what each source gave, in the order of the message."""
    return tuple(_use(source) for source in provenance.sources)


def _use(use: types_pb2.SourceUse) -> SourceUse:
    return SourceUse(
        source=use.source,
        use=_plain(types_pb2.SourceClass.Name(getattr(use, "class"))),
        kind=_plain(types_pb2.SourceKind.Name(use.kind)),
        driver=use.driver,
        serial=use.serial,
        samples=use.samples,
        credited_bits=use.credited_millibits // 1000,
        age_s=use.age.seconds + use.age.nanos / 1e9,
        health=_plain(types_pb2.SourceState.Name(use.health)),
    )


def _plain(name: str) -> str:
    """SOURCE_CLASS_HARDWARE -> hardware; ..._UNSPECIFIED -> an empty text."""
    word = name.split("_", 2)[2].lower()
    return "" if word == "unspecified" else word


class Refusal(Exception):  # noqa: N818  it is what the daemon answered, not a fault of the client
    """The daemon refused, or was not reached.

    Attributes:
        code: gRPC status code.
        reason: UPPER_SNAKE, stable, such as "ENTROPY_HOLD"; empty when the daemon was not reached.
        field: path of the offending field of a bad request; empty otherwise.
        retry_after_s: when to ask again with the same request, as the daemon says; None if it
            does not: asking again is pointless, or (code UNAVAILABLE) it was not reached.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        *,
        reason: str,
        field: str,
        retry_after_s: float | None,
    ) -> None:
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.reason = reason
        self.field = field
        self.retry_after_s = retry_after_s

    @classmethod
    def from_message(cls, message: shuffle_service_pb2.Refusal) -> "Refusal":
        """Return what a stream says of one hand."""
        delay = message.retry_after
        return cls(
            _CODES.get(message.code, grpc.StatusCode.UNKNOWN),
            message.message,
            reason=message.reason,
            field=message.field,
            retry_after_s=(
                delay.seconds + delay.nanos / 1e9 if message.HasField("retry_after") else None
            ),
        )

    @classmethod
    def from_rpc_error(cls, error: grpc.RpcError | grpc.aio.AioRpcError) -> "Refusal":
        """Return what a failed call says."""
        call = cast("grpc.Call", error)
        reason, bad_field, retry_after_s = _read_details(_details(call))
        return cls(
            call.code(),
            call.details() or "no answer",
            reason=reason,
            field=bad_field,
            retry_after_s=retry_after_s,
        )


# By number, as google.rpc.Code has them.
_CODES = {code.value[0]: code for code in grpc.StatusCode}


@dataclass(frozen=True)
class HandAnswer:
    """What became of one hand of a stream: a deal, or a refusal.

    Attributes:
        table, hand: which.
        deal: its deck; None if it was refused.
        refusal: why there is none, and when to ask again; None if it was dealt.
    """

    table: str
    hand: str
    deal: Deal | None = field(repr=False)
    refusal: Refusal | None

    @classmethod
    def from_message(cls, message: shuffle_service_pb2.HandAnswer) -> "HandAnswer":
        """Return the answer that a message holds."""
        deal, refusal = None, None
        if message.HasField("dealt"):
            deal = Deal.from_message(message.dealt.shuffle, replayed=message.dealt.replayed)
        else:
            refusal = Refusal.from_message(message.refusal)
        return cls(message.key.table, message.key.hand, deal, refusal)

    def result(self) -> Deal:
        """Return the deal.

        Raises:
            Refusal: there is none.
        """
        if self.deal is None:
            raise self.refusal or InternalError("an answer without a deal and without a refusal")
        return self.deal


def _details(call: grpc.Call) -> status_pb2.Status:
    for key, value in call.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError as error:
                raise InternalError("the daemon sent details that do not parse") from error
    return status_pb2.Status()


def _read_details(status: status_pb2.Status) -> tuple[str, str, float | None]:
    reason, bad_field = "", ""
    retry_after_s: float | None = None
    info, bad, retry = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.RetryInfo(),
    )
    for detail in status.details:
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(bad):
            bad_field = bad.field_violations[0].field
        elif detail.Unpack(retry):
            delay = retry.retry_delay
            retry_after_s = delay.seconds + delay.nanos / 1e9
    return reason, bad_field, retry_after_s
