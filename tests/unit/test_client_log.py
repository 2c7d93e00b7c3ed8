"""The typed client of the log, for threads and for asyncio, against real gRPC and the real core."""

import asyncio
import contextlib
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from entropyd.client import AsyncClient, ClaimKey, Client, Refusal
from entropyd.client.log_growth import grown_from
from entropyd.errors import EntropydError, RequestError
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.merkle import EMPTY_ROOT
from entropyd.log.proofs import verify_consistency
from entropyd.log.signed_note import SignedNote
from entropyd.service.error_table import answer
from entropyd.v1 import ledger_service_pb2_grpc
from tests.unit.test_log_core import SIGNER, Bench, Log

# More than a page of the client's; every third entry is another tenant's.
ENTRIES = 1600
KEY = ClaimKey(bytes(range(32)))
MINE = [index for index in range(ENTRIES) if index % 3 != 1]


class Served(ledger_service_pb2_grpc.LedgerServiceServicer):
    """A log core over a socket."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def _answer(self, name: str, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return asyncio.run(getattr(self.bench.core, name)(request, self.bench.call))
        except EntropydError as error:
            told = answer(error, left_s=context.time_remaining())
            context.set_trailing_metadata(told.trailers)
            return context.abort(told.code, told.message)

    def GetReceipt(self, request: Any, context: Any) -> Any:
        return self._answer("get_receipt", request, context)

    def ListReceipts(self, request: Any, context: Any) -> Any:
        return self._answer("list_receipts", request, context)

    def GetCheckpoint(self, request: Any, context: Any) -> Any:
        return self._answer("get_checkpoint", request, context)

    def GetInclusionProof(self, request: Any, context: Any) -> Any:
        return self._answer("get_inclusion_proof", request, context)

    def GetConsistencyProof(self, request: Any, context: Any) -> Any:
        return self._answer("get_consistency_proof", request, context)


@contextlib.contextmanager
def served(bench: Bench) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="ed-") as home:
        target = f"unix:{Path(home) / 'log.sock'}"
        server = grpc.server(ThreadPoolExecutor(2))
        ledger_service_pb2_grpc.add_LedgerServiceServicer_to_server(Served(bench), server)
        server.add_insecure_port(target)
        server.start()
        try:
            yield target
        finally:
            server.stop(0).wait()


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with served(Bench(Log(ENTRIES))) as target:
        yield target


def test_both_clients_say_the_same_of_a_log(target):
    """Receipts by index and page by page, the newest checkpoint, and both proofs."""

    async def asked():
        async with AsyncClient(target, claim_key=KEY) as client:
            log = client.log()
            return [
                await log.receipt(5),
                [receipt async for receipt in log.receipts(2)],
                await log.head(),
                await log.inclusion(5),
                await log.inclusion(5, 9),
                await log.consistency(7),
                await log.consistency(7, 9),
            ]

    with Client(target, claim_key=KEY) as client:
        log = client.log()
        expected: list[Any] = [
            log.receipt(5),
            list(log.receipts(2)),
            log.head(),
            log.inclusion(5),
            log.inclusion(5, 9),
            log.consistency(7),
            log.consistency(7, 9),
        ]
    assert expected == asyncio.run(asked())
    assert 5 == expected[0].index
    assert MINE[1:] == [receipt.index for receipt in expected[1]]
    assert (ENTRIES, 9, ENTRIES, 9) == (
        expected[3].tree_size,
        expected[4].tree_size,
        expected[5].second_size,
        expected[6].second_size,
    )


def test_both_clients_are_refused_alike(target):
    """By the daemon's own words, also in the middle of a list."""

    async def refused(ask):
        async with AsyncClient(target, claim_key=KEY) as client:
            with pytest.raises(Refusal) as caught:
                await ask(client.log())
        return caught.value.reason

    async def listed(log):
        return [receipt async for receipt in log.receipts(2**63)]

    assert "RECEIPT_NOT_FOUND" == asyncio.run(refused(lambda log: log.receipt(1)))
    assert "INVALID_REQUEST" == asyncio.run(refused(listed))
    with Client(target, claim_key=KEY) as client:
        for ask, reason in (
            (lambda: client.log().receipt(1), "RECEIPT_NOT_FOUND"),
            (lambda: list(client.log().receipts(2**63)), "INVALID_REQUEST"),
        ):
            with pytest.raises(Refusal) as caught:
                ask()
            assert reason == caught.value.reason


def checkpoint_of(size: int, version: str = "1.0") -> bytes:
    """Return the checkpoint that somebody kept of a log, when it had so many entries."""
    kept = Bench(Log(size, version)).keeper.signed
    assert kept is not None
    return kept.note


def test_a_kept_checkpoint_is_proved_to_be_the_beginning(target):
    with Client(target, claim_key=KEY) as client:
        log, older = client.log(), checkpoint_of(7)
        newest = log.head().checkpoint
        member = grown_from(log, older, newest)
    assert older.decode() == member["checkpoint"]
    before, now = (Checkpoint.decode(SignedNote.decode(n).text) for n in (older, newest.encode()))
    hashes: Any = member["consistency"]
    proof = [bytes.fromhex(each) for each in hashes]
    verify_consistency(before.size, now.size, before.root, now.root, proof)


def empty() -> bytes:
    return SIGNER.sign_checkpoint(Checkpoint("dc1", 0, EMPTY_ROOT))


def foreign() -> bytes:
    # Named so that it would move a cursor.
    return checkpoint_of(7).replace(b"dc1\n", "dc2\x9b\n".encode(), 1)


@pytest.mark.parametrize(
    ("older", "why"),
    [
        (empty(), "of a log without entries"),
        (checkpoint_of(ENTRIES + 1), f"is of {ENTRIES + 1} entries, and the log has {ENTRIES}"),
        (foreign(), r"is of log 'dc2\\x9b'"),
        (b"", "no signed checkpoint"),
        (b"\xff" * 100, "no signed checkpoint"),
        (b"dc1\n1\n" + b64encode(bytes(32)) + b"\n", "no signed checkpoint"),
    ],
    ids=["empty", "larger", "another log", "nothing", "no text", "not signed"],
)
def test_what_is_no_older_checkpoint_of_this_log_is_refused(target, older, why):
    with Client(target, claim_key=KEY) as client, pytest.raises(RequestError, match=why):
        grown_from(client.log(), older, client.log().head().checkpoint)
