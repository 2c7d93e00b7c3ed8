"""docs/switches.md is made from the schema, judges every key, and is right about development."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from entropyd.config import check
from entropyd.errors import ConfigError
from tests.unit.test_config import toml

ROOT = Path(__file__).parents[2]
MAKER = ROOT / "docs" / "make_switches.py"

LISTENER = 'tenant = "acme"\nroles = ["deal_all"]\naddress = '
SOURCE = 'id = "q"\ndriver = '
TLS = {"cert": "/c.pem", "key": "/c.key", "client_ca": "/ca.pem"}


def tls_with(relative):
    """A listener whose file `relative` is named by a relative path."""
    files = {name: path.strip("/") if name == relative else path for name, path in TLS.items()}
    table = ", ".join(f'{name} = "{path}"' for name, path in files.items())
    return f'address = "127.0.0.1:7443"\ntls = {{ {table} }}'


# Key -> tables that use what DEVELOPMENT_ONLY says of it, one entry for each thing that it says.
DEVELOPMENT = {
    "node.state_dir": [{"node": 'name = "n"\nstate_dir = "here"'}],
    "source.driver": [
        {"source": f'{SOURCE}"{driver}"\nclaim_bits_per_sample = 1\nclaim_note = "none"'}
        for driver in ("mock", "quantis-emulator", "replay")
    ],
    "source.first_assessment_samples": [
        {"source": f'{SOURCE}"quantis-usb"\nfirst_assessment_samples = {samples}'}
        for samples in (1024, 65_535)
    ],
    "gate.user_bits": [{"gate": f"user_bits = {bits}"} for bits in (1, 248)],
    "listener.address": [
        {"listener": f'{LISTENER}"{address}"'} for address in ("unix:here", "[::1]:0")
    ],
    **{f"listener.tls.{name}": [{"listener": tls_with(name)}] for name in TLS},
    "http.address": [{"http": 'address = "127.0.0.1:0"'}],
    "ledger.anchor": [{"ledger": 'anchor = "here"'}],
    "keys.at_rest": [{"keys": 'at_rest = ""'}, {"keys": 'at_rest = "here"'}],
    "keys.receipts": [{"keys": 'receipts = ""'}, {"keys": 'receipts = "here"'}],
    "keys.checkpoints": [{"keys": 'checkpoints = ""'}, {"keys": 'checkpoints = "here"'}],
}


@pytest.fixture
def maker():
    """The names of the program that makes the document."""
    return runpy.run_path(str(MAKER))


def test_the_document_is_current():
    """Every key was judged, and the tables are those of the schema and the drivers."""
    done = subprocess.run(
        [sys.executable, str(MAKER), "--check"], capture_output=True, text=True, check=False
    )
    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize("table", ["OUTCOME", "OPTIONS"])
def test_a_key_that_nobody_judged_ends_the_program(maker, table):
    """And so does a judgement of a key that is not there."""
    make = maker["keys_text" if table == "OUTCOME" else "options_text"]
    judged = make.__globals__[table]
    key, verdict = next(iter(judged.items()))
    make.__globals__[table] = {**judged, "gate.seed": verdict}
    with pytest.raises(SystemExit, match=r"judged and not there: \['gate.seed'\]"):
        make()
    make.__globals__[table] = {name: text for name, text in judged.items() if name != key}
    with pytest.raises(SystemExit, match=f"not judged: \\['{key}'\\]"):
        make()


def test_a_judgement_says_yes_or_no(maker):
    assert "**yes**: because" == maker["verdict"]("yes: because")
    with pytest.raises(SystemExit, match="begins with neither yes nor no"):
        maker["verdict"]("perhaps: it depends")


def test_the_column_of_development_is_true(maker):
    """Each of those values is taken with production = false, and refused without, at its key."""
    assert set(maker["DEVELOPMENT_ONLY"]) == set(DEVELOPMENT)
    for key, cases in DEVELOPMENT.items():
        table, _, name = key.partition(".")
        for tables in cases:
            check(toml(production=False, **tables))
            with pytest.raises(ConfigError, match=rf"{table}(\[0\])?\.{name}: "):
                check(toml(**tables))
