"""The gate's policy: how much entropy a seed costs, and what happens when users are short of it."""

from dataclasses import dataclass, field
from enum import StrEnum

from entropyd.entropy.source import MILLIBITS_PER_BIT
from entropyd.entropy.user import UserLimits
from entropyd.errors import ConfigError

# Security strength 256 plus the 64-bit margin of SP 800-90C; above 249.
HARDWARE_BITS = 320
# The most that one segment's masked draw takes without a rejection: the sum of
# ceil(log2 k) for k = 2..52.
USER_BITS = 249
# Strength 256, half of it again for the nonce, and the same margin of 64.
INSTANTIATE_BITS = 448

# A shoe of eight decks takes 13 seeds of 569 bits: this many bytes hold them
# at a claim of a sixteenth of a bit a sample. A smaller reservoir could hold for ever.
MIN_RESERVOIR_BYTES = 1 << 17
# Over 40,000 seeds' worth at 6 bits a byte, 8 seconds of a Quantis USB.
DEFAULT_RESERVOIR_BYTES = 1 << 22


class UserShortfall(StrEnum):
    """What a seed does when its users count for less than they should.

    Attributes:
        COVER: takes further hardware samples worth the missing bits.
        WAIT: holds for the users.
        IGNORE: asks for none, and mixes what is there.
    """

    COVER = "cover"
    WAIT = "wait"
    IGNORE = "ignore"


@dataclass(frozen=True)
class GatePolicy:
    """What the gate asks of every seed.

    Attributes:
        hardware_bits: credited bits of class hardware, for every seed.
        min_hardware_sources: from how many sources each seed takes `hardware_bits`, and
            the instantiation its own; from each the whole amount. So all but one may
            be worth nothing, undetected, and the seed still holds what it must.
        user_bits: bits that its users should count for.
        user_shortfall: what happens if they do not.
        instantiate_bits: credited hardware bits that instantiate the DRBG.
        max_sample_age_ns: age from which a sample is not dealt from.
        reservoir_bytes: samples that wait at most, one byte each.
        allow_simulated: emulators and recordings count as hardware does.
        development: allows bits below the floors.
        user_limits: what users may occupy.

    Raises:
        ConfigError: a number is below its floor.
    """

    hardware_bits: int = HARDWARE_BITS
    min_hardware_sources: int = 1
    user_bits: int = USER_BITS
    user_shortfall: UserShortfall = UserShortfall.COVER
    instantiate_bits: int = INSTANTIATE_BITS
    max_sample_age_ns: int = 60 * 10**9
    reservoir_bytes: int = DEFAULT_RESERVOIR_BYTES
    allow_simulated: bool = False
    development: bool = False
    user_limits: UserLimits = field(default_factory=UserLimits)

    def __post_init__(self) -> None:
        for name, floor in (
            ("hardware_bits", HARDWARE_BITS),
            ("user_bits", USER_BITS),
            ("instantiate_bits", INSTANTIATE_BITS),
        ):
            least = 1 if self.development else floor
            if getattr(self, name) < least:
                raise ConfigError(
                    f"gate.{name} is {getattr(self, name)}; expected at least {least}"
                    f" (below {floor} only in development)"
                )
        if self.min_hardware_sources < 1:
            raise ConfigError(
                f"gate.min_hardware_sources is {self.min_hardware_sources}; expected at least 1"
            )
        if self.reservoir_bytes < MIN_RESERVOIR_BYTES or self.max_sample_age_ns <= 0:
            raise ConfigError(
                f"gate.reservoir_bytes is {self.reservoir_bytes} and gate.max_sample_age"
                f" {self.max_sample_age_ns} ns; expected at least {MIN_RESERVOIR_BYTES} and above 0"
            )

    @property
    def hardware_millibits(self) -> int:
        """What class hardware must be credited with, for one seed, from each source."""
        return self.hardware_bits * MILLIBITS_PER_BIT

    @property
    def user_millibits(self) -> int:
        """What class user should count for, in one seed."""
        return self.user_bits * MILLIBITS_PER_BIT

    @property
    def instantiate_millibits(self) -> int:
        """What class hardware must be credited with to instantiate, from each source."""
        return self.instantiate_bits * MILLIBITS_PER_BIT

    @property
    def seed_millibits(self) -> int:
        """The most hardware credit that one seed costs: with no user data at all."""
        cover = self.user_millibits if self.user_shortfall is UserShortfall.COVER else 0
        return self.min_hardware_sources * self.hardware_millibits + cover

    def describe(self) -> str:
        """Return the policy in one line, for receipts and status."""
        several = self.min_hardware_sources
        return (
            f"hardware={self.hardware_bits}{f' from each of {several}' if several > 1 else ''}"
            f" user={self.user_bits} shortfall={self.user_shortfall}"
        )
