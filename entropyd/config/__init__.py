"""The configuration file: TOML, strict, and wrong in one message or not at all.

`check` turns text into a frozen `Config` or raises one ConfigError that lists
every problem with its key path, what was expected and what to write. Whoever
runs the daemon exits with 78 (EX_CONFIG) on it, and the unit does not restart.

Tables and defaults: `entropyd.config.schema` and `.sources`; a commented file:
docs/examples/entropyd.toml.
"""

import hashlib
import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from entropyd.config.access import Asks, Client, Listener, Role, Tls, refuse_unused, tenants_of
from entropyd.config.draws import Draws, Fair
from entropyd.config.endpoints import Endpoint, TcpEndpoint, UnixEndpoint
from entropyd.config.explain import problems
from entropyd.config.hands import Hands
from entropyd.config.schema import (
    Gate,
    Http,
    Keys,
    Ledger,
    Log,
    Mode,
    Node,
)
from entropyd.config.sources import AlphaLog2, Source
from entropyd.config.values import Table, refuse_twice
from entropyd.entropy.source import SourceKind
from entropyd.errors import ConfigError

__all__ = [
    "AlphaLog2",
    "Asks",
    "Client",
    "Config",
    "Draws",
    "Endpoint",
    "Fair",
    "Gate",
    "Hands",
    "Http",
    "Keys",
    "Ledger",
    "Listener",
    "Log",
    "Mode",
    "Node",
    "Role",
    "Source",
    "TcpEndpoint",
    "Tls",
    "UnixEndpoint",
    "check",
    "load",
]

# The largest file that anybody wrote by hand is a thousand times smaller.
MAX_FILE_BYTES = 2**20


class Config(Table):
    """The whole file. Make one with `load` or `check`, which know the mode before the rest."""

    node: Node = Field(description="a table [node] with a name")
    sources: Annotated[tuple[Source, ...], Field(strict=False)] = Field(
        alias="source", description="at least one table [[source]] with an id and a driver"
    )
    gate: Gate = Field(default=Gate(), description="a table [gate]")
    listeners: Annotated[tuple[Listener, ...], Field(strict=False)] = Field(
        alias="listener",
        description="at least one table [[listener]] with an address, a tenant and roles",
    )
    clients: Annotated[tuple[Client, ...], Field(strict=False)] = Field(
        alias="client",
        default=(),
        description="tables [[client]] with a san or a token_sha256, a tenant and roles",
    )
    draws: Draws = Field(default=Draws(), description="a table [draws]")
    fair: Fair = Field(default=Fair(), description="a table [fair]")
    hands: Hands = Field(default=Hands(), description="a table [hands]")
    http: Http = Field(default=Http(), description="a table [http]")
    ledger: Ledger = Field(default=Ledger(), description="a table [ledger]")
    keys: Keys = Field(default=Keys(), description="a table [keys]")
    log: Log = Field(default=Log(), description="a table [log]")
    mode: Mode = Field(default=Mode(), description="a table [mode]")

    @field_validator("sources")
    @classmethod
    def _differ(cls, sources: tuple[Source, ...]) -> tuple[Source, ...]:
        if not sources:
            raise ValueError("is empty; expected at least one table [[source]]")
        refuse_twice(source.id for source in sources)
        seen: dict[str, str] = {}
        for source in sources:
            device = f"{source.driver} {sorted(source.options.items())}"
            if device in seen:
                raise ValueError(
                    f'"{seen[device]}" and "{source.id}" would read the same device; give each its'
                    " own options, such as the serial number"
                )
            seen[device] = source.id
        return sources

    @field_validator("listeners")
    @classmethod
    def _listen_apart(cls, listeners: tuple[Listener, ...]) -> tuple[Listener, ...]:
        if not listeners:
            raise ValueError("is empty; expected at least one table [[listener]]")
        refuse_twice(
            listener.address.target for listener in listeners if not _is_any_port(listener.address)
        )
        return listeners

    @field_validator("clients")
    @classmethod
    def _differ_too(cls, clients: tuple[Client, ...]) -> tuple[Client, ...]:
        refuse_twice(client.san or client.token_sha256 or "" for client in clients)
        return clients

    @model_validator(mode="after")
    def _clients_can_come_in(self) -> Self:
        refuse_unused(self.listeners, self.clients)
        return self

    @model_validator(mode="after")
    def _http_is_apart(self) -> Self:
        taken = {listener.address for listener in self.listeners}
        if self.http.address in taken and not _is_any_port(self.http.address):
            raise ValueError(
                f"http.address is {self.http.address.target}, which a listener has too;"
                " expected another port"
            )
        return self

    @model_validator(mode="after")
    def _anchor_is_apart(self) -> Self:
        anchor = self.ledger.anchor
        if anchor is not None and anchor.is_relative_to(self.node.state_dir):
            raise ValueError(
                f'ledger.anchor is "{anchor}", in node.state_dir, where a restored backup takes it'
                " along; expected a path on another disk"
            )
        return self

    @property
    def tenants(self) -> tuple[str, ...]:
        """Whose hands can be dealt, each once, in order."""
        return tenants_of(self.listeners, self.clients)

    @model_validator(mode="after")
    def _has_enough_sources(self) -> Self:
        if self.gate.min_hardware_sources > len(self.sources):
            raise ValueError(
                f"gate.min_hardware_sources is {self.gate.min_hardware_sources}, and"
                f" {len(self.sources)} sources are configured; expected at most as many: lower it,"
                " or add a [[source]]"
            )
        return self

    def refuse_unfit(self, source: Source, kind: SourceKind) -> None:
        """Raise unless a source of this kind may be dealt from in this mode.

        The schema knows drivers by name only; what stands behind a device is
        known once its driver has been asked.

        Raises:
            ConfigError: credit for the operating system's generator, or a
                simulated source in production.
        """
        if kind is SourceKind.OS:
            raise ConfigError(
                f"source {source.id}: {source.driver} is the operating system's generator, which is"
                " mixed into every seed anyway and never credited; configure a hardware source"
            )
        if self.mode.production and kind is not SourceKind.HARDWARE:
            raise ConfigError(
                f"source {source.id}: {source.driver} is a {kind} source; use a hardware driver,"
                " or set production = false in [mode] and play for nothing"
            )

    def fingerprint(self) -> str:
        """Return the SHA-256, in hex, of all settings in effect: comments and order aside."""
        settings = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(settings.encode()).hexdigest()


def load(path: Path) -> Config:
    """Read and check a configuration file.

    Raises:
        ConfigError: it cannot be read, or something in it is wrong.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); give the path of a file that the"
            " daemon's user may read"
        ) from error
    if len(raw) > MAX_FILE_BYTES:
        raise ConfigError(f"{path}: is larger than {MAX_FILE_BYTES} bytes; expected a TOML file")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start} is not UTF-8; expected TOML, save the file as UTF-8"
        ) from error
    return check(text, where=str(path))


def check(text: str, *, where: str = "configuration") -> Config:
    """Return the configuration that `text` describes.

    Args:
        text: TOML.
        where: the name of its file, for the error text.

    Raises:
        ConfigError: `text` is no TOML, or some of its values are wrong; the
            message lists all of them, one a line.
    """
    try:
        raw = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{where}: is not TOML: {error}; mend it there") from error
    try:
        return Config.model_validate(raw, context={"production": _says_production(raw)})
    except ValidationError as error:
        found = problems(error, Config)
        count = "1 error" if len(found) == 1 else f"{len(found)} errors"
        raise ConfigError("\n  ".join([f"{where}: {count}", *found])) from error


def _says_production(raw: dict[str, object]) -> bool:
    """Return False only where the file says so in as many words."""
    mode = raw.get("mode")
    return not (isinstance(mode, dict) and mode.get("production") is False)


def _is_any_port(endpoint: Endpoint) -> bool:
    return isinstance(endpoint, TcpEndpoint) and endpoint.port == 0
