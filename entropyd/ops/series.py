"""Series whose labels are all known at start: a counter of choices, and a set of states.

Both resolve their label sets once, so that every series is there from the
first scrape, and an update costs a dictionary look-up. A value that was not
announced goes to `other`.
"""

import itertools
from collections.abc import Mapping

from prometheus_client import Counter, Gauge

OTHER = "other"


class Tally:
    """A counter over every combination of some labels' values. Safe from any thread."""

    def __init__(
        self, counter: Counter, values: Mapping[str, tuple[str, ...]], **fixed: str
    ) -> None:
        """Create every series.

        Args:
            counter: a counter with the labels of `values` and `fixed`.
            values: the values of each label that varies, without `other`.
            fixed: labels with one value.
        """
        self._names = tuple(values)
        self._known = {name: frozenset(allowed) for name, allowed in values.items()}
        self._children = {
            choice: counter.labels(**dict(zip(self._names, choice, strict=True)), **fixed)
            for choice in itertools.product(*((*allowed, OTHER) for allowed in values.values()))
        }

    def add(self, count: int = 1, **choice: str) -> None:
        """Count one, or so many, for one value of each label."""
        labels = tuple(self._value(name, choice[name]) for name in self._names)
        self._children[labels].inc(count)

    def _value(self, name: str, value: str) -> str:
        return value if value in self._known[name] else OTHER


class States:
    """A gauge for each of some states: 1 for the present one, 0 for the others.

    One thread changes it; a scrape between two of its steps sees no state, and
    never two.
    """

    def __init__(self, gauge: Gauge, label: str, states: tuple[str, ...], **fixed: str) -> None:
        """Create every series, all 0.

        Args:
            gauge: a gauge with the labels of `fixed` and `label`.
            label: the label that names the state.
            states: the states, without `other`.
            fixed: labels with one value.
        """
        self._children = {
            state: gauge.labels(**{label: state}, **fixed) for state in (*states, OTHER)
        }
        self._present: str | None = None

    def set(self, state: str) -> None:
        """Change to `state`."""
        if state not in self._children:
            state = OTHER
        if state != self._present:
            self.clear()
            self._children[state].set(1)
            self._present = state

    def clear(self) -> None:
        """Change to no state at all."""
        if self._present is not None:
            self._children[self._present].set(0)
            self._present = None
