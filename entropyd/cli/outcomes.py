"""`entropyctl shuffle --count N`: final outcomes for a test laboratory, by the production calls.

Every deck is a hand like any other: gated, drawn, recorded and answered over
gRPC, under whatever tenant the listener stands for (give a laboratory one of
its own). Nothing is drawn here, chosen, sorted by value or left out.

The hands of a run are RUN/00000001, RUN/00000002, ... in the order of the
output, which was fixed before the first was drawn. So a run that ended early
is given again under the same name: hands that were drawn come from the ledger,
the others are drawn, and the output is the same as if it had never ended.

Spec: the final-outcome tool that GLI's technical specifications ask for beside
a tool for raw output, which is `entropyd capture`.
"""

import asyncio
import contextlib
import csv
import hashlib
import io
import os
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

import grpc

from entropyd.cli.credentials import shown
from entropyd.client import AsyncClient, Deal, Refusal

# As many digits as a hand's number has in its id: ids in order are numbers in order.
HAND_DIGITS = 8
MAX_COUNT = 10**HAND_DIGITS - 1
# Calls that wait together share a commit of the ledger. A thousand of them would still be a
# megabyte here, and would take the daemon's queue from its other tenants.
IN_FLIGHT = 64
MAX_IN_FLIGHT = 1000
# When to ask again where the daemon did not say.
PLAIN_RETRY_S = 1.0
LIVE_EVERY_S = 0.5
LINE_EVERY_S = 10.0

# Asking again with the same request is safe after each of them, and may help.
_MAY_PASS = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    }
)


class Format(StrEnum):
    """How decks are written."""

    CSV = "csv"
    BIN = "bin"


@dataclass(frozen=True)
class Run:
    """What is asked for.

    Attributes:
        name: the hands' common beginning; the same name is the same run.
        table: where the hands are; one of the run's own numbers them 1, 2, 3, ... without gaps.
        count: how many decks, 1 to MAX_COUNT.
        deck, decks: what is shuffled, as in `Client.shuffle`.
        in_flight: how many are asked for at once. With 1 the output is in the order of drawing.
        timeout_s: how long to go on asking while not a single deck comes.
    """

    name: str
    table: str
    count: int
    deck: str
    decks: int
    in_flight: int
    timeout_s: float

    def hand(self, number: int) -> str:
        """Return the id of hand `number`, counted from 1."""
        return f"{self.name}/{number:0{HAND_DIGITS}}"


@dataclass
class Tally:
    """What came so far. Belongs to the event loop.

    Attributes:
        drawn: decks that were drawn for this call.
        replayed: decks that came from the ledger.
        mock: one of them came from an emulator or a recording.
        digest: SHA-256 of what was written.
    """

    drawn: int = 0
    replayed: int = 0
    mock: bool = False
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    @property
    def decks(self) -> int:
        """How many decks were written."""
        return self.drawn + self.replayed

    def add(self, deal: Deal, written: bytes) -> None:
        """Count one deck and what was written of it."""
        self.digest.update(written)
        self.replayed += deal.replayed
        self.drawn += not deal.replayed
        self.mock |= deal.mock


def new_run_name() -> str:
    """Return a name that no run had: 64 random bits, and no part of any draw."""
    return os.getrandom(8).hex()


def write_outcomes(
    target: str, claim_key_file: Path, run: Run, form: Format, out: Path | None
) -> None:
    """Draw a run, or give it again, and write its decks in order.

    Args:
        target: where the daemon listens.
        claim_key_file: without the same key a run cannot be given again.
        run: what is asked for.
        form: CSV with a header, or the bare card ids, one byte each.
        out: a file that is not there yet, made for the caller alone; None for standard output.

    Raises:
        Refusal: the daemon refused, or sent no deck for `run.timeout_s`. No file is left; the
            decks that were drawn stay drawn, and the same run gets them.
        OSError: the output cannot be written; as above.
    """
    progress = _Progress(run)
    tally = Tally()
    try:
        with _output(out) as file:
            asyncio.run(_write(_Calls(target, claim_key_file, run), form, file, tally, progress))
    except BaseException:
        progress.stopped(tally)
        raise
    progress.ended(tally)


async def _write(
    run: "_Calls", form: Format, file: BinaryIO, tally: Tally, progress: "_Progress"
) -> None:
    async with contextlib.aclosing(run.deals()) as deals:
        async for deal in deals:
            written = deal.message.cards
            if form is Format.CSV:
                written = _as_csv(deal, header=not tally.decks)
            file.write(written)
            tally.add(deal, written)
            progress.show(tally)
    file.flush()


def _as_csv(deal: Deal, *, header: bool) -> bytes:
    text = io.StringIO()
    # An id may hold a comma or a quotation mark.
    writer = csv.writer(text, lineterminator="\n")
    if header:
        places = (f"card_{place}" for place in range(1, len(deal.cards) + 1))
        writer.writerow(("hand", "sequence", *places))
    writer.writerow((deal.hand, deal.sequence, *deal.cards))
    return text.getvalue().encode("ascii")


class _Calls:
    """The calls of a run: some in flight, answered in order, in bounded memory."""

    def __init__(self, target: str, claim_key_file: Path, run: Run) -> None:
        self._target = target
        self._claim_key_file = claim_key_file
        self._run = run
        self._heard_at = time.monotonic()

    async def deals(self) -> AsyncGenerator[Deal, None]:
        """Yield the deck of each hand of the run, in the order of the hands' numbers."""
        async with AsyncClient(
            self._target, claim_key_file=self._claim_key_file, **shown()
        ) as client:
            asked: deque[asyncio.Task[Deal]] = deque()
            try:
                for number in range(1, self._run.count + 1):
                    asked.append(asyncio.create_task(self._deal(client, self._run.hand(number))))
                    if len(asked) == self._run.in_flight:
                        yield await asked.popleft()
                while asked:
                    yield await asked.popleft()
            finally:
                for task in asked:
                    task.cancel()
                await asyncio.gather(*asked, return_exceptions=True)

    async def _deal(self, client: AsyncClient, hand: str) -> Deal:
        """Ask until the hand is dealt, refused for good, or nothing has come for too long."""
        run = self._run
        while True:
            try:
                deal = await client.shuffle(
                    run.table, hand, deck=run.deck, decks=run.decks, timeout_s=run.timeout_s
                )
            except Refusal as refusal:
                pause_s = refusal.retry_after_s or PLAIN_RETRY_S
                silent_s = time.monotonic() - self._heard_at
                if refusal.code not in _MAY_PASS or silent_s + pause_s >= run.timeout_s:
                    raise
                await asyncio.sleep(pause_s)
            else:
                self._heard_at = time.monotonic()
                return deal


@contextlib.contextmanager
def _output(out: Path | None) -> Iterator[BinaryIO]:
    if out is None:
        yield sys.stdout.buffer
        return
    # Not written over: it may be the only copy of decks whose claim key is gone.
    descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
    except BaseException:
        # A part of a run must not be taken for the run.
        out.unlink()
        raise


class _Progress:
    """What standard error is told: how far the run is, how it ended, how to go on."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._live = sys.stderr.isatty()
        self._every_s = LIVE_EVERY_S if self._live else LINE_EVERY_S
        self._began = self._shown = time.monotonic()
        self._say(f"{run.count} decks on table {run.table}")

    def show(self, tally: Tally) -> None:
        now = time.monotonic()
        if now - self._shown < self._every_s:
            return
        self._shown = now
        rate = tally.decks / (now - self._began)
        text = f"{tally.decks} of {self._run.count} decks, {rate:.0f} a second"
        # On a terminal the next line is written over this one.
        self._say(text, end="" if self._live else "\n")

    def ended(self, tally: Tally) -> None:
        self._say(f"{tally.drawn} decks drawn now, {tally.replayed} from the ledger")
        self._say(f"SHA-256 of the output {tally.digest.hexdigest()}")
        if tally.mock:
            self._say("a source is an emulator or a recording: this says nothing of a device")

    def stopped(self, tally: Tally) -> None:
        self._say(f"ended after {tally.decks} decks; --run {self._run.name} gives them again")

    def _say(self, text: str, *, end: str = "\n") -> None:
        line = f"entropyctl: run {self._run.name}: {text}"
        print(f"\r\033[K{line}" if self._live else line, end=end, file=sys.stderr, flush=True)
