"""What the log of a ledger says first, and whose it is."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from entropyd import __version__
from entropyd.config import Config, check
from entropyd.daemon.ledger import open_unanchored, reset_source
from entropyd.daemon.log import log_origin, note_reload, open_log
from entropyd.daemon.policy import policy_settings
from entropyd.entropy.policy import GatePolicy
from entropyd.errors import ConfigError
from entropyd.ledger.contract import Event, EventKind
from entropyd.ledger.log_key_files import rotate_key
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.log.events import Event as Entry
from entropyd.log.keys import VerifierKey
from entropyd.log.receipt import Receipt
from entropyd.log.signer import LogSigner
from entropyd.log.trust import TrustedLog
from tests.fakes.entries import logged_draft

CONFIG = """\
[node]
name = "dc1"
state_dir = "{home}"
{node}
[keys]
at_rest = ""
[gate]
{gate}
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
[ledger]
min_free = "1MiB"
"""


def configured(home: Path, *, node: str = "", gate: str = "") -> Config:
    return check(CONFIG.format(home=home, node=node, gate=gate))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    with open_unanchored(configured(tmp_path)) as opened:
        yield opened


def opened(home: Path, ledger: SqliteLedger, **changes: str) -> LogSigner:
    config = configured(home, **changes)
    return open_log(config, ledger, GatePolicy(user_bits=config.gate.user_bits, development=True))


def receipts(ledger: SqliteLedger) -> list[Receipt]:
    return [Receipt.decode(entry.text) for entry in ledger.log_entries(0, 1000)]


def told(ledger: SqliteLedger) -> list[Entry]:
    return [receipt.event for receipt in receipts(ledger)]


FIRST = [Entry.KEY, Entry.KEY, Entry.BUILD, Entry.POLICY]


def test_a_log_begins_with_its_keys_the_build_and_the_policy(tmp_path, ledger):
    signer = opened(tmp_path, ledger)
    assert FIRST == told(ledger)
    assert list(signer.verifier_keys()) == [receipt.key for receipt in receipts(ledger)[:2]]
    assert __version__ == receipts(ledger)[2].version
    assert "hardware=320 user=249 shortfall=cover" == receipts(ledger)[3].policy
    assert {"dc1"} == {receipt.log for receipt in receipts(ledger)}


def test_what_did_not_change_is_not_said_again(tmp_path, ledger):
    first = opened(tmp_path, ledger)
    assert first.verifier_keys() == opened(tmp_path, ledger).verifier_keys()
    assert FIRST == told(ledger)


def test_another_policy_is_said_with_its_settings(tmp_path, ledger):
    opened(tmp_path, ledger)
    opened(tmp_path, ledger, gate="user_bits = 100")
    assert [*FIRST, Entry.POLICY] == told(ledger)
    settings = {setting.name: setting.value for setting in receipts(ledger)[-1].settings}
    assert "100" == settings["gate.user_bits"]
    assert "1m" == settings["gate.max_sample_age"]
    assert "false" == settings["mode.production"]
    opened(tmp_path, ledger)
    assert [*FIRST, Entry.POLICY, Entry.POLICY] == told(ledger)


def test_settings_stand_in_byte_order_and_name_no_key(tmp_path):
    names = [setting.name for setting in policy_settings(configured(tmp_path))]
    assert sorted(names) == names
    assert not [name for name in names if name.startswith(("keys.", "client.", "listener."))]


def test_another_build_is_said(tmp_path, ledger, monkeypatch):
    opened(tmp_path, ledger)
    monkeypatch.setattr("entropyd.daemon.log.__version__", "99.0")
    opened(tmp_path, ledger)
    assert "99.0" == receipts(ledger)[-1].version


def test_a_verifier_follows_both_keys_through_a_change(tmp_path, ledger):
    first = opened(tmp_path, ledger)
    rotate_key(tmp_path / "receipts.key")
    rotate_key(tmp_path / "checkpoints.key")
    signer = opened(tmp_path, ledger)
    assert [*FIRST, Entry.KEY, Entry.KEY] == told(ledger)
    trusted = TrustedLog.given(*first.verifier_keys())
    for entry in ledger.log_entries(0, 1000):
        trusted = trusted.follow(trusted.open_receipt(signer.sign_receipt(entry.text)))
    assert [era.key for era in trusted.checkpoint_keys] == list(signer.verifier_keys()[:2])
    assert [era.key for era in trusted.receipt_keys] == list(signer.verifier_keys()[2:])
    assert signer.verifier_keys() == opened(tmp_path, ledger).verifier_keys()


@pytest.mark.parametrize("spoil", ["lost", "reversed", "other"])
def test_a_key_file_that_lacks_what_was_in_force_is_refused(tmp_path, ledger, spoil):
    path = tmp_path / "receipts.key"
    opened(tmp_path, ledger)
    rotate_key(path)
    opened(tmp_path, ledger)
    content = path.read_bytes()
    old, new = content[:32], content[32:]
    path.write_bytes({"lost": new, "reversed": new + old, "other": b"o" * 32 + new}[spoil])
    size = ledger.log_size()
    with pytest.raises(ConfigError, match=r"keys\.receipts: .* begin with the 2 key"):
        opened(tmp_path, ledger)
    assert size == ledger.log_size()


@pytest.mark.parametrize("name", ["receipts.key", "checkpoints.key"])
def test_no_key_is_made_in_place_of_one_that_is_lost(tmp_path, ledger, name):
    """It would look like the lost one, to whoever copies keys, and is none."""
    opened(tmp_path, ledger)
    kept = (tmp_path / name).rename(tmp_path / "kept")
    with pytest.raises(ConfigError, match=f"{name}: is not there, .*restore the file"):
        opened(tmp_path, ledger)
    assert not (tmp_path / name).exists()
    kept.rename(tmp_path / name)
    opened(tmp_path, ledger)
    assert FIRST == told(ledger)


def test_a_log_keeps_its_name(tmp_path, ledger):
    opened(tmp_path, ledger)
    with pytest.raises(ConfigError, match=r'node\.origin: .*set origin = "dc1"'):
        opened(tmp_path, ledger, node='origin = "poker.example"')


def test_an_adopted_ledger_goes_on_under_another_name_and_says_after_which(tmp_path, ledger):
    first = opened(tmp_path, ledger)
    adopted = Event(EventKind.LEDGER_ADOPTED, "dc1", json.dumps({"reason": "lost"}), 0)
    ledger.adopt("9c" * 16, adopted)
    assert "dc1/9c9c9c9c" == log_origin(configured(tmp_path), ledger)
    signer = opened(tmp_path, ledger)
    assert "dc1/9c9c9c9c" == signer.origin
    assert FIRST * 2 == told(ledger)
    assert "goes on after dc1" in str(receipts(ledger)[4].reason)
    before = TrustedLog.given(*first.verifier_keys())
    assert before.open_receipt(signer.sign_receipt(ledger.log_entries(0, 1)[0].text)).index == 0
    after = TrustedLog.given(*signer.verifier_keys())
    assert after.open_receipt(signer.sign_receipt(ledger.log_entries(4, 1)[0].text)).index == 4
    assert FIRST * 2 == told(ledger)


def test_a_table_has_its_entry_with_the_policy_in_force(tmp_path, ledger):
    opened(tmp_path, ledger)
    ledger.commit([logged_draft("1")])
    receipt = Receipt.decode(ledger.log_entries(len(FIRST), 1)[0].text)
    assert (Entry.TABLE, "room", "table-1") == (receipt.event, receipt.tenant, receipt.table)
    assert "hardware=320 user=249 shortfall=cover" == receipt.policy
    assert 0 == receipt.hands_before


def test_after_an_adoption_a_table_begins_again_and_says_how_many_hands_it_had(tmp_path, ledger):
    opened(tmp_path, ledger)
    ledger.commit([logged_draft("1"), logged_draft("2")])
    ledger.adopt("9c" * 16, Event(EventKind.LEDGER_ADOPTED, "dc1", "{}", 0))
    opened(tmp_path, ledger)
    size = ledger.log_size()
    ledger.commit([logged_draft("3")])
    receipt = Receipt.decode(ledger.log_entries(size, 1)[0].text)
    assert ("dc1/9c9c9c9c", Entry.TABLE, 2) == (receipt.log, receipt.event, receipt.hands_before)


def test_no_event_of_the_log_holds_a_private_key(tmp_path, ledger):
    opened(tmp_path, ledger)
    secret = (tmp_path / "receipts.key").read_bytes()
    [first, _] = ledger.events(EventKind.LOG_KEY)
    assert secret.hex() not in first.detail
    assert VerifierKey.decode(json.loads(first.detail)["key"]).name == "dc1"


def test_a_reset_of_a_source_is_said_with_its_reason(tmp_path):
    config = configured(tmp_path)
    reset_source(config, "a", "before there was a log")
    with open_unanchored(config) as ledger:
        assert 0 == ledger.log_size()
        opened(tmp_path, ledger)
    reset_source(config, "a", "cable replaced")
    with open_unanchored(config) as ledger:
        last = receipts(ledger)[-1]
        assert [*FIRST, Entry.HEALTH] == told(ledger)
        assert "health-reset cable replaced (was not latched)" == last.reason
        assert ["mock"] == [line.driver for line in last.sources]
        opened(tmp_path, ledger)
        assert [*FIRST, Entry.HEALTH] == told(ledger)


def test_a_reload_that_changes_the_policy_is_said_and_tables_say_it_too(tmp_path, ledger):
    signer = opened(tmp_path, ledger)
    policy, changed = GatePolicy(), configured(tmp_path, node="[hands]\nper_table_open = 7")
    event = note_reload(changed, ledger, signer.origin, policy)
    assert event is not None
    ledger.commit([logged_draft("1")], [event])
    table, _hand, changes = ledger.log_entries(len(FIRST), 3)
    said = [Receipt.decode(entry.text) for entry in (table, changes)]
    assert [Entry.TABLE, Entry.POLICY] == [receipt.event for receipt in said]
    for receipt in said:
        settings = {setting.name: setting.value for setting in receipt.settings}
        assert "7" == settings["hands.per_table_open"]
    assert note_reload(changed, ledger, signer.origin, policy) is None
