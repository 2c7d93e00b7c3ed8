"""What a hand costs in a ledger of a thousand, a hundred thousand and ten million hands.

The ledger of ten million is made once, in build/ledgers (11 GB, ten minutes), and serves each run;
the others are made anew. A run adds some 6,000 hands to each. The sizes take turns.

    commit  one hand, or sixteen, in one synchronised transaction; wall and CPU time a hand
    retry   finding one of the last hundred hands
    miss    finding none: what every new hand costs first
    find    finding any hand
    cold    the same after the file left the page cache; before the others the index of spent ids
            is read, which a daemon that deals keeps there by dealing
    pages   pages of 4 KiB that sixteen hands write, a hand
"""

import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench.daemon import BUILD
from bench.kernels import ENCODED, provenance
from bench.make_ledger import DECK, REAL_HANDS, SEATS_ROOT, TENANT, hand_name, make_ledger
from bench.report import Line, Report, middle
from entropyd.hands.binding import hand_binding
from entropyd.hands.rules import rules_hash
from entropyd.ledger.contract import HandDraft
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite import FILE_NAME, SqliteLedger
from entropyd.ledger.state_dir import StateDirectory

SIZES = (1_000, 100_000, 10_000_000)
QUICK_SIZES = (100, 1_000)
LEDGERS = BUILD / "ledgers"
BATCH = 16
RULES_HASH = rules_hash(ENCODED)


def run(report: Report, *, quick: bool) -> None:
    """Measure every size."""
    sizes = QUICK_SIZES if quick else SIZES
    rounds, turns = (3, 20) if quick else (7, 200)
    took: dict[int, dict[str, list[float]]] = {size: {} for size in sizes}
    LEDGERS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=LEDGERS) as scratch, ExitStack() as opened:
        subjects = [_Subject(size, Path(scratch)) for size in sizes]
        for subject in subjects:
            opened.callback(subject.close)
        for _ in range(rounds):
            for subject in subjects:
                for name, figure in subject.round(turns).items():
                    took[subject.size].setdefault(name, []).append(figure)
    lines: list[Line] = [
        {"hands": size} | {name: middle(figures) for name, figures in took[size].items()}
        for size in sizes
    ]
    report.add("ledger-size", lines, _sentence(lines))


class _Subject:
    """A ledger of one size, and drafts for it that are never the same hand twice."""

    def __init__(self, size: int, scratch: Path) -> None:
        self.size = size
        place = (LEDGERS if size == SIZES[-1] else scratch) / str(size)
        self._every = max(1, size // REAL_HANDS)
        if not (place / "state" / FILE_NAME).exists():
            make_ledger(place, size, every=self._every)
        self._state = place / "state"
        box = SecretBox((self._state / "master.key").read_bytes())
        began = time.monotonic()
        self._ledger = SqliteLedger.open(StateDirectory.hold(self._state), box)
        self._opened_ms = (time.monotonic() - began) * 1e3
        self._run, self._count = os.urandom(4).hex(), 0
        self._pattern = _pattern()

    def close(self) -> None:
        self._ledger.close()

    def round(self, turns: int) -> dict[str, float]:
        """Return the figures of one round, times in microseconds a hand."""
        self._read_index()
        one = [self._commit(1) for _ in range(turns // 4)]
        many = [self._commit(BATCH) for _ in range(turns // 4)]
        retry = self._finds(f"new-{self._run}-{self._count - n}" for n in range(100))
        miss = self._finds(f"never-{os.urandom(8).hex()}" for _ in range(turns))
        found = self._finds(self._names(turns))
        self._forget()
        cold = self._finds(self._names(max(1, turns // 10)))
        self._forget()
        cold_commit = [self._commit(1) for _ in range(max(1, turns // 10))]
        return {
            "commit 1": middle(wall for wall, _ in one),
            "cpu": middle(cpu for _, cpu in one),
            f"commit {BATCH}": middle(wall for wall, _ in many),
            "cpu ": middle(cpu for _, cpu in many),
            "retry": retry,
            "miss": miss,
            "find": found,
            "cold find": cold,
            "cold commit": middle(wall for wall, _ in cold_commit),
            "pages": self._pages() / BATCH,
            "open ms": self._opened_ms,
        }

    def _commit(self, hands: int) -> tuple[float, float]:
        drafts = [self._draft() for _ in range(hands)]
        return _us(lambda: self._ledger.commit(drafts), hands)

    def _finds(self, names: Iterable[str]) -> float:
        return middle(_us(partial(self._ledger.find, TENANT, name), 1)[0] for name in names)

    def _names(self, turns: int) -> list[str]:
        """Return hands whose secrets decrypt, anywhere in the ledger."""
        real = range(1, self.size + 1, self._every)
        return [hand_name(random.choice(real)) for _ in range(turns)]

    def _pages(self) -> int:
        """Return how many pages a commit writes: frames that it adds to an emptied log."""
        with closing(sqlite3.connect(self._state / FILE_NAME)) as stranger:
            stranger.execute("PRAGMA wal_checkpoint(RESTART)")
            self._commit(BATCH)
            _, frames, _ = stranger.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return int(frames)

    def _read_index(self) -> None:
        with closing(sqlite3.connect(self._state / FILE_NAME)) as stranger:
            stranger.execute("SELECT count(*) FROM spent").fetchone()

    def _forget(self) -> None:
        """Ask the kernel to drop the file's pages. What SQLite caches itself, 16 MiB, stays."""
        with (self._state / FILE_NAME).open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def _draft(self) -> HandDraft:
        self._count += 1
        hand, table = f"new-{self._run}-{self._count}", f"table-{self._count % 50}"
        binding = hand_binding(TENANT, table, hand, RULES_HASH)
        return replace(self._pattern, hand=hand, table=table, binding=binding)


def _us(work: Callable[[], object], hands: int) -> tuple[float, float]:
    """Return wall and CPU time of a hand, in microseconds."""
    wall, cpu = time.perf_counter(), time.thread_time()
    work()
    return (time.perf_counter() - wall) / hands * 1e6, (time.thread_time() - cpu) / hands * 1e6


def _pattern() -> HandDraft:
    return HandDraft(
        tenant=TENANT,
        table="",
        hand="",
        rules=ENCODED,
        binding=b"",
        claim_digest=os.urandom(32),
        size=52,
        commitment=os.urandom(32),
        deck_root=os.urandom(32),
        seats_root=SEATS_ROOT,
        provenance=provenance()(0),
        items=DECK,
        seeds=os.urandom(64),
        blinding=os.urandom(32),
        salt_key=os.urandom(32),
        drawn_at_ns=time.time_ns(),
    )


def _sentence(lines: list[Line]) -> str:
    return "; ".join(
        f"{line['hands']:,} hands: cpu {line['cpu ']:.0f} us a hand of {BATCH}, miss"
        f" {line['miss']:.0f} us"
        for line in lines
    )
