"""Kill -9 again and again under 64 callers, and ask for every answered hand once more.

    python -m tests.campaigns.kill --kills 200 --seed 1

Each caller asks for one hand until it is answered, with the same claim, and
then for its next. The daemon is killed, begun again, killed ... (lives.py).

In the end every hand that was ever answered is asked for again. It must be
the same to the byte (else it is differing), come from the ledger (else it was
lost), and share neither deck nor number with another (else it is repeated).

Shows what survives a process that dies. The kernel lives on and keeps what was
written: of power losses this shows nothing, crash_replay.py does.
"""

import argparse
import asyncio
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.campaigns.lives import SHARES, Lives, Phase, Plan, plans
from tests.campaigns.persistent_callers import PersistentCallers


@dataclass
class Tally:
    """What came of a campaign.

    Attributes:
        kills: by point.
        hits: kills that met at least one hand in a phase, by point and phase.
        hands: hands met, by point and phase.
        answered: hands that were ever answered.
        lost: of them, those that the ledger did not have in the end.
        differing: of them, those that came back with another byte.
        repeated: decks, hashes and numbers that two hands share.
        missing: numbers that no hand has, below the last of a table.
        contradicted: hands whose answer says `replayed` against what their phases say.
        took_s: duration, seconds.
    """

    kills: Counter[str] = field(default_factory=Counter)
    hits: Counter[tuple[str, Phase]] = field(default_factory=Counter)
    hands: Counter[tuple[str, Phase]] = field(default_factory=Counter)
    answered: int = 0
    lost: int = 0
    differing: int = 0
    repeated: int = 0
    missing: int = 0
    contradicted: int = 0
    took_s: float = 0.0

    def add(self, point: str, phases: Iterable[Phase]) -> None:
        """Count a kill that met hands in these phases."""
        self.kills[point] += 1
        for phase, number in Counter(phases).items():
            self.hits[point, phase] += 1
            self.hands[point, phase] += number

    def kills_that_hit(self, phase: Phase) -> int:
        """Return how many kills met a hand in a phase."""
        return sum(number for (_, met), number in self.hits.items() if met is phase)

    def table(self) -> str:
        """Return the campaign as a table: kills that met a phase, and how many hands in it."""
        lines = [f"{'killed at':14} {'kills':>6}" + "".join(f"{phase:>15}" for phase in Phase)]
        lines += [self._line(point, [point]) for point in SHARES if self.kills[point]]
        lines.append(self._line("in all", list(SHARES)))
        lines.append("")
        lines.append(
            f"{self.answered} hands answered: {self.lost} lost, {self.repeated} repeated,"
            f" {self.differing} differing, {self.missing} numbers missing,"
            f" {self.contradicted} contradicting their phase; {self.took_s:.0f} s"
        )
        return "\n".join(lines)

    def _line(self, name: str, points: Sequence[str]) -> str:
        cells = [
            f"{sum(self.hits[point, phase] for point in points):>7}"
            f" /{sum(self.hands[point, phase] for point in points):>6}"
            for phase in Phase
        ]
        return f"{name:14} {sum(self.kills[point] for point in points):>6}" + "".join(cells)


class Campaign(Lives):
    """The lives of a daemon that deals.

    Attributes:
        hands: its callers.
    """

    def __init__(
        self,
        home: Path,
        *alterations: str,
        callers: type[PersistentCallers] = PersistentCallers,
    ) -> None:
        super().__init__(home, alterations)
        self.hands = self.callers = callers(self.daemon.target)
        self._met: dict[str, set[Phase]] = defaultdict(set)
        self._tally = Tally()

    async def run(self, plans: Sequence[Plan]) -> Tally:
        """Live and die by plan, then live once more to be asked for everything."""
        self._tally.took_s = await self.live(plans)
        return self._tally

    def count(self, plan: Plan, phases: Mapping[str, Phase]) -> None:
        """Remember in which phase the kill met each hand."""
        for hand, met in phases.items():
            self._met[hand].add(met)
        self._tally.add(plan.point, phases.values())

    async def judge(self) -> None:
        """Ask for every answered hand once more, and compare."""
        tally, answers = self._tally, self.hands.answers
        tally.answered = len(answers)
        for hand, again in (await self.hands.ask_again()).items():
            tally.lost += not again.replayed
            tally.differing += again.message != answers[hand].message
        messages = [answer.message for answer in answers.values()]
        for of in (lambda m: m.open_hash, lambda m: m.items, lambda m: m.commitment):
            tally.repeated += len(messages) - len({of(message) for message in messages})
        numbers = defaultdict(list)
        for message in messages:
            numbers[message.key.table].append(message.sequence)
        for found in numbers.values():
            tally.repeated += len(found) - len(set(found))
            tally.missing += max(found) - len(set(found))
        tally.contradicted = sum(
            self._contradicts(hand, replayed=answer.replayed) for hand, answer in answers.items()
        )

    def _contradicts(self, hand: str, *, replayed: bool) -> bool:
        """Whether an answer claims to be new or old against what the kills saw of its hand.

        One that a kill met committed must be old, one that no kill met drawn
        must be new. One that a kill met drawn may be either.
        """
        if Phase.COMMITTED in self._met[hand]:
            return not replayed
        return replayed and Phase.DRAWN not in self._met[hand]


def main() -> None:
    """Run a campaign and print its table."""
    parser = argparse.ArgumentParser(description="kill -9 under 64 callers")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ed-") as home:
        campaign = Campaign(Path(home))
        print(asyncio.run(campaign.run(plans(arguments.kills, arguments.seed))).table())


if __name__ == "__main__":
    main()
