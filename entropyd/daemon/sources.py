"""From the configuration's `[[source]]` tables to drivers and health machines."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points

from entropyd.config import Config, Source
from entropyd.entropy.entropy_source import EntropySource, HealthHistory, HealthPolicy
from entropyd.entropy.source import DRIVER_ENTRY_POINTS, Driver, NoiseSourceInfo
from entropyd.errors import ConfigError, LedgerDamagedError


@dataclass(frozen=True)
class SourcePlan:
    """One configured source: who it is, what opens it, how it is tested.

    Attributes:
        info: identity and claim.
        driver: opens its device.
        policy: how strict its health tests are.
        required: whether dealing holds without it.
    """

    info: NoiseSourceInfo
    driver: Driver
    policy: HealthPolicy
    required: bool


def plan_sources(config: Config) -> tuple[SourcePlan, ...]:
    """Return what will be read, having asked every driver what it thinks of its options.

    Raises:
        ConfigError: a driver is unknown or refuses its options, or its source
            may not be dealt from in this mode.
    """
    return tuple(_plan(config, source) for source in config.sources)


def make_source(plan: SourcePlan, stored: Mapping[str, str], now_ns: int) -> EntropySource:
    """Return the health machine of a source, with the history that the ledger kept.

    Args:
        plan: the source.
        stored: health states of the ledger, JSON text by source id.
        now_ns: monotonic time.

    Raises:
        LedgerDamagedError: the stored history cannot be read; it may hide a latch.
    """
    text = stored.get(plan.info.source_id)
    if text is None:
        return EntropySource(plan.info, plan.policy)
    try:
        history = HealthHistory.from_json(json.loads(text), now_ns)
    except json.JSONDecodeError as error:
        raise LedgerDamagedError(
            f"stored health history of {plan.info.source_id} is no JSON; restore the ledger"
        ) from error
    return EntropySource(plan.info, plan.policy, history)


def _plan(config: Config, source: Source) -> SourcePlan:
    driver = _load_driver(source)
    config.refuse_unfit(source, driver.kind)
    info = NoiseSourceInfo(
        source_id=source.id,
        driver=driver.name,
        kind=driver.kind,
        sample_bits=driver.sample_bits,
        claimed_millibits=source.claim_millibits,
        claim_note=source.claim_note,
        nominal_rate=driver.nominal_rate,
    )
    policy = HealthPolicy(
        intermittent_alpha_log2=source.alpha_log2.intermittent,
        permanent_alpha_log2=source.alpha_log2.permanent,
        first_assessment_samples=source.first_assessment_samples,
        assessment_window_samples=source.assess_window_samples,
    )
    # Made once only to be checked: the claim must be one that the tests can watch.
    EntropySource(info, policy)
    return SourcePlan(info, driver, policy, source.required)


def _load_driver(source: Source) -> Driver:
    found = entry_points(group=DRIVER_ENTRY_POINTS)
    if source.driver not in found.names:
        raise ConfigError(
            f"source {source.id}: no driver {source.driver!r} is installed; expected one of"
            f" {', '.join(sorted(found.names))}"
        )
    try:
        driver: Driver = found[source.driver].load()(source.options)
    except ConfigError as error:
        raise ConfigError(f"source {source.id}: {error}") from error
    except ImportError as error:
        raise ConfigError(
            f"source {source.id}: driver {source.driver} cannot be loaded ({error}); install"
            " what it needs: pip install 'entropyd[daemon]'"
        ) from error
    return driver
