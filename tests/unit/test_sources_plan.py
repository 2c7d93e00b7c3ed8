"""From `[[source]]` tables to drivers and health machines, or to a text with the remedy."""

import json
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from entropyd.config import Config, check
from entropyd.daemon import plan_sources, sources
from entropyd.daemon.sources import make_source
from entropyd.entropy.entropy_source import LatchReason, SourceState
from entropyd.entropy.health import Failure, HealthTest, Verdict
from entropyd.entropy.health_history import HealthHistory
from entropyd.entropy.source import SourceKind
from entropyd.errors import ConfigError, LedgerDamagedError


def config(*tables: str, production: bool = False) -> Config:
    parts = ['[node]\nname = "n"', f"[mode]\nproduction = {str(production).lower()}"]
    parts += [f"[[source]]\n{table}" for table in tables]
    parts += ['[[listener]]\naddress = "unix:/run/x.sock"\ntenant = "a"\nroles = ["deal_all"]']
    return check("\n".join(parts))


def refusal(*tables: str, production: bool = False) -> str:
    with pytest.raises(ConfigError) as caught:
        plan_sources(config(*tables, production=production))
    return str(caught.value)


MOCK = 'id = "m"\ndriver = "mock"\nclaim_bits_per_sample = 4.0\nclaim_note = "made up"'
QUANTIS = 'id = "q"\ndriver = "quantis-usb"'


# --- what is planned ------------------------------------------------------------------


def test_a_plan_has_identity_claim_driver_and_strictness():
    [plan] = plan_sources(
        config(
            MOCK + "\nrequired = false\nfirst_assessment_samples = 2048\n"
            "assess_window_samples = 4096\nalpha_log2 = { intermittent = -30, permanent = -50 }\n"
            'options = { seed = "00ff" }'
        )
    )
    assert ("m", "mock", SourceKind.MOCK, 8, 4000, "made up", False) == (
        plan.info.source_id,
        plan.info.driver,
        plan.info.kind,
        plan.info.sample_bits,
        plan.info.claimed_millibits,
        plan.info.claim_note,
        plan.required,
    )
    assert (-30, -50, 2048, 4096) == (
        plan.policy.intermittent_alpha_log2,
        plan.policy.permanent_alpha_log2,
        plan.policy.first_assessment_samples,
        plan.policy.assessment_window_samples,
    )
    assert "mock" == plan.driver.name


def test_plans_come_in_the_order_of_the_file():
    plans = plan_sources(config(QUANTIS, MOCK))
    assert ["q", "m"] == [plan.info.source_id for plan in plans]


def test_planning_opens_no_device():
    """`check-config` runs on a machine without one: a Quantis that is not there is planned."""
    [plan] = plan_sources(config(QUANTIS, production=True))
    assert (SourceKind.HARDWARE, 6000) == (plan.info.kind, plan.info.claimed_millibits)


# --- what is refused ------------------------------------------------------------------


def test_an_unknown_driver_is_told_with_those_that_are_there():
    text = refusal('id = "x"\ndriver = "lava-lamp"\nclaim_bits_per_sample = 1.0\nclaim_note = "n"')
    assert "source x: no driver 'lava-lamp' is installed" in text
    for name in ("mock", "quantis-usb", "serial"):
        assert name in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("{ colour = 1 }", ("source m: ", "colour")),
        ('{ rate = "fast" }', ("source m: ", "rate")),
        ("{ block_bytes = 0 }", ("source m: ", "block_bytes")),
    ],
)
def test_an_option_that_a_driver_refuses_is_told_with_the_source(options, words):
    text = refusal(f"{MOCK}\noptions = {options}")
    for word in words:
        assert word in text


@pytest.mark.parametrize("driver", ["mock", "quantis-emulator"])
def test_a_simulated_source_is_refused_in_production_by_whatever_name(driver, monkeypatch):
    """The schema knows drivers by name; the driver itself says what it is, and that decides."""
    hidden = EntryPoint("lottery", f"entropyd_drivers.{driver.replace('-', '_')}:create", "x")
    monkeypatch.setattr(sources, "entry_points", lambda group: EntryPoints([hidden]))
    table = 'id = "l"\ndriver = "lottery"\nclaim_bits_per_sample = 6.0\nclaim_note = "n"'
    assert "l: lottery is a mock source" in refusal(table, production=True)


def test_a_driver_that_cannot_be_imported_says_what_to_install(monkeypatch):
    missing = EntryPoint("lamp", "no_such_package.lamp:create", "x")
    monkeypatch.setattr(sources, "entry_points", lambda group: EntryPoints([missing]))
    text = refusal('id = "l"\ndriver = "lamp"\nclaim_bits_per_sample = 6.0\nclaim_note = "n"')
    assert "driver lamp cannot be loaded" in text
    assert "no_such_package" in text
    assert "pip install 'entropyd[daemon]'" in text


def test_the_operating_system_is_no_hardware(monkeypatch):
    """A driver that says that it reads the system's generator gets no credit in any mode."""
    system = EntryPoint("urandom", "tests.fakes.devices:create_system_driver", "x")
    monkeypatch.setattr(sources, "entry_points", lambda group: EntryPoints([system]))
    table = 'id = "u"\ndriver = "urandom"\nclaim_bits_per_sample = 6.0\nclaim_note = "n"'
    for production in (True, False):
        assert "operating system's generator" in refusal(table, production=production)


def test_a_claim_that_no_test_can_watch_is_refused():
    """Too small for a cutoff that could still fail: the plan is made once only to find out."""
    table = MOCK.replace("4.0", "0.001")
    assert "claim" in refusal(table)


# --- what the ledger kept -------------------------------------------------------------


def test_a_source_starts_with_the_history_that_was_kept():
    """A restart does not wash a latch."""
    [plan] = plan_sources(config(MOCK))
    failure = Failure(HealthTest.REPETITION_COUNT, Verdict.PERMANENT, 11, 7)
    history = HealthHistory().with_alarm(failure)
    source = make_source(plan, {"m": json.dumps(history.to_json()), "other": "{}"}, 5)
    assert SourceState.FAILED == source.state
    assert LatchReason.PERMANENT_FAILURE == source.history.latch
    assert plan.policy == source.policy


def test_a_source_that_was_never_seen_starts_without():
    [plan] = plan_sources(config(MOCK))
    assert HealthHistory() == make_source(plan, {}, 5).history


@pytest.mark.parametrize("stored", ["", "{", "[]", "null", "{}", '{"version": 2}'])
def test_a_history_that_cannot_be_read_is_a_damaged_ledger(stored):
    """It may hide a latch, so the daemon does not start on it."""
    [plan] = plan_sources(config(MOCK))
    with pytest.raises(LedgerDamagedError, match="restore the ledger"):
        make_source(plan, {"m": stored}, 5)
