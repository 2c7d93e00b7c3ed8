"""An anchor is read as it was written or not at all, and tells every ledger that lost something."""

from pathlib import Path

import pytest

from entropyd.errors import ConfigError, LedgerRefusedError, LedgerUnavailableError
from entropyd.ledger.anchor import Anchor, gap, read_anchor, write_anchor
from entropyd.ledger.chain import EMPTY, Position
from entropyd.log.checkpoint import Checkpoint

ORIGIN, OTHER = "00112233445566778899aabbccddeeff", "ff" * 16
LINK = bytes(range(32))
ANCHOR = Anchor(ORIGIN, Position(7, LINK, 3))
TEXT = (
    "entropyd-anchor: v1\norigin: 00112233445566778899aabbccddeeff\nhands: 7\n"
    "link: 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\nevents: 3\n"
)


def test_it_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "anchor"
    assert read_anchor(path) is None
    write_anchor(path, ANCHOR)
    assert TEXT == path.read_text()
    assert ANCHOR == read_anchor(path)
    write_anchor(path, Anchor(OTHER, Position(0, LINK, 0)))
    assert Anchor(OTHER, Position(0, LINK, 0)) == read_anchor(path)
    assert ["anchor"] == [entry.name for entry in tmp_path.iterdir()]


@pytest.mark.parametrize(
    "text",
    ["", TEXT[:-1], TEXT + "\n", TEXT.replace("v1", "v2"), TEXT.replace("7", "07"),
     TEXT.replace("7", "-7"), TEXT.replace("aa", "AA"), TEXT + "x" * 1000, "\xff"],
)  # fmt: skip
def test_what_is_no_anchor_is_not_taken_for_one(tmp_path, text):
    """Neither for none: then a restored backup would go on."""
    path = tmp_path / "anchor"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(LedgerRefusedError, match="is no anchor of an entropyd ledger"):
        read_anchor(path)


def test_a_directory_that_is_not_there_is_told_with_its_remedy(tmp_path):
    """Its disk is not mounted, most likely."""
    with pytest.raises(ConfigError, match="directory is missing; mount its disk"):
        read_anchor(tmp_path / "missing" / "anchor")
    (tmp_path / "anchor").mkdir()
    with pytest.raises(ConfigError, match="Is a directory"):
        read_anchor(tmp_path / "anchor")


def test_an_anchor_that_cannot_be_replaced_is_still_the_old_one(tmp_path):
    path = tmp_path / "anchor"
    write_anchor(path, ANCHOR)
    (tmp_path / "anchor.unfinished").mkdir()
    with pytest.raises(LedgerUnavailableError, match="cannot be written"):
        write_anchor(path, Anchor(OTHER, ANCHOR.position))
    assert ANCHOR == read_anchor(path)


@pytest.mark.parametrize(
    ("origin", "position", "link", "found"),
    [
        (ORIGIN, Position(7, LINK, 3), LINK, None),
        (ORIGIN, Position(8, bytes(32), 3), LINK, None),
        (ORIGIN, Position(7, LINK, 4), LINK, None),
        (OTHER, Position(7, LINK, 3), LINK, f"is of origin {OTHER}, its anchor saw origin"),
        (ORIGIN, Position(5, LINK, 3), None, "ends with hand 5, its anchor saw hand 7: 2 hand"),
        (ORIGIN, Position(7, LINK, 2), LINK, "ends with event 2, its anchor saw event 3"),
        (ORIGIN, Position(7, bytes(32), 3), bytes(32), "has another hand 7"),
        (ORIGIN, Position(9, LINK, 9), None, "has another hand 7"),
    ],
)
def test_a_gap_is_found_and_names_both_sides(origin, position, link, found):
    told = gap(ANCHOR, origin=origin, position=position, link=link, step_link=EMPTY, log_root=None)
    assert (told is None) == (found is None)
    assert found is None or told is None or found in told


STEP_LINK = bytes(range(1, 33))
STEPS = Anchor(ORIGIN, Position(7, LINK, 3, 5, STEP_LINK))


@pytest.mark.parametrize(
    ("steps", "step_link", "found"),
    [
        (5, STEP_LINK, None),
        (6, STEP_LINK, None),
        (3, None, "ends with step 3 of its draws, its anchor saw step 5: 2 step(s) are missing"),
        (5, LINK, "has another step 5 than its anchor saw"),
        (9, None, "has another step 5 than its anchor saw"),
    ],
)
def test_steps_that_are_missing_or_others_are_a_gap(steps, step_link, found):
    position = Position(7, LINK, 3, steps, LINK)
    told = gap(
        STEPS, origin=ORIGIN, position=position, link=LINK, step_link=step_link, log_root=None
    )
    assert found == told


def test_an_anchor_of_a_ledger_with_steps_is_another_version(tmp_path):
    """One without steps is what the entropyd before this one reads, to the byte."""
    path = tmp_path / "anchor"
    write_anchor(path, STEPS)
    assert STEPS == read_anchor(path)
    assert path.read_text().startswith("entropyd-anchor: v2\n")
    write_anchor(path, ANCHOR)
    text = f"entropyd-anchor: v1\norigin: {ORIGIN}\nhands: 7\nlink: {LINK.hex()}\nevents: 3\n"
    assert text == path.read_text()


@pytest.mark.parametrize("version", [1, 2])
def test_an_anchor_with_half_of_its_steps_is_none(tmp_path, version):
    """A v1 that goes on about steps, a v2 that does not say enough of them."""
    path = tmp_path / "anchor"
    whole = STEPS.encode()
    text = whole.replace(b"v2", b"v1") if version == 1 else whole.rpartition(b"step-link")[0]
    path.write_bytes(text)
    with pytest.raises(LedgerRefusedError, match="is no anchor"):
        read_anchor(path)


ROOT = bytes(range(2, 34))
SIGNED = Checkpoint("entropyd.example/log", 9, ROOT).encode()
NOTE = SIGNED + "\n\u2014 entropyd.example/log AAAA\n\u2014 witness.example/w1 BBBB\n".encode()
LOGGED = Anchor(ORIGIN, ANCHOR.position, NOTE)


@pytest.mark.parametrize("anchor", [LOGGED, Anchor(ORIGIN, STEPS.position, NOTE)])
def test_a_checkpoint_is_kept_to_the_byte_with_its_signatures(tmp_path, anchor):
    """Whether there are steps or none."""
    path = tmp_path / "anchor"
    write_anchor(path, anchor)
    assert anchor == read_anchor(path)
    assert path.read_bytes().startswith(b"entropyd-anchor: v3\n")
    assert path.read_bytes().endswith(b"\n\n" + NOTE)
    assert Checkpoint("entropyd.example/log", 9, ROOT) == anchor.head()


@pytest.mark.parametrize(
    "content",
    [
        LOGGED.encode().replace(b"v3", b"v2"),
        LOGGED.encode().replace(b"v3", b"v1"),
        LOGGED.encode().partition(b"\n\n")[0] + b"\n",
        LOGGED.encode().partition(b"\n\n")[0] + b"\n\n",
        LOGGED.encode().replace(b"\n9\n", b"\n09\n"),
        Anchor(ORIGIN, ANCHOR.position, SIGNED).encode(),
        Anchor(ORIGIN, ANCHOR.position, b"no\n\ncheckpoint\n").encode(),
        Anchor(ORIGIN, ANCHOR.position, NOTE + b"x" * 70_000).encode(),
        STEPS.encode() + b"\n",
    ],
)
def test_a_checkpoint_that_is_none_makes_no_anchor(tmp_path, content):
    path = tmp_path / "anchor"
    path.write_bytes(content)
    with pytest.raises(LedgerRefusedError, match="is no anchor"):
        read_anchor(path)


@pytest.mark.parametrize(
    ("root", "found"),
    [
        (ROOT, None),
        (None, "has fewer receipts in its log than the 9 that were signed for"),
        (LINK, "has another log of 9 receipts than the one that was signed for"),
    ],
)
def test_a_log_that_was_cut_or_forked_is_a_gap(root, found):
    told = gap(
        LOGGED, origin=ORIGIN, position=LOGGED.position, link=LINK, step_link=EMPTY, log_root=root
    )
    assert found == told


def test_the_longest_anchor_is_read(tmp_path):
    """Its numbers have 19 digits, and its checkpoint 100 signatures with names of 200 letters."""
    most = 2**63 - 1
    note = SIGNED + b"\n" + ("\u2014 " + "n" * 200 + " " + "A" * 104 + "\n").encode() * 100
    anchor = Anchor(ORIGIN, Position(most, LINK, most, most, LINK), note)
    write_anchor(tmp_path / "anchor", anchor)
    assert anchor == read_anchor(tmp_path / "anchor")


def test_a_path_is_text_in_the_error(tmp_path):
    """An operator can find the file."""
    with pytest.raises(ConfigError, match=str(Path("missing") / "a")):
        read_anchor(tmp_path / "missing" / "a")
