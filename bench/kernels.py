"""What the parts of a draw cost, beside a loop of `random.SystemRandom().shuffle`.

Thread CPU time of one thread, each part alone and warm; the parts take turns.
A ledger row's time is the CPU time of its thread and leaves out the disk.
"""

import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from bench.daemon import BUILD
from bench.report import Line, Report, middle
from entropyd.draw.shuffle import shuffle
from entropyd.entropy.credited import CreditedBlock
from entropyd.entropy.gate import Gate, GatedSeed, SourceFacts
from entropyd.entropy.policy import GatePolicy, UserShortfall
from entropyd.entropy.source import NoiseSourceInfo, SourceKind
from entropyd.entropy.source_state import SourceState
from entropyd.hands.binding import hand_binding
from entropyd.hands.rules import Rules, rules_hash
from entropyd.hands.whole_deck import open_deck
from entropyd.ledger.contract import HandDraft
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.ledger.state_dir import StateDirectory
from entropyd.rbg.construction import NONCE_BYTES, OS_SAMPLE_BYTES, SeedConstruction
from entropyd.runtime.orders import Dealt
from entropyd.service.provenance import encode_provenance
from entropyd.service.wire import response

MILLIBITS = 6000
BLOCK_BYTES = 8192
BATCHES = (1, 16, 64)
RULES = Rules()
ENCODED = RULES.encode()
BINDING = hand_binding("bench", "table", "hand", rules_hash(ENCODED))
INFO = NoiseSourceInfo("bench", "bench", SourceKind.HARDWARE, 8, MILLIBITS, "")

Work = Callable[[int], object]


def run(report: Report, *, quick: bool) -> None:
    """Measure every part."""
    rounds, turns = (3, 100) if quick else (9, 500)
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        rows = _Rows(Path(directory))
        parts: dict[str, Work] = {
            "SystemRandom().shuffle of 52": _system_shuffle(),
            "masked shuffle of 52": lambda _turn: shuffle(52, (_SEED,), BINDING),
            "gate releases a seed": _release(),
            "seed_draw": _seed_draw(),
            "open_deck": _open_deck(),
            "provenance": provenance(),
            "answer message": _answer(rows),
            "ledger find, unknown": lambda turn: rows.ledger.find("bench", f"unknown-{turn}"),
            "ledger find, known": lambda _turn: rows.ledger.find("bench", rows.known),
        }
        took = {name: [_us(work, turns) for _ in range(rounds)] for name, work in parts.items()}
        for size in BATCHES:
            commits = max(4, turns // size // 4)
            name = f"ledger row, {size} a commit"
            took[name] = [
                _us(rows.commit(size, commits), commits) / size for _ in range(max(2, rounds // 2))
            ]
        rows.ledger.close()
    yardstick = middle(took["SystemRandom().shuffle of 52"])
    lines: list[Line] = [
        {"part": name, "us": middle(times), "of SystemRandom": middle(times) / yardstick}
        for name, times in took.items()
    ]
    report.add("kernels", lines, _sentence(lines))


_SEED = os.urandom(64)
_KEY = os.urandom(32)


def _us(work: Work, turns: int) -> float:
    """Return the thread CPU time of a turn, in microseconds."""
    began = time.thread_time()
    for turn in range(turns):
        work(turn)
    return (time.thread_time() - began) / turns * 1e6


def _system_shuffle() -> Work:
    generator, deck = random.SystemRandom(), list(range(52))
    return lambda _turn: generator.shuffle(deck)


def _gate() -> Gate:
    gate = Gate(GatePolicy(user_shortfall=UserShortfall.IGNORE))
    gate.set_source(
        INFO.source_id, SourceFacts(INFO, "1", SourceState.HEALTHY, MILLIBITS, required=True)
    )
    _fill(gate)
    gate.try_instantiate(0)
    return gate


def _fill(gate: Gate) -> None:
    for _ in range(16):
        gate.deliver(CreditedBlock(INFO.source_id, os.urandom(BLOCK_BYTES), MILLIBITS, 0))


def _release() -> Work:
    gate = _gate()

    def work(_turn: int) -> object:
        released = gate.try_release("bench", 1, 0)
        if not isinstance(released, tuple):
            _fill(gate)
        return released

    return work


def _released() -> Sequence[GatedSeed]:
    released = _gate().try_release("bench", 1, 0)
    assert isinstance(released, tuple)
    return released


def _seed_draw() -> Work:
    construction, released = SeedConstruction("bench"), _released()
    construction.instantiate(released[0], os.urandom(OS_SAMPLE_BYTES), os.urandom(NONCE_BYTES))
    return lambda _turn: construction.seed_draw(BINDING, released, [os.urandom(OS_SAMPLE_BYTES)])


def _open_deck() -> Work:
    return lambda _turn: open_deck(RULES, BINDING, seeds=(_SEED,), blinding=_KEY, salt_key=_KEY)


def provenance() -> Callable[[int], bytes]:
    released = _released()
    return lambda turn: encode_provenance(
        [released], turn, node="bench", policy="as configured", degraded=False
    )[0]


def _answer(rows: "_Rows") -> Work:
    record = rows.ledger.find("bench", rows.known)
    assert record is not None
    dealt = Dealt(record, replayed=False)
    return lambda _turn: response(dealt)


class _Rows:
    """A ledger, and drafts for it that are never the same hand twice."""

    known = "known"

    def __init__(self, directory: Path) -> None:
        self.ledger = SqliteLedger.open(
            StateDirectory.hold(directory / "state"), SecretBox(os.urandom(32))
        )
        self._count = 0
        self._pattern = _draft(self.known)
        self.ledger.commit([self._pattern])

    def commit(self, size: int, commits: int) -> Work:
        """Return the work of so many commits of `size` rows, whose drafts are made now."""
        batches = [[self._next() for _ in range(size)] for _ in range(commits)]
        return lambda turn: self.ledger.commit(batches[turn])

    def _next(self) -> HandDraft:
        self._count += 1
        hand = f"hand-{self._count}"
        binding = hand_binding("bench", "table", hand, rules_hash(ENCODED))
        return replace(self._pattern, hand=hand, binding=binding)


def _draft(hand: str) -> HandDraft:
    binding = hand_binding("bench", "table", hand, rules_hash(ENCODED))
    deck = open_deck(RULES, binding, seeds=(_SEED,), blinding=_KEY, salt_key=_KEY)
    return HandDraft(
        tenant="bench",
        table="table",
        hand=hand,
        rules=ENCODED,
        binding=binding,
        claim_digest=sha256(b"claim").digest(),
        size=deck.size,
        commitment=deck.commitment,
        deck_root=deck.deck_root,
        seats_root=deck.seats_root,
        provenance=encode_provenance(
            [_released()], 0, node="bench", policy="as configured", degraded=False
        )[0],
        items=deck.encoded_items,
        seeds=_SEED,
        blinding=_KEY,
        salt_key=_KEY,
        drawn_at_ns=0,
    )


def _sentence(lines: Sequence[Line]) -> str:
    return ", ".join(f"{line['part']} {line['us']:.0f} us" for line in lines)
