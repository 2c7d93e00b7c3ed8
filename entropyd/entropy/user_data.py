"""What users send: its canonical bytes, and how little of it is believed.

Two forms: a blob, which is its own canonical bytes, and a list of events,
which becomes u32 x || u32 y || u64 time_us for each event, in order.

The estimates decide when the gate stops waiting for users. They are no
security claim: whoever makes up events or bytes makes them look as he likes.
That is why user data never counts towards the hardware floor.

Spec: DESIGN 5, "User entropy"; docs/protocol.md, "User entropy".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from entropyd.encoding import u32, u64
from entropyd.errors import RequestError

# (x, y, time in microseconds of a clock that only runs forward)
UserEvent = tuple[int, int, int]

MAX_BLOB_BYTES = 1024
MAX_EVENTS = 256

# An event that changed in position and in rhythm: whoever foresees the path and
# the pace must still guess the last digits of one of them. A whole bit for both
# together is a choice, made low on purpose; position alone or rhythm alone
# (a timer, a drag that stutters in place) earns nothing.
MILLIBITS_PER_EVENT = 1000

# Half a bit for every byte value that occurs, beyond the first: repeating or
# padding earns nothing, 32 random bytes earn about 15 bits of their 256, a
# thousand letters of text at most 26.
MILLIBITS_PER_BYTE_VALUE = 500


@dataclass(frozen=True, slots=True)
class UserData:
    """One thing a user sent.

    Attributes:
        samples: its canonical bytes. Secret until the hand is over.
        estimated_millibits: what it counts for, before any cap.
        form: `blob` or `events`, so that neither is mistaken for the other.
    """

    samples: bytes = field(repr=False)
    estimated_millibits: int
    form: str


def from_blob(blob: bytes) -> UserData:
    """Return a blob as user data.

    Raises:
        RequestError: it is empty or longer than 1,024 bytes.
    """
    if not 1 <= len(blob) <= MAX_BLOB_BYTES:
        raise RequestError(
            "blob", f"has {len(blob)} bytes; expected 1 to {MAX_BLOB_BYTES}, send several"
        )
    return UserData(bytes(blob), MILLIBITS_PER_BYTE_VALUE * (len(set(blob)) - 1), "blob")


def from_events(events: Sequence[UserEvent]) -> UserData:
    """Return a list of events as user data.

    The third event is the first that can count: only then is there an interval
    before the last one to compare with.

    Raises:
        RequestError: there are none or more than 256, a number does not fit
            its width, or an event is earlier than the one before it.
    """
    if not 1 <= len(events) <= MAX_EVENTS:
        raise RequestError(
            "events", f"has {len(events)} events; expected 1 to {MAX_EVENTS}, send several lists"
        )
    parts: list[bytes] = []
    counted = 0
    before_last: UserEvent | None = None
    last: UserEvent | None = None
    for index, event in enumerate(events):
        _check_event(index, event, last)
        parts += (u32(event[0]), u32(event[1]), u64(event[2]))
        if last is not None and before_last is not None:
            moved = event[:2] != last[:2]
            counted += moved and event[2] - last[2] != last[2] - before_last[2]
        before_last, last = last, event
    return UserData(b"".join(parts), MILLIBITS_PER_EVENT * counted, "events")


def _check_event(index: int, event: UserEvent, last: UserEvent | None) -> None:
    for name, number, bits in zip(("x", "y", "time_us"), event, (32, 32, 64), strict=True):
        if not 0 <= number < 1 << bits:
            raise RequestError(
                f"events[{index}].{name}", f"is {number}; expected 0 to 2**{bits} - 1"
            )
    if last is not None and event[2] < last[2]:
        raise RequestError(
            f"events[{index}].time_us",
            f"is {event[2]}, before the event before it; expected events in the order of time",
        )
