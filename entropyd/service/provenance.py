"""Where a draw's bits came from, as the answer tells it and the ledger keeps it."""

from collections.abc import Iterable, Sequence

from google.protobuf import duration_pb2, timestamp_pb2

from entropyd.entropy.gate import GatedBatch, GatedSeed, SourceUse
from entropyd.entropy.gated import USER_KIND
from entropyd.entropy.source import SourceKind
from entropyd.entropy.source_state import SourceState
from entropyd.rbg.conditioning import EntropyClass
from entropyd.rbg.construction import OS_SAMPLE_BYTES, OS_SOURCE_ID
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
    seeds: Sequence[GatedSeed],
    drawn_at_ns: int,
    *,
    node: str,
    policy: str,
    degraded: bool,
    batch: GatedBatch | None = None,
) -> bytes:
    """Return the provenance of a draw, as it is stored and answered.

    What a source gave to several seeds of one draw is added up; the age is
    that of its oldest sample. Users are one entry, and none is named.

    Args:
        seeds: what the gate released for each seed.
        drawn_at_ns: wall clock, nanoseconds since 1970.
        node: name of the node.
        policy: the gate in force, in one line.
        degraded: whether a configured source did not count, or users were waived.
        batch: the batch that the hand was drawn in; only its reseed has class `os`.
    """
    sources = _add_up(use for seed in seeds for use in seed.uses)
    shared: list[types_pb2.SourceUse] = []
    if batch is None:
        sources.append(_os_use(len(seeds)))
    else:
        shared = [*_add_up(batch.shared.uses), _os_use(1)]
    drawn_at = timestamp_pb2.Timestamp()
    drawn_at.FromNanoseconds(drawn_at_ns)
    return types_pb2.Provenance(
        sources=sources,
        policy=policy,
        construction=(
            types_pb2.CONSTRUCTION_SINGLE if batch is None else types_pb2.CONSTRUCTION_BATCH
        ),
        batch_hands=0 if batch is None else len(batch.hands),
        shared_sources=shared,
        mock=any(source.kind in NOT_FOR_PLAY for source in (*sources, *shared)),
        degraded=degraded,
        node=node,
        drawn_at=drawn_at,
        seeds=len(seeds),
    ).SerializeToString(deterministic=True)


def duration(nanoseconds: int) -> duration_pb2.Duration:
    """Return a span of time as a message."""
    message = duration_pb2.Duration()
    message.FromNanoseconds(nanoseconds)
    return message


def _add_up(uses: Iterable[SourceUse]) -> list[types_pb2.SourceUse]:
    """Return one entry for each source and class, in the order in which they first appear."""
    by_source: dict[tuple[str, str], types_pb2.SourceUse] = {}
    ages: dict[tuple[str, str], int] = {}
    for use in uses:
        key = (use.entropy_class, use.source_id)
        entry = by_source.get(key)
        if entry is None:
            by_source[key] = _first_use(use)
        else:
            entry.samples += use.samples
            entry.credited_millibits += use.credited_millibits
        ages[key] = max(ages.get(key, 0), use.oldest_age_ns)
    for key, entry in by_source.items():
        entry.age.FromNanoseconds(ages[key])
    return list(by_source.values())


def _first_use(use: SourceUse) -> types_pb2.SourceUse:
    entry = types_pb2.SourceUse(
        kind=KINDS[use.kind],
        driver=use.driver,
        serial=use.serial,
        samples=use.samples,
        credited_millibits=use.credited_millibits,
        health=STATES[use.health],
        source=use.source_id,
    )
    _set_class(entry, EntropyClass(use.entropy_class))
    return entry


def _os_use(seeds: int) -> types_pb2.SourceUse:
    entry = types_pb2.SourceUse(
        kind=types_pb2.SOURCE_KIND_OS, samples=OS_SAMPLE_BYTES * seeds, source=OS_SOURCE_ID
    )
    _set_class(entry, EntropyClass.OS)
    return entry


def _set_class(entry: types_pb2.SourceUse, entropy_class: EntropyClass) -> None:
    # `class` is a keyword of Python, so the field cannot be named in the usual way.
    setattr(entry, "class", CLASSES[entropy_class])
