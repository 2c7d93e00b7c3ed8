"""Any proof file: what kind it says it is, and the check of that kind.

Spec: docs/protocol.md, "Files that verifiers take".
"""

from collections.abc import Callable

from entropyd.verify.document import parse_document
from entropyd.verify.draws import check_draw, check_match
from entropyd.verify.fields import Fields
from entropyd.verify.raffles import check_raffle
from entropyd.verify.report import Kind, Report
from entropyd.verify.rounds import check_round

_CHECKS: dict[Kind, Callable[[Fields], Report]] = {
    Kind.DRAW: check_draw,
    Kind.MATCH: check_match,
    Kind.RAFFLE: check_raffle,
    Kind.ROUND: check_round,
}


def check_proof(data: bytes) -> Report:
    """Check that everything in a proof file follows from what it says it follows from.

    Args:
        data: the whole file, from a stranger.

    Returns:
        What was checked, and what no check of a file can show.

    Raises:
        ProofMalformedError: it has a form that no proof has. Nothing was recomputed.
        ProofMismatchError: something does not follow; names the field, the difference, and the
            usual cause where one explains it.
    """
    fields = Fields(parse_document(data))
    kind = fields.text("entropyd")
    if kind not in _CHECKS:
        fields.refuse("entropyd", f"is {kind[:40]!a}; expected one of {', '.join(Kind)}")
    return _CHECKS[Kind(kind)](fields)
