"""Every key of the configuration file but those of arrays of tables, its range and its default.

`[[source]]` is in `entropyd.config.sources`, `[[listener]]` and `[[client]]` in `.access`.

The models are frozen and strict: nothing is coerced, nothing unknown is
accepted, and nothing is accepted that the daemon would then ignore. Attribute
names carry the unit of what they hold (`max_hold_ns`), keys of the file do not
(`max_hold = "5s"`). The description of a field is what error texts quote after
"expected".

There is no key that chooses a deck, a seed or a position, and none may be added.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from entropyd import units
from entropyd.config.endpoints import TcpEndpoint, parse_local_tcp
from entropyd.config.values import (
    Id,
    Table,
    check_place,
    in_production,
    parse_id,
    parse_path,
    place_path,
    refuse_twice,
)

# Strength 256 and the 64-bit margin of SP 800-90C; SHA-512 conditioning carries 512.
MIN_HARDWARE_BITS = 320
MAX_SEED_BITS = 512
# More devices than one machine has ports for.
MAX_HARDWARE_SOURCES = 16
# An id has 128 characters, and the log of an adopted ledger ten more than its origin.
MAX_ORIGIN = 100
# A bit-masked pass over 52 cards takes 249 bits: one seed is worth one of them.
FULL_USER_BITS = 249


def _parse_local_tcp(value: object, info: ValidationInfo) -> TcpEndpoint:
    return parse_local_tcp(value, production=in_production(info))


class Node(Table):
    """`[node]`: who this daemon is, and where it keeps what it must not lose."""

    name: Id = Field(
        description="the origin of this node's history, an id such as dc1-a without +;"
        " another name starts a new history"
    )
    state_dir: Annotated[Path, BeforeValidator(parse_path)] = Field(
        default=Path("/var/lib/entropyd"),
        description="a directory for the ledger and its lock, of this daemon alone",
    )
    origin: Id | None = Field(
        default=None,
        description="the name of this node's log, an id without + of at most 100 characters, such"
        " as poker.example/dc1; left out, it is the node's name. Verifiers know the log's keys by"
        " it: another one is another log",
    )
    serves_tables: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=("*",),
        description='a list of tables, each an id or the beginning of ids and "*", such as'
        ' "dc1/*": hands of others are not drawn here',
    )

    @field_validator("serves_tables")
    @classmethod
    def _are_tables(cls, tables: tuple[str, ...]) -> tuple[str, ...]:
        if not tables:
            raise ValueError('is empty; expected at least one table, or ["*"] for all')
        refuse_twice(tables)
        for table in tables:
            if not table or "*" in table[:-1]:
                raise ValueError(
                    f'holds "{table}"; expected an id, or the beginning of ids and "*"'
                )
            parse_id(table)
        return tables

    @field_validator("name", "origin")
    @classmethod
    def _is_key_name(cls, name: str | None) -> str | None:
        # The origin becomes the key name of signed notes, which may not contain a plus.
        # Spec: C2SP signed-note, "Format".
        if name is not None and "+" in name:
            raise ValueError(f'is "{name}"; expected a name without "+"')
        return name

    @model_validator(mode="after")
    def _leaves_room(self) -> Self:
        if len(self.log) > MAX_ORIGIN:
            raise ValueError(
                f"origin has {len(self.log)} characters; expected at most {MAX_ORIGIN}: set one"
                " that is shorter than the name"
            )
        return self

    @property
    def log(self) -> str:
        """What the log is called before any history is given up."""
        return self.origin or self.name


class Gate(Table):
    """`[gate]`: how much entropy a seed costs, and how long a draw may wait for it."""

    hardware_bits: int = Field(
        default=MIN_HARDWARE_BITS,
        ge=MIN_HARDWARE_BITS,
        le=MAX_SEED_BITS,
        description="a whole number from 320 (strength 256 and a margin of 64) to 512: hardware"
        " credit of a seed",
    )
    min_hardware_sources: int = Field(
        default=1,
        ge=1,
        le=MAX_HARDWARE_SOURCES,
        description="a whole number from 1 to 16, at most as many as there are sources: so many"
        " hardware sources give hardware_bits to each seed, each of them all of it",
    )
    user_bits: int = Field(
        default=FULL_USER_BITS,
        ge=1,
        le=MAX_SEED_BITS,
        description="a whole number from 1 (249 in production) to 512: user estimate of a seed",
    )
    user_shortfall: Literal["cover", "wait", "ignore"] = Field(
        default="cover",
        description='"cover" (further hardware samples take the place of missing user bits),'
        ' "wait" (for the users) or "ignore" (ask for none)',
    )
    max_sample_age_ns: Annotated[int, BeforeValidator(units.duration_between("1s", "1h"))] = Field(
        default=60 * units.SECOND,
        alias="max_sample_age",
        description="a duration from 1s to 1h: older samples are stirred in, not dealt from",
    )
    max_hold_ns: Annotated[int, BeforeValidator(units.duration_between("100ms", "1m"))] = Field(
        default=5 * units.SECOND,
        alias="max_hold",
        description="a duration from 100ms to 1m: the longest that a draw waits for its seeds",
    )
    answer_before_deadline_ns: Annotated[
        int, BeforeValidator(units.duration_between("1ms", "10s"))
    ] = Field(
        default=50 * units.MILLISECOND,
        alias="answer_before_deadline",
        description="a duration from 1ms to 10s, below max_hold: a held draw is answered so long"
        " before its deadline",
    )
    max_waiters: int = Field(
        default=4096,
        ge=1,
        le=65_536,
        description="a whole number from 1 to 65536: draws that may wait; more are refused at once",
    )
    reservoir_bytes: Annotated[int, BeforeValidator(units.size_between("128KiB", "64MiB"))] = Field(
        default=256 * units.KIB,
        description="a size from 128KiB to 64MiB: tested samples kept ready",
    )

    @field_validator("user_bits")
    @classmethod
    def _is_not_lowered(cls, bits: int, info: ValidationInfo) -> int:
        if in_production(info) and bits < FULL_USER_BITS:
            raise ValueError(
                f"is {bits}; expected at least {FULL_USER_BITS} in production: to ask no user"
                ' bits set user_shortfall = "ignore", which receipts show'
            )
        return bits

    @model_validator(mode="after")
    def _leaves_time(self) -> Self:
        if self.answer_before_deadline_ns >= self.max_hold_ns:
            raise ValueError(
                f"answer_before_deadline is {units.duration_text(self.answer_before_deadline_ns)};"
                f" expected less than max_hold, {units.duration_text(self.max_hold_ns)}"
            )
        return self


class Http(Table):
    """`[http]`: /metrics, /healthz and /readyz, for this machine only."""

    address: Annotated[TcpEndpoint, BeforeValidator(_parse_local_tcp)] = Field(
        default=TcpEndpoint("127.0.0.1", 9464), description='a loopback address "127.0.0.1:9464"'
    )


class Ledger(Table):
    """`[ledger]`: when the record runs out of room, and what proves that it lost nothing."""

    anchor: Annotated[Path, BeforeValidator(parse_path)] | None = Field(
        default=None,
        description="the path of a file outside state_dir, on another disk: how far the ledger"
        " went, so that a restored backup is noticed; its directory exists",
    )
    min_free_bytes: Annotated[int, BeforeValidator(units.size_between("1MiB", "1TiB"))] = Field(
        default=5 * units.GIB,
        alias="min_free",
        description="a size from 1MiB to 1TiB: with less room in state_dir draws are refused",
    )
    hot_for_ns: Annotated[int, BeforeValidator(units.duration_between("1d", "3650d"))] = Field(
        default=35 * units.DAY,
        alias="hot_for",
        description="a duration from 1d to 3650d: younger hands are not archived",
    )
    secrets_for_ns: Annotated[int, BeforeValidator(units.duration_between("1d", "36500d"))] = Field(
        default=400 * units.DAY,
        alias="secrets_for",
        description="a duration from 1d to 36500d, at least hot_for: younger secrets are not"
        " destroyed",
    )

    @model_validator(mode="after")
    def _keeps_what_is_hot(self) -> Self:
        if self.secrets_for_ns < self.hot_for_ns:
            raise ValueError(
                f"secrets_for is {units.duration_text(self.secrets_for_ns)}; expected at least"
                f" hot_for, {units.duration_text(self.hot_for_ns)}: what is hot keeps its secrets"
            )
        return self


class Keys(Table):
    """`[keys]`: where keys come from. The file never holds one."""

    at_rest: str = Field(
        default="credential:at-rest.key",
        description='"credential:NAME" (a systemd credential), the path of a file, or "" in'
        " development (a 0600 file is made in state_dir)",
    )
    receipts: str = Field(
        default="credential:receipts.key",
        description='as at_rest: the key that signs receipts; "" by default where at_rest is',
    )
    checkpoints: str = Field(
        default="credential:checkpoints.key",
        description='as at_rest: the key that signs checkpoints of the log; "" by default where'
        " at_rest is",
    )

    @model_validator(mode="before")
    @classmethod
    def _are_generated_together(cls, raw: object) -> object:
        if isinstance(raw, dict) and raw.get("at_rest") == "":
            return {"receipts": "", "checkpoints": "", **raw}
        return raw

    @field_validator("at_rest", "receipts", "checkpoints")
    @classmethod
    def _is_place(cls, place: str, info: ValidationInfo) -> str:
        if place:
            return check_place(place, info)
        if in_production(info):
            raise ValueError(
                'is ""; expected "credential:NAME" or a path: a generated key is for development'
            )
        return place

    @model_validator(mode="after")
    def _differ(self) -> Self:
        named = [place for place in (self.at_rest, self.receipts, self.checkpoints) if place]
        if len(set(named)) < len(named):
            # No value is shown: somebody may have written a key.
            raise ValueError("two keys are said to be in one file; expected each in its own")
        return self

    def at_rest_path(self, credentials_directory: str | None) -> Path | None:
        """Return the file that holds the at-rest key, or None if one is to be generated.

        Args:
            credentials_directory: `$CREDENTIALS_DIRECTORY`, None where it is not set.

        Raises:
            ConfigError: a credential is named and the service manager passed none.
        """
        return _place("keys.at_rest", self.at_rest, credentials_directory)

    def receipts_path(self, credentials_directory: str | None) -> Path | None:
        """Return the file with the keys of receipts; see `at_rest_path`."""
        return _place("keys.receipts", self.receipts, credentials_directory)

    def checkpoints_path(self, credentials_directory: str | None) -> Path | None:
        """Return the file with the keys of checkpoints; see `at_rest_path`."""
        return _place("keys.checkpoints", self.checkpoints, credentials_directory)


def _place(key: str, place: str, credentials_directory: str | None) -> Path | None:
    return place_path(key, place, credentials_directory) if place else None


class Log(Table):
    """`[log]`: what goes to standard error. Never a line a draw above debug."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description='"debug", "info", "warning" or "error"'
    )
    format: Literal["json", "text"] = Field(default="json", description='"json" or "text"')


class Mode(Table):
    """`[mode]`: whether anybody may rely on what is dealt."""

    production: bool = Field(
        default=True,
        description="true or false; false allows mock sources, short assessments, a lowered user"
        " gate, relative paths and a generated key",
    )
