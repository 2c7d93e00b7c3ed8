"""The reservoir: tested samples with their credit, waiting to be dealt from, for a while.

Bounded in bytes and in age. Samples leave in the order of their arrival, each
once, and by one of two doors: they are *taken* for a seed, or they are *spent*
without being dealt from, because they grew too old, because newer ones pushed
them out, or because their source lost its credit. The caller collects those
and stirs them into the DRBG. No sample leaves twice, so no byte enters two
seeds.

Samples count at the lower of their credit at arrival and their source's credit
now, and only whole samples count. All sums are exact integers, in millibits.

Spec: DESIGN 5, "Reservoir"; SP 800-90B, section 3.1.5 (credit per sample).
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from entropyd.entropy.credited import CreditedBlock, SourceSamples
from entropyd.entropy.spent import SpentBucket
from entropyd.errors import InternalError


@dataclass(frozen=True, slots=True)
class Taken:
    """What one take drew from one source.

    Attributes:
        source_id: the source.
        samples: in the order of their arrival, at least one. Secret.
        credited_millibits: what they counted for, each at the lower of its
            credit at arrival and its source's credit at the take.
        oldest_arrived_ns: monotonic time of arrival of the oldest of them.
    """

    source_id: str
    samples: bytes = field(repr=False)
    credited_millibits: int
    oldest_arrived_ns: int


@dataclass(frozen=True, slots=True)
class FromEach:
    """So much from each of several sources, whichever have most waiting.

    Attributes:
        millibits: credit that each of them gives.
        sources: how many, at least 1.
    """

    millibits: int
    sources: int

    @property
    def total(self) -> int:
        """Credit of all of them together."""
        return self.millibits * self.sources


# Millibits from whatever source comes first, or from each of several.
Amount = int | FromEach


class _Lane:
    """The waiting blocks of one source, oldest first, and what they add up to.

    `start` counts the samples of the first block that are gone already: blocks
    are never copied to be cut. `counts` maps a credit at arrival to how many
    waiting samples have it. A source's credit changes rarely, so that there are
    few entries, and levels are cheap however many blocks wait.
    """

    __slots__ = ("blocks", "counts", "samples", "start")

    def __init__(self) -> None:
        self.blocks: deque[CreditedBlock] = deque()
        self.counts: dict[int, int] = {}
        self.samples = 0
        self.start = 0

    def append(self, block: CreditedBlock) -> None:
        credit, size = block.millibits_per_sample, len(block.samples)
        self.counts[credit] = self.counts.get(credit, 0) + size
        self.samples += size
        self.blocks.append(block)

    def level_millibits(self, credit_now: int) -> int:
        return sum(n * min(credit, credit_now) for credit, n in self.counts.items())

    def drop(self, count: int) -> None:
        """Let the oldest `count` samples go. All of them must be in the first block."""
        block = self.blocks[0]
        credit = block.millibits_per_sample
        left = self.counts[credit] - count
        if self.start + count > len(block.samples) or left < 0:
            raise InternalError(f"samples of {block.source_id!r} would be spent twice")
        self.start += count
        self.samples -= count
        self.counts[credit] = left
        if left == 0:
            del self.counts[credit]
        if self.start == len(block.samples):
            self.blocks.popleft()
            self.start = 0


@dataclass(slots=True)
class _Cursor:
    """How far a plan has come in one lane."""

    lane: _Lane
    credit_now: int
    index: int
    start: int
    planned_millibits: int = 0

    def left_millibits(self) -> int:
        """Return what the samples that are not planned yet count for."""
        return self.lane.level_millibits(self.credit_now) - self.planned_millibits

    def head(self) -> CreditedBlock | None:
        """Return the block of the next sample that is not planned yet."""
        blocks = self.lane.blocks
        return blocks[self.index] if self.index < len(blocks) else None


class Plan:
    """A walk over the lanes in order of arrival that changes nothing.

    A draw needs several takes or none. Planning them first leaves nothing to
    put back when the last one finds too little. A plan that found too little
    once is not added to.

    Attributes:
        takes: for each amount what it would take, a source at most once, worth
            less than one sample more than asked.
        drops: how many samples leave which lane, in order.
    """

    def __init__(self, cursors: Sequence[_Cursor]) -> None:
        self._cursors = cursors
        self.takes: list[tuple[Taken, ...]] = []
        self.drops: list[tuple[_Lane, int]] = []

    def add(self, amount: Amount) -> bool:
        """Plan one more take; return False if too little is left for it."""
        if isinstance(amount, int):
            take = self._collect(self._cursors, amount)
        else:
            take = self._collect_from_each(amount)
        if take is None:
            return False
        self.takes.append(take)
        return True

    def _collect_from_each(self, amount: FromEach) -> tuple[Taken, ...] | None:
        # The fullest first: so as many takes as possible find enough sources.
        fullest = sorted(self._cursors, key=_Cursor.left_millibits, reverse=True)
        parts = [self._collect([cursor], amount.millibits) for cursor in fullest[: amount.sources]]
        found = [part for part in parts if part is not None]
        if len(found) < amount.sources:
            return None
        return tuple(taken for part in found for taken in part)

    def _collect(self, cursors: Sequence[_Cursor], millibits: int) -> tuple[Taken, ...] | None:
        """Return the oldest samples under some cursors, each source once; None: too few."""
        pieces: dict[str, list[memoryview]] = {}
        credited: dict[str, int] = {}
        oldest_ns: dict[str, int] = {}
        missing = millibits
        while missing > 0:
            cursor = _oldest(cursors)
            if cursor is None:
                return None
            block = cursor.lane.blocks[cursor.index]
            credit = min(block.millibits_per_sample, cursor.credit_now)
            # Whole samples: rounded up, because a part of one cannot be spent.
            count = min(-(-missing // credit), len(block.samples) - cursor.start)
            piece = memoryview(block.samples)[cursor.start : cursor.start + count]
            pieces.setdefault(block.source_id, []).append(piece)
            credited[block.source_id] = credited.get(block.source_id, 0) + count * credit
            oldest_ns.setdefault(block.source_id, block.arrived_ns)
            missing -= count * credit
            cursor.planned_millibits += count * credit
            self._advance(cursor, count, len(block.samples))
        return tuple(
            Taken(source_id, b"".join(views), credited[source_id], oldest_ns[source_id])
            for source_id, views in pieces.items()
        )

    def add_all(self, amounts: Sequence[Amount]) -> bool:
        """Plan several more takes, or none of them; return which."""
        takes, drops = len(self.takes), len(self.drops)
        if all(self.add(amount) for amount in amounts):
            return True
        del self.takes[takes:], self.drops[drops:]
        return False

    def _advance(self, cursor: _Cursor, count: int, size: int) -> None:
        self.drops.append((cursor.lane, count))
        cursor.start += count
        if cursor.start == size:
            cursor.index += 1
            cursor.start = 0


def _oldest(cursors: Sequence[_Cursor]) -> _Cursor | None:
    """Return the cursor before the oldest sample that is not planned yet."""
    oldest, arrived_ns = None, 0
    for cursor in cursors:
        block = cursor.head()
        if block is not None and (oldest is None or block.arrived_ns < arrived_ns):
            oldest, arrived_ns = cursor, block.arrived_ns
    return oldest


class Reservoir:
    """Credited samples of all sources. Owned by the event-loop thread.

    Credits now are handed in with every question, as a mapping from source id
    to millibits a sample. A source that is missing there, or has 0, does not
    count and is not taken from.
    """

    def __init__(self, capacity_bytes: int, max_age_ns: int) -> None:
        """Make an empty reservoir.

        Args:
            capacity_bytes: samples it holds at most, one byte each; at least 1.
            max_age_ns: age from which a sample is not dealt from, above 0.
        """
        self._capacity_bytes = capacity_bytes
        self._max_age_ns = max_age_ns
        self._lanes: dict[str, _Lane] = {}
        self._bytes = 0
        self._spent = SpentBucket()

    @property
    def waiting_bytes(self) -> int:
        """Samples in the reservoir, credited or not, one byte each."""
        return self._bytes

    def add(self, block: CreditedBlock) -> None:
        """Put a block behind what is there; push out the oldest samples if it is full.

        Raises:
            InternalError: the block is empty, has no credit, or arrived before
                the last one of its source. Nothing was added.
        """
        if not block.samples or block.millibits_per_sample <= 0:
            raise InternalError(
                f"block of {block.source_id!r} has {len(block.samples)} samples at"
                f" {block.millibits_per_sample} millibits; expected both above 0"
            )
        lane = self._lanes.get(block.source_id)
        if lane is None:
            lane = self._lanes[block.source_id] = _Lane()
        if lane.blocks and block.arrived_ns < lane.blocks[-1].arrived_ns:
            raise InternalError(f"a block of {block.source_id!r} arrived before its predecessor")
        lane.append(block)
        self._bytes += len(block.samples)
        while self._bytes > self._capacity_bytes:
            self._spend_head(self._oldest_lane(), self._bytes - self._capacity_bytes)

    def spend(self, source_id: str, samples: bytes) -> None:
        """Take samples that never had a place here straight to the spent ones."""
        self._spent.add(source_id, samples)

    def withdraw_credit(self, source_id: str) -> None:
        """Spend every waiting sample of a source, undealt: it alarmed or was lost."""
        lane = self._lanes.get(source_id)
        while lane is not None and lane.blocks:
            self._spend_head(lane, lane.samples)

    def expire(self, now_ns: int) -> None:
        """Spend, undealt, every sample that is `max_age_ns` old or older."""
        for lane in self._lanes.values():
            while lane.blocks and now_ns - lane.blocks[0].arrived_ns >= self._max_age_ns:
                self._spend_head(lane, lane.samples)

    def level_millibits(self, now_ns: int, current_credit: Mapping[str, int]) -> int:
        """Return what the waiting samples count for, once the old ones have been spent.

        Costs a step for each source and each credit it had, not for each block.
        """
        self.expire(now_ns)
        return sum(
            lane.level_millibits(current_credit.get(source_id, 0))
            for source_id, lane in self._lanes.items()
        )

    def plan(
        self, amounts: Sequence[Amount], now_ns: int, current_credit: Mapping[str, int]
    ) -> Plan | None:
        """Find samples worth each of several amounts, oldest first, and spend none yet.

        Args:
            amounts: millibits of each take, from whichever source or from each of
                several, in the order in which they are served; 0 takes nothing.
            now_ns: monotonic time, in nanoseconds.
            current_credit: millibits a sample of each source now.

        Returns:
            The plan, whose takes may be used after `commit`; None if there is
            too little for all of them.
        """
        plan = self.plan_most([amounts], now_ns, current_credit)
        return plan if len(plan.takes) == len(amounts) else None

    def plan_most(
        self, groups: Iterable[Sequence[Amount]], now_ns: int, current_credit: Mapping[str, int]
    ) -> Plan:
        """Find samples for as many groups of amounts as there are, oldest first, and spend none.

        Args:
            groups: amounts as for `plan`; all of a group, or none, and then none of the next.
            now_ns: monotonic time, in nanoseconds.
            current_credit: millibits a sample of each source now.

        Returns:
            The plan: the takes of the first groups, one after the other.
        """
        self.expire(now_ns)
        plan = Plan(
            [
                _Cursor(lane, current_credit[source_id], 0, lane.start)
                for source_id, lane in self._lanes.items()
                if lane.blocks and current_credit.get(source_id, 0) > 0
            ]
        )
        for amounts in groups:
            if not plan.add_all(amounts):
                break
        return plan

    def commit(self, plan: Plan) -> None:
        """Spend what was planned. The plan must be the last, and nothing came between.

        Raises:
            InternalError: a sample of the plan is gone already.
        """
        for lane, count in plan.drops:
            lane.drop(count)
            self._bytes -= count

    def take_spent(self) -> tuple[SourceSamples, ...]:
        """Hand over what left undealt since the last call, each source once, to be stirred."""
        return self._spent.take()

    def _oldest_lane(self) -> _Lane:
        waiting = [lane for lane in self._lanes.values() if lane.blocks]
        return min(waiting, key=lambda lane: lane.blocks[0].arrived_ns)

    def _spend_head(self, lane: _Lane, at_most: int) -> None:
        """Spend up to `at_most` of the oldest samples of a lane, out of its first block."""
        block, start = lane.blocks[0], lane.start
        count = min(at_most, len(block.samples) - start)
        lane.drop(count)
        self._bytes -= count
        self._spent.add(block.source_id, memoryview(block.samples)[start : start + count])
