"""The ledger that tests use keeps the same contract as the one that production uses."""

import pytest

from entropyd.ledger.contract import Ledger
from tests.contract.ledger import LedgerContract
from tests.contract.log import LogContract
from tests.contract.steps import StepsContract
from tests.fakes.drafts import make_draft
from tests.fakes.ledger import FaultyLedger, MemoryDisk, MemoryLedger
from tests.fakes.step_drafts import make_step


class MemoryStore:
    def __init__(self) -> None:
        self._disk = MemoryDisk()

    def open(self) -> Ledger:
        return MemoryLedger(self._disk)

    def fresh(self) -> "MemoryStore":
        return MemoryStore()


class TestMemoryLedger(LedgerContract, StepsContract, LogContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


def test_the_faulty_ledger_fails_whoever_retries_without_looking():
    """The fake's own opinion bites."""
    faulty = FaultyLedger(MemoryLedger())
    faulty.fail_not_written = 1
    with pytest.raises(Exception, match="fails as told"):
        faulty.commit([make_draft()])
    with pytest.raises(AssertionError, match="retried without a look-up"):
        faulty.commit([make_draft(attempt=2)])
    faulty.fail_not_written = 1
    with pytest.raises(Exception, match="fails as told"):
        faulty.commit([make_step()])
    with pytest.raises(AssertionError, match="retried without a look-up"):
        faulty.commit([make_step(attempt=2)])
