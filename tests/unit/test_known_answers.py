"""The known answers of the draw are those of the published vector, and can fail."""

import json
from pathlib import Path

import pytest

from entropyd.draw import keystream
from entropyd.errors import SelfTestError
from entropyd.hands import known_answers
from entropyd.rbg.kat import run_known_answer_tests

HANDS = Path(__file__).parents[1] / "vectors" / "protocol" / "hands.json"


def test_the_embedded_hand_is_the_published_one():
    """Every constant stands in the vector file under its own name."""
    hand = json.loads(HANDS.read_text())["hands"][0]
    assert hand["X"] == known_answers.BINDING.hex()
    assert hand["seeds"] == [known_answers.SEED.hex()]
    assert hand["committed_items"] == list(known_answers.ITEMS)
    assert hand["C"] == known_answers.COMMITMENT.hex()
    assert hand["D"] == known_answers.DECK_ROOT.hex()
    assert hand["O"] == known_answers.OPEN_HASH.hex()


def test_all_answers_are_right():
    """The machine that runs this test computes what it must."""
    run_known_answer_tests(known_answers.draw_known_answers())


def test_a_broken_keystream_is_found(monkeypatch: pytest.MonkeyPatch):
    """A stream label of another version fails the first test of the draw, by name."""
    monkeypatch.setattr(keystream, "STREAM_LABEL", b"\0\0\0\1x")
    with pytest.raises(SelfTestError, match="order of 52 cards"):
        run_known_answer_tests(known_answers.draw_known_answers())
