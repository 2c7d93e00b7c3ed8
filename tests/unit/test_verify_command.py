"""`entropyctl verify`: what it prints and ends with, and that it needs no grpc and no daemon."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from entropyd.cli import entropyctl
from tests.fakes.proofs import draw_files, raffle_file, round_file

ROOT = Path(__file__).parents[2]
DICE = draw_files()["dice"]
FALSE = {**DICE, "result": ["1", "1", "1"]}


@pytest.fixture
def verify(monkeypatch, capsys):
    """Run `entropyctl verify` as the console script does."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["entropyctl", "verify", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "160")
        with pytest.raises(SystemExit) as ended:
            entropyctl.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return command


def written(path, file):
    path.write_text(json.dumps(file), "utf-8")
    return path


def test_a_file_that_verifies_is_0_with_what_was_and_what_cannot_be_checked(verify, tmp_path):
    code, out, err = verify(written(tmp_path / "draw.json", DICE))
    assert (0, "") == (code, err)
    assert [
        "verifies",
        "draw throw-1, number 1, of match Ludo/4711",
        f"result   {' '.join(DICE['result'])}",
    ] == out.splitlines()[:3]
    assert 3 == out.count("checked  ")
    assert "cannot be checked: where the seeds came from" in out


def test_a_file_that_does_not_is_1_with_the_place_and_the_cause(verify, tmp_path):
    code, out, _ = verify(written(tmp_path / "draw.json", FALSE))
    assert 1 == code
    assert "does not verify\nresult[" in out
    assert "possible cause: the commitment fits" in out


def test_a_directory_is_a_table_and_1_if_one_of_it_is_false(verify, tmp_path):
    written(tmp_path / "a.json", DICE)
    written(tmp_path / "b.json", raffle_file())
    assert 0 == verify(tmp_path)[0]
    written(tmp_path / "c.json", FALSE)
    code, out, _ = verify(tmp_path)
    assert 1 == code
    rows = [line.split()[:2] for line in out.splitlines()]
    assert ["FALSE", "c.json"] in rows
    assert ["ok", "a.json"] in rows
    assert out.endswith("2 of 3 verify\n")


def vector(group, label):
    """Return one of docs/vectors/dealt_hands.json, with the keys that a reader trusts."""
    vectors = json.loads((ROOT / "docs/vectors/dealt_hands.json").read_text("utf-8"))
    return next(one for one in vectors[group] if one["label"] == label)


def test_a_directory_has_hands_ranges_of_a_log_and_signed_notes(verify, tmp_path):
    """All under the key of one log; a note that was changed in its first line is no other text."""
    hand = vector("hands", "one seat, in the open")
    written(tmp_path / "hand.json", hand["file"])
    written(tmp_path / "log.json", vector("logs", "a whole log")["file"])
    receipt = hand["file"]["receipts"]["open"]
    (tmp_path / "open.txt").write_text(receipt, "utf-8")
    (tmp_path / "seal.note").write_text(hand["file"]["receipts"]["seal"], "utf-8")
    keys = [part for key in hand["trusted"] for part in ("--key", key)]
    code, out, err = verify(tmp_path, *keys)
    assert (0, "") == (code, err)
    assert out.endswith("4 of 4 verify\n")
    (tmp_path / "open.txt").write_text(receipt.replace("entropyd", "Entropyd", 1), "utf-8")
    code, out, _ = verify(tmp_path, *keys)
    assert 1 == code
    assert ["FALSE", "open.txt"] in [line.split()[:2] for line in out.splitlines()]


def test_files_of_a_directory_that_are_left_out_are_named(verify, tmp_path):
    """None of them seems to have been checked, and their names move no cursor.

    Nor does a directory within it, whatever its name, or a pipe, at which a reader would wait.
    """
    written(tmp_path / "a.json", DICE)
    (tmp_path / "read\x1bme.md").write_text("not a proof")
    (tmp_path / "older.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    code, out, err = verify(tmp_path)
    assert 0 == code
    assert out.endswith("1 of 1 verify\n")
    expected = "entropyctl: not looked at, being no file *.json, *.txt, *.note: "
    assert f"{expected}older.json, pipe.json, read\\x1bme.md\n" == err


def test_a_file_of_a_directory_that_cannot_be_read_is_false_and_the_others_are_checked(
    verify, tmp_path
):
    """A link that leads nowhere, and one that leads to itself: somebody meant a file."""
    written(tmp_path / "a.json", DICE)
    (tmp_path / "gone.json").symlink_to("nowhere.json")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "same.json").symlink_to("a.json")
    code, out, err = verify(tmp_path)
    assert (1, "") == (code, err)
    assert [
        ["ok", "a.json"],
        ["FALSE", "gone.json"],
        ["FALSE", "loop.json"],
        ["ok", "same.json"],
    ] == [
        row for line in out.splitlines() if len(row := line.split()[:2]) == 2 and "json" in row[1]
    ]
    assert "cannot be read (No such file or directory)" in " ".join(out.split())
    code, out, _ = verify(tmp_path, "--json")
    assert [True, False, False, True] == [found["verifies"] for found in json.loads(out)]
    # Named alone it is wrong usage, as any other path that is none.
    assert 2 == verify(tmp_path / "gone.json")[0]


@pytest.mark.parametrize("name", ["b\x1b[2J\nok  c.json", "b\u202ec.json", "b\udcff.json"])
def test_a_name_of_a_file_makes_no_line_and_moves_no_cursor(verify, tmp_path, name):
    """Not even one that is no text: whoever sends a file chooses its name."""
    written(tmp_path / "a.json", DICE)
    written(tmp_path / name, FALSE)
    code, out, _ = verify(tmp_path)
    assert 1 == code
    assert not {"\x1b", "\u202e", "\udcff"} & set(out)
    rows = [line.split()[:2] for line in out.splitlines()]
    assert ["ok", "c.json"] not in rows
    code, out, _ = verify(tmp_path, "--json")
    assert name == Path(json.loads(out.encode("utf-8"))[1]["file"]).name


def test_a_hash_in_the_table_is_whole(verify, tmp_path):
    """Half of one can be compared with nothing."""
    hand = vector("hands", "small")
    (tmp_path / "open.txt").write_text(hand["file"]["receipts"]["open"], "utf-8")
    (tmp_path / "log.txt").write_text(hand["file"]["checkpoint"], "utf-8")
    keys = [part for key in hand["trusted"] for part in ("--key", key)]
    code, out, _ = verify(tmp_path, *keys)
    assert 0 == code
    assert "\u2026" not in out


def test_json_has_every_finding(verify, tmp_path):
    written(tmp_path / "a.json", round_file("roulette"))
    written(tmp_path / "b.json", FALSE)
    code, out, _ = verify(tmp_path, "--json")
    good, bad = json.loads(out)
    assert 1 == code
    assert (True, "round/v1") == (good["verifies"], good["kind"])
    assert good["not_checked"]
    assert (False, "PROOF_MISMATCH", "result[0]") == (bad["verifies"], bad["reason"], bad["field"])
    assert bad["causes"]


def test_standard_input_and_quiet(verify, monkeypatch):
    for file, expected in ((DICE, 0), (FALSE, 1)):
        stream = io.TextIOWrapper(io.BytesIO(json.dumps(file).encode()))
        monkeypatch.setattr(sys, "stdin", stream)
        assert (expected, "", "") == verify("-", "--quiet")


@pytest.mark.parametrize("name", ["none.json", "empty"])
def test_nothing_to_check_is_2_and_never_0(verify, tmp_path, name):
    (tmp_path / "empty").mkdir()
    code, out, err = verify(tmp_path / name)
    assert (2, "") == (code, out)
    assert name in err


def test_a_hostile_name_reaches_no_terminal(verify, tmp_path):
    code, out, _ = verify(written(tmp_path / "draw.json", {**DICE, "\x1b[2J": 1}))
    assert 1 == code
    assert "\x1b" not in out


OFFLINE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"grpc", "google", "sqlite3"}:
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
import typer
from entropyd.cli import verify

app = typer.Typer(pretty_exceptions_enable=False)
verify.add_command(app)
app()
"""


def test_it_runs_where_grpc_cannot_be_imported(tmp_path):
    """Refused, not only unused: what cannot be imported cannot be called."""
    file = written(tmp_path / "draw.json", DICE)
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(file)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("verifies\n")
