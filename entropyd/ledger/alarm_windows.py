"""The samples of the windows in which health tests fired, kept encrypted, and not for ever.

Whoever asks why a device alarmed wants to see what it sent. None of these
samples was ever credited or dealt from; they are encrypted all the same, for
they tell how the device fails. The newest are kept, so that a device that
alarms without end fills nothing.

A window is bound to its event: moved to another, or under a changed one, it
does not decrypt.
"""

import sqlite3
from collections.abc import Sequence

from entropyd.encoding import lp, u64
from entropyd.errors import InternalError
from entropyd.ledger.contract import (
    MAX_ALARM_WINDOW_BYTES,
    MAX_ALARM_WINDOWS,
    AlarmWindow,
    Event,
    EventKind,
)
from entropyd.ledger.secrets import SecretBox

_READ = """
    SELECT e.id, e.kind, e.subject, e.detail, e.at_ns, w.sealed
    FROM alarm_windows w JOIN events e ON e.id = w.event_id ORDER BY e.id
"""
_FORGET = """
    DELETE FROM alarm_windows WHERE event_id NOT IN
        (SELECT event_id FROM alarm_windows ORDER BY event_id DESC LIMIT ?)
"""
_NAMES = {"state": b"alarm", "field": b"window"}


def check_window(event: Event) -> None:
    """Raise InternalError unless what belongs to an event may be kept."""
    if len(event.window) > MAX_ALARM_WINDOW_BYTES:
        raise InternalError(
            f"window of an event has {len(event.window)} samples; expected at most"
            f" {MAX_ALARM_WINDOW_BYTES}: nothing was written"
        )


def write_windows(writer: sqlite3.Connection, secrets: SecretBox, events: Sequence[Event]) -> None:
    """Keep the windows of events that were just appended, and forget the oldest.

    Call inside the transaction that appended them.
    """
    if not any(event.window for event in events):
        return
    # Their ids are the last ones: events are appended by one writer, and none is ever removed.
    (last_id,) = writer.execute("SELECT max(id) FROM events").fetchone()
    numbered = enumerate(events, last_id - len(events) + 1)
    writer.executemany(
        "INSERT INTO alarm_windows VALUES (?, ?)",
        [
            (number, secrets.seal(event.window, binding=_binding(number, event), **_NAMES))
            for number, event in numbered
            if event.window
        ],
    )
    writer.execute(_FORGET, (MAX_ALARM_WINDOWS,))


def read_windows(reader: sqlite3.Connection, secrets: SecretBox) -> list[AlarmWindow]:
    """Return the windows that are kept, oldest first.

    Raises:
        LedgerDamagedError: one does not decrypt.
    """
    windows = []
    for number, kind, subject, detail, at_ns, sealed in reader.execute(_READ):
        event = Event(EventKind(kind), subject, detail, at_ns)
        samples = secrets.open(
            sealed, binding=_binding(number, event), row=f"alarm_windows/{number}", **_NAMES
        )
        windows.append(AlarmWindow(event, samples))
    return windows


def _binding(number: int, event: Event) -> bytes:
    parts = (event.kind.encode(), event.subject.encode(), event.detail.encode())
    return u64(number) + u64(event.at_ns) + b"".join(map(lp, parts))
