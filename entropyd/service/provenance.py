"""Where a draw's bits came from, as the answer tells it and the ledger keeps it."""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

from google.protobuf import duration_pb2, timestamp_pb2

from entropyd.entropy.gate import GatedBatch, GatedSeed, SourceUse
from entropyd.entropy.gated import USER_KIND
from entropyd.entropy.source import MILLIBITS_PER_BIT, SourceKind
from entropyd.entropy.source_state import SourceState
from entropyd.hands.receipts import Sources
from entropyd.log.source_line import ReceiptHealth, ReceiptSourceKind, SourceClass, SourceLine
from entropyd.rbg.conditioning import EntropyClass
from entropyd.rbg.construction import OS_SAMPLE_BYTES, OS_SOURCE_ID
from entropyd.service.fields import field, number_field
from entropyd.v1 import types_pb2

CLASSES = {
    EntropyClass.HARDWARE: types_pb2.SOURCE_CLASS_HARDWARE,
    EntropyClass.COVER: types_pb2.SOURCE_CLASS_COVER,
    EntropyClass.USER: types_pb2.SOURCE_CLASS_USER,
    EntropyClass.OS: types_pb2.SOURCE_CLASS_OS,
}
KINDS: dict[str, types_pb2.SourceKind.ValueType] = {
    SourceKind.HARDWARE: types_pb2.SOURCE_KIND_HARDWARE,
    SourceKind.OS: types_pb2.SOURCE_KIND_OS,
    SourceKind.MOCK: types_pb2.SOURCE_KIND_MOCK,
    SourceKind.REPLAY: types_pb2.SOURCE_KIND_REPLAY,
    USER_KIND: types_pb2.SOURCE_KIND_USER,
}
STATES = {
    None: types_pb2.SOURCE_STATE_UNSPECIFIED,
    SourceState.LOST: types_pb2.SOURCE_STATE_LOST,
    SourceState.STARTUP: types_pb2.SOURCE_STATE_STARTUP,
    SourceState.ASSESSING: types_pb2.SOURCE_STATE_ASSESSING,
    SourceState.HEALTHY: types_pb2.SOURCE_STATE_HEALTHY,
    SourceState.FAILED: types_pb2.SOURCE_STATE_FAILED,
}
NOT_FOR_PLAY = frozenset({types_pb2.SOURCE_KIND_MOCK, types_pb2.SOURCE_KIND_REPLAY})


def encode_provenance(
    draws: Sequence[Sequence[GatedSeed]],
    drawn_at_ns: int,
    *,
    node: str,
    policy: str,
    degraded: bool,
    batch: GatedBatch | None = None,
) -> list[bytes]:
    """Return the provenance of each of several draws, as it is stored and answered.

    What a source gave to several seeds of one draw is added up; the age is
    that of its oldest sample. Users are one entry, and none is named.

    The bytes are those of the message `Provenance`, whose sources stand first:
    they are joined from what is a draw's own and what all of them share.

    Args:
        draws: for each draw, what the gate released for each of its seeds.
        drawn_at_ns: wall clock, nanoseconds since 1970.
        node: name of the node.
        policy: the gate in force, in one line.
        degraded: whether a configured source did not count, or users were waived.
        batch: the batch that all of them were drawn in; only its reseed has class `os`.
    """
    drawn_at = timestamp_pb2.Timestamp()
    drawn_at.FromNanoseconds(drawn_at_ns)
    shared = () if batch is None else (*_add_up([batch.shared]), _os_use(1))
    construction = types_pb2.CONSTRUCTION_SINGLE if batch is None else types_pb2.CONSTRUCTION_BATCH

    @cache
    def rest(seeds: int, mock: bool) -> bytes:  # noqa: FBT001  two keys of a cache
        return types_pb2.Provenance(
            policy=policy,
            construction=construction,
            mock=mock or _has_mock(shared),
            degraded=degraded,
            node=node,
            drawn_at=drawn_at,
            seeds=seeds,
            batch_hands=0 if batch is None else len(batch.hands),
            shared_sources=[types_pb2.SourceUse.FromString(_use(use)) for use in shared],
        ).SerializeToString(deterministic=True)

    encoded = []
    for seeds in draws:
        uses = _add_up(seeds)
        sources = [field(1, _use(use)) for use in uses]
        if batch is None:
            sources.append(_os_field(len(seeds)))
        encoded.append(b"".join(sources) + rest(len(seeds), _has_mock(uses)))
    return encoded


def receipt_sources(
    draws: Sequence[Sequence[GatedSeed]],
    *,
    policy: str,
    degraded: bool,
    batch: GatedBatch | None = None,
) -> list[Sources]:
    """Return what the receipt of each of several draws says of its sources.

    It says what the provenance of the same draw does, in whole bits and milliseconds, and names
    no source as the configuration does. Takes the arguments of `encode_provenance`.
    """
    shared: tuple[SourceLine, ...] = ()
    if batch is not None:
        shared = _lines((*_add_up([batch.shared]), _os_use(1)), "batch-")
    lines = [_lines(_add_up(seeds)) for seeds in draws]
    if batch is None:
        lines = [(*own, *_os_lines(len(seeds))) for own, seeds in zip(lines, draws, strict=True)]
    return [Sources(policy, own + shared, degraded) for own in lines]


def duration(nanoseconds: int) -> duration_pb2.Duration:
    """Return a span of time as a message."""
    message = duration_pb2.Duration()
    message.FromNanoseconds(nanoseconds)
    return message


def _add_up(seeds: Sequence[GatedSeed]) -> list[SourceUse]:
    """Return one entry for each source and class, in the order in which they first appear."""
    by_source: dict[tuple[str, str], SourceUse] = {}
    for seed in seeds:
        for use in seed.uses:
            key = (use.entropy_class, use.source_id)
            before = by_source.get(key)
            by_source[key] = use if before is None else before.plus(use)
    return list(by_source.values())


def _os_use(seeds: int) -> SourceUse:
    return SourceUse(
        EntropyClass.OS,
        OS_SOURCE_ID,
        SourceKind.OS,
        driver="",
        serial="",
        samples=OS_SAMPLE_BYTES * seeds,
        credited_millibits=0,
        oldest_age_ns=0,
        health=None,
    )


@lru_cache(maxsize=32)
def _os_field(seeds: int) -> bytes:
    return field(1, _use(_os_use(seeds)))


def _has_mock(uses: Iterable[SourceUse]) -> bool:
    return any(KINDS[use.kind] in NOT_FOR_PLAY for use in uses)


def _use(use: SourceUse) -> bytes:
    """Return a `SourceUse` message: what is the same for most draws, and between it the age."""
    entropy_class, source_id, kind, driver, serial, samples, credited, age_ns, health, _ = use
    before, after = _around_age(
        (entropy_class, source_id, kind, driver, serial, samples, credited, 0, health)
    )
    return before + (b"" if entropy_class == EntropyClass.OS else _age_field(age_ns)) + after


@lru_cache(maxsize=1024)
def _around_age(use: tuple[Any, ...]) -> tuple[bytes, bytes]:
    """Return the fields of a use that stand before and after its age.

    Args:
        use: the values of a `SourceUse`, without an age.
    """
    told = SourceUse(*use)
    before = types_pb2.SourceUse(
        kind=KINDS[told.kind],
        driver=told.driver,
        serial=told.serial,
        samples=told.samples,
        credited_millibits=told.credited_millibits,
    )
    # `class` is a keyword of Python, so the field cannot be named in the usual way.
    setattr(before, "class", CLASSES[EntropyClass(told.entropy_class)])
    after = types_pb2.SourceUse(health=STATES[told.health], source=told.source_id)
    return before.SerializeToString(), after.SerializeToString()


# Draws of one moment have samples of a few blocks.
@lru_cache(maxsize=64)
def _age_field(age_ns: int) -> bytes:
    seconds, nanos = divmod(age_ns, 1_000_000_000)
    return field(7, number_field(1, seconds) + number_field(2, nanos))


def _lines(uses: Iterable[SourceUse], before: str = "") -> tuple[SourceLine, ...]:
    return tuple(
        [
            _line(
                before + use.entropy_class,
                use.kind,
                use.driver,
                use.serial,
                use.samples,
                use.credited_millibits,
                use.oldest_age_ns // 1_000_000,
                use.health,
            )
            for use in uses
        ]
    )


@lru_cache(maxsize=32)
def _os_lines(seeds: int) -> tuple[SourceLine, ...]:
    return _lines([_os_use(seeds)])


# Draws of one moment have samples of a few blocks.
@lru_cache(maxsize=1024)
def _line(  # noqa: PLR0917  the key of a cache
    source_class: str,
    kind: str,
    driver: str,
    serial: str,
    samples: int,
    credited_millibits: int,
    age_ms: int,
    health: SourceState | None,
) -> SourceLine:
    return SourceLine(
        SourceClass(source_class),
        ReceiptSourceKind(kind),
        driver,
        serial,
        samples,
        credited_millibits // MILLIBITS_PER_BIT,
        age_ms,
        ReceiptHealth.NONE if health is None else ReceiptHealth(str(health)),
    )
