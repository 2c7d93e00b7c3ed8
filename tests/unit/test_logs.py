"""Log lines: structured, without secrets, and few."""

import io
import json
import logging

import pytest
import structlog

from entropyd.errors import ConfigError
from entropyd.ops.logs import (
    GRPC_LOGGER,
    MAX_REASONS,
    REFUSAL_PERIOD_NS,
    RefusalSummary,
    StateChanges,
    configure,
    get_logger,
    redact,
    sounds_secret,
)

SECRET = b"\x07" * 32


class Hand:
    """An object whose repr tells its cards, as somebody's will."""

    def __repr__(self):
        return "Hand(cards=[51, 3])"


@pytest.fixture
def lines():
    """Configure JSON at info, give back what was logged, and put the process in order again."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    configure(level="info", json=True, stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:], level = before
    root.setLevel(level)
    structlog.reset_defaults()


def test_a_line_is_one_json_object_with_time_level_and_part(lines):
    get_logger("gate").info("holding", why="SOURCE_LOST", waiters=3)
    (line,) = lines()
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "holding",
        "level": "info",
        "logger": "entropyd.gate",
        "waiters": 3,
        "why": "SOURCE_LOST",
    }


def test_what_is_below_the_level_is_not_written(lines):
    get_logger("gate").debug("drawn")
    assert lines() == []


def test_foreign_records_take_the_same_way_out(lines):
    logging.getLogger("grpc").warning("connection %s failed", "x", extra={"token": "t0ps3cret"})
    (line,) = lines()
    assert line["event"] == "connection x failed"
    assert line["logger"] == "grpc"
    assert "t0ps3cret" not in json.dumps(line)


def test_what_grpc_says_of_metadata_that_is_no_text_is_not_written(lines):
    """It shows the value, a mistyped token perhaps, and comes once a call."""
    grpc_log = logging.getLogger(GRPC_LOGGER)
    grpc_log.error("Invalid encoding on %s", b"Bearer t0ps3cret")
    grpc_log.error("Unexpected [KeyError] raised by servicer method")
    assert ["Unexpected [KeyError] raised by servicer method"] == [
        line["event"] for line in lines()
    ]


def test_an_exception_is_one_line(lines):
    try:
        raise ConfigError("gate.max_hold: has no unit")
    except ConfigError:
        get_logger("daemon").exception("cannot start")
    (line,) = lines()
    assert "gate.max_hold: has no unit" in line["exception"]


def test_text_is_for_people():
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    configure(level="info", json=False, stream=stream)
    get_logger("gate").info("holding", why="SOURCE_LOST", seed="5eed")
    root.handlers[:], level = before
    root.setLevel(level)
    structlog.reset_defaults()
    text = stream.getvalue()
    assert "holding" in text
    assert "why=SOURCE_LOST" in text
    assert "5eed" not in text


# --- the second belt --------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "seed", "seeds", "SEEDS", "claim", "claim_digest", "cards", "card", "items", "blinding",
        "key", "salt_key", "at_rest_key", "saltKey_key", "salt", "raw", "secret", "api-token",
        "_seed", "seed2",
    ],
)  # fmt: skip
def test_a_key_that_sounds_secret_is_dropped_with_its_value(lines, key):
    get_logger("x").info("event", **{key: "5ecre7"})
    (line,) = lines()
    assert "5ecre7" not in json.dumps(line)
    assert line["redacted"] == [key]


@pytest.mark.parametrize("key", ["source", "why", "samples", "claim_note", "monkey", "discarded"])
def test_other_keys_stay(key):
    assert not sounds_secret(key)


@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        bytearray(SECRET),
        memoryview(SECRET),
        [1, SECRET],
        {"inner": {"deep": [SECRET]}},
        {"inner": {"seed": "07070707"}},
        Hand(),
        [Hand()],
        {"hand": Hand()},
    ],
)
def test_no_bytes_and_no_repr_get_out_however_deep(lines, value):
    get_logger("x").info("event", value=value)
    (line,) = lines()
    text = json.dumps(line)
    for leak in ("\\u0007", "\\x07", "0707", "51"):
        assert leak not in text.replace(line["timestamp"], "")


def test_what_was_dropped_is_named_with_its_path():
    event = redact(None, "info", {"event": "x", "a": {"seed": 1, "n": 2}, "b": [b"1", 3]})
    assert event == {"event": "x", "a": {"n": 2}, "b": [3], "redacted": ["a.seed", "b"]}


# --- few lines --------------------------------------------------------------


def test_refusals_are_summarised_every_ten_seconds():
    summary = RefusalSummary()
    assert summary.take(0) is None
    for now_ns in range(100):
        summary.add("OVERLOADED", now_ns)
    summary.add("HAND_SPENT", 100)
    assert summary.take(REFUSAL_PERIOD_NS - 1) is None
    assert summary.take(REFUSAL_PERIOD_NS) == {"OVERLOADED": 100, "HAND_SPENT": 1}
    assert summary.take(10 * REFUSAL_PERIOD_NS) is None


def test_the_period_begins_with_the_first_refusal():
    summary = RefusalSummary()
    summary.add("OVERLOADED", 5 * REFUSAL_PERIOD_NS)
    assert summary.take(6 * REFUSAL_PERIOD_NS - 1) is None
    assert summary.take(6 * REFUSAL_PERIOD_NS) == {"OVERLOADED": 1}


def test_reasons_are_bounded():
    summary = RefusalSummary()
    for number in range(10 * MAX_REASONS):
        summary.add(f"REASON_{number}", 0)
    counts = summary.take(REFUSAL_PERIOD_NS)
    assert counts is not None
    assert len(counts) == MAX_REASONS + 1
    assert counts["OTHER"] == 9 * MAX_REASONS


def test_a_state_is_logged_when_it_changes(lines):
    changes = StateChanges(get_logger("sources"))
    told = [("q1", "lost"), ("q1", "lost"), ("q2", "lost"), ("q1", "healthy"), ("q1", "healthy")]
    results = [changes.note(subject, state, bad=state == "lost") for subject, state in told]
    assert results == [True, False, True, True, False]
    found = [(line["subject"], line["before"], line["state"], line["level"]) for line in lines()]
    assert found == [
        ("q1", None, "lost", "warning"),
        ("q2", None, "lost", "warning"),
        ("q1", "lost", "healthy", "info"),
    ]
