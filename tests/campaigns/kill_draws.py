"""Kill -9 again and again under callers of draws, bags, raffles and rounds.

    python -m tests.campaigns.kill_draws --kills 40 --seed 1

Each of 32 callers asks until it is answered, and then for the next thing. The
daemon is killed, begun again, killed ... (lives.py). In each new life, before
callers are let in, what the life before had answered is asked for again, and
every match, raffle and pair is read back (drawing_judge.py); in the end all
that was ever answered is asked for once more. It must be there (else it is
lost), be what was told before to the byte (else it is differing), and have a
number of its own without a gap before it; a bag must give what it holds; and
the ledger must have one step of sealing and one draw of each raffle.

As kill.py, this shows nothing of power losses.
"""

import argparse
import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from entropyd.config import load
from entropyd.daemon.ledger import open_ledger
from entropyd.ledger.subjects import SubjectKind
from tests.campaigns.drawing_book import Kind
from tests.campaigns.drawing_callers import DrawingCallers
from tests.campaigns.drawing_judge import Judge
from tests.campaigns.lives import SHARES, Lives, Phase, Plan, plans
from tests.campaigns.phased_daemon import (
    AFTER_COMMIT,
    BEFORE_ANSWER,
    BEFORE_COMMIT,
    IN_COMMIT,
    WAITING,
)

TENANT = "acme"
# Bytes a second: 62 seeds, so that callers wait although the reservoir fills while they may not.
RATE = 6_000
# Of 32 callers 8 want rounds, which need no entropy, and others wait for their turn at a bag. A
# commit holds few of these things: the point is passed often before a kill, so that there are many.
MOST = MappingProxyType(
    {WAITING: 5, BEFORE_COMMIT: 60, IN_COMMIT: 60, AFTER_COMMIT: 60, BEFORE_ANSWER: 120}
)


@dataclass
class Tally:
    """What came of a campaign.

    Attributes:
        kills: by point.
        met: how many things of a kind kills met in a phase.
        answered: how many were ever answered, by kind.
        judge: what it counted.
        differing: how often something was told otherwise than before, by kind.
        redrawn: raffles whose steps are not one sealing and one draw.
        took_s: duration, seconds.
    """

    judge: Judge
    kills: Counter[str] = field(default_factory=Counter)
    met: Counter[tuple[Kind, Phase]] = field(default_factory=Counter)
    answered: Counter[Kind] = field(default_factory=Counter)
    differing: Counter[Kind] = field(default_factory=Counter)
    redrawn: int = 0
    took_s: float = 0.0

    @property
    def wrong(self) -> int:
        """How many things are not as they should be."""
        judge = self.judge
        counted = (judge.lost, self.differing, judge.missing, judge.repeated)
        return sum(counts.total() for counts in counted) + judge.short + self.redrawn

    def table(self) -> str:
        """Return the campaign as a table."""
        points = ", ".join(f"{self.kills[point]} {point}" for point in SHARES if self.kills[point])
        heads = (*Phase, "answered", "again", "lost", "differing", "missing", "repeated")
        lines = [
            f"killed {self.kills.total()} times: {points}",
            f"{'met':10}" + "".join(f"{head:>11}" for head in heads),
            *map(self._line, Kind),
        ]
        lines.append(
            f"{self.judge.short} bags that held something else, {self.redrawn} raffles drawn twice;"
            f" {self.took_s:.0f} s"
        )
        return "\n".join(lines)

    def _line(self, kind: Kind) -> str:
        judge = self.judge
        counted = (judge.asked_again, judge.lost, self.differing, judge.missing, judge.repeated)
        figures = [self.met[kind, phase] for phase in Phase]
        figures += [self.answered[kind], *(counts[kind] for counts in counted)]
        return f"{kind:10}" + "".join(f"{figure:>11}" for figure in figures)


class DrawCampaign(Lives):
    """The lives of a daemon that draws.

    Attributes:
        drawing: its callers.
    """

    def __init__(self, home: Path, *alterations: str) -> None:
        super().__init__(home, alterations, rate=RATE)
        self.drawing = self.callers = DrawingCallers(self.daemon.target)
        self._book = self.drawing.book
        self._judge = Judge(self.daemon.target, self._book)
        self._tally = Tally(self._judge)
        self._latest: list[str] = []

    async def run(self, plans: Sequence[Plan]) -> Tally:
        """Live and die by plan, judged in each life, then live once more to be judged in all."""
        tally = self._tally
        tally.took_s = await self.live(plans)
        tally.answered = Counter(ask.kind for ask in self._book.answered.values())
        tally.differing = self._book.differing
        tally.redrawn = self._redrawn()
        return tally

    def count(self, plan: Plan, phases: Mapping[str, Phase]) -> None:
        """Count what the kill met, and remember what it had answered."""
        tally = self._tally
        tally.kills[plan.point] += 1
        for name, met in phases.items():
            if name in self._book.asked:
                tally.met[self._book.asked[name].kind, met] += 1
        self._latest = [name for name, met in phases.items() if met is Phase.ANSWERED]

    async def look_back(self) -> None:
        """Ask again for what the life before answered, and read everything back."""
        again = [self._book.answered[name] for name in self._latest]
        await self._judge.look(self.drawing.players, again)

    async def judge(self) -> None:
        """Ask again for everything, and read everything back."""
        await self._judge.look(self.drawing.players, self._book.answered.values())

    def _redrawn(self) -> int:
        """Return how many raffles have other steps than one sealing and one draw."""
        raffles = {ask.request.raffle for ask in self._book.of_kind(Kind.RAFFLE)}
        with open_ledger(load(self.daemon.write_config())) as ledger:
            steps = (ledger.steps(SubjectKind.RAFFLE, TENANT, one, 0, 10) for one in raffles)
            return sum([step.key for step in found] != ["seal", "raffle"] for found in steps)


def main() -> None:
    """Run a campaign and print its table."""
    parser = argparse.ArgumentParser(description="kill -9 under callers of draws")
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ed-") as home:
        campaign = DrawCampaign(Path(home))
        print(asyncio.run(campaign.run(plans(arguments.kills, arguments.seed, MOST))).table())


if __name__ == "__main__":
    main()
