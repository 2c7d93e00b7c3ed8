"""Lines of seed pairs as they are recorded: what is read back. Changes nothing.

Spec: docs/protocol.md, "Life of a line of pairs".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from entropyd.errors import (
    InternalError,
    PairNotFoundError,
    RoundNotFoundError,
    SecretsDestroyedError,
)
from entropyd.games.pair_line import PairLine
from entropyd.games.pair_records import (
    EXPIRED,
    RevealRecord,
    RoundRecord,
    decode_end,
    decode_opening,
    decode_reveal,
    decode_round,
)
from entropyd.games.pair_snapshot import decode_line, decode_seeds
from entropyd.games.pair_steps import OPEN_KEY, Kept, LineOwner, end_key, pair_key, round_key
from entropyd.games.rounds import play
from entropyd.ledger.contract import StepReader
from entropyd.ledger.subjects import StepRecord, SubjectKind

# So many rows are read before others have their turn, at the ledger too: some milliseconds.
ROWS_A_TURN = 100


@dataclass(frozen=True, slots=True)
class RoundView:
    """A round, and whether it goes on.

    Attributes:
        record: as it was played.
        number: of the step that played it, in the line.
        played_at_ns: a claim.
        is_open: it waits to be closed or voided.
        void_reason: why it does not count; empty if it does, or goes on.
    """

    record: RoundRecord = field(repr=False)
    number: int
    played_at_ns: int
    is_open: bool
    void_reason: str


class LineRecords:
    """Reads lines, their pairs and rounds."""

    def __init__(self, ledger: StepReader) -> None:
        """Read from a ledger."""
        self._ledger = ledger

    def kept(self, owner: LineOwner) -> tuple[Kept, int]:
        """Return a player's line with its seeds, and how many steps it has.

        Raises:
            PairNotFoundError: the player has none here.
            LedgerError: it cannot be read.
        """
        subject = self._ledger.subject(SubjectKind.PAIRS, *owner)
        if subject is None:
            raise PairNotFoundError(
                f"player {owner.player!r} has no line of seed pairs here; open one with OpenPair"
            )
        line = decode_line(subject.state)
        return Kept(line, decode_seeds(subject.state_secret, line)), subject.steps

    def line(self, owner: LineOwner) -> PairLine:
        """Return a player's line. Raises as `kept`."""
        return self.kept(owner)[0].line

    def lines(self, tenant: str, after: str, limit: int) -> Iterator[tuple[str, PairLine]]:
        """Yield player and line of a tenant's lines in byte order of the players.

        Args:
            tenant: whose.
            after: the player after whom to begin, empty for all.
            limit: at most so many.
        """
        while limit > 0:
            rows = min(limit, ROWS_A_TURN)
            found = self._ledger.subjects(SubjectKind.PAIRS, tenant, "", None, after, rows)
            for subject in found:
                yield subject.name, decode_line(subject.state)
            if len(found) < rows:
                return
            after, limit = found[-1].name, limit - rows

    def step(self, owner: LineOwner, key: str) -> StepRecord | None:
        """Return the step of a line that has a key, or None. Raises LedgerError.

        Its secret is empty if it was destroyed after its retention; `view` does without.
        """
        try:
            return self._ledger.step(SubjectKind.PAIRS, *owner, key)
        except SecretsDestroyedError:
            return self._ledger.told_step(SubjectKind.PAIRS, *owner, key)

    def opening(self, owner: LineOwner) -> bytes:
        """Return where the first two seeds of a line came from, as recorded."""
        record = self.step(owner, OPEN_KEY)
        if record is None:
            raise InternalError("a line without the step that opened it")
        return decode_opening(record.public)

    def revealed(self, owner: LineOwner, pair: int) -> tuple[RevealRecord, int] | None:
        """Return a revealed pair and when it was revealed, or None if it was not."""
        record = self.step(owner, pair_key(pair))
        return None if record is None else (decode_reveal(record.public), record.at_ns)

    def round(self, owner: LineOwner, round_id: str) -> RoundView:
        """Return a round.

        Raises:
            RoundNotFoundError: it was never played here.
            LedgerError: it cannot be read.
        """
        record = self.step(owner, round_key(round_id))
        if record is None:
            raise RoundNotFoundError(f"round {round_id!r} was never played here by this player")
        return self.view(owner, record)

    def view(self, owner: LineOwner, step: StepRecord) -> RoundView:
        """Return the round that a step played, as it stands now.

        Raises:
            SecretsDestroyedError: what it came to was destroyed, and its pair never revealed.
        """
        record = self._record(owner, step)
        is_open, void_reason = self._standing(owner, record)
        return RoundView(record, step.number, step.at_ns, is_open, void_reason)

    def _record(self, owner: LineOwner, step: StepRecord) -> RoundRecord:
        record = decode_round(step.public, step.secret)
        if not record.stays_open or step.secret:
            return record
        # Of a pair that was revealed, what was destroyed follows from what is public.
        revealed = self.revealed(owner, record.pair)
        if revealed is None:
            raise SecretsDestroyedError(
                f"round {record.round_id!r}: its outcome was destroyed after its retention, and"
                f" its pair {record.pair} was never revealed; its nonce stays spent"
            )
        seed = revealed[0].server_seed
        played = play(record.decoded_rules, seed, record.client_seed, record.nonce)
        return replace(record, outcome=played.outcome.as_json())

    def rounds(self, owner: LineOwner, pair: int, after: int, limit: int) -> Sequence[RoundView]:
        """Return rounds of a pair in the order of their nonces.

        Args:
            owner: whose line.
            pair: which pair, not after the present one.
            after: number of the step after which to begin; 0: the first of the pair.
            limit: at most so many.
        """
        found: list[RoundView] = []
        for step in self._steps_of_pair(owner, pair, after):
            if step.step == "round":
                found.append(self.view(owner, step))
            if len(found) == limit:
                break
        return found

    def _steps_of_pair(self, owner: LineOwner, pair: int, after: int) -> Iterator[StepRecord]:
        """Yield the steps of a pair up to the one that revealed it."""
        after = max(after, self._last_step_before(owner, pair))
        while page := self._page(owner, after):
            for step in page:
                if step.key == pair_key(pair):
                    return
                yield step
            after = page[-1].number

    def _page(self, owner: LineOwner, after: int) -> Sequence[StepRecord]:
        try:
            return self._ledger.steps(SubjectKind.PAIRS, *owner, after, ROWS_A_TURN)
        except SecretsDestroyedError:
            return self._ledger.told_steps(SubjectKind.PAIRS, *owner, after, ROWS_A_TURN)

    def _last_step_before(self, owner: LineOwner, pair: int) -> int:
        if pair == 1:
            return 0
        before = self.step(owner, pair_key(pair - 1))
        if before is None:
            raise PairNotFoundError(f"player {owner.player!r} has no pair {pair} yet")
        return before.number

    def _standing(self, owner: LineOwner, record: RoundRecord) -> tuple[bool, str]:
        """Return whether a round goes on, and why it was voided."""
        if not record.stays_open:
            return False, record.void_reason
        end = self.step(owner, end_key(record.round_id))
        if end is not None:
            return False, decode_end(end.public).void_reason
        # Whatever was open when its pair expired was voided with it.
        expired = self.revealed(owner, record.pair) is not None
        return not expired, EXPIRED if expired else ""
