"""Every error entropyd raises, split by who must act.

Each class carries three facts that its handlers need and that must not be
guessed from the text:

    reason     UPPER_SNAKE, stable: metric label and google.rpc.ErrorInfo.reason
    retryable  the same call may succeed later, unchanged
    fatal      the process must end; an invariant or the ledger is broken

Texts are lower case without a full stop, name the thing and the number, say
what was expected and what to do. No text contains raw samples, seeds, claims
or cards.
"""

from typing import ClassVar


class EntropydError(Exception):
    """Root of every error here. Abstract: raise a subclass."""

    reason: ClassVar[str] = ""
    retryable: ClassVar[bool] = False
    fatal: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        if not self.reason:
            raise TypeError(f"{type(self).__name__} is abstract; raise a subclass")
        super().__init__(message)


# --- the operator must act -------------------------------------------------


class ConfigError(EntropydError):
    """The configuration is wrong. The text contains the key and the remedy."""

    reason = "CONFIG_INVALID"
    fatal = True


class SelfTestError(EntropydError):
    """A known-answer test failed. Nothing was output and nothing may be."""

    reason = "SELF_TEST_FAILED"
    fatal = True


# --- the reader thread must act: close, back off, reopen -------------------


class SourceError(EntropydError):
    """A device did not deliver what was asked. The bytes of that read are gone."""


class SourceAbsentError(SourceError):
    """The device is not there, went away, or may not be opened. Reopen it later."""

    reason = "SOURCE_ABSENT"
    retryable = True


class SourceTimeoutError(SourceError):
    """The device is open but delivered nothing in time."""

    reason = "SOURCE_TIMEOUT"
    retryable = True


class SourceProtocolError(SourceError):
    """The device delivered something it must not: a short block, a bad status."""

    reason = "SOURCE_PROTOCOL"
    retryable = True


# --- the health machine acted; whoever asks a failed source is told --------


class HealthTestError(EntropydError):
    """A failed source was asked for output. It has none."""


class IntermittentFailureError(HealthTestError):
    """The source alarmed and is repeating its start-up test."""

    reason = "HEALTH_TEST_INTERMITTENT"
    retryable = True


class PermanentFailureError(HealthTestError):
    """The source is latched off until an operator resets it."""

    reason = "HEALTH_TEST_PERMANENT"


# --- rbg preconditions: a defect if a client ever causes one ---------------


class DrbgError(EntropydError):
    """A precondition of SP 800-90A was not met. Nothing was output."""


class RequestTooLargeError(DrbgError):
    """More than 2**19 bits were asked in one generate request."""

    reason = "DRBG_REQUEST_TOO_LARGE"


class ReseedRequiredError(DrbgError):
    """The reseed interval has ended."""

    reason = "DRBG_RESEED_REQUIRED"


class NotInstantiatedError(DrbgError):
    """The DRBG was never instantiated, was uninstantiated, or is in its error state."""

    reason = "DRBG_NOT_INSTANTIATED"


class DrbgInputError(DrbgError):
    """An input's length, or a requested strength, is outside what the standard allows."""

    reason = "DRBG_INPUT_INVALID"


# --- the client must act ---------------------------------------------------


class RequestError(EntropydError):
    """A request cannot be honoured as written. Nothing was drawn or stored.

    Attributes:
        field: path of the offending field in the request, such as `key.hand`.
    """

    reason = "INVALID_REQUEST"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class HandSpentError(EntropydError):
    """The hand id was drawn with another claim or other parameters.

    Nothing was drawn. The stored parameters are not disclosed: who holds the
    right claim already knows them.
    """

    reason = "HAND_SPENT"


class DrawSpentError(EntropydError):
    """This draw of the match was made with other parameters. Nothing was drawn."""

    reason = "DRAW_SPENT"


class MatchTakenError(EntropydError):
    """The match is another claim's: whoever drew in it first has it. Nothing was drawn or told."""

    reason = "MATCH_TAKEN"


class RaffleSealedError(EntropydError):
    """The raffle was sealed with other entries or numbers, or with another claim.

    Nothing was sealed, drawn or told. Which of them differs is not said.
    """

    reason = "RAFFLE_SEALED"


class RoundSpentError(EntropydError):
    """The round was played with other rules; its id stays spent. Nothing was played."""

    reason = "ROUND_SPENT"


class NotFoundError(EntropydError):
    """What was asked for is not there."""


class HandNotFoundError(NotFoundError):
    """No such hand was drawn here, or the claim is not the one it was drawn with."""

    reason = "HAND_NOT_FOUND"


class MatchNotFoundError(NotFoundError):
    """Nobody drew in this match here."""

    reason = "MATCH_NOT_FOUND"


class RaffleNotFoundError(NotFoundError):
    """No such raffle was sealed here."""

    reason = "RAFFLE_NOT_FOUND"


class ReceiptNotFoundError(NotFoundError):
    """The log has no such entry, or it is another tenant's."""

    reason = "RECEIPT_NOT_FOUND"


class PairNotFoundError(NotFoundError):
    """The player has no line of seed pairs here, or not so many pairs."""

    reason = "PAIR_NOT_FOUND"


class RoundNotFoundError(NotFoundError):
    """No such round was played here."""

    reason = "ROUND_NOT_FOUND"


class UnauthenticatedError(EntropydError):
    """The caller does not show who it is, or is nobody that the configuration names."""

    reason = "IDENTITY_UNKNOWN"


class WrongNodeError(EntropydError):
    """The table, match, raffle or player is another node's. Nothing was drawn here, or may be."""

    reason = "WRONG_NODE"


class WrongStateError(EntropydError):
    """What was asked for does not allow this step now. Nothing was changed.

    The text names the state; what follows from there, the caller must decide.
    """

    reason = "WRONG_STATE"


class WindowOpenError(WrongStateError):
    """Seats may still contribute to the hand: its window ends by itself, never at will."""

    reason = "WINDOW_OPEN"


class WrongPlaceError(WrongStateError):
    """The place is not the next one of the deal."""

    reason = "WRONG_PLACE"


class PlanDepartedError(WrongStateError):
    """The rules of the hand name another recipient for this place."""

    reason = "PLAN_DEPARTED"


class NotDealtError(WrongStateError):
    """The place was dealt to nobody, and the hand is not closed yet."""

    reason = "NOT_DEALT"


class RevealForbiddenError(WrongStateError):
    """The rules of the hand say that it is never revealed."""

    reason = "REVEAL_FORBIDDEN"


class TableFullError(WrongStateError):
    """The table has as many open or dealt hands as it may; close or void one first."""

    reason = "TABLE_FULL"


class PlaceDealtError(EntropydError):
    """The place was dealt with another claim, or to others. Nothing was dealt; an alarm."""

    reason = "PLACE_DEALT"


class PermissionDeniedError(EntropydError):
    """The caller's identity lacks the role that this method asks for."""

    reason = "ROLE_MISSING"


class EntropyHoldError(EntropydError):
    """Dealing is held: the gate has no seed for this draw. Nothing was spent.

    Attributes:
        why: what the gate waits for, UPPER_SNAKE, such as `SOURCE_LOST`.
        retry_after_s: when to ask again, in seconds, from the fill rate.
    """

    reason = "ENTROPY_HOLD"
    retryable = True

    def __init__(self, message: str, *, why: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.why = why
        self.retry_after_s = retry_after_s


class OverloadError(EntropydError):
    """A bounded queue is full. Nothing was spent.

    Attributes:
        retry_after_s: when to ask again, in seconds.
    """

    reason = "OVERLOADED"

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ShuttingDownError(EntropydError):
    """The daemon is draining. Nothing was spent; ask again when it is back."""

    reason = "SHUTTING_DOWN"
    retryable = True


# --- the ledger ------------------------------------------------------------


class LedgerError(EntropydError):
    """The ledger did not do what was asked."""


class LedgerUnavailableError(LedgerError):
    """The store did not confirm (disk full, read-only, locked).

    The record may or may not be present. The caller must discard the draw;
    asking again with the same hand id and claim is safe either way.
    """

    reason = "LEDGER_UNAVAILABLE"
    retryable = True


class LedgerConflictError(LedgerError):
    """Another daemon holds this state directory. Nothing was written."""

    reason = "LEDGER_LOCKED"
    fatal = True


class LedgerDamagedError(LedgerError):
    """The store contradicts itself. Nothing more may be dealt from it."""

    reason = "LEDGER_DAMAGED"
    fatal = True


class LedgerRefusedError(LedgerError):
    """A command on the ledger would lose history, or cannot be done now. Nothing was changed."""

    reason = "LEDGER_REFUSED"


class SecretsDestroyedError(LedgerError):
    """The hand's cards and seeds were destroyed after their retention. Its id stays spent."""

    reason = "SECRETS_DESTROYED"


class LedgerBehindAnchorError(LedgerError):
    """The ledger is not the one that its anchor saw last. Nothing may be dealt from it.

    It was restored from a backup, or lost records: hands that are not in it would be dealt again.
    """

    reason = "LEDGER_BEHIND_ANCHOR"
    fatal = True


# --- somebody's claim is false ---------------------------------------------


class VerificationError(EntropydError):
    """What was presented does not follow from what it is said to follow from."""


class CommitmentMismatchError(VerificationError):
    """A commitment does not open to the values presented."""

    reason = "COMMITMENT_MISMATCH"


class OrderMismatchError(VerificationError):
    """The cards are not the ones that the seeds draw."""

    reason = "ORDER_MISMATCH"


class ProofError(VerificationError):
    """A file that shall prove a draw does not. Abstract.

    Attributes:
        field: path of the field, such as `draws[2].seeds[0]`; empty for the file itself.
    """

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field


class ProofMalformedError(ProofError):
    """The file has a form that no proof has. Nothing in it was recomputed."""

    reason = "PROOF_MALFORMED"


class ProofMismatchError(ProofError):
    """Something in the file does not follow from the rest of it.

    Attributes:
        causes: what was tried and explains it, likeliest first; often empty.
    """

    reason = "PROOF_MISMATCH"

    def __init__(self, message: str, *, field: str = "", causes: tuple[str, ...] = ()) -> None:
        super().__init__(message, field=field)
        self.causes = causes


class ProofInvalidError(VerificationError):
    """A Merkle proof does not lead from what it is about to the root that it is said to lead to."""

    reason = "PROOF_INVALID"


class TreeInvalidError(VerificationError):
    """Hashes are presented as a tree's that no tree of that size has."""

    reason = "TREE_INVALID"


class SignatureInvalidError(VerificationError):
    """A known key did not make the signature that bears its name."""

    reason = "SIGNATURE_INVALID"


class SignatureMissingError(VerificationError):
    """No key that the caller trusts for this has signed."""

    reason = "SIGNATURE_MISSING"


class KeyInvalidError(VerificationError):
    """A verifier key is malformed, or was put in force by nobody who may."""

    reason = "KEY_INVALID"


class TextInvalidError(VerificationError):
    """A text that has one spelling has another. Abstract: raise a subclass.

    Attributes:
        line: number of the offending line, from 1; 0 if it is the whole text.
        byte: position in that line, from 1; 0 if it is the whole line.
    """

    def __init__(self, message: str, *, line: int = 0, byte: int = 0) -> None:
        at = f"line {line}, byte {byte}: " if byte else f"line {line}: " if line else ""
        super().__init__(at + message)
        self.line = line
        self.byte = byte


class NoteInvalidError(TextInvalidError):
    """A signed note has a form that no signer gives it."""

    reason = "NOTE_INVALID"


class CheckpointInvalidError(TextInvalidError):
    """The text of a checkpoint is not one, or not this log's."""

    reason = "CHECKPOINT_INVALID"


class ReceiptInvalidError(TextInvalidError):
    """The text of a receipt, or of a note to a seat, is not one."""

    reason = "RECEIPT_INVALID"


# --- an invariant is broken ------------------------------------------------


class InternalError(EntropydError):
    """Something believed impossible happened. The process must not go on."""

    reason = "INTERNAL"
    fatal = True
