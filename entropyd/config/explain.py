"""What is wrong with a configuration, said so that the operator can act at once.

pydantic finds the problems; this module gives each its key path as written in
the file, what was expected, and the nearest known key where a key is unknown.
Values are shown shortened, and those of `[keys]` never: somebody will paste a
key where its path belongs.
"""

import difflib
import json
import typing
from collections.abc import Sequence

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

MAX_SHOWN_CHARACTERS = 60

Location = Sequence[int | str]


def problems(error: ValidationError, root: type[BaseModel]) -> list[str]:
    """Return one line for each problem that `error` holds, in the file's own terms.

    Args:
        error: what validating the file as a `root` raised.
        root: the model of the whole file.
    """
    return [_problem(details, root) for details in error.errors(include_url=False)]


def known_keys(table: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a table by the names that they have in the file."""
    return {field.alias or name: field for name, field in table.model_fields.items()}


def table_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model behind a field that is a table or an array of tables."""
    candidates = (field.annotation, *typing.get_args(field.annotation))
    for candidate in candidates:
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def path_text(location: Location) -> str:
    """Return a location such as ("source", 0, "driver") as `source[0].driver`."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def _problem(details: ErrorDetails, root: type[BaseModel]) -> str:
    location = details["loc"]
    table, field = _find(location, root)
    where = path_text(location)
    match details["type"]:
        case "extra_forbidden":
            return f"{where}: {_unknown_key(location, table, root)}"
        case "value_error":
            text = str(details["ctx"]["error"])
        case "missing":
            text = f"is missing; expected {_expectation(field)}"
        case _:
            shown = _shown(location, details["input"])
            text = f"is {shown}; expected {_expectation(field)}"
    return f"{where}: {text}" if where else text


def _find(location: Location, root: type[BaseModel]) -> tuple[type[BaseModel], FieldInfo | None]:
    """Return the innermost table on the way to `location`, and the field named last in it."""
    table = root
    field: FieldInfo | None = None
    for part in location:
        if isinstance(part, int):
            continue
        inner = table_of(field) if field is not None else None
        table = inner or table
        field = known_keys(table).get(part)
    return table, field


def _expectation(field: FieldInfo | None) -> str:
    if field is None or field.description is None:
        return "something else"
    return field.description


def _unknown_key(location: Location, table: type[BaseModel], root: type[BaseModel]) -> str:
    key = str(location[-1])
    place = f"[{path_text(location[:-1])}]" if len(location) > 1 else "the file"
    return f"unknown key in {place}; {_advice(key, table, root)}"


def _advice(key: str, table: type[BaseModel], root: type[BaseModel]) -> str:
    known = sorted(known_keys(table))
    nearest = difflib.get_close_matches(key, known, n=1)
    if nearest:
        return f'did you mean "{nearest[0]}"?'
    for name, field in known_keys(root).items():
        other = table_of(field)
        if other is not None and key in known_keys(other):
            return f'"{key}" belongs in [{name}]'
    return f"expected one of {', '.join(known)}"


def _shown(location: Location, value: object) -> str:
    if location[:1] == ("keys",):
        return "a value that is not shown here"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array" if value else "an empty array"
    text = json.dumps(value) if isinstance(value, str | bool) else str(value)
    if len(text) <= MAX_SHOWN_CHARACTERS:
        return text
    return f"{text[:MAX_SHOWN_CHARACTERS]}... ({len(text)} characters)"
