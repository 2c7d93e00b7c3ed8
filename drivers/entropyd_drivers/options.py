"""The options table of a source, read strictly: unknown names and odd values are errors.

Every driver factory gets a plain mapping from the configuration file. What is
wrong with it is said once, at start, with the option, the value, what was
expected and what to write instead.
"""

import binascii
from collections.abc import Mapping, Sequence

from entropyd.errors import ConfigError


class Options:
    """A driver's options, checked against the names that the driver knows."""

    def __init__(self, driver: str, table: Mapping[str, object], known: Sequence[str]) -> None:
        """Keep `table` for reading.

        Raises:
            ConfigError: a name in `table` is not in `known`.
        """
        self._driver = driver
        self._table = table
        for name in table:
            if name not in known:
                raise ConfigError(
                    f"driver {driver}: unknown option `{name}`; expected one of "
                    + ", ".join(f"`{each}`" for each in known)
                )

    def refuse(self, name: str, complaint: str) -> ConfigError:
        """Return the error for option `name`; `complaint` names the value and the remedy."""
        return ConfigError(f"driver {self._driver}: option `{name}` {complaint}")

    def text(self, name: str) -> str | None:
        """Return the text of option `name`, or None where it is not set.

        Raises:
            ConfigError: it is not a text, empty, or not printable ASCII
                without spaces (paths and serial numbers travel in receipts).
        """
        value = self._table.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value:
            raise self.refuse(name, f'is {value!r}; expected a text such as {name} = "..."')
        if not all(0x21 <= ord(character) <= 0x7E for character in value):
            raise self.refuse(name, f"is {value!r}; expected printable ASCII without spaces")
        return value

    def whole(self, name: str, default: int, *, low: int, high: int) -> int:
        """Return the whole number of option `name`, from `low` to `high`.

        Raises:
            ConfigError: it is not a whole number in that range.
        """
        value = self._table.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse(name, f"is {value!r}; expected a whole number, {low} to {high}")
        if not low <= value <= high:
            raise self.refuse(name, f"is {value}; expected {low} to {high}")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """Return the truth value of option `name`.

        Raises:
            ConfigError: it is neither true nor false.
        """
        value = self._table.get(name, default)
        if not isinstance(value, bool):
            raise self.refuse(name, f"is {value!r}; expected true or false")
        return value

    def hexadecimal(self, name: str) -> bytes | None:
        """Return the bytes of option `name`, written in hexadecimal, or None where it is not set.

        Raises:
            ConfigError: it is not hexadecimal. The value is not repeated in
                the text: it may be the seed of somebody's test.
        """
        digits = self.text(name)
        if digits is None:
            return None
        try:
            return binascii.unhexlify(digits)
        except ValueError as error:
            raise self.refuse(
                name, "is not hexadecimal; expected an even number of digits 0-9 and a-f"
            ) from error
