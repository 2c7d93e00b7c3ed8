"""How often the dealer asks whether a drawn hand could be recorded."""

import asyncio

import pytest

from entropyd.errors import LedgerUnavailableError
from entropyd.runtime.steps import PROBE_NS
from tests.fakes.dealing import Table
from tests.fakes.ledger import FaultyLedger, MemoryLedger, WrappedLedger
from tests.fakes.manual_time import play


class ProbedLedger(WrappedLedger):
    """Counts how often it is probed, and fails the probe when told to."""

    def __init__(self) -> None:
        super().__init__(MemoryLedger())
        self.probes = 0
        self.fails = False

    def probe(self) -> None:
        self.probes += 1
        if self.fails:
            raise LedgerUnavailableError("probed ledger: fails as told")


def test_a_ledger_that_can_record_is_not_asked_again_at_once():
    """One probe serves the draws of 10 ms, and the first one after them asks again."""
    ledger = ProbedLedger()
    table = Table(ledger=ledger)

    async def scenario():
        table.feed(seeds=3)
        probes = []
        for hand, wait_s in (("h1", 0.0), ("h2", PROBE_NS / 1e9), ("h3", 0.0)):
            await table.call(hand)
            probes.append(ledger.probes)
            await asyncio.sleep(wait_s)
        return probes

    assert [1, 1, 2] == play(table.clock, scenario)


def test_a_ledger_that_cannot_record_is_asked_each_time():
    """It is dealt again with the first call after it works, without a wait."""
    ledger = ProbedLedger()
    table = Table(ledger=ledger)

    async def scenario():
        table.feed()
        ledger.fails = True
        for _ in range(2):
            with pytest.raises(LedgerUnavailableError):
                await table.call()
        ledger.fails = False
        return await table.call()

    assert not play(table.clock, scenario).replayed
    assert 3 == ledger.probes
    assert 1 == len(table.writer.submitted)


def test_after_a_commit_that_failed_nothing_more_is_drawn():
    """The next call asks the ledger at once, and spends no seed."""
    ledger = FaultyLedger(MemoryLedger())
    table = Table(ledger=ledger)

    async def scenario():
        table.feed(seeds=2)
        ledger.fail_not_written = 1
        for hand in ("h1", "h2"):
            with pytest.raises(LedgerUnavailableError):
                await table.call(hand)

    play(table.clock, scenario)
    assert ["h1"] == [draft.hand for draft in table.writer.submitted]
    assert table.level > 0
