"""What a check did, and what no check of a file can do.

A report is returned only where everything fitted; what does not fit raises. So
there is no field that says "valid", and none that somebody could forget to look
at.
"""

from dataclasses import dataclass
from enum import StrEnum

SEED_ORIGIN = (
    "where the seeds came from: the file shows what follows from them, not that they were random"
)
DRAWN_ONCE = (
    "that the operator drew once: a commitment that you did not hold before the result shows no"
    " more than that the file agrees with itself"
)
ITS_NUMBER = (
    "the number in the match: nothing of a lone draw is bound to it, the match file shows it"
)
WHOLE_LOG = "that these are all draws of the match: draws after the last one can be left out"
LIST_BEFORE = (
    "that the list was published before the draw: compare entries_hash with what you saw then"
)
OTHER_RAFFLES = "that no other raffle was held over the same list: ask for the operator's list"
HASH_BEFORE = "that you saw server_hash before you set the client seed: compare it with your copy"
ALL_ROUNDS = "that no round is missing: nonces 0, 1, 2, ... must all be accounted for"
COMPUTATIONAL = (
    "that every outcome can come up: one seed of 256 bits cannot reach all orders of six decks,"
    " so a round is unpredictable, not one of all orders alike"
)
ONE_AUDIENCE = "that everybody is shown the same log: signed by the operator only"
ONE_SEED = "that every result can come up: rules say seeds=computational, one seed for all of it"


class Kind(StrEnum):
    """What a file is to prove: its member `entropyd`, or of a signed note its first line.

    The first line of a checkpoint is the name of its log.
    """

    DRAW = "draw/v1"
    MATCH = "match/v1"
    RAFFLE = "raffle/v1"
    ROUND = "round/v1"
    HAND = "hand/v1"
    LOG = "log/v1"
    RECEIPT = "entropyd-receipt: v1"
    SEAT_NOTE = "entropyd-note: v1"
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class Report:
    """What was recomputed and found as the file says.

    Attributes:
        kind: which kind of file.
        subject: what it is about, in words.
        result: the result that was proved, as people read it; empty for a match.
        checked: each step that was taken, in order.
        not_checked: what the file cannot show, whoever looks at it.
    """

    kind: Kind
    subject: str
    result: str
    checked: tuple[str, ...]
    not_checked: tuple[str, ...]
