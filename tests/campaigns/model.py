"""All that can happen to small hands: every call at every moment, every fault at every step.

    python -m tests.campaigns.model --states 2000

Two seats, a game server, another one with another claim, the clock and the
daemon's death act in every order, also at the same time; whatever is handed to
the ledger is recorded, fails without being written, fails and is written, or
the daemon is killed before or after (hand_burst.py). The runtime and its
service are the real ones (hand_life.py), judged by a model of lists and dicts
(hand_model.py) and by what must hold of every disk and answer (hand_facts.py).

States that differ in nothing that anybody could notice are looked at once:
bytes that were drawn, and times but for their order, are left out. At each
new state all that was ever told is asked for again, in that life and in the
next one.
"""

import argparse
import time
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from entropyd.errors import EntropydError
from entropyd.v1 import hand_service_pb2 as pb
from tests.campaigns import hand_facts, hand_model
from tests.campaigns.hand_burst import (
    FAULTS,
    KILL,
    LATER,
    MEND,
    TICK,
    Burst,
    State,
    ViolationError,
    all_well,
    next_due,
    note,
)
from tests.campaigns.hand_life import Life, newborn
from tests.campaigns.hand_scripts import SCRIPTS, SEATS, Script, request_of
from tests.fakes.hand_desk import AUDITOR, claim, key
from tests.fakes.manual_time import ManualClock, play
from tests.reference import naive


@dataclass
class Tally:
    """What was explored.

    Attributes:
        script: its name.
        states: moments of rest that differ.
        expanded: those of them from which everything was tried.
        transitions: ways from one to the next, each taken once.
        faults: of these ways, by what went wrong.
        asked_again: calls made again at new states.
        edges: from state to state, how many ways.
        took_s: duration, seconds.
    """

    script: str
    states: int = 0
    expanded: int = 0
    transitions: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    asked_again: int = 0
    edges: dict[int, Counter[int]] = field(default_factory=dict)
    took_s: float = 0.0

    def histories(self, length: int) -> int:
        """Return how many different histories of so many ways, one after the other, these make."""
        ending = Counter({0: 1})
        for _ in range(length):
            following: Counter[int] = Counter()
            for state, number in ending.items():
                for after, ways in self.edges.get(state, {}).items():
                    following[after] += number * ways
            ending = following
        return ending.total()

    def line(self) -> str:
        """Return it as a line."""
        faults = ", ".join(f"{self.faults[fault]} {fault}" for fault in FAULTS)
        return (
            f"{self.script}: {self.states} states, all tried from {self.expanded};"
            f" {self.transitions} transitions ({faults}); {self.asked_again} calls asked again;"
            f" {self.histories(8):.2e} histories of 8 transitions; {self.took_s:.0f} s"
        )


class _Schedule:
    """Takes every way through choices, one after the other."""

    def __init__(self) -> None:
        self._prefix: list[int] = []
        self._taken: list[tuple[int, int]] = []

    def choose(self, options: Sequence[str]) -> str:
        at = len(self._taken)
        index = self._prefix[at] if at < len(self._prefix) else 0
        self._taken.append((index, len(options)))
        return options[index]

    def go_on(self) -> bool:
        """Turn to the next way; return whether there is one."""
        while self._taken and self._taken[-1][0] + 1 == self._taken[-1][1]:
            self._taken.pop()
        if not self._taken:
            return False
        *before, (last, _) = self._taken
        self._prefix, self._taken = [index for index, _ in before] + [last + 1], []
        return True


@dataclass(order=True)
class _Left:
    """A state from which nothing was tried yet; those that took less to come to are first.

    Attributes:
        faults: how often something went wrong on the way to it.
        length: of the way.
        number: of the state.
        state: it.
        path: the way.
    """

    faults: int
    length: int
    number: int
    state: State = field(compare=False)
    path: tuple[str, ...] = field(compare=False)


class Explorer:
    """Goes from state to state until there is no new one or enough.

    First wherever one comes without any fault, then with one, and so on.
    """

    def __init__(self, script: Script, *, states: int, overlapping: int, limit_s: float) -> None:
        """Make it.

        Args:
            script: who may ask for what.
            states: from how many everything is tried.
            overlapping: from how many of them also with calls that overlap.
            limit_s: after which nothing new is begun.
        """
        self._limit_s = limit_s
        self.tally = Tally(script.name)
        self._script = script
        self._most = states
        self._overlapping = overlapping
        self._known: dict[Hashable, int] = {}
        self._left: list[_Left] = []
        self._asked: set[Hashable] = set()

    async def explore(self) -> Tally:
        """Try everything.

        Raises:
            ViolationError: something that must never be; with how it came to be.
        """
        began = time.monotonic()
        await self._meet(State(newborn()), (), 0)
        while self._left and self.tally.expanded < self._most:
            if time.monotonic() - began > self._limit_s:
                break
            left = heappop(self._left)
            overlap = self.tally.expanded < self._overlapping
            self.tally.expanded += 1
            for first in firsts(self._script, left.state):
                await self._every_way(left, first, overlap=overlap)
        self.tally.took_s = time.monotonic() - began
        return self.tally

    async def _every_way(self, left: _Left, first: str, *, overlap: bool) -> None:
        schedule, chosen = _Schedule(), list[str]()

        def choose(options: Sequence[str]) -> str:
            chosen.append(schedule.choose(options))
            return chosen[-1]

        while True:
            chosen.clear()
            burst = Burst(self._script, left.state, choose, overlap=overlap)
            try:
                after = await burst.run(first)
                faults = left.faults + len(burst.faults) + (first == KILL)
                met = await self._meet(after, (*left.path, first, *chosen), faults)
            except AssertionError as error:
                way = (*left.path, first, *chosen)
                raise ViolationError(f"{self._script.name}: {error}\n{way}") from error
            self.tally.transitions += 1
            self.tally.faults.update(burst.faults)
            self.tally.edges.setdefault(left.number, Counter())[met] += 1
            if not schedule.go_on():
                return

    async def _meet(self, state: State, path: tuple[str, ...], faults: int) -> int:
        """Return the number of a state; look at it if it is new."""
        seen = canonical(state)
        if seen not in self._known:
            number = self._known[seen] = len(self._known)
            self.tally.states += 1
            await self._look_at(state)
            heappush(self._left, _Left(faults, len(path), number, state, path))
        return self._known[seen]

    async def _look_at(self, state: State) -> None:
        for fault in hand_facts.disk_faults(state.frozen.disk):
            raise ViolationError(fault)
        for frozen in (state.frozen, state.frozen.killed()):
            seen = canonical(replace(state, frozen=frozen))
            if seen not in self._asked:
                self._asked.add(seen)
                life = Life(frozen)
                await life.commit_all()
                self.tally.asked_again += await ask_again(life, self._script, state)


async def ask_again(life: Life, script: Script, state: State) -> int:
    """Ask for all hands, and for all that was confirmed; return how many calls it took."""
    book, calls = dict(state.book), 0
    hands = hand_facts.tables(life.disk)
    for name in hands:
        answer = await life.desk.ask("get_hand", pb.GetHandRequest(key=key(name)), AUDITOR)
        note(book, hand_facts.facts(name, answer))
        for fault in hand_facts.answer_faults(life.disk, "get", name, answer):
            raise ViolationError(fault)
        calls += 1
    for ask in script.asks:
        if ask.name not in state.told:
            continue
        name = ask.parts[0]["hand"]
        method, request, who = request_of(ask.parts, hands[name]["O"])
        calls += 1
        try:
            answer = await life.desk.ask(method, request, who)
        except EntropydError as error:
            if life.failing and error.reason == "LEDGER_UNAVAILABLE":
                continue
            raise ViolationError(
                f"{ask.name} was confirmed, and is told {error.reason} now"
            ) from error
        note(book, hand_facts.facts(name, answer))
        told = hand_facts.replies(ask.parts, answer)
        if not all_well(told, ask) and not (life.failing and "LEDGER_UNAVAILABLE" in told):
            raise ViolationError(f"{ask.name} was confirmed, and is told {told} now")
    return calls


def firsts(script: Script, state: State) -> Iterator[str]:
    """Yield everything that may happen next."""
    yield from (ask.name for ask in script.asks)
    yield TICK
    yield KILL
    if state.frozen.failing:
        yield MEND
    if next_due(hand_facts.tables(state.frozen.disk), wall_ns(state)):
        yield LATER


def wall_ns(state: State) -> int:
    """Return what the wall clock says, in whole milliseconds."""
    clock = ManualClock()
    clock.now_ns = state.frozen.now_ns
    now_ns = clock.wall_ns()
    return now_ns - now_ns % 10**6


def canonical(state: State) -> Hashable:
    """Return what can be noticed of a state; equal for states that behave alike."""
    frozen, now = state.frozen, wall_ns(state)
    hands = hand_facts.tables(frozen.disk)
    times = [at for hand in hands.values() for at in _times(hand)] + [*frozen.due.values(), now]
    rank = {at: place for place, at in enumerate(sorted(set(times)))}
    return (
        tuple(_seen(name, hand, rank) for name, hand in hands.items()),
        rank[now],
        state.told,
        (frozen.failing, frozen.doubtful, frozen.scanned),
        tuple(sorted((name.hand, rank[at]) for name, at in frozen.due.items())),
        repr(sorted(frozen.tables.items())),
    )


def _times(hand: hand_model.Hand) -> list[int]:
    if not hand_model.is_live(hand):
        return []
    ends = {"OPEN": [hand["deadline"]], "ROLLED": [hand["roll"]]}
    return [hand["expires"], *ends.get(hand["state"], [])]


def _seen(name: str, hand: hand_model.Hand, rank: dict[int, int]) -> Hashable:
    said = tuple(
        (
            seat,
            there,
            hashed == hand_model.hash_of(hand, {"seat": seat, "value": SEATS[seat].value}),
        )
        for seat, (hashed, there) in sorted(hand["said"].items())
    )
    runs = tuple(
        (first, tuple(to), digest == naive.claim_digest(hand["X"], claim(first)).hex())
        for first, to, digest in hand["runs"]
    )
    times = tuple(rank[at] for at in _times(hand))
    return (
        name,
        hand["mode"],
        hand["state"],
        said,
        runs,
        hand["reason"],
        hand["roll"] is None,
        times,
    )


def explore(script: Script, *, states: int, overlapping: int, limit_s: float) -> Tally:
    """Explore a script. Raises ViolationError."""
    explorer = Explorer(script, states=states, overlapping=overlapping, limit_s=limit_s)
    return play(ManualClock(), explorer.explore)


def main() -> None:
    """Explore all scripts and print what was explored."""
    parser = argparse.ArgumentParser(description="all that can happen to small hands")
    parser.add_argument("--states", type=int, default=100_000, help="of each script, at most")
    parser.add_argument("--overlapping", type=int, default=20, help="of these, with overlaps")
    parser.add_argument("--minutes", type=float, default=5.0, help="for each script")
    arguments = parser.parse_args()
    for script in SCRIPTS:
        tally = explore(
            script,
            states=arguments.states,
            overlapping=arguments.overlapping,
            limit_s=60 * arguments.minutes,
        )
        print(tally.line(), flush=True)


if __name__ == "__main__":
    main()
