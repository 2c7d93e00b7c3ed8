"""What all tables of the configuration share: their strictness, ids and paths.

Validators learn from their context whether the file says `production = true`;
without a context they assume that it does.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo

from entropyd.encoding import check_id
from entropyd.errors import RequestError


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
