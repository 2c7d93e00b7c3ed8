"""The gate's values: what it is told about sources, and what it answers."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from entropyd.entropy.credited import SourceSamples
from entropyd.entropy.source import NoiseSourceInfo
from entropyd.entropy.source_state import SourceState

# All users of a seed are one entry of its provenance; none is named.
USERS_SOURCE_ID = "users"
USER_KIND = "user"


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """How a source stands, as its reader last reported it.

    Attributes:
        info: who it is and what is claimed for it.
        serial: serial number of the device; empty before it was first opened.
        state: where it stands.
        current_millibits: credit of one sample now; 0 if it has none.
        required: True: dealing holds without it.
        detail: what the last fault was, for people; empty if there was none.
    """

    info: NoiseSourceInfo
    serial: str
    state: SourceState
    current_millibits: int
    required: bool
    detail: str = ""


class SourceUse(NamedTuple):
    """What one source gave to one seed in one class. No secret.

    Attributes:
        entropy_class: `hardware`, `cover` or `user`.
        source_id: name in the configuration; `users` for the users.
        kind: what stands behind it; `user` for the users.
        driver: driver that read it; empty for the users.
        serial: the device's serial number; empty for the users.
        samples: how many, one byte each.
        credited_millibits: what they counted for.
        oldest_age_ns: age of the oldest when the seed was released.
        health: state of the source then; None for the users.
        users: how many users; 0 for a noise source.
    """

    entropy_class: str
    source_id: str
    kind: str
    driver: str
    serial: str
    samples: int
    credited_millibits: int
    oldest_age_ns: int
    health: SourceState | None
    users: int = 0

    def plus(self, other: "SourceUse") -> "SourceUse":
        """Return both as one, of the age of the older; the source is the same."""
        return self._replace(
            samples=self.samples + other.samples,
            credited_millibits=self.credited_millibits + other.credited_millibits,
            oldest_age_ns=max(self.oldest_age_ns, other.oldest_age_ns),
        )


@dataclass(frozen=True, slots=True)
class GatedSeed:
    """The samples of one seed, released by the gate and spent. Secret but for `uses`.

    Attributes:
        hardware: samples whose credit opened the gate, each source once.
        cover: hardware samples that stand in for missing user bits.
        user: user data, each user once.
        uses: where they came from.
    """

    hardware: tuple[SourceSamples, ...] = field(repr=False)
    cover: tuple[SourceSamples, ...] = field(repr=False)
    user: tuple[SourceSamples, ...] = field(repr=False)
    uses: tuple[SourceUse, ...]


@dataclass(frozen=True, slots=True)
class GatedBatch:
    """The samples of hands that share a reseed, released by the gate and spent.

    Attributes:
        shared: of the reseed, users' data among them.
        hands: each hand's own, in order. None has users' data.
    """

    shared: GatedSeed
    hands: tuple[GatedSeed, ...]


@dataclass(frozen=True, slots=True)
class Stirred:
    """Samples that left undealt and are to be stirred into the DRBG. Secret.

    Attributes:
        hardware: samples by source, each source once.
        user: user data, each user of each tenant once, as "tenant user".
    """

    hardware: tuple[SourceSamples, ...] = field(repr=False)
    user: tuple[SourceSamples, ...] = field(repr=False)

    def __bool__(self) -> bool:
        """Whether there is anything to stir."""
        return bool(self.hardware or self.user)


class HoldReason(StrEnum):
    """Why dealing is held, gravest first; stable, for metrics and clients.

    The last is not the gate's to give: nothing is drawn that cannot be recorded.
    """

    SOURCE_FAILED = "SOURCE_FAILED"
    SOURCE_NOT_ALLOWED = "SOURCE_NOT_ALLOWED"
    SOURCE_LOST = "SOURCE_LOST"
    SOURCE_STARTUP = "SOURCE_STARTUP"
    SOURCE_ASSESSING = "SOURCE_ASSESSING"
    NOT_INSTANTIATED = "NOT_INSTANTIATED"
    HARDWARE_SHORT = "HARDWARE_SHORT"
    USER_SHORT = "USER_SHORT"
    LEDGER_UNAVAILABLE = "LEDGER_UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class Hold:
    """The gate is shut; nothing was spent.

    Attributes:
        why: the reason.
        needed_millibits: credit that must have gathered.
        available_millibits: credit that has.
        text: what is awaited, naming the source, for people.
    """

    why: HoldReason
    needed_millibits: int
    available_millibits: int
    text: str
