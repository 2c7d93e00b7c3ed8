"""Recorded draws as the messages that are answered with them."""

from entropyd.ledger.subjects import StepRecord
from entropyd.service.draw_records import DrawRecord, read_told_draw
from entropyd.v1 import draw_service_pb2 as pb
from entropyd.v1 import types_pb2


def recorded_draw(match: str, step: StepRecord, record: DrawRecord) -> pb.RecordedDraw:
    """Return a draw of a match as it was recorded."""
    rules = record.rules
    numbers = rules.decode_result(record.result)
    wide = rules.number_bytes > 4
    return pb.RecordedDraw(
        key=pb.DrawKey(match=match, draw=step.key),
        number=step.number,
        rules=rules.encode().decode("ascii"),
        values=numbers if wide else (),
        items=() if wide else numbers,
        labels=record.labels,
        left=record.left,
        commitment=record.commitment,
        result_root=record.result_root,
        provenance=types_pb2.Provenance.FromString(record.provenance),
        log_index=record.log_index or 0,
    )


def opening(record: DrawRecord) -> pb.DrawOpening:
    """Return what a draw was made from."""
    return pb.DrawOpening(seeds=record.seeds, blinding=record.blinding, salt_key=record.salt_key)


def summary(match: str, step: StepRecord, rules: str) -> pb.DrawSummary:
    """Return a draw without what came of it.

    Args:
        match: its match.
        step: with its secret or without.
        rules: its rules, which not every draw keeps in the clear.
    """
    told = read_told_draw(step)
    message = pb.DrawSummary(
        key=pb.DrawKey(match=match, draw=step.key),
        number=step.number,
        rules=rules,
        commitment=told.commitment,
        result_root=told.result_root,
    )
    message.drawn_at.FromNanoseconds(step.at_ns)
    return message
