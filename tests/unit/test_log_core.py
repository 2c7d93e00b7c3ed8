"""LedgerService without a transport: what it shows to whom, and that its proofs hold."""

import asyncio
from collections.abc import Sequence

import pytest

from entropyd.config import Role
from entropyd.errors import LedgerUnavailableError, ReceiptNotFoundError, RequestError
from entropyd.ledger.entries import LogEntry
from entropyd.log.entry import check_entry
from entropyd.log.frontier import Node
from entropyd.log.keys import SigningKey, VerifierKey
from entropyd.log.merkle import leaf_hash
from entropyd.log.own_entries import build_entry
from entropyd.log.proofs import nodes_of, verify_consistency
from entropyd.log.receipt import Receipt
from entropyd.log.signer import LogSigner, Term
from entropyd.log.trust import TrustedLog
from entropyd.runtime.log_keeper import LogKeeper
from entropyd.service.identity import Call, Identity
from entropyd.service.log_core import MAX_PAGE_BYTES, LogCore
from entropyd.v1 import ledger_service_pb2 as pb
from tests.fakes.manual_time import ManualClock

SIGNER = LogSigner(
    "dc1",
    (Term(SigningKey.from_seed("dc1/receipts", bytes(32))),),
    (Term(SigningKey.from_seed("dc1", b"c" * 32)),),
)
# One entry of acme, one of globex, one of nobody, and again.
TENANTS = ("acme", "globex", "")


class Log:
    """Entries in memory."""

    def __init__(self, count: int, version: str = "1.0") -> None:
        self.entries: list[LogEntry] = []
        for index in range(count):
            made = build_entry("dc1", version=version, digest=None, ms=index)
            self.entries.append(LogEntry(index, TENANTS[index % 3], made(index)))

    def log_size(self) -> int:
        return len(self.entries)

    def log_entries(self, first: int, limit: int) -> list[LogEntry]:
        assert first < 2**63, "no store takes a larger number"
        return self.entries[first : first + limit]

    def log_nodes(self, nodes: Sequence[Node]) -> list[bytes]:
        read = nodes_of([leaf_hash(entry.text[:-1]) for entry in self.entries])
        return [read(node) for node in nodes]

    def log_stood(self, *, size: int, signed: int, unsigned_age_s: float) -> None:
        assert signed <= size


class Bench:
    """A core over a log that is signed for, and one who asks."""

    def __init__(self, log: Log, *, tenant: str = "acme", signed: bool = True) -> None:
        self.log = log
        self.keeper = LogKeeper(
            log, SIGNER, observer=log, keep=lambda note: None, clock_ns=ManualClock()
        )
        if signed:
            self.keeper.look()
        self.core = LogCore(log, self.keeper, SIGNER)
        self.call = Call(Identity(tenant, frozenset({Role.CONTRIBUTE})), None)
        keys: list[VerifierKey] = list(SIGNER.verifier_keys())
        self.trusted = TrustedLog.given(keys[0], keys[1])

    def receipt(self, index: int) -> Receipt:
        request = pb.GetReceiptRequest(log_index=index)
        answer = asyncio.run(self.core.get_receipt(request, self.call))
        assert index == answer.receipt.log_index
        return self.trusted.open_receipt(answer.receipt.note.encode())

    def page(self, first: int = 0, size: int = 0, token: str = "") -> pb.ListReceiptsResponse:
        request = pb.ListReceiptsRequest(first_index=first, page_size=size, page_token=token)
        return asyncio.run(self.core.list_receipts(request, self.call))

    def inclusion(self, index: int, size: int = 0) -> pb.GetInclusionProofResponse:
        request = pb.GetInclusionProofRequest(log_index=index, tree_size=size)
        return asyncio.run(self.core.get_inclusion_proof(request, self.call))

    def consistency(self, first: int, second: int = 0) -> pb.GetConsistencyProofResponse:
        request = pb.GetConsistencyProofRequest(first_size=first, second_size=second)
        return asyncio.run(self.core.get_consistency_proof(request, self.call))


def test_who_asks_gets_receipts_of_its_own_tenant_and_of_none():
    bench = Bench(Log(7))
    assert [0, 2, 3, 5, 6] == [bench.receipt(index).index for index in (0, 2, 3, 5, 6)]
    for index in (1, 4):
        with pytest.raises(ReceiptNotFoundError):
            bench.receipt(index)
    assert 4 == Bench(Log(7), tenant="globex").receipt(4).index


@pytest.mark.parametrize("index", [7, 2**63 - 1, 2**64 - 1])
def test_an_index_beyond_the_log_is_not_found(index):
    with pytest.raises(ReceiptNotFoundError, match=f"receipt {index} is not in the log"):
        Bench(Log(7)).receipt(index)


def test_a_list_leaves_out_what_is_others():
    assert [0, 2, 3, 5, 6] == [receipt.log_index for receipt in Bench(Log(7)).page().receipts]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_pages_together_are_the_list(size):
    """Also where a page has none that the caller may see."""
    bench, found, token = Bench(Log(11)), [], ""
    for _ in range(11):
        page = bench.page(size=size, token=token)
        assert len(page.receipts) <= size
        found += [receipt.log_index for receipt in page.receipts]
        token = page.next_page_token
        if not token:
            break
    assert [index for index in range(11) if index % 3 != 1] == found


def test_a_list_begins_where_it_is_asked_to():
    assert [5, 6] == [receipt.log_index for receipt in Bench(Log(7)).page(first=4).receipts]
    beyond = Bench(Log(7)).page(first=2**63 - 2)
    assert ([], "") == (list(beyond.receipts), beyond.next_page_token)


def test_a_page_of_long_receipts_ends_before_it_is_too_long_to_be_sent():
    long = Log(5000, version="%" * 1000)
    page = Bench(long).page(size=1000)
    assert 300 < len(page.receipts) < 1000
    assert len(page.SerializeToString()) < 2 * MAX_PAGE_BYTES
    assert page.next_page_token


@pytest.mark.parametrize(
    ("request_of", "field"),
    [
        (lambda bench: bench.page(size=-1), "page_size"),
        (lambda bench: bench.page(token="nonsense"), "page_token"),
        (lambda bench: bench.page(first=2**63 - 1), "first_index"),
        (lambda bench: bench.inclusion(7), "log_index"),
        (lambda bench: bench.inclusion(3, 3), "log_index"),
        (lambda bench: bench.inclusion(3, 8), "tree_size"),
        (lambda bench: bench.consistency(0), "first_size"),
        (lambda bench: bench.consistency(5, 4), "first_size"),
        (lambda bench: bench.consistency(5, 8), "second_size"),
        (lambda bench: bench.consistency(2**64 - 1), "first_size"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_its_field(request_of, field):
    with pytest.raises(RequestError) as refused:
        request_of(Bench(Log(7)))
    assert field == refused.value.field


def test_every_receipt_is_proved_to_be_under_the_checkpoint():
    bench = Bench(Log(13))
    answer = asyncio.run(bench.core.get_checkpoint(pb.GetCheckpointRequest(), bench.call))
    assert [key.encode() for key in SIGNER.verifier_keys()] == list(answer.verifier_keys)
    seen = bench.trusted.open_checkpoint(answer.checkpoint.encode())
    for entry in bench.log.entries:
        proof = bench.inclusion(entry.index)
        assert (13, leaf_hash(entry.text[:-1])) == (proof.tree_size, proof.leaf_hash)
        check_entry(Receipt.decode(entry.text), seen.checkpoint, list(proof.path))


def test_every_older_tree_is_proved_to_be_the_beginning_of_the_newest():
    bench = Bench(Log(13))
    assert bench.keeper.signed is not None
    newest = bench.keeper.signed.checkpoint
    for size in range(1, 14):
        older = Bench(Log(size)).keeper.signed
        assert older is not None
        proof = bench.consistency(size)
        verify_consistency(size, 13, older.checkpoint.root, newest.root, list(proof.path))


def test_a_tree_that_is_not_signed_yet_can_be_proved_about():
    bench = Bench(Log(7))
    bench.log.entries = Log(9).entries
    assert 7 == bench.inclusion(3).tree_size
    assert 9 == bench.inclusion(8, 9).tree_size


def test_before_anything_is_signed_there_is_no_checkpoint():
    bench = Bench(Log(7), signed=False)
    with pytest.raises(LedgerUnavailableError, match="no checkpoint is signed yet"):
        asyncio.run(bench.core.get_checkpoint(pb.GetCheckpointRequest(), bench.call))
    with pytest.raises(LedgerUnavailableError):
        bench.inclusion(3)
