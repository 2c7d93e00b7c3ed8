"""kill -9 in the middle of rounds: every round has one outcome, and no nonce is missing."""

import subprocess
import sys
import time
from pathlib import Path

from entropyd.games.pair_steps import LineOwner
from entropyd.games.round_rules import decode_rules
from entropyd.games.rounds import play as play_round
from entropyd.v1 import fair_service_pb2 as pb
from tests.contract.fair_child import PLAYERS, round_of
from tests.contract.ledger_child import open_ledger
from tests.unit.test_fair_core import Desk

ROOT = Path(__file__).parents[2]
KILLS = 4


def run_and_kill(directory: Path, after_s: float) -> list[tuple[str, int, bytes]]:
    """Return what a process told of its rounds before it was killed."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.contract.fair_child", str(directory)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    told = [child.stdout.readline()]
    assert told[0], "it ended before it played"
    time.sleep(after_s)
    child.kill()
    told += child.stdout.readlines()
    child.wait()
    child.stdout.close()
    lines = [line.decode().split() for line in told if line.endswith(b"\n")]
    return [(player, int(number), bytes.fromhex(message)) for player, number, message in lines]


def test_rounds_survive_kill_9_with_the_outcome_that_was_told(tmp_path):
    """What was told is what is found; what was recorded untold follows from the same seed.

    Nonce, rules and outcome are one record: no round is there without one of them, and none of
    the nonces of a pair is missing or there twice.
    """
    told = []
    for turn in range(KILLS):
        told += run_and_kill(tmp_path / "state", after_s=0.07 * turn)
    ledger = open_ledger(tmp_path / "state")
    desk = Desk(ledger=ledger, max_rounds=100_000)
    assert {player for player, _, _ in told} == set(PLAYERS)
    for player, number, message in told:
        found = desk.records.round(LineOwner("site", player), round_of(number))
        before = pb.Round.FromString(message)
        assert found.record.outcome == {"mines": list(before.mines.tile_index0)}
        assert (before.nonce, number) == (found.record.nonce, found.record.nonce)
    for player in PLAYERS:
        every_round_follows(desk, LineOwner("site", player))
    ledger.close()


def every_round_follows(desk, owner):
    kept, _ = desk.records.kept(owner)
    for nonce in range(kept.line.next_nonce):
        record = desk.records.round(owner, round_of(nonce)).record
        assert record.nonce == nonce
        rules = decode_rules(record.rules)
        expected = play_round(rules, kept.seeds.present, record.client_seed, nonce)
        assert expected.outcome.as_json() == record.outcome
