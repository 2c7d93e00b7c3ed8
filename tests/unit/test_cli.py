"""The commands: what they print, what they exit with, and what they never show."""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from entropyd import __version__, daemon
from entropyd.cli import entropyctl, entropyd, programs
from entropyd.config import load
from entropyd.daemon.ledger import open_ledger
from entropyd.errors import EntropyHoldError, HandSpentError
from entropyd.hands.claim import derive_claim
from entropyd.ledger.contract import EventKind
from entropyd.ledger.state_dir import StateDirectory
from entropyd.v1 import entropy_service_pb2, shuffle_service_pb2, types_pb2
from tests.fakes.servicer import ScriptedServicer, Step, serving

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"


@pytest.fixture
def run(monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
    """Run a command as the console script does; return exit code, standard output and error."""

    def command(main: Callable[[], None], *arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["prog", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return code or 0, out, err

    return command


# --- entropyd ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("development.toml", "ok, node development, 1 source(s)"),
        ("entropyd.toml", "ok, node"),
    ],
)
def test_the_example_files_are_right(run, name, says):
    code, out, err = run(entropyd.main, "check-config", EXAMPLES / name)
    assert (0, "") == (code, err)
    assert f"{EXAMPLES / name}: {says}" in out


@pytest.mark.parametrize("program", [entropyd.main, entropyctl.main])
def test_a_program_says_its_version(run, program):
    assert (0, f"entropyd {__version__}\n", "") == run(program, "--version")


LISTENER = '[[listener]]\naddress = "unix:/run/x.sock"\ntenant = "a"\nroles = ["deal_all"]\n'
CLAIM = 'claim_bits_per_sample = 1.0\nclaim_note = "n"\n'
LAMP = f'[[source]]\nid = "x"\ndriver = "lamp"\n{CLAIM}'
MOCK = f'[[source]]\nid = "x"\ndriver = "mock"\n{CLAIM}'
WRONG = {
    "not toml": ("[node", "is not TOML"),
    "unknown key": ('[node]\nname = "n"\ncolour = "blue"', "colour"),
    "unknown driver": (
        f'[node]\nname = "n"\n[mode]\nproduction = false\n{LAMP}{LISTENER}',
        "no driver 'lamp' is installed; expected one of",
    ),
    "mock in production": (f'[node]\nname = "n"\n{MOCK}{LISTENER}', "production"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_with_its_remedy_and_78(run, tmp_path, name):
    """Before anything is opened or made."""
    text, says = WRONG[name]
    path = tmp_path / "entropyd.toml"
    path.write_text(text)
    code, out, err = run(entropyd.main, "check-config", path)
    assert (78, "") == (code, out)
    assert err.startswith("entropyd: ")
    assert says in err
    assert "Traceback" not in err
    assert [path] == list(tmp_path.iterdir())


def test_every_wrong_line_is_told_at_once(run, tmp_path):
    path = tmp_path / "entropyd.toml"
    path.write_text('[node]\nname = ""\ncolour = 1\n[gate]\nhardware_bits = 1\n')
    _, _, err = run(entropyd.main, "check-config", path)
    for key in ("node.name", "colour", "gate.hardware_bits", "source", "listener"):
        assert key in err


def test_a_file_that_is_not_there_is_a_wrong_configuration(run, tmp_path):
    code, _, err = run(entropyd.main, "check-config", tmp_path / "none.toml")
    assert 78 == code
    assert "cannot be read (No such file or directory)" in err


def test_the_module_runs_as_a_program():
    """As units and the demo start it."""
    command = [sys.executable, "-m", "entropyd.cli.entropyd", "check-config"]
    done = subprocess.run(
        [*command, str(EXAMPLES / "development.toml")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (0, "") == (done.returncode, done.stderr)


def test_wrong_usage_is_none_of_the_codes_that_mean_something(run):
    assert 2 == run(entropyd.main, "deal-me-aces")[0]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose state is the test's own."""
    path = tmp_path / "entropyd.toml"
    path.write_text(
        f'[node]\nname = "n"\nstate_dir = "{tmp_path}/state"\n[mode]\nproduction = false\n'
        '[[source]]\nid = "m"\ndriver = "mock"\nclaim_bits_per_sample = 4.0\nclaim_note = "n"\n'
        f'[[listener]]\naddress = "unix:{tmp_path}/x.sock"\ntenant = "a"\nroles = ["deal_all"]\n'
        '[ledger]\nmin_free = "16MiB"\n[keys]\nat_rest = ""\n'
    )
    return path


def test_a_reset_is_told_and_kept_with_its_reason(run, config):
    code, out, err = run(
        entropyd.main, "reset-source", "m", "--reason", "new cable", "--config", config
    )
    assert (0, "") == (code, err)
    assert "m: reset, was not latched; its start-up test still has to pass\n" == out
    with open_ledger(load(config)) as ledger:
        [event] = ledger.events(EventKind.HEALTH_RESET)
        assert "m" in ledger.health_states()
    assert ("m", {"reason": "new cable", "latch": None}) == (
        event.subject,
        json.loads(event.detail),
    )


def test_a_reset_of_no_source_names_those_that_are_there(run, config):
    code, _, err = run(entropyd.main, "reset-source", "q", "--reason", "r", "--config", config)
    assert 78 == code
    assert "no source 'q'; expected one of m" in err


def test_a_held_state_directory_is_75(run, config):
    """A temporary failure: the daemon runs, and the text says so."""
    with StateDirectory.hold(load(config).node.state_dir):
        code, _, err = run(entropyd.main, "reset-source", "m", "--reason", "r", "--config", config)
    assert 75 == code
    assert "entropyd: " in err


def test_any_other_refusal_is_70(run, config):
    """A reason of no words is the request's fault, and nothing is reset."""
    code, _, err = run(entropyd.main, "reset-source", "m", "--reason", "", "--config", config)
    assert 70 == code
    assert "reason: expected 1 to 200" in err


def test_a_defect_is_70_with_a_traceback_that_shows_no_variable(run, config, monkeypatch):
    """The service manager starts it again, and the journal has no key in it."""

    def defective(_, **__):
        master_key = "c0ffee" * 8
        raise ValueError(f"{len(master_key)} characters")

    monkeypatch.setattr(daemon, "run", defective)
    code, _, err = run(entropyd.main, "serve", "--config", config)
    assert 70 == code
    assert "ValueError: 48 characters" in err
    assert "c0ffeec0ffee" not in err


# --- entropyctl ------------------------------------------------------------------------------


@pytest.fixture
def ask(run) -> Iterator[Callable[..., tuple[int, str, str]]]:
    """Run entropyctl against a daemon that answers as told."""
    with tempfile.TemporaryDirectory(prefix="ed-") as home:

        def command(step: Step, *arguments: object) -> tuple[int, str, str]:
            key = Path(home) / "new" / "claim.key"
            with serving(ScriptedServicer(step), Path(home)) as target:
                ended: tuple[int, str, str] = run(
                    entropyctl.main, *arguments, "--target", target, "--claim-key", key
                )
                return ended

        yield command


CARDS = bytes(range(52))
DEAL = shuffle_service_pb2.ShuffleResponse(
    shuffle=shuffle_service_pb2.Shuffle(
        key=types_pb2.HandKey(table="table-7", hand="hand-1"),
        cards=CARDS,
        text=" ".join(f"{rank}{suit}" for suit in "cdhs" for rank in "23456789TJQKA"),
        items=b"".join(card.to_bytes(4, "big") for card in CARDS),
        sequence=3,
        open_hash=b"\xab" * 32,
    )
)
HOLDING = entropy_service_pb2.GetStatusResponse(
    hold_reason="SOURCE_LOST",
    hold_text="source 'quantis' is lost",
    node="dc1-a",
    mock=True,
    sources=[
        entropy_service_pb2.SourceStatus(
            source="quantis",
            state=types_pb2.SOURCE_STATE_LOST,
            detail="[bold]no device[/]; plug it in",
            claimed_millibits=6000,
        )
    ],
)


def test_status_says_that_it_can_deal(ask):
    status = entropy_service_pb2.GetStatusResponse(can_deal=True, node="dc1-a", policy="p=1")
    code, out, err = ask(status, "status")
    assert (0, "") == (code, err)
    assert "can deal  dc1-a  p=1" in out


def test_status_says_why_not_and_what_is_to_be_done(ask):
    """Text from outside is shown as it is, never taken for markup."""
    code, out, _ = ask(HOLDING, "status")
    assert 0 == code
    assert "holding for 0 s: SOURCE_LOST: source 'quantis' is lost" in out
    assert "do not deal money on it" in out
    assert "[bold]no device[/]; plug it in" in out


def test_status_for_programs_says_no_where_it_means_no(ask):
    """A field that is false or zero is there."""
    code, out, _ = ask(HOLDING, "status", "--json")
    status = json.loads(out)
    assert 0 == code
    assert (False, "SOURCE_LOST", "0", 0) == (
        status["can_deal"],
        status["hold_reason"],
        status["hands"],
        status["waiters"],
    )
    assert "SOURCE_STATE_LOST" == status["sources"][0]["state"]


def test_a_deal_is_shown_as_cards(ask):
    code, out, _ = ask(DEAL, "shuffle", "table-7", "hand-1")
    assert 0 == code
    assert "table-7 hand hand-1  number 3 at its table, drawn now" in out
    assert "2♣ 3♣ 4♣ 5♣ 6♣ 7♣ 8♣ 9♣ T♣ J♣ Q♣ K♣ A♣\n2♦" in out
    assert f"O {'ab' * 32}" in out


def test_a_deal_for_programs_has_ids_and_hashes_they_can_read(ask):
    code, out, _ = ask(DEAL, "shuffle", "table-7", "hand-1", "--json")
    deal = json.loads(out)
    assert 0 == code
    assert (list(range(52)), "ab" * 32, False) == (
        deal["cards"],
        deal["open_hash"],
        deal["replayed"],
    )
    assert DEAL.shuffle.items.hex() == deal["items"]
    assert DEAL.shuffle.text == deal["text"]


def test_user_entropy_is_read_from_a_file_or_from_standard_input(ask, tmp_path, monkeypatch):
    given = entropy_service_pb2.AddUserEntropyResponse(
        estimated_millibits=62_250, pooled_millibits=1_249_000
    )
    file = tmp_path / "noise"
    file.write_bytes(b"noise")
    _, out, _ = ask(given, "add-entropy", "ann", file)
    assert "taken, estimated at 62 bits; the tenant's users have 1,249 bits waiting\n" == out
    monkeypatch.setattr(sys, "stdin", file.open())
    _, out, _ = ask(given, "add-entropy", "ann", "--json")
    assert {"estimated_millibits": "62250", "pooled_millibits": "1249000"} == json.loads(out)


def test_a_refusal_is_1_and_says_when_to_come_back(ask):
    held = EntropyHoldError("dealing is held", why="SOURCE_LOST", retry_after_s=0.1)
    assert (
        1,
        "",
        "entropyctl: UNAVAILABLE: dealing is held\nentropyctl: ask again in 0.1 s\n",
    ) == ask(held, "shuffle", "t", "h")


def test_a_refusal_for_good_says_nothing_of_coming_back(ask):
    assert (1, "", "entropyctl: ALREADY_EXISTS: spent\n") == ask(
        HandSpentError("spent"), "shuffle", "t", "h"
    )


def test_a_daemon_that_is_not_there_is_3(run, tmp_path):
    code, out, err = run(
        entropyctl.main,
        *("status", "--target", f"unix:{tmp_path}/nobody", "--claim-key", tmp_path / "key"),
    )
    assert (3, "") == (code, out)
    assert err.startswith("entropyctl: UNAVAILABLE")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("shuffle", "t", "no id"), "key.hand"),
        (("add-entropy", "ann", "/no/such/file"), "/no/such/file"),
        (("shuffle", "t"), "Missing argument"),
    ],
    ids=["id", "file", "argument"],
)
def test_wrong_usage_is_2_and_no_traceback(ask, arguments, says):
    code, out, err = ask(DEAL, *arguments)
    assert (2, "") == (code, out)
    assert says in err
    assert "Traceback" not in err


def test_a_claim_key_that_others_can_read_is_2_with_the_remedy(run, tmp_path):
    key = tmp_path / "claim.key"
    key.write_bytes(bytes(32))
    key.chmod(0o644)
    code, _, err = run(entropyctl.main, "status", "--claim-key", key)
    assert 2 == code
    assert f"run: chmod 600 {key}" in err


def test_the_claim_key_is_made_once_and_gives_the_same_claim_again(run, tmp_path):
    """Without it no deck can be read again; its directory is made too."""
    key = tmp_path / "new" / "claim.key"
    servicer = ScriptedServicer(DEAL)
    with tempfile.TemporaryDirectory(prefix="ed-") as home, serving(servicer, Path(home)) as target:
        for _ in range(2):
            run(entropyctl.main, "shuffle", "t", "h", "-t", target, "--claim-key", key)
    first, second = servicer.requests
    assert derive_claim(key.read_bytes(), "t", "h") == first.claim == second.claim


@pytest.mark.parametrize("program", [programs.entropyctl, programs.entropyd])
def test_who_interrupts_a_program_that_is_still_loading_sees_no_traceback(monkeypatch, program):
    """As a shell calls it: 128 and the number of SIGINT."""

    def interrupted(_name: str) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(programs, "import_module", interrupted)
    with pytest.raises(SystemExit) as ended:
        program()
    assert 128 + signal.SIGINT == ended.value.code
