"""Commands for people: what they print, here and by a daemon, and what they refuse."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import shake_256
from itertools import count
from pathlib import Path

import pytest

from entropyd.cli import entropyctl
from entropyd.cli.people import local
from entropyd.cli.people.told import NOT_RECORDED
from entropyd.verify import check_proof
from tests.fakes.drawing import DrawingServicer, drawing

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command as the console script does; return exit code, standard output and error."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["entropyctl", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "160")
        with pytest.raises(SystemExit) as ended:
            entropyctl.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return command


@pytest.fixture
def fixed_bits(monkeypatch):
    """The operating system's generator gives the same bytes in every run."""
    numbers = count()

    class FixedOs:
        @staticmethod
        def urandom(size):
            return shake_256(next(numbers).to_bytes(8, "big")).digest(size)

    monkeypatch.setattr(local, "os", FixedOs)


@pytest.fixture
def entries(tmp_path):
    path = tmp_path / "entries.txt"
    path.write_text("Dan\nAnn\nBob\nEve\r\nĆma\n\n", "utf-8")
    return path


# --- drawn here ------------------------------------------------------------------------------

GOLDEN = {
    "roll 2d6": ["1 + 2 = 3"],
    "roll d20": ["3"],
    "roll 2d6,1d20": ["2d6: 1 + 2 = 3", "1d20: 7"],
    "pick 1-100": ["9"],
    "pick 1-49 --count 6 --distinct": ["5", "9", "13", "43", "1", "39"],
    "pick 0-18446744073709551615": ["1265865387318707977"],
    "order a b c d": ["c", "b", "d", "a"],
    "cards 5": ["6♣ T♣ Q♠ A♣ 5♠"],
    "bag polish --draw 7": ["A D E W A S P"],
    "bag red=3,blue=5 --draw 8": ["red red blue blue blue red blue blue"],
    "flip -n 3": ["heads", "heads", "tails"],
}


@pytest.mark.parametrize("command", GOLDEN)
def test_what_is_drawn_here_is_printed_plainly_and_said_to_be_unproved(run, fixed_bits, command):
    code, out, err = run(*command.split(), "--local")
    assert (0, f"entropyctl: {NOT_RECORDED}\n") == (code, err)
    assert GOLDEN[command] == out.splitlines()


def test_a_raffle_drawn_here(run, fixed_bits, entries):
    code, out, err = run("raffle", entries, "--winners", 2, "--alternates", 1, "--local")
    assert (0, f"entropyctl: {NOT_RECORDED}\n") == (code, err)
    assert ["1. Ann", "2. Ćma", "alternate 1. Eve"] == out.splitlines()


def test_quiet_is_one_value_a_line_and_nothing_else(run, fixed_bits):
    assert (0, "1\n2\n", "") == run("roll", "2d6", "--local", "--quiet")


def test_json_says_that_it_was_drawn_here(run, fixed_bits):
    code, out, err = run("roll", "2d6", "--local", "--json")
    assert (0, "") == (code, err)
    assert {"kind": "dice", "result": [1, 2], "total": 3, "local": True} == json.loads(out)


def test_numbers_that_readers_of_json_round_are_texts(run, fixed_bits):
    _, out, _ = run("pick", "18446744073709551615-18446744073709551615", "--local", "--json")
    assert ["18446744073709551615"] == json.loads(out)["result"]


def test_two_draws_here_differ(run):
    """The real generator: 40 dice come out alike once in 6^40."""
    first, second = (run("roll", "40d6", "--local", "-q")[1] for _ in range(2))
    assert first != second


def test_all_of_a_list_is_ordered_and_all_of_a_bag_drawn(run):
    assert sorted("abcdef") == sorted(run("order", *"abcdef", "--local", "-q")[1].split())
    drawn = run("bag", "x=2,y=3", "--draw", 5, "--local", "-q")[1].split()
    assert ["x", "x", "y", "y", "y"] == sorted(drawn)


def test_a_list_comes_from_a_file_or_from_standard_input(run, entries, monkeypatch):
    expected = sorted(["Dan", "Ann", "Bob", "Eve", "Ćma"])
    assert expected == sorted(run("order", "--file", entries, "--local", "-q")[1].splitlines())
    monkeypatch.setattr(sys, "stdin", entries.open())
    assert expected == sorted(run("order", "--file", "-", "--local", "-q")[1].splitlines())


def test_no_colour_and_no_escape_where_it_is_piped():
    done = subprocess.run(
        [sys.executable, "-m", "entropyd.cli.entropyctl", "cards", "52", "--local"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert "\x1b" not in done.stdout
    assert 52 == len(done.stdout.split())
    assert 4 == len(done.stdout.splitlines())


# --- what is refused ---------------------------------------------------------------------------

REFUSED = {
    "roll 0d6": "dice",
    "roll 2d0": "dice",
    "roll 2x6": "expected such as 2d6",
    "roll -- -2d6": "expected such as 2d6",
    "roll 1000000000d6": "expected such as 2d6",
    "roll 10001d6": "10000",
    "roll 6d4294967297": "4294967296",
    "pick 100": "expected such as 1-100",
    "pick 9-1": "the smaller number first",
    "pick 0-18446744073709551616": "none above 2^64 - 1",
    "pick 1-6 --count 7 --distinct": "expected 1 to 6",
    "pick 1-6 --count 0": "--count",
    "pick 0-4294967296 --sampler word32": "masked",
    "order": "give items",
    "order a --file x": "not both",
    "cards 53": "52",
    "cards 5 --deck tarot": "there is no deck",
    "bag czech": "polish",
    "bag red=3,blue": "kinds such as red=3",
    "bag red=0": "expected 1 to",
    "bag red=3,blue=1,red=5": "names a kind twice",
    "bag english --draw 101": "how many: is 101; expected 1 to 100",
    "raffle /no/such/file": "/no/such/file",
    "flip --match m": "--local records nothing",
    "flip --save x": "--local records nothing",
    "flip --json --quiet": "two forms",
    "raffle x --seal": "--seal draws nothing",
    "raffle x --id 2": "No such option",
}


@pytest.mark.parametrize("command", REFUSED)
def test_what_cannot_be_drawn_is_2_with_the_remedy(run, command):
    words = command.split()
    code, out, err = run(words[0], "--local", *words[1:])
    assert (2, "") == (code, out)
    assert REFUSED[command] in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Ann\nBob\nAnn\n", "lines 1 and 3 are equal"),
        ("Ann\n\nBob\n", "line 2 has 0 bytes"),
        ("Ann\nB\x07b\n", "line 2 has U+0007"),
        ("\n\n", "is empty"),
    ],
)
def test_a_list_that_is_no_raffle_is_refused_by_its_line(run, tmp_path, text, says):
    path = tmp_path / "entries.txt"
    path.write_text(text)
    code, _, err = run("raffle", path, "--local")
    assert 2 == code
    assert says in " ".join(err.replace("│", " ").split())


def test_an_id_of_a_match_that_is_empty_is_none(run):
    """As of an unset variable: a retry under it would be another draw."""
    code, out, err = run("flip", "--match", "")
    assert (2, "") == (code, out)
    assert "--match is empty" in err


def test_lines_stay_as_they_are_written_the_last_one_too(run, tmp_path):
    path = tmp_path / "items.txt"
    path.write_text(" a \n b\t\n c \n \n\n", newline="")
    # No tab: an item with one is refused, also at its end, also in the last line.
    assert (2, "") == run("order", "--file", path, "--local", "-q")[:2]
    path.write_text(" a \r\n b \n c \n \n\n", newline="")
    code, out, _ = run("order", "--file", path, "--local", "-q")
    assert (0, [" a ", " b ", " c "]) == (code, sorted(out.split("\n")[:-1]))
    path.write_text("a\nb\x1f\n")
    assert (2, "") == run("order", "--file", path, "--local", "-q")[:2]


# --- where it is printed to ----------------------------------------------------------------------


def piped(*words: object, encoding: str, closed: bool = False) -> tuple[int, bytes, str]:
    """Run a command as a process whose standard output has an encoding, or is closed."""
    done = subprocess.run(
        [sys.executable, "-m", "entropyd.cli.entropyctl", *map(str, words)],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        preexec_fn=partial(os.close, 1) if closed else None,
    )
    return done.returncode, done.stdout, done.stderr.decode()


def test_letters_that_the_terminal_lacks_are_written_as_escapes():
    """An error would come after the draw, which a daemon has recorded by then."""
    code, out, _ = piped("cards", 52, "--local", encoding="ascii")
    assert (0, 13) == (code, out.count(b"\\u2660"))
    words = ("order", "Ł", "\U0001f3b2", "--local")
    code, out, _ = piped(*words, "--json", encoding="latin-1")
    assert (0, ["Ł", "\U0001f3b2"]) == (code, sorted(json.loads(out)["result"]))
    code, out, _ = piped(*words, "--json", encoding="utf-8")
    assert (0, True) == (code, "Ł".encode() in out)


def test_nothing_is_drawn_for_an_output_that_is_closed():
    code, _, err = piped("roll", "2d6", "--local", encoding="utf-8", closed=True)
    assert 2 == code
    assert "entropyctl: standard output is closed; nothing was asked\n" == err


# --- by a daemon -------------------------------------------------------------------------------


@dataclass
class Asked:
    """Runs commands against a daemon that keeps what it draws."""

    run: Callable[..., tuple[int, str, str]]
    servicer: DrawingServicer

    def __call__(self, *arguments: object, key: str = "claim.key") -> tuple[int, str, str]:
        return self.run(*arguments, key=key)


@pytest.fixture
def ask(run):
    """Run a command against a daemon that keeps what it draws."""
    with tempfile.TemporaryDirectory(prefix="ed-") as home:
        servicer = DrawingServicer(mock=True)
        with drawing(servicer, Path(home)) as target:

            def command(*arguments, key):
                where = ("--target", target, "--claim-key", Path(home) / key)
                return run(*arguments, *where)

            yield Asked(command, servicer)


# What a proof tells of a draw, as the command tells it.
COMMANDS: dict[str, Callable[[str], object]] = {
    "roll 2d6,d20": int,
    "pick 1-100 --count 3": int,
    "pick 1-49 --count 6 --distinct": lambda place: int(place) + 1,
    "order a b c d": str,
    "cards 5": str,
    "bag polish --draw 7": str,
    "bag red=3,blue=5 --draw 8": str,
    "flip": lambda side: ("heads", "tails")[int(side)],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_recorded_draw_has_a_proof_of_what_was_told(ask, tmp_path, command):
    proof = tmp_path / "proof.json"
    code, out, err = ask(*command.split(), "--json", "--save", proof)
    told = json.loads(out)
    assert (0, True) == (code, told["match"].startswith("people/20"))
    assert f"entropyctl: proof written; check it with: entropyctl verify {proof}\n" == err
    proved = check_proof(proof.read_bytes()).result.split()
    assert told["result"] == list(map(COMMANDS[command], proved))


def test_a_recorded_draw_is_told_with_its_match_and_its_sources(ask):
    code, _, err = ask("roll", "2d6", "--match", "ludo/1", "--id", "a")
    assert 0 == code
    assert [
        "entropyctl: recorded: draw 1, id a, of match ludo/1; all of it: entropyctl replay ludo/1",
        "entropyctl: a source is an emulator or a recording: do not play for money on it",
    ] == err.splitlines()


def test_numbers_that_the_record_has_as_items_are_said_to_be_so(ask):
    """The record of a sample counts from 0: `replay` and the proof show items, not numbers."""
    words = ("pick", "5-10", "-n", 6, "--distinct", "--match", "m")
    code, out, err = ask(*words)
    assert (0, ["10", "5", "6", "7", "8", "9"]) == (code, sorted(out.split()))
    assert "in the record item 0 stands for 5, item 1 for 6, and so on" in err
    items = ask("replay", "m")[1].partition("sample: ")[2].split()
    assert out.split() == [str(5 + int(item)) for item in items]
    assert 5 == json.loads(ask(*words, "--json")[1])["low"]
    assert "stands for" not in ask("pick", "0-9", "--distinct")[2]


def test_the_same_match_and_id_are_given_again_and_others_refused(ask):
    _, first, _ = ask("roll", "8d6", "--match", "ludo/1")
    code, again, err = ask("roll", "8d6", "--match", "ludo/1")
    assert (0, first) == (code, again)
    assert "drawn before, given again: draw 1" in err
    code, out, err = ask("roll", "9d6", "--match", "ludo/1")
    assert (1, "") == (code, out)
    assert "ALREADY_EXISTS" in err
    code, out, _ = ask("roll", "8d6", "--match", "ludo/1", key="other.key")
    assert (1, "") == (code, out)


def test_a_bag_is_emptied_over_the_draws_of_its_match(ask, tmp_path):
    for number in range(1, 4):
        words = ("bag", "x=2,y=1", "--match", "m", "--id", f"take-{number}", "--json")
        code, out, _ = ask(*words)
        assert (0, 3 - number) == (code, json.loads(out)["left"])
    code, out, _ = ask("replay", "m", "--save", tmp_path / "match.json")
    assert 0 == code
    assert ["1", "2", "3"] == [line.split()[0] for line in out.splitlines()]
    assert ["x", "x", "y"] == sorted(line.split()[-1] for line in out.splitlines())
    assert "bag main" in " ".join(check_proof((tmp_path / "match.json").read_bytes()).checked)


def test_a_raffle_is_sealed_before_it_is_drawn_and_its_proof_verifies(ask, entries, tmp_path):
    proof = tmp_path / "raffle.json"
    code, out, err = ask("raffle", entries, "-w", 2, "-a", 1, "--save", proof)
    assert 0 == code
    sealed, recorded, *_ = err.splitlines()
    assert sealed.startswith("entropyctl: sealed: 5 entries, hash ")
    assert recorded.startswith("entropyctl: recorded: raffle people/")
    report = check_proof(proof.read_bytes())
    winners, alternate = report.result.split("; standing by: ")
    lines = [f"{place}. {name}" for place, name in enumerate(winners.split(", "), 1)]
    assert [*lines, f"alternate 1. {alternate}"] == out.splitlines()


def test_a_raffle_that_is_only_sealed_says_what_to_publish_and_is_drawn_later(ask, entries):
    words = ("raffle", entries, "-w", 2, "--match", "spring")
    assert not json.loads(ask(*words, "--seal", "--json")[1])["drawn"]
    code, out, err = ask(*words, "--seal")
    assert 0 == code
    raffle, number, digest = out.splitlines()
    assert ("raffle spring", "number 1") == (raffle, number)
    assert "then draw: this command with --match spring, no --seal" in err
    code, out, err = ask(*words)
    assert (0, 2) == (code, len(out.splitlines()))
    assert f"sealed: 5 entries, {digest}" in err
    again = json.loads(ask(*words, "--seal", "--json")[1])
    assert (True, digest) == (again["drawn"], f"hash {again['entries_hash']}")
    assert "was drawn before" in ask(*words, "--seal")[2]


def test_json_has_what_the_record_has(ask):
    code, out, err = ask("roll", "2d6", "--match", "m", "--id", "a", "--json")
    told = json.loads(out)
    assert (0, "") == (code, err)
    assert ("m", "a", 1, False, True, False) == (
        told["match"],
        told["id"],
        told["number"],
        told["replayed"],
        told["mock"],
        told["local"],
    )


def test_a_proof_is_not_written_over_and_nothing_is_drawn_for_it(ask, tmp_path):
    path = tmp_path / "proof.json"
    path.write_text("mine")
    code, _, err = ask("roll", "2d6", "--save", path)
    assert (2, "mine", []) == (code, path.read_text(), ask.servicer.requests)
    assert "is there already" in err


def test_a_daemon_that_is_not_there_is_3(run, tmp_path):
    where = ("--target", f"unix:{tmp_path}/nobody", "--claim-key", tmp_path / "key")
    code, _, err = run("flip", *where)
    assert 3 == code
    assert "--target or ENTROPYCTL_TARGET" in err


@pytest.mark.parametrize("command", ["roll 2d6", "raffle ENTRIES"])
def test_who_is_not_answered_is_told_how_to_find_the_same_draw(run, tmp_path, entries, command):
    """The id was made here: the same command without it would be another draw."""
    where = ("--target", f"unix:{tmp_path}/nobody", "--claim-key", tmp_path / "key")
    words = command.replace("ENTRIES", str(entries)).split()
    code, _, err = run(*words, *where)
    assert 3 == code
    assert re.search(r"ask again with --match people/20[0-9-]{8}-[0-9a-f]{16}, which finds", err)
    code, _, err = run(*words, *where, "--match", "mine")
    assert (3, False) == (code, "ask again with" in err)


# --- completion ----------------------------------------------------------------------------------

# Under the name that the script asks it by.
COMPLETE = """
import sys

sys.argv[0] = "entropyctl"
from entropyd.cli.entropyctl import main

main()
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("entropyctl bag ", ["english", "polish", "ukrainian", "dominoes"]),
        ("entropyctl bag pol", ["polish"]),
        ("entropyctl cards 5 --deck sh", ["short36"]),
        ("entropyctl ro", ["roll"]),
        ("entropyctl roll 2d6 --sampler w", ["word32"]),
    ],
)
def test_bash_completes_commands_and_the_names_of_presets(words, expected):
    """As the script of `entropyctl --show-completion` asks."""
    done = subprocess.run(
        [sys.executable, "-c", COMPLETE],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={
            **os.environ,
            "_ENTROPYCTL_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        },
    )
    assert expected == done.stdout.split()
