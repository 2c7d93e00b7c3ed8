"""`[[source]]`: which noise sources are read, what is claimed for them, how they are tested."""

import re
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationInfo,
    field_validator,
    model_validator,
)

from entropyd import units
from entropyd.config.values import Id, Table, in_production

# Small windows under-assess ideal data: 1,024 ideal bytes assess at 5.4 bits.
FIRST_ASSESSMENT_SAMPLES = 65_536
MIN_ASSESSMENT_SAMPLES = 1_024

# No certified figure was found for the USB output of a Quantis, which is processed on the device.
QUANTIS_CLAIM = Decimal("6.0")
DEFAULT_CLAIMS = {"quantis-usb": QUANTIS_CLAIM, "quantis-emulator": QUANTIS_CLAIM}
DEFAULT_CLAIM_NOTE = "default of entropyd for this driver; no certified figure was found"

SIMULATED_DRIVERS = frozenset({"mock", "quantis-emulator", "replay"})

_DRIVER_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)

Options = Annotated[
    Mapping[str, object],
    AfterValidator(MappingProxyType),
    PlainSerializer(dict, when_used="always"),
]


class AlphaLog2(Table):
    """`alpha_log2`: false alarms a sample that the health tests may give, as powers of two."""

    intermittent: int = Field(
        default=-40,
        ge=-60,
        le=-20,
        description="a whole number from -60 to -20: log2 of the chance that one good sample"
        " costs its window",
    )
    permanent: int = Field(
        default=-60,
        ge=-80,
        le=-21,
        description="a whole number from -80 to -21, below intermittent: log2 of the chance that"
        " one good sample latches the source off",
    )

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if self.permanent >= self.intermittent:
            raise ValueError(
                f"permanent is {self.permanent} and intermittent {self.intermittent};"
                " expected permanent below intermittent: a latch must be the rarer event"
            )
        return self


class Source(Table):
    """`[[source]]`: one noise source. At least one; each is read by a thread of its own."""

    id: Id = Field(description="the name of the source in receipts and metrics, unique, an id")
    driver: str = Field(
        description="the name of an installed driver, such as quantis-usb, serial or mock"
    )
    claim_millibits: Annotated[int, BeforeValidator(units.parse_millibits)] = Field(
        alias="claim_bits_per_sample",
        description="the min-entropy that you claim for one sample, such as 6.0. No driver"
        " defaults to 8; only a Quantis has a default, 6.0",
    )
    claim_note: str = Field(
        default=DEFAULT_CLAIM_NOTE,
        min_length=1,
        max_length=1024,
        description="where the claim comes from, for auditors, 1 to 1024 characters",
    )
    required: bool = Field(
        default=True, description="true or false: whether dealing holds while this source is lost"
    )
    alpha_log2: AlphaLog2 = Field(
        default=AlphaLog2(), description="a table { intermittent = -40, permanent = -60 }"
    )
    first_assessment_samples: int = Field(
        default=FIRST_ASSESSMENT_SAMPLES,
        ge=MIN_ASSESSMENT_SAMPLES,
        le=1_000_000,
        description="a whole number from 1024 (65536 in production) to 1000000: samples before"
        " the first credit",
    )
    assess_window_samples: int = Field(
        default=1_000_000,
        ge=MIN_ASSESSMENT_SAMPLES,
        le=10_000_000,
        description="a whole number from first_assessment_samples to 10000000: samples that the"
        " running assessment looks back on",
    )
    options: Options = Field(
        default_factory=lambda: MappingProxyType({}),
        description="a table of the driver's own settings, such as"
        ' { serial = "132245A410" } (docs of the driver)',
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_claim(cls, raw: object) -> object:
        if not isinstance(raw, dict) or "claim_bits_per_sample" in raw:
            return raw
        driver = raw.get("driver")
        if not isinstance(driver, str) or driver not in DEFAULT_CLAIMS:
            return raw
        return {**raw, "claim_bits_per_sample": DEFAULT_CLAIMS[driver]}

    @field_validator("driver")
    @classmethod
    def _is_fit(cls, driver: str, info: ValidationInfo) -> str:
        if _DRIVER_NAME.fullmatch(driver) is None:
            raise ValueError(f'is "{driver}"; expected a driver name such as quantis-usb')
        if in_production(info) and driver in SIMULATED_DRIVERS:
            raise ValueError(
                f"is {driver}, which is not a noise source; use a hardware driver, or set"
                " production = false in [mode] and play for nothing"
            )
        return driver

    @field_validator("first_assessment_samples")
    @classmethod
    def _is_enough(cls, samples: int, info: ValidationInfo) -> int:
        if in_production(info) and samples < FIRST_ASSESSMENT_SAMPLES:
            raise ValueError(
                f"is {samples}; expected at least {FIRST_ASSESSMENT_SAMPLES} in production:"
                " fewer samples assess good data too low"
            )
        return samples

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.assess_window_samples < self.first_assessment_samples:
            raise ValueError(
                f"assess_window_samples is {self.assess_window_samples}; expected at least"
                f" first_assessment_samples, {self.first_assessment_samples}"
            )
        default = DEFAULT_CLAIMS.get(self.driver)
        if self.claim_note == DEFAULT_CLAIM_NOTE and (
            default is None or units.parse_millibits(default) != self.claim_millibits
        ):
            raise ValueError(
                "claim_note is missing; expected where claim_bits_per_sample comes from"
                " (data sheet, assessment), since auditors read it"
            )
        return self
