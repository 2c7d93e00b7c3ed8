"""What may happen between two moments of rest: one call, or two that overlap, and what goes wrong.

A burst begins with one thing that somebody does. Whenever the ledger is handed
a step, it is chosen what becomes of it, and who else comes in meanwhile. All
that is recorded and told is looked at, against the model: each step is time's
or a call's that is under way, and each answer is right at a moment between its
call and itself.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from entropyd.errors import EntropydError
from tests.campaigns import hand_facts, hand_model
from tests.campaigns.hand_life import Frozen, Life
from tests.campaigns.hand_model import OK, Call
from tests.campaigns.hand_scripts import Ask, Script, request_of

# Things that are nobody's call.
LATER, TICK, MEND, KILL = "time passes", "tick", "ledger works again", "kill"
# What becomes of a step that was handed to the ledger.
FINE, LOST, DOUBTFUL, BEFORE, AFTER = (
    "fine",
    "failed, not written",
    "failed, written",
    "killed before",
    "killed after",
)
HANG_UP = "its caller hangs up"
FAULTS = (LOST, DOUBTFUL, BEFORE, AFTER)
KILLS = (BEFORE, AFTER)
# No step: they may be made again without anybody noticing.
READS = frozenset({"seal", "show", "reveal", "get"})
NO_HAND = bytes(32)
LEDGER_UNAVAILABLE = "LEDGER_UNAVAILABLE"
# Nothing was said of a part of a call.
ANY = "whatever it is"

Choose = Callable[[Sequence[str]], str]


class ViolationError(AssertionError):
    """Something that must never be."""


@dataclass(frozen=True)
class State:
    """A moment of rest.

    Attributes:
        frozen: the daemon's life.
        told: names of the steps that were confirmed to whoever asked.
        book: everything that was told.
    """

    frozen: Frozen
    told: frozenset[str] = frozenset()
    book: hand_facts.Book = field(default_factory=dict)


@dataclass
class _Called:
    """A call under way, or answered.

    Attributes:
        ask: what was asked for.
        begun: how many steps the burst had when it began.
        task: it.
        excuses: what it may be told whatever the hand is: that the ledger does not work, or that
            its time is over.
        over: it was answered, or nobody listens.
    """

    ask: Ask
    begun: int
    task: "asyncio.Task[Any]"
    excuses: set[str]
    over: bool = False


class Burst:
    """One way in which one thing may happen.

    Attributes:
        faults: what went wrong, in order.
    """

    def __init__(self, script: Script, state: State, choose: Choose, *, overlap: bool) -> None:
        """Make it.

        Args:
            script: whose calls may come.
            state: where it begins.
            choose: says which of some things happens.
            overlap: whether a second call may come before the first is answered, or its caller
                hang up.
        """
        self.faults: list[str] = []
        self._asks = {ask.name: ask for ask in script.asks}
        self._state = state
        self._choose = choose
        self._overlap = overlap
        self._life = Life(state.frozen)
        self._book = dict(state.book)
        self._told = set(state.told)
        self._calls: list[_Called] = []
        self._chain = [self._tables()]
        self._log = list(self._life.disk.log)
        self._moments = [self._life.wall_ns]
        self._dead = False

    async def run(self, first: str) -> State:
        """Let it happen, and return the moment of rest after it."""
        if first == KILL:
            await self._life.kill()
            return State(self._state.frozen.killed(), self._state.told, self._state.book)
        self._begin(first)
        await self._life.settle()
        self._answers()
        while not self._dead and (self._life.pending or self._under_way):
            if not self._life.pending:
                raise ViolationError(
                    f"waits for ever: {[call.ask.name for call in self._under_way]}"
                )
            await self._happen(self._choose(list(self._options())))
        if self._dead:
            frozen = Frozen(self._life.disk, self._life.desk.table.clock.now_ns)
        else:
            frozen = self._life.freeze()
        return State(frozen, frozenset(self._told), self._book)

    @property
    def _under_way(self) -> list[_Called]:
        return [call for call in self._calls if not call.over]

    def _tables(self) -> hand_model.Table:
        found = hand_facts.tables(self._life.disk)
        return {name: hand_facts.public(hand) for name, hand in found.items()}

    # --- what happens ---------------------------------------------------------------------

    def _begin(self, what: str) -> None:
        life = self._life
        if what == LATER:
            life.wait_until(next_due(self._chain[-1], life.wall_ns))
            self._moments.append(life.wall_ns)
            for call in self._under_way:
                # It waited for longer than its caller does.
                call.excuses |= {LEDGER_UNAVAILABLE, "ENTROPY_HOLD"}
        elif what == TICK:
            life.desk.sweep.tick()
        elif what == MEND:
            life.mend()
        else:
            ask = self._asks[what]
            hand = self._chain[-1].get(ask.parts[0]["hand"])
            if hand is None:
                ask = replace(ask, parts=tuple(map(_of_no_hand, ask.parts)))
            method, request, who = request_of(ask.parts, hand["O"] if hand else NO_HAND)
            task = asyncio.ensure_future(life.desk.ask(method, request, who))
            excuses = {LEDGER_UNAVAILABLE} if life.failing else set()
            self._calls.append(_Called(ask, len(self._chain) - 1, task, excuses))

    def _options(self) -> Iterator[str]:
        yield FINE
        if not self.faults:
            yield from FAULTS
        if self._overlap:
            yield from self._asks
            yield from (TICK, HANG_UP)
            if next_due(self._chain[-1], self._life.wall_ns):
                yield LATER

    async def _happen(self, what: str) -> None:
        life = self._life
        if what == HANG_UP:
            self._hang_up()
        elif what in FAULTS or what == FINE:
            self.faults += [what] if what in FAULTS else []
            self._become(what)
            if what in KILLS:
                self._dead = True
                await life.kill(*(call.task for call in self._under_way))
                return
        else:
            self._begin(what)
        if what not in FAULTS and what != FINE:
            # One comes in between, and no third.
            self._overlap = False
        await life.settle()
        self._answers()

    def _become(self, what: str) -> None:
        """Have the ledger take a step, in this way."""
        if what in {LOST, DOUBTFUL}:
            for call in self._under_way:
                call.excuses.add(LEDGER_UNAVAILABLE)
        if what != BEFORE:
            self._life.commit(written=what != LOST, answered=what != DOUBTFUL)
            self._recorded()

    def _hang_up(self) -> None:
        for call in self._under_way[:1]:
            call.task.cancel()
            call.over = True

    # --- what is recorded and told ----------------------------------------------------------

    def _recorded(self) -> None:
        """Look at what a commit has changed."""
        log = self._life.disk.log
        if log[: len(self._log)] != self._log:
            raise ViolationError("the log has changed")
        self._log = list(log)
        after = self._tables()
        if after == self._chain[-1]:
            return
        if not self._explained(self._chain[-1], after):
            raise ViolationError(f"nobody's step: {_short([self._chain[-1], after])}")
        self._chain.append(after)

    def _explained(self, before: hand_model.Table, after: hand_model.Table) -> bool:
        changed = [name for name in after if after[name] != before.get(name)]
        if len(changed) != 1 or list(after)[: len(before)] != list(before):
            return False
        [name] = changed
        return any(self._explains(now, before, after[name], name) for now in self._moments)

    def _explains(
        self, now: int, before: hand_model.Table, after: hand_model.Hand, name: str
    ) -> bool:
        if name in before and _is_due(before[name], now):
            return hand_model.after_time(before[name], now) == after
        parts = [part for call in self._calls for part in call.ask.parts if part["hand"] == name]
        return any(_makes(before, part, after, now) for part in parts)

    def _answers(self) -> None:
        """Look at what was answered since."""
        if self._life.fatal:
            raise ViolationError(f"the daemon would end: {self._life.fatal}")
        for call in self._under_way:
            if call.task.done():
                call.over = True
                self._look_at(call)

    def _look_at(self, call: _Called) -> None:
        name = call.ask.parts[0]["hand"]
        try:
            answer = call.task.result()
        except EntropydError as error:
            told: list[Any] = [error.reason]
            if len(call.ask.parts) > 1 and error.reason == "PLACE_DEALT":
                # It is loud, and says nothing of the contributions that it came with.
                told = [ANY, error.reason]
        except Exception as error:
            raise ViolationError(f"{call.ask.name} failed: {error!r}") from error
        else:
            told = hand_facts.replies(call.ask.parts, answer)
            note(self._book, hand_facts.facts(name, answer))
            do = call.ask.parts[0]["do"]
            for fault in hand_facts.answer_faults(self._life.disk, do, name, answer):
                raise ViolationError(fault)
        if not self._fits(call, 0, told, call.begun):
            raise ViolationError(
                f"{call.ask.name} was told {told} of {_short(self._chain[call.begun :])}"
            )
        if all_well(told, call.ask) and call.ask.parts[0]["do"] not in READS:
            self._told.add(call.ask.name)

    def _fits(self, call: _Called, number: int, told: Sequence[Any], first: int) -> bool:
        """Whether there are moments at which the parts of a call are told this, in order."""
        if number == len(told):
            return True
        if isinstance(told[number], str) and told[number] in call.excuses:
            return True
        part = call.ask.parts[number]
        return any(
            self._fits(call, number + 1, told, after)
            for at in range(first, len(self._chain))
            for now in self._moments
            for after in self._moment(call, part, told[number], at, now)
        )

    def _moment(self, call: _Called, part: Call, told: Any, at: int, now: int) -> Iterator[int]:
        """Yield the step after which a part is over, if it may be told this at that moment."""
        table = self._chain[at]
        hand = table.get(part["hand"])
        if hand is not None and hand_model.records(part) and _is_due(hand, now):
            return
        if told is None and hand is not None:
            # A deal beside contributions that others are awaited for.
            if "seal" not in hand_facts.events_of(hand):
                yield at
            return
        reply, after = hand_model.judge(table, part, now)
        told = reply if told == ANY else told
        if reply == told and after is None:
            yield at
        elif reply == told and at + 1 < len(self._chain):
            recorded = self._chain[at + 1].get(part["hand"])
            if recorded is not None and _makes(table, part, recorded, now):
                yield at + 1
        elif told == "TABLE_FULL" and self._is_taken(call, table, part, now):
            yield at

    def _is_taken(self, call: _Called, table: hand_model.Table, part: Call, now: int) -> bool:
        """Whether others that are under way take the room of a table."""
        taken = dict(table)
        for other in self._calls:
            for theirs in other.ask.parts if other is not call else ():
                _, after = hand_model.judge(taken, theirs, now)
                if after is not None:
                    taken[theirs["hand"]] = _PREPARED if theirs["do"] == "open" else after
        told, _ = hand_model.judge(taken, part, now)
        return bool(told == "TABLE_FULL")


# A hand whose opening is under way.
_PREPARED: hand_model.Hand = {"state": hand_model.SEALED, "runs": [], "mode": "", "seats": ()}


def _of_no_hand(part: Call) -> Call:
    """Return what a seat can say that does not know O yet: whatever hand comes, it is another."""
    said = [one | {"other_hand": True} for one in part.get("said", ())]
    return part | {"said": said} if said else part


def note(book: hand_facts.Book, told: Iterator[hand_facts.Fact]) -> None:
    """Write down what was told; fail if it was told otherwise before."""
    for what, said in told:
        if book.setdefault(what, said) != said:
            raise ViolationError(f"told otherwise than before: {what}")


def all_well(told: Sequence[Any], ask: Ask) -> bool:
    """Whether a call was told that all it asked for is done."""
    return len(told) == len(ask.parts) and all(
        one == OK or (isinstance(one, list) and not any(one)) for one in told
    )


def next_due(table: hand_model.Table, now: int) -> int:
    """Return when time makes something of a hand next; 0 for never."""
    due = [at for hand in table.values() if (at := hand_model.due_at(hand)) is not None]
    return min([at for at in due if at > now], default=0)


def _short(chain: Sequence[hand_model.Table]) -> str:
    """Return what people look at first of some moments."""
    shown = ("state", "said", "runs", "reason")
    return " then ".join(
        str({name: [hand[part] for part in shown] for name, hand in table.items()})
        for table in chain
    )


def _is_due(hand: hand_model.Hand, now: int) -> bool:
    return hand_model.after_time(hand, now) != hand


def _makes(table: hand_model.Table, part: Call, after: hand_model.Hand, now: int) -> bool:
    """Whether a call makes this hand of a table's."""
    _, made = hand_model.judge(table, part, now)
    if made is None:
        return False
    if part["do"] == "open":
        return hand_model.opened_as(part, after, now)
    return bool(made == after)
