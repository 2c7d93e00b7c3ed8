"""Two nodes, disjoint tables: each draws its own, and neither draws the other's."""

from pathlib import Path

import grpc

from tests.system.custom import custom_daemon
from tests.system.harness import started
from tests.system.wire import Wire, order, question, told

Code = grpc.StatusCode


def test_a_table_is_dealt_by_the_node_that_serves_it(home: Path):
    """After a move the old node still answers what it drew, and draws nothing new there."""
    daemon = custom_daemon(home)
    with started(daemon), Wire(daemon) as wire:
        drawn = wire.shuffle(order("dc2/main", "before")).shuffle
        assert daemon.terminate() == 0
    daemon.config = daemon.config.replace("[node]\n", '[node]\nserves_tables = ["dc1/*"]\n')
    with started(daemon), Wire(daemon) as wire:
        assert wire.shuffle(order("dc1/main", "mine")).shuffle.sequence == 1
        for refusal in (
            told(wire.shuffle, order("dc2/main", "after")),
            told(wire.get, question("dc2/main", "after")),
        ):
            assert (refusal.code, refusal.reason) == (Code.FAILED_PRECONDITION, "WRONG_NODE")
            assert "ask the node that serves it" in refusal.message
            assert refusal.retry_s is None
        assert wire.replay("dc2/main", "before") == drawn
        assert wire.get(question("dc2/main", "before")) == drawn
        assert told(wire.get, question("dc1/main", "after")).code is Code.NOT_FOUND
