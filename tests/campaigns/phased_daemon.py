"""Run the daemon with a log of what becomes of its hands, and let it die at a point of its way.

    python -m tests.campaigns.phased_daemon LOG POINT COUNT [ALTERATION...] serve -c FILE

The log gets a line for each step of each hand, draw, raffle or round, written
before the step is taken, by a system call, so that nothing of it is lost with
the process:

    waiting WHAT      asked for, not recorded yet: it joins the queue for entropy
    drawn WHAT        its seeds are spent, if it takes any: it goes to the ledger's writer
    committed WHAT    the ledger has confirmed it

WHAT is the id of a hand, or kind/name/key of a step of another subject.

The process kills itself with SIGKILL when it comes to POINT for the COUNTth
time; `nowhere` is never reached. Nothing else differs from the daemon: every
step is the production code's own.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from entropyd.games.raffle import RAFFLE_DRAW
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.ledger.subjects import StepDraft
from entropyd.runtime.draws import Draws
from entropyd.runtime.kept_hands import OPEN_STEP
from entropyd.runtime.writer import GroupCommitWriter
from entropyd.service.draw_core import DrawCore
from entropyd.service.fair_core import FairCore
from entropyd.service.hand_core import HandCore
from entropyd.service.raffle_core import RaffleCore
from entropyd.service.shuffle_core import ShuffleCore
from entropyd.v1 import shuffle_service_pb2
from tests.campaigns import altered_daemon
from tests.campaigns.altered_daemon import AskingConnection

# COUNT callers wait for entropy.
WAITING = "waiting"
# A batch with drafts was handed to the ledger: drawn, and not a byte written.
BEFORE_COMMIT = "before-commit"
# Rows were written, in the transaction that is not ended.
IN_COMMIT = "in-commit"
# The ledger has confirmed; the event loop does not know yet.
AFTER_COMMIT = "after-commit"
# The answer is made and not sent.
BEFORE_ANSWER = "before-answer"
NOWHERE = "nowhere"
POINTS = (WAITING, BEFORE_COMMIT, IN_COMMIT, AFTER_COMMIT, BEFORE_ANSWER)

# Whose answers are looked at, beside those of Shuffle.
ANSWERS: Mapping[type, Sequence[str]] = {
    DrawCore: ("draw_integers", "roll_dice", "shuffle_items", "sample", "draw_from_bag"),
    RaffleCore: ("seal_entries", "draw"),
    FairCore: ("play_round",),
    # Its other answers do not say whether they are told again.
    HandCore: ("open_hand", "deal_cards"),
}

# Draws of these wait under a name that ends with the draw's key, or have a key of their own.
DRAWN_IN = {"match": "", "raffle": RAFFLE_DRAW}
# A hand dealt card by card waits under its own name for what opens it.
HAND = "hand"

ROOT = Path(__file__).parents[2]


def phased(log: Path, point: str, count: int, *alterations: str) -> Sequence[str]:
    """Return the command to put in front of the daemon's."""
    module = ("-m", "tests.campaigns.phased_daemon")
    place = (str(log), point, str(count))
    return ("env", f"PYTHONPATH={ROOT}", sys.executable, *module, *place, *alterations)


class Phases:
    """Follows what is recorded, and dies in time."""

    def __init__(self, log: str, point: str, count: int) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._point = point
        self._count = count

    def enter(self, phase: str, what: str) -> None:
        """Write down that something takes a step."""
        os.write(self._log, f"{phase} {what}\n".encode("ascii"))

    def reach(self, point: str, passings: int = 1) -> None:
        """Die if this is the point, and it was passed often enough."""
        if point != self._point:
            return
        self._count -= passings
        if self._count <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)

    def install(self) -> None:
        """Put the steps and points around the production code's methods."""
        self._follow_dealer()
        self._follow_ledger()
        self._follow_answers()

    def _follow_dealer(self) -> None:
        def add(draws: Draws, orders: Any, **how: Any) -> Any:
            for order in orders:
                self.enter("waiting", order.hand)
            waiter = add_as_ever(draws, orders, **how)
            wait(draws)
            return waiter

        def add_step(draws: Draws, order: Any) -> Any:
            kind, *_, key = map(str, order.key)
            if kind in DRAWN_IN:
                self.enter("waiting", f"{kind}/{order.place}/{DRAWN_IN[kind] or key}")
            if kind == HAND:
                self.enter("waiting", f"{HAND}/{key}/{OPEN_STEP}")
            waiter = add_step_as_ever(draws, order)
            wait(draws)
            return waiter

        def wait(draws: Draws) -> None:
            if len(draws) >= self._count:
                self.reach(WAITING, self._count)

        def submit(writer: GroupCommitWriter, drafts: Any) -> Any:
            for draft in drafts:
                self.enter("drawn", name_of(draft))
            return submit_as_ever(writer, drafts)

        add_as_ever = Draws.add
        add_step_as_ever = Draws.add_step
        submit_as_ever = GroupCommitWriter.submit
        _replace(Draws, "add", add)
        _replace(Draws, "add_step", add_step)
        _replace(GroupCommitWriter, "submit", submit)

    def _follow_ledger(self) -> None:
        committing: list[bool] = []

        def commit(ledger: SqliteLedger, drafts: Any, *rest: Any) -> Any:
            if not drafts:
                return commit_as_ever(ledger, drafts, *rest)
            self.reach(BEFORE_COMMIT)
            committing.append(True)
            outcomes = commit_as_ever(ledger, drafts, *rest)
            committing.clear()
            for draft in drafts:
                self.enter("committed", name_of(draft))
            self.reach(AFTER_COMMIT)
            return outcomes

        def before_commit(connection: AskingConnection) -> bool:
            if committing:
                self.reach(IN_COMMIT)
            return True

        commit_as_ever = SqliteLedger.commit
        _replace(SqliteLedger, "commit", commit)
        AskingConnection.ask(before_commit)

    def _follow_answers(self) -> None:
        async def shuffle(core: ShuffleCore, request: Any, call: Any) -> Any:
            answer = await shuffle_as_ever(core, request, call)
            if not shuffle_service_pb2.ShuffleResponse.FromString(answer).replayed:
                self.reach(BEFORE_ANSWER)
            return answer

        shuffle_as_ever = ShuffleCore.shuffle
        _replace(ShuffleCore, "shuffle", shuffle)
        for core, names in ANSWERS.items():
            for name in names:
                self._follow_answer(core, name)

    def _follow_answer(self, core: type, name: str) -> None:
        async def answer(this: Any, request: Any, call: Any) -> Any:
            answered = await as_ever(this, request, call)
            if not answered.replayed:
                self.reach(BEFORE_ANSWER)
            return answered

        as_ever = getattr(core, name)
        _replace(core, name, answer)


def name_of(draft: Any) -> str:
    """Return what the log calls a draft."""
    if isinstance(draft, StepDraft):
        # Of a hand only the step that opens it has a key.
        key = draft.key or (f"step-{draft.expected}" if draft.kind == HAND else "")
        return f"{draft.kind}/{draft.name}/{key}"
    hand: str = draft.hand
    return hand


def _replace(owner: type, name: str, function: Callable[..., Any]) -> None:
    assert hasattr(owner, name), f"{owner.__name__} has no {name}"
    setattr(owner, name, function)


if __name__ == "__main__":
    Phases(sys.argv[1], sys.argv[2], int(sys.argv[3])).install()
    altered_daemon.main(sys.argv[4 : sys.argv.index("serve")])
