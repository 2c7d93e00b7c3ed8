"""That the log of a checkpoint which somebody kept is the beginning of the present one.

Spec: docs/protocol.md, "The log file", member `older`.
"""

from entropyd.client.log import Log
from entropyd.client.proofs import Proof
from entropyd.errors import RequestError, VerificationError
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.signed_note import SignedNote


def grown_from(log: Log, older: bytes, newest: str) -> Proof:
    """Return the member `older` of a log file.

    Nothing is checked here: whether the proof holds, and who signed, the verifier of the file says.

    Args:
        log: asked for the proof.
        older: the checkpoint that somebody kept, as it came.
        newest: that of the log file.

    Raises:
        RequestError: the older one is no checkpoint, of another log, of no entries, or of more
            than there are now.
    """
    before, now = _checkpoint(older), _checkpoint(newest.encode())
    if before.origin != now.origin:
        raise RequestError("older", f"is of log {before.origin!a}; this one is {now.origin!a}")
    if not before.size:
        raise RequestError("older", "is of a log without entries, with which every log begins")
    if before.size > now.size:
        raise RequestError(
            "older",
            f"is of {before.size} entries, and the log has {now.size}: keep it, if its signature is"
            " good it shows that entries were taken back",
        )
    return {
        "checkpoint": older.decode(),
        "consistency": [each.hex() for each in log.consistency(before.size, now.size).path],
    }


def _checkpoint(note: bytes) -> Checkpoint:
    try:
        return Checkpoint.decode(SignedNote.decode(note).text)
    except VerificationError as error:
        raise RequestError("older", f"is no signed checkpoint: {error}") from error
