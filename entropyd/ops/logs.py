"""Structured lines on standard error: state changes and refusals, never a line a draw.

Nothing secret is passed to a logger in the first place; `redact` is the second
belt. It drops keys that sound like a secret, and values that are bytes or
objects, wherever they are nested, and the line says which keys it dropped.

Foreign records (grpc, asyncio) take the same way out.
"""

import logging
import re
import sys
from collections.abc import Mapping
from typing import Any, TextIO

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor, WrappedLogger

# Words of a key, split at anything that is no letter: `salt_key` has two.
SECRET_WORDS = frozenset(
    {
        "seed", "seeds", "claim", "claims", "card", "cards", "item", "items", "blinding", "key",
        "keys", "salt", "salts", "raw", "secret", "secrets", "password", "token",
    }
)  # fmt: skip
# Sound like a secret and are none.
PUBLIC_KEYS = frozenset({"claim_note"})

# Summaries of refusals: often enough to be seen in an incident, never a flood.
REFUSAL_PERIOD_NS = 10 * 1_000_000_000
# Reasons are codes of our own; this bounds a mistake.
MAX_REASONS = 64

# Of the compiled half of grpcio.
GRPC_LOGGER = "grpc._cython.cygrpc"

_NOT_LETTERS = re.compile(r"[^a-z]+")


def configure(*, level: str, json: bool, stream: TextIO | None = None) -> None:
    """Send all log lines of the process to `stream`, once, at start.

    Args:
        level: `debug`, `info`, `warning` or `error`.
        json: one JSON object a line; otherwise text for people.
        stream: standard error by default.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_formatter(json=json))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger(GRPC_LOGGER).addFilter(_shows_no_metadata)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_common(),
            ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger of one part, such as `gate`; its lines carry `part`."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(f"entropyd.{name}")
    return logger


def redact(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Drop what sounds like a secret, and say under `redacted` what was dropped."""
    dropped: list[str] = []
    clean = {
        key: _clean(value, key, dropped)
        for key, value in event.items()
        if not _drop(key, value, key, dropped)
    }
    return {**clean, "redacted": dropped} if dropped else clean


def sounds_secret(key: str) -> bool:
    """Return whether one of the words of `key` is one of SECRET_WORDS."""
    lowered = key.lower()
    return lowered not in PUBLIC_KEYS and not SECRET_WORDS.isdisjoint(_NOT_LETTERS.split(lowered))


def _shows_no_metadata(record: logging.LogRecord) -> bool:
    """Whether a line of grpcio may be written: not the one that shows metadata that is no UTF-8.

    It comes with a traceback for each call that brings some, from whoever likes
    to fill the log, and shows the value, which can be a mistyped token.
    """
    return not str(record.msg).startswith("Invalid encoding on")


class RefusalSummary:
    """Counts refusals and gives one line every ten seconds. Used by one thread; reads no clock."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._due_ns = 0

    def add(self, reason: str, now_ns: int) -> None:
        """Count a refusal by its reason code."""
        if not self._counts:
            self._due_ns = now_ns + REFUSAL_PERIOD_NS
        if reason not in self._counts and len(self._counts) >= MAX_REASONS:
            reason = "OTHER"
        self._counts[reason] = self._counts.get(reason, 0) + 1

    def take(self, now_ns: int) -> Mapping[str, int] | None:
        """Return the counts by reason, if any are due, and begin again."""
        if not self._counts or now_ns < self._due_ns:
            return None
        counts, self._counts = self._counts, {}
        return counts


class StateChanges:
    """Logs a state when it changes, and not when it is told again. Used by one thread."""

    def __init__(self, logger: structlog.stdlib.BoundLogger) -> None:
        self._logger = logger
        self._states: dict[str, str] = {}

    def note(self, subject: str, state: str, *, bad: bool = False, **facts: Any) -> bool:
        """Log that `subject` is in `state`, if it was in another; return whether it was.

        Args:
            subject: whose state, such as `source q1`.
            state: what it is now.
            bad: a warning; otherwise for information.
            facts: more for the line.
        """
        before = self._states.get(subject)
        if state == before:
            return False
        self._states[subject] = state
        log = self._logger.warning if bad else self._logger.info
        log("state changed", subject=subject, state=state, before=before, **facts)
        return True


def _common() -> list[Processor]:
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]


def _formatter(*, json: bool) -> ProcessorFormatter:
    renderer: Processor = (
        structlog.processors.JSONRenderer() if json else structlog.dev.ConsoleRenderer(colors=False)
    )
    return ProcessorFormatter(
        foreign_pre_chain=_common(),
        processors=[ProcessorFormatter.remove_processors_meta, redact, renderer],
    )


def _drop(key: str, value: object, path: str, dropped: list[str]) -> bool:
    secret = sounds_secret(key) or isinstance(value, bytes | bytearray | memoryview)
    if secret:
        dropped.append(path)
    return secret


def _clean(value: object, path: str, dropped: list[str]) -> object:
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        return {
            str(key): _clean(inner, f"{path}.{key}", dropped)
            for key, inner in value.items()
            if not _drop(str(key), inner, f"{path}.{key}", dropped)
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [
            _clean(inner, path, dropped) for inner in value if not _drop("", inner, path, dropped)
        ]
    # Its repr is not ours to trust.
    return f"<{type(value).__name__}>"
