"""Receipts: what the operator says happened, in a text that people read and programs check.

A receipt is lines `name: value`, each name in its place and each value in its
one spelling, so that a receipt has exactly one text. It is a leaf of the log.

A receipt that can be made or read at all obeys every rule that its own lines
can show. That it was signed, and is in the log, is for others to check.

Spec: docs/protocol.md, "Receipts".
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from entropyd.errors import ReceiptInvalidError, RequestError
from entropyd.log import merkle
from entropyd.log.events import Delivery, Event, form_of
from entropyd.log.instants import Time
from entropyd.log.keys import KeyType, VerifierKey
from entropyd.log.lines import Field, has, line_of, read_lines, write_lines
from entropyd.log.source_line import Setting, SettingCodec, SourceCodec, SourceLine
from entropyd.log.values import BadValueError, Decimal, Flag, Hash, Id, Key, OutsideText, Word

# The setting of a `table` that says how many hands it had before this log, and its kind: one hand
# at least, and one number of 64 bits left for the next.
HANDS_BEFORE = "hands_before"
_HANDS_BEFORE = Decimal(least=1, most=(1 << 64) - 2)


class ReceiptVersion(StrEnum):
    """The versions that are read here."""

    V1 = "v1"


# The order of the lines, which is that of the attributes.
FIELDS = (
    Field("entropyd-receipt", "version_of_format", Word(ReceiptVersion)),
    Field("log", "log", Id(plus=False)),
    Field("index", "index", Decimal(most=merkle.MAX_SIZE - 1)),
    Field("event", "event", Word(Event)),
    Field("tenant", "tenant", Id()),
    Field("table", "table", Id()),
    Field("hand", "hand", Id()),
    Field("match", "match", Id()),
    Field("draw", "draw", Id()),
    Field("raffle", "raffle", Id()),
    Field("sequence", "sequence", Decimal(least=1)),
    Field("number", "number", Decimal(least=1)),
    Field("rules", "rules_hash", Hash()),
    Field("n", "n", Decimal(least=1, most=(1 << 32) - 1)),
    Field("entries", "entries", Hash()),
    Field("C", "commitment", Hash()),
    Field("D", "deck_root", Hash()),
    Field("A", "seats_root", Hash()),
    Field("O", "open_hash", Hash()),
    Field("contributions", "contributions", Decimal(most=(1 << 32) - 1)),
    Field("R", "contributions_root", Hash()),
    Field("deadline", "deadline_ms", Time()),
    Field("escrow", "escrow", Hash()),
    Field("parent", "parent", Hash()),
    Field("replaces", "replaces", Hash()),
    Field("delivery", "delivery", Word(Delivery)),
    Field("dealt", "dealt", Decimal(most=(1 << 32) - 1)),
    Field("deals", "deals_root", Hash()),
    Field("reason", "reason", OutsideText()),
    Field("policy", "policy", OutsideText()),
    Field("setting", "settings", SettingCodec(), repeated=True),
    Field("key", "key", Key()),
    Field("previous", "previous", Key()),
    Field("version", "version", OutsideText()),
    Field("digest", "digest", Hash()),
    Field("source", "sources", SourceCodec(), repeated=True),
    Field("seeds", "computational", Flag("computational")),
    Field("degraded", "degraded", Flag("yes")),
    Field("time", "time_ms", Time()),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One entry of the log. What an event does not have is None, empty or False.

    Attributes:
        log: origin of the log.
        index: of the leaf, from 0.
        event: what happened.
        tenant, table, hand, match, draw, raffle: ids of what it happened to.
        sequence: q of a hand.
        number: of a draw in its match, from 1.
        rules_hash: 32 bytes.
        n: how many items.
        entries: E of a raffle.
        commitment, deck_root, seats_root, open_hash: C, D, A, O. D of a draw
            is its result root.
        contributions, contributions_root: m and R.
        deadline_ms: until when contributions (open) or leaves (roll) are taken.
        escrow: SHA-256 of the sealed secrets.
        parent: what binds a child hand to its parent's discards.
        replaces: O of the void hand in whose place this one stands.
        delivery: `WHOLE_DECK`, or None where cards leave one by one.
        dealt, deals_root: how many cards left, and the root over their recipients.
        reason: why, in somebody's words.
        policy, settings: name and content of what was in force.
        key, previous: the key that comes into force, and the one that it follows.
        version, digest: of the program, and SHA-256 of its wheel.
        sources: where bits came from.
        computational: all bits came from one seed, which is less than the result can hold.
        degraded: a configured source did not count, or users were waived.
        time_ms: what the clock said, in milliseconds since 1970.

    Raises:
        RequestError: on construction, if a line is missing, or one stands there
            that the event has not, or two lines contradict each other.
    """

    log: str
    index: int
    event: Event
    time_ms: int
    tenant: str | None = None
    table: str | None = None
    hand: str | None = None
    match: str | None = None
    draw: str | None = None
    raffle: str | None = None
    sequence: int | None = None
    number: int | None = None
    rules_hash: bytes | None = None
    n: int | None = None
    entries: bytes | None = None
    commitment: bytes | None = None
    deck_root: bytes | None = None
    seats_root: bytes | None = None
    open_hash: bytes | None = None
    contributions: int | None = None
    contributions_root: bytes | None = None
    deadline_ms: int | None = None
    escrow: bytes | None = None
    parent: bytes | None = None
    replaces: bytes | None = None
    delivery: Delivery | None = None
    dealt: int | None = None
    deals_root: bytes | None = None
    reason: str | None = None
    policy: str | None = None
    settings: tuple[Setting, ...] = ()
    key: VerifierKey | None = None
    previous: VerifierKey | None = None
    version: str | None = None
    digest: bytes | None = None
    sources: tuple[SourceLine, ...] = ()
    computational: bool = False
    degraded: bool = False
    version_of_format: ReceiptVersion = ReceiptVersion.V1

    def __post_init__(self) -> None:
        """Refuse lines that this event has not, and lines that contradict each other."""
        _check_form(self)
        _check_roots(self)
        _check_hand(self)
        _check_settings(self.settings)
        _hands_before(self)
        _check_keys(self)

    @property
    def hands_before(self) -> int:
        """How many hands a table says that it had before this log; 0 if it says nothing."""
        return _hands_before(self)

    def encode(self) -> bytes:
        """Return the text, which ends in a newline.

        Raises:
            RequestError: a value has no spelling, or the text is longer than
                65,535 bytes; names the attribute.
        """
        return write_lines(FIELDS, self)

    def leaf(self) -> bytes:
        """Return the leaf of the log: the text without its last newline."""
        return self.encode()[:-1]

    @classmethod
    def decode(cls, text: bytes) -> Self:
        """Return the receipt that `encode` wrote; no other spelling is read.

        Args:
            text: from a stranger, without signatures.

        Raises:
            ReceiptInvalidError: the text is no receipt; names line and byte
                where one of them is wrong.
        """
        values = read_lines(FIELDS, text)
        missing = [
            field.name
            for field in FIELDS
            if field.attribute in _NEEDED and field.attribute not in values
        ]
        if missing:
            raise ReceiptInvalidError(f"{missing[0]} is missing; every receipt has it")
        try:
            return cls(**values)
        except RequestError as error:
            raise ReceiptInvalidError(str(error), line=line_of(error.field, text)) from error


# Without these nothing can be said of the rest.
_NEEDED = frozenset({"version_of_format", "log", "index", "event", "time_ms"})


def _check_form(receipt: Receipt) -> None:
    form = form_of(
        receipt.event, delivery=receipt.delivery is not None, raffle=receipt.raffle is not None
    )
    present = {field.name for field in FIELDS if has(field, receipt)}
    if form.required <= present <= form.required | form.optional:
        return
    for field in FIELDS:
        if field.name in present - form.required - form.optional:
            raise RequestError(field.name, f"has no place in a receipt of event {receipt.event}")
        if field.name in form.required - present:
            raise RequestError(field.name, f"is missing; event {receipt.event} has it")


def _check_roots(receipt: Receipt) -> None:
    """A count of nothing has the root of nothing, and no other count has it."""
    for name, count, root in (
        ("R", receipt.contributions, receipt.contributions_root),
        ("deals", receipt.dealt, receipt.deals_root),
    ):
        if root is not None and (count == 0) != (root == merkle.EMPTY_ROOT):
            raise RequestError(name, f"is not the root over {count} leaves")


def _check_hand(receipt: Receipt) -> None:
    opened = (receipt.sequence, receipt.open_hash, receipt.deals_root)
    if receipt.event is Event.VOID and len({value is None for value in opened}) > 1:
        raise RequestError("O", "stands with sequence and deals, or none of the three stands")
    if receipt.event is Event.VOID and receipt.open_hash is None and receipt.dealt:
        raise RequestError("dealt", "is not 0 in a hand that was never opened")
    if receipt.delivery is not None and receipt.dealt != receipt.n:
        raise RequestError("dealt", "is not n in a hand that is dealt whole")
    if receipt.delivery is not None and receipt.seats_root != merkle.EMPTY_ROOT:
        raise RequestError("A", "is not that of no seats in a hand that is dealt whole")


def _check_settings(settings: tuple[Setting, ...]) -> None:
    names = [setting.name for setting in settings]
    if names != sorted(set(names)):
        raise RequestError("setting", "stand in byte order of their names, each once")


def _hands_before(receipt: Receipt) -> int:
    settings = receipt.settings if receipt.event is Event.TABLE else ()
    told = [setting.value for setting in settings if setting.name == HANDS_BEFORE]
    try:
        return _HANDS_BEFORE.decode(told[0]) if told else 0
    except BadValueError as error:
        raise RequestError("setting", f"{HANDS_BEFORE}: {error}") from error


def _check_keys(receipt: Receipt) -> None:
    """A key is one of the log's two, and follows one of the same name."""
    keys: list[Any] = [key for key in (receipt.key, receipt.previous) if key is not None]
    for key in keys:
        if key.name not in key_names(receipt.log) or key.key_type is not KeyType.ED25519:
            raise RequestError("key", "is not an Ed25519 key of the log or of its receipts")
    if len(keys) > 1 and (keys[0].name != keys[1].name or keys[0] == keys[1]):
        raise RequestError("previous", "is of another name, or the same key")


def key_names(origin: str) -> tuple[str, str]:
    """Return the names of a log's two keys: of its checkpoints, and of its receipts."""
    return origin, f"{origin}/receipts"
