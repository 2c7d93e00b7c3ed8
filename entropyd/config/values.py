"""What all tables of the configuration share: their strictness, ids and paths.

Validators learn from their context whether the file says `production = true`;
without a context they assume that it does.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo

from entropyd.encoding import check_id
from entropyd.errors import ConfigError, RequestError

# What systemd takes as the name of a credential.
_CREDENTIAL = re.compile(r"[A-Za-z0-9._-]{1,255}", re.ASCII)


def in_production(info: ValidationInfo) -> bool:
    """Return whether the file is validated for production; True where nobody said."""
    return bool((info.context or {}).get("production", True))


def parse_id(value: object) -> str:
    """Return an id as it is, or refuse it."""
    if not isinstance(value, str):
        raise ValueError('is no text; expected an id such as "dc1-a"')  # noqa: TRY004
    try:
        check_id("id", value)
    except RequestError as error:
        raise ValueError(str(error).removeprefix("id: ")) from error
    return value


def parse_path(value: object, info: ValidationInfo) -> Path:
    """Return a path, absolute in production."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError('is no path; expected one such as "/var/lib/entropyd"')
    if in_production(info) and not value.startswith("/"):
        raise ValueError(f'is the relative path "{value}"; expected an absolute one in production')
    return Path(value)


def check_place(place: str, info: ValidationInfo) -> str:
    """Return where a file with a key is, "credential:NAME" or a path, or refuse it unseen."""
    if place.startswith("credential:"):
        if _CREDENTIAL.fullmatch(place.removeprefix("credential:")) is None:
            raise ValueError('names no credential; expected one such as "credential:at-rest.key"')
    elif not place or "\0" in place or (in_production(info) and not place.startswith("/")):
        raise ValueError('is no absolute path; expected one, or "credential:NAME"')
    return place


def place_path(key: str, place: str, credentials_directory: str | None) -> Path:
    """Return the path of a place that `check_place` let through.

    Args:
        key: the key that names it, for the error text.
        place: "credential:NAME", or a path.
        credentials_directory: `$CREDENTIALS_DIRECTORY`, None where it is not set.

    Raises:
        ConfigError: a credential is named and the service manager passed none.
    """
    if not place.startswith("credential:"):
        return Path(place)
    name = place.removeprefix("credential:")
    if not credentials_directory:
        raise ConfigError(
            f"{key}: credential {name} was asked for and CREDENTIALS_DIRECTORY is not set; start"
            f" with LoadCredential={name}:FILE in the unit, or give a path"
        )
    return Path(credentials_directory, name)


def refuse_twice(names: Iterable[str]) -> None:
    """Raise a ValueError that names the first of `names` that comes a second time."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f'holds "{name}" twice; expected each once')
        seen.add(name)


Id = Annotated[str, BeforeValidator(parse_id)]


class Table(BaseModel):
    """What all tables share: strict, closed, frozen."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)
