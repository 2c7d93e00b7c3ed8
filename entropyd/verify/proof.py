"""Any proof file: what kind it says it is, and the check of that kind.

Spec: docs/protocol.md, "Files that verifiers take".
"""

from collections.abc import Callable, Sequence

from entropyd.log.keys import VerifierKey
from entropyd.verify.document import parse_document
from entropyd.verify.draws import check_draw, check_match
from entropyd.verify.fields import Fields
from entropyd.verify.hands import check_hand
from entropyd.verify.log_range import check_log
from entropyd.verify.raffles import check_raffle
from entropyd.verify.receipts import check_note, is_note
from entropyd.verify.report import Kind, Report
from entropyd.verify.rounds import check_round

_CHECKS: dict[Kind, Callable[[Fields], Report]] = {
    Kind.DRAW: check_draw,
    Kind.MATCH: check_match,
    Kind.RAFFLE: check_raffle,
    Kind.ROUND: check_round,
}
_SIGNED: dict[Kind, Callable[[Fields, Sequence[VerifierKey]], Report]] = {
    Kind.HAND: check_hand,
    Kind.LOG: check_log,
}


def check_proof(data: bytes, keys: Sequence[VerifierKey] = ()) -> Report:
    """Check that everything in a proof file follows from what it says it follows from.

    Args:
        data: the whole file, from a stranger.
        keys: of logs and witnesses that the caller trusts, for files with signatures. Without any,
            a file's own keys are used, which the report says; a note without a file is refused. A
            key that is given twice is given once.

    Returns:
        What was checked, and what no check of a file can show.

    Raises:
        ProofMalformedError: it has a form that no proof has. Nothing was recomputed.
        ProofMismatchError: something does not follow; names the field, the difference, and the
            usual cause where one explains it.
    """
    given = tuple(dict.fromkeys(keys))
    if is_note(data):
        return check_note(data, given)
    fields = Fields(parse_document(data))
    kind = fields.text("entropyd")
    if kind in _SIGNED:
        return _SIGNED[Kind(kind)](fields, given)
    if kind not in _CHECKS:
        known = ", ".join([*_CHECKS, *_SIGNED])
        fields.refuse("entropyd", f"is {kind[:40]!a}; expected one of {known}")
    return _CHECKS[Kind(kind)](fields)
