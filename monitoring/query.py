"""Asks a Prometheus: what is, and how it went."""

import json
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Series:
    """One series of an answer.

    Attributes:
        labels: its labels, with `__name__` where it has one.
        points: Unix time and value, ascending; one for what is now.
    """

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def value(self) -> float:
        """The last value."""
        return self.points[-1][1]


class Prometheus:
    """A Prometheus server, by its address such as `http://127.0.0.1:9090`."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")

    def now(self, expr: str, at: float | None = None) -> list[Series]:
        """Return what an expression is, now or at a Unix time.

        Raises:
            OSError: the server cannot be reached, or refuses the expression.
        """
        arguments = {"query": expr} | ({} if at is None else {"time": f"{at:.3f}"})
        return [_series(one, [one["value"]]) for one in self._ask("query", arguments)]

    def over(self, expr: str, *, start: float, end: float, step_s: float) -> list[Series]:
        """Return how an expression went between two Unix times.

        Raises:
            OSError: the server cannot be reached, or refuses the expression.
        """
        arguments = {
            "query": expr,
            "start": f"{start:.3f}",
            "end": f"{end:.3f}",
            "step": f"{step_s:.3f}",
        }
        return [_series(one, one["values"]) for one in self._ask("query_range", arguments)]

    def _ask(self, page: str, arguments: Mapping[str, str]) -> list[Any]:
        url = f"{self.address}/api/v1/{page}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            data = json.load(answer)["data"]
        if data["resultType"] == "scalar":
            raise OSError(f"expected series, and a number came: {arguments['query']}")
        result: list[Any] = data["result"]
        return result


def _series(one: Mapping[str, Any], points: list[list[Any]]) -> Series:
    return Series(one["metric"], tuple((float(at), float(value)) for at, value in points))
