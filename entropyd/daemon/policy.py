"""What is in force, as receipts say it: settings that say what a draw costs and how it is made."""

from collections.abc import Mapping

from entropyd import units
from entropyd.config import Config
from entropyd.log.source_line import Setting

# The others change no result: they say how long a call waits, and how many may.
_GATE_SETTINGS = (
    "hardware_bits",
    "max_sample_age_ns",
    "min_hardware_sources",
    "user_bits",
    "user_shortfall",
)


def policy_settings(config: Config) -> tuple[Setting, ...]:
    """Return the settings that are part of the policy, in byte order of their names."""
    gate = config.gate.model_dump(include=set(_GATE_SETTINGS))
    settings = [
        *_settings("gate", gate),
        *_settings("draws", config.draws.model_dump()),
        *_settings("mode", config.mode.model_dump()),
        *hand_settings(config),
    ]
    return tuple(sorted(settings, key=lambda setting: setting.name))


def hand_settings(config: Config) -> tuple[Setting, ...]:
    """Return the settings of `[hands]`, in byte order of their names."""
    settings = _settings("hands", config.model_dump().get("hands", {}))
    return tuple(sorted(settings, key=lambda setting: setting.name))


def _settings(table: str, values: Mapping[str, object]) -> list[Setting]:
    """Return the settings of a table as a person would write them."""
    settings = []
    for attribute, value in values.items():
        name = attribute.removesuffix("_ns")
        if isinstance(value, int) and name != attribute:
            shown = units.duration_text(value)
        else:
            shown = str(value).lower() if isinstance(value, bool) else str(value)
        settings.append(Setting(f"{table}.{name}", shown))
    return settings
