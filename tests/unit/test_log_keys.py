"""The files of a log's keys, and where the configuration says that they are."""

import stat
from pathlib import Path

import pytest

from entropyd.config import Config, check
from entropyd.daemon.keys import LogKeys, load_log_keys
from entropyd.errors import ConfigError
from entropyd.ledger.log_key_files import MAX_KEYS, generate_keys, read_seeds, rotate_key

SOURCE = """\
[[source]]
id = "a"
driver = "mock"
claim_bits_per_sample = 1
claim_note = "none"
first_assessment_samples = 1024

[[listener]]
address = "unix:sock"
tenant = "acme"
roles = ["deal_all"]

[mode]
production = false
"""


def configured(home: Path, keys: str, node: str = "") -> Config:
    return check(f'[node]\nname = "dc1"\nstate_dir = "{home}"\n{node}\n[keys]\n{keys}\n{SOURCE}')


def public(keys: LogKeys) -> list[bytes]:
    return [signing.key.public_key for signing in (*keys.checkpoints, *keys.receipts)]


def test_in_development_both_keys_are_made_once_beside_the_one_at_rest(tmp_path):
    config = configured(tmp_path, 'at_rest = ""')
    made = public(load_log_keys(config, "dc1"))
    assert 2 == len(set(made))
    assert made == public(load_log_keys(config, "dc1"))
    assert {"receipts.key", "checkpoints.key"} == {path.name for path in tmp_path.iterdir()}
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}


def test_the_two_keys_have_the_names_of_their_log(tmp_path):
    keys = load_log_keys(configured(tmp_path, 'at_rest = ""'), "dc1/9c")
    assert ["dc1/9c"] == [signing.key.name for signing in keys.checkpoints]
    assert ["dc1/9c/receipts"] == [signing.key.name for signing in keys.receipts]


def test_no_text_of_the_keys_shows_one(tmp_path):
    keys = load_log_keys(configured(tmp_path, 'at_rest = ""'), "dc1")
    assert "LogKeys(origin='dc1')" == repr(keys)


def test_a_missing_credential_is_refused_with_the_remedy(tmp_path, monkeypatch):
    config = configured(tmp_path, 'at_rest = ""\nreceipts = "credential:receipts.key"')
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    with pytest.raises(ConfigError, match=r"keys\.receipts: .*LoadCredential=receipts\.key:FILE"):
        load_log_keys(config, "dc1")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    with pytest.raises(ConfigError, match=r"receipts\.key: No such file"):
        load_log_keys(config, "dc1")


def test_one_key_for_both_purposes_is_refused(tmp_path):
    """By its bytes; by its place the configuration is refused before."""
    (first, second) = generate_keys(tmp_path)
    second.write_bytes(first.read_bytes())
    with pytest.raises(ConfigError, match="the same key"):
        load_log_keys(configured(tmp_path, 'at_rest = ""'), "dc1")
    with pytest.raises(ConfigError, match="two keys are said to be in one file"):
        configured(tmp_path, 'at_rest = ""\nreceipts = "k"\ncheckpoints = "k"')


def test_a_new_log_gets_two_files_and_an_old_one_keeps_its_own(tmp_path):
    made = [path.read_bytes() for path in generate_keys(tmp_path)]
    assert [32, 32] == [len(seed) for seed in made]
    assert 2 == len(set(made))
    (tmp_path / "receipts.key").unlink()
    with pytest.raises(ConfigError, match=r"checkpoints\.key: is there already.*rotate"):
        generate_keys(tmp_path)
    assert not (tmp_path / "receipts.key").exists()


def test_a_key_that_follows_stands_behind_the_one_that_it_follows(tmp_path):
    path, _ = generate_keys(tmp_path)
    before = read_seeds(path)
    assert 2 == rotate_key(path)
    assert before == read_seeds(path)[:1]
    assert 2 == len(set(read_seeds(path)))
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("content", [b"", b"k" * 31, b"k" * 33, b"k" * 64, b"k" * 32 * MAX_KEYS])
def test_what_is_no_file_of_keys_is_refused(tmp_path, content):
    """Empty, cut off, or one key twice: nothing that a key file becomes by itself."""
    path = tmp_path / "receipts.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="restore"):
        read_seeds(path)
    with pytest.raises(ConfigError, match="restore"):
        rotate_key(path)
    assert content == path.read_bytes()


def test_a_full_file_takes_no_further_key(tmp_path):
    path = tmp_path / "receipts.key"
    path.write_bytes(b"".join(number.to_bytes(32, "big") for number in range(MAX_KEYS)))
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="begin a new log"):
        rotate_key(path)


def test_a_file_that_others_may_read_is_refused(tmp_path):
    path, _ = generate_keys(tmp_path)
    path.chmod(0o640)
    with pytest.raises(ConfigError, match=r"log key .* mode 0640"):
        read_seeds(path)


def test_the_log_is_called_as_the_node_unless_told_otherwise(tmp_path):
    assert "dc1" == configured(tmp_path, 'at_rest = ""').node.log
    named = configured(tmp_path, 'at_rest = ""', 'origin = "poker.example/dc1"')
    assert "poker.example/dc1" == named.node.log
    with pytest.raises(ConfigError, match=r'without "\+"'):
        configured(tmp_path, 'at_rest = ""', 'origin = "a+b"')
    with pytest.raises(ConfigError, match="at most 100"):
        configured(tmp_path, 'at_rest = ""', f'origin = "{"o" * 101}"')
