"""Lines of seed pairs as they go on: one step, one record, and only then an answer.

Owned by the event loop's thread. Of one player, one call at a time makes a
step, and has the turn until that is recorded, whether it still waits or not. A
step is made of the snapshot that the ledger has, and the ledger takes it only
if that is still the last one. So a crash at any moment leaves a step that
everybody finds, or none.

Spec: docs/protocol.md, "Life of a line of pairs".
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from entropyd.errors import InternalError, WrongStateError
from entropyd.games.pair_line import PairLine
from entropyd.games.pair_records import EndRecord
from entropyd.games.pair_steps import (
    OPEN_KEY,
    Kept,
    LineOwner,
    RoundAsk,
    Step,
    client_seed_set,
    end_key,
    ended,
    opened,
    pair_key,
    played,
    rotated,
    round_key,
    seed_key,
    server_seed,
)
from entropyd.games.seed_pair import Profile
from entropyd.ledger.subjects import (
    StepDraft,
    StepOutcome,
)
from entropyd.rbg.construction import DrawSeeds
from entropyd.runtime.line_drafts import Recorded, draft_of, made_now, order_of
from entropyd.runtime.line_records import LineRecords
from entropyd.runtime.orders import StepOrder
from entropyd.runtime.shared_turns import SharedTurns
from entropyd.runtime.step_calls import StepCalls
from entropyd.runtime.waiter import AnyWaiter


@dataclass(frozen=True, slots=True)
class FairLimits:
    """The configuration of lines.

    Attributes:
        profile: of lines whose caller names none.
        reveal_after_ns: how long a pair is present at most, nanoseconds.
        max_rounds: how many rounds a pair has at most, at least 1.
    """

    profile: Profile
    reveal_after_ns: int
    max_rounds: int


@dataclass(slots=True)
class _Turn:
    """What a call that has its turn waits for."""

    waiter: AnyWaiter[StepOutcome] | None = None


class FairLines:
    """Makes the steps of all lines.

    Attributes:
        limits: as configured; may be replaced, for calls to come.
    """

    def __init__(
        self,
        calls: StepCalls,
        records: LineRecords,
        *,
        limits: FairLimits,
        clock_ns: Callable[[], int],
        wall_ns: Callable[[], int],
        adopted_at_ns: int = 0,
    ) -> None:
        """Make it.

        Args:
            calls: waits, draws and records.
            records: finds what is recorded.
            limits: as configured.
            clock_ns: monotonic clock.
            wall_ns: wall clock, for when pairs became present.
            adopted_at_ns: wall clock, when the ledger was adopted last; 0 for never.
        """
        self.limits = limits
        self._calls = calls
        self._records = records
        self._wall_ns = wall_ns
        self._adopted_at_ns = adopted_at_ns
        self._clock_ns = clock_ns
        self._turns = SharedTurns()

    def require_served(self, owner: LineOwner) -> None:
        """Refuse a player of another node; WrongNodeError."""
        self._calls.require_served(owner.player)

    # --- steps that nothing is drawn for -----------------------------------------------

    async def set_client_seed(
        self, owner: LineOwner, shown_hash: bytes, client_seed: str, answer_by_ns: int
    ) -> None:
        """Set a client seed; the same again for the same pair changes nothing.

        Raises:
            As `PairLine.set_client_seed`, `kept` and `StepCalls.record`.
        """

        def make(kept: Kept) -> Step | None:
            line = kept.line
            if (line.server_hash, line.client_seed) == (shown_hash, client_seed):
                return None
            return client_seed_set(kept, shown_hash, client_seed)

        await self._append(owner, "", make, answer_by_ns)

    async def play(self, owner: LineOwner, ask: RoundAsk, answer_by_ns: int) -> Recorded:
        """Play a round, or find it. The caller looks whether it is what was asked for.

        Raises:
            As `pair_steps.played`, `kept` and `StepCalls.record`.
        """

        def make(kept: Kept) -> Step:
            if self.is_given_up(owner, kept.line):
                raise WrongStateError(
                    f"the seed of pair {kept.line.pair} was made before the ledger was adopted:"
                    " rounds of it may be missing, whose outcomes were shown; rotate it"
                )
            return played(kept, ask, self.limits.max_rounds)

        return _made(await self._append(owner, round_key(ask.round_id), make, answer_by_ns))

    def is_given_up(self, owner: LineOwner, line: PairLine) -> bool:
        """Tell whether a present pair may have had rounds that an adoption gave up.

        The next one would get a nonce whose outcome somebody has seen. So it is with every pair
        whose seed was made before: the present one and, since it may have become present in what is
        missing, the one after it. By the wall clock, which may be wrong: one that was set back has
        pairs revealed that need not be.

        Raises:
            LedgerError: it cannot be read.
        """
        if not self._adopted_at_ns:
            return False
        made = self._records.step(owner, seed_key(line.pair))
        if made is None:
            raise InternalError(f"pair {line.pair} without the step that made its seed")
        return made.at_ns < self._adopted_at_ns

    async def end(self, owner: LineOwner, end: EndRecord, answer_by_ns: int) -> Recorded:
        """Close or void a round, or find how it ended.

        Raises:
            As `PairLine.end`, `kept` and `StepCalls.record`.
        """

        def make(kept: Kept) -> Step:
            return ended(kept, end)

        return _made(await self._append(owner, end_key(end.round_id), make, answer_by_ns))

    async def _append(
        self,
        owner: LineOwner,
        key: str,
        make: Callable[[Kept], Step | None],
        answer_by_ns: int,
    ) -> Recorded | None:
        """Return the step with this key, made of the last snapshot unless it is there already.

        None if `make` finds nothing to change.
        """
        with self._calls.call() as arrived_ns:
            found = self._found(owner, key, arrived_ns)
            if found is not None:
                return found
            async with self._turn(owner, answer_by_ns) as turn:
                while (found := self._found(owner, key, arrived_ns)) is None:
                    kept, steps = self._records.kept(owner)
                    step = make(kept)
                    if step is None:
                        return None
                    draft = draft_of(owner, step, steps, self._wall_ns())
                    turn.waiter = self._calls.record(*owner, [draft])
                    [outcome] = await self._calls.outcomes(turn.waiter, answer_by_ns)
                    made = made_now(outcome)
                    if made is not None:
                        return made
                return found

    # --- steps that seeds are drawn for --------------------------------------------------

    async def open(self, owner: LineOwner, profile: Profile, answer_by_ns: int) -> Recorded:
        """Open a line, or find it.

        Raises:
            WrongStateError: it is open with another profile.
            EntropydError: as `StepCalls.enqueue` and `outcomes`.
        """

        def make(seeds: DrawSeeds, provenance: bytes, drawn_at_ns: int) -> Sequence[StepDraft]:
            made = [
                server_seed(seed, profile, owner, pair)
                for pair, seed in enumerate(seeds.seeds, start=1)
            ]
            step = opened(profile, made, provenance, drawn_at_ns)
            return [draft_of(owner, step, 0, drawn_at_ns)]

        order = order_of(owner, profile, pair=1, seeds=2, make=make)
        with self._calls.call() as arrived_ns:
            found = self._found(owner, OPEN_KEY, arrived_ns)
            if found is None:
                async with self._turn(owner, answer_by_ns) as turn:
                    while (found := self._found(owner, OPEN_KEY, arrived_ns)) is None:
                        made = await self._draw(order, turn, answer_by_ns)
                        if made is not None:
                            return made
        line = self._records.line(owner)
        if line.profile is not profile:
            raise WrongStateError(
                f"the line of player {owner.player!r} is open with profile {line.profile} and"
                f" keeps it; it is {line.state}"
            )
        return found

    async def rotate(self, owner: LineOwner, pair: int, reason: str, answer_by_ns: int) -> Recorded:
        """Reveal a pair and publish one more hash, or find that it was revealed.

        Args:
            owner: whose line.
            pair: which pair; the present one, or one before it.
            reason: ROTATED; or EXPIRED, which voids the rounds that are open.
            answer_by_ns: monotonic time at which the caller is told to come back.

        Raises:
            WrongStateError: a round is open, or the pair is not present yet.
            PairNotFoundError: the player has no line here.
            EntropydError: as `StepCalls.enqueue` and `outcomes`.
        """
        with self._calls.call() as arrived_ns:
            found = self._found(owner, pair_key(pair), arrived_ns)
            if found is not None:
                return found
            async with self._turn(owner, answer_by_ns) as turn:
                while (found := self._found(owner, pair_key(pair), arrived_ns)) is None:
                    order = self._rotation(owner, pair, reason)
                    made = await self._draw(order, turn, answer_by_ns)
                    if made is not None:
                        return made
                return found

    def _rotation(self, owner: LineOwner, pair: int, reason: str) -> StepOrder:
        kept, steps = self._records.kept(owner)
        if pair != kept.line.pair:
            raise WrongStateError(
                f"pair {pair} is not present; pair {kept.line.pair} is, and is {kept.line.state}"
            )
        profile = kept.line.profile
        # Refused before anything is drawn for it.
        rotated(kept, bytes(32), b"", 0, reason)

        def make(seeds: DrawSeeds, provenance: bytes, drawn_at_ns: int) -> Sequence[StepDraft]:
            [seed] = seeds.seeds
            seed_after = server_seed(seed, profile, owner, pair + 2)
            step = rotated(kept, seed_after, provenance, drawn_at_ns, reason)
            return [draft_of(owner, step, steps, drawn_at_ns)]

        return order_of(owner, profile, pair=pair + 2, seeds=1, make=make)

    def _found(self, owner: LineOwner, key: str, arrived_ns: int) -> Recorded | None:
        """Return the step that an earlier call made, without a turn and without the gate."""
        record = self._records.step(owner, key) if key else None
        if record is None:
            return None
        self._calls.note_replayed(arrived_ns)
        return Recorded(record, replayed=True)

    async def _draw(self, order: StepOrder, turn: _Turn, answer_by_ns: int) -> Recorded | None:
        """Return the recorded step of a draw, or None if another node of the ledger was first."""
        turn.waiter = self._calls.enqueue(order)
        [outcome] = await self._calls.outcomes(turn.waiter, answer_by_ns)
        return made_now(outcome)

    @asynccontextmanager
    async def _turn(self, owner: LineOwner, answer_by_ns: int) -> AsyncIterator[_Turn]:
        """Have the player's turn until the block ends and what it waits for is decided."""
        patience_s = (answer_by_ns - self._clock_ns()) / 1e9
        try:
            end = await self._turns.take(owner, alone=True, patience_s=patience_s)
        except TimeoutError:
            raise self._calls.busy(f"other calls for player {owner.player!r} go first") from None
        turn = _Turn()
        try:
            yield turn
        finally:
            if turn.waiter is None or turn.waiter.decided:
                end()
            else:
                turn.waiter.listen(lambda _decided: end())


def _made(recorded: Recorded | None) -> Recorded:
    if recorded is None:
        raise InternalError("a step of a line that changes nothing")
    return recorded
