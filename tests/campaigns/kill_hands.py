"""Kill -9 again and again under game servers and seats that play hands card by card.

    python -m tests.campaigns.kill_hands --kills 40 --seed 1

At each of twelve tables two game servers make every call of a hand at the same
time, and its seats speak at the same time (hand_callers.py). The daemon is
killed, begun again, killed ... (lives.py). In each new life, before callers are
let in, every step that the life before had answered is asked for again, and in
the end every one that was ever answered: it must be told (else it is lost), and
as it was told before, byte for byte (else it is differing): how the hand was
opened, its roll, its seal, its end, every note and every card.

In the end no two hands have one deck or commitment, the numbers of a table
have no gap, and the log from its first entry to its newest checkpoint is
verified as anybody would do it, by the file and `entropyd.verify`.

As kill.py, this shows nothing of power losses.
"""

import argparse
import asyncio
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import grpc

from entropyd.client.log_file import MAX_ENTRIES, log_file
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.signed_note import SignedNote
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.verify import check_proof
from tests.campaigns.hand_callers import Ask, HandCallers, HandDoors
from tests.campaigns.lives import SHARES, Lives, Phase, Plan, plans
from tests.campaigns.phased_daemon import (
    AFTER_COMMIT,
    BEFORE_ANSWER,
    BEFORE_COMMIT,
    IN_COMMIT,
    WAITING,
)

# Bytes a second: 62 seeds; a hand takes one, and its other steps none.
RATE = 6_000
# A commit holds the steps of some tables; the points are passed often before a kill, so that hands
# are met in all their states. Few wait for entropy at the same time.
MOST = MappingProxyType(
    {WAITING: 2, BEFORE_COMMIT: 80, IN_COMMIT: 80, AFTER_COMMIT: 80, BEFORE_ANSWER: 40}
)
AT_ONCE = 32


@dataclass
class Tally:
    """What came of a campaign.

    Attributes:
        kills: by point.
        met: how many steps of hands kills met in a phase.
        states: how many hands were in a state after a kill.
        answered: how many requests were ever answered.
        asked_again: how often one of these was made again.
        played: how many hands ended.
        lost: answered, and refused later.
        differing: things told otherwise than before.
        repeated: decks and commitments that two hands share.
        missing: numbers that no hand has, below the last of a table.
        entries: of the log, all verified.
        took_s: duration, seconds.
    """

    kills: Counter[str] = field(default_factory=Counter)
    met: Counter[Phase] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    asked_again: int = 0
    played: int = 0
    lost: int = 0
    differing: int = 0
    repeated: int = 0
    missing: int = 0
    entries: int = 0
    took_s: float = 0.0

    @property
    def wrong(self) -> int:
        """How many things are not as they should be."""
        return self.lost + self.differing + self.repeated + self.missing

    def table(self) -> str:
        """Return the campaign in some lines."""
        points = ", ".join(f"{self.kills[point]} {point}" for point in SHARES if self.kills[point])
        met = ", ".join(f"{self.met[phase]} {phase}" for phase in Phase)
        states = ", ".join(f"{number} {state}" for state, number in sorted(self.states.items()))
        lines = (
            f"killed {self.kills.total()} times: {points}",
            f"steps met: {met}; hands found after a kill: {states}",
            f"{self.played} hands ended; {self.entries} entries of the log verified",
            f"{self.answered} requests answered, made again {self.asked_again} times",
            f"{self.lost} lost, {self.differing} differing, {self.repeated} repeated",
            f"{self.missing} numbers missing; {self.took_s:.0f} s",
        )
        return "\n".join(lines)


class HandCampaign(Lives):
    """The lives of a daemon that deals card by card.

    Attributes:
        hands: its callers.
    """

    def __init__(self, home: Path, *alterations: str) -> None:
        super().__init__(home, alterations, rate=RATE)
        self.hands = self.callers = HandCallers(self.daemon)
        self._doors = HandDoors(self.daemon, self.hands.book)
        self._tally = Tally()
        self._latest: list[str] = []

    async def run(self, plans: Sequence[Plan]) -> Tally:
        """Live and die by plan, judged in each life, then live once more to be judged in all."""
        tally = self._tally
        tally.took_s = await self.live(plans)
        tally.answered, tally.played = len(self.hands.answered), self.hands.played
        tally.differing = len(self.hands.book.differing)
        return tally

    def count(self, plan: Plan, phases: Mapping[str, Phase]) -> None:
        """Count what the kill met, and remember what it had answered."""
        self._tally.kills[plan.point] += 1
        self._tally.met.update(met for name, met in phases.items() if name.startswith("hand/"))
        self._latest = [name for name, met in phases.items() if met is Phase.ANSWERED]

    async def look_back(self) -> None:
        """Ask again for what the life before answered, and look at all hands."""
        answered = self.hands.answered
        self._doors.let_in()
        try:
            await self._each(self._once_more, [answered[name] for name in self._latest])
            for hand in await self._doors.listed():
                if not hand.HasField("ended"):
                    self._tally.states[pb.HandState.Name(hand.state)[11:].lower()] += 1
        finally:
            await self._doors.shut()

    async def judge(self) -> None:
        """Ask again for everything, and look at all hands and the log."""
        tally = self._tally
        self._doors.let_in()
        try:
            await self._each(self._once_more, self.hands.answered.values())
            hands = await self._doors.listed()
            await self._each(lambda hand: self._doors.get(hand.opened.key), hands)
        finally:
            await self._doors.shut()
        for of in (lambda o: o.open_hash, lambda o: o.commitment, lambda o: o.deck_root):
            tally.repeated += len(hands) - len({of(hand.opened) for hand in hands})
        numbers = defaultdict(list)
        for hand in hands:
            numbers[hand.opened.key.table].append(hand.opened.sequence)
        for found in numbers.values():
            tally.missing += len(set(range(1, max(found) + 1)) ^ set(found))
        tally.entries = await asyncio.to_thread(self._verify_log)

    def _verify_log(self) -> int:
        """Verify the log from its first entry; return how many entries it has."""
        with self.daemon.client(socket_name="audit.sock") as client:
            note = SignedNote.decode(client.log().head().checkpoint.encode())
            size = Checkpoint.decode(note.text).size
            for first in range(0, size, MAX_ENTRIES):
                last = min(size, first + MAX_ENTRIES) - 1
                check_proof(json.dumps(log_file(client.log(), first, last)).encode())
        return size

    async def _once_more(self, ask: Ask) -> None:
        self._tally.asked_again += 1
        try:
            answer = await self._doors.ask(ask)
        except grpc.aio.AioRpcError:
            # Answered once and refused now: what was recorded is not there.
            self._tally.lost += 1
            return
        if ask.method in {"OpenHand", "DealCards"}:
            self._tally.lost += not answer.replayed
        refused = [outcome.refused for outcome in getattr(answer, "outcomes", ())]
        self._tally.lost += any(refused)

    async def _each(self, look: Any, things: Iterable[Any]) -> None:
        left = list(things)

        async def work() -> None:
            while left:
                await look(left.pop())

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))


def main() -> None:
    """Run a campaign and print what came of it."""
    parser = argparse.ArgumentParser(description="kill -9 under hands dealt card by card")
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ed-") as home:
        campaign = HandCampaign(Path(home))
        print(asyncio.run(campaign.run(plans(arguments.kills, arguments.seed, MOST))).table())


if __name__ == "__main__":
    main()
