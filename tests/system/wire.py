"""Calls as any stock client makes them: no retries, no checks, and everything that comes back."""

import hashlib
import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import grpc
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

from entropyd.v1 import (
    entropy_service_pb2,
    entropy_service_pb2_grpc,
    shuffle_service_pb2,
    shuffle_service_pb2_grpc,
    types_pb2,
)
from tests.system.harness import Daemon

# The client of the project retries; here every answer of the daemon counts.
NO_RETRIES = (("grpc.enable_retries", 0),)
PATIENCE_S = 30.0

ShuffleRequest = shuffle_service_pb2.ShuffleRequest
GetShuffleRequest = shuffle_service_pb2.GetShuffleRequest


def claim_of(hand: str) -> bytes:
    """Return the claim that these tests draw `hand` with."""
    return hashlib.sha256(hand.encode()).digest()[:16]


def order(
    table: str,
    hand: str,
    *,
    claim: bytes | None = None,
    deck: types_pb2.Deck | None = None,
) -> ShuffleRequest:
    """Return a request for a hand; without more, of one 52-card deck with the hand's own claim."""
    return ShuffleRequest(
        key=types_pb2.HandKey(table=table, hand=hand),
        deck=deck,
        claim=claim_of(hand) if claim is None else claim,
    )


def question(table: str, hand: str, *, claim: bytes | None = None) -> GetShuffleRequest:
    """Return a request to read a hand again."""
    return GetShuffleRequest(
        key=types_pb2.HandKey(table=table, hand=hand),
        claim=claim_of(hand) if claim is None else claim,
    )


@dataclass(frozen=True)
class Told:
    """A refusal, with everything that came with it.

    Attributes:
        code, message: of the status.
        reason, domain, metadata: of google.rpc.ErrorInfo.
        fields: field to description, of google.rpc.BadRequest.
        retry_s: of google.rpc.RetryInfo; None without one.
        pushback_ms: of the trailer `grpc-retry-pushback-ms`; None without one.
    """

    code: grpc.StatusCode
    message: str
    reason: str = ""
    domain: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    retry_s: float | None = None
    pushback_ms: int | None = None

    @classmethod
    def by(cls, error: Any) -> "Told":
        """Return what a failed call was told."""
        trailers = dict(error.trailing_metadata() or ())
        details = trailers.get("grpc-status-details-bin", b"")
        status = status_pb2.Status.FromString(details)
        info, bad, retry = (
            error_details_pb2.ErrorInfo(),
            error_details_pb2.BadRequest(),
            error_details_pb2.RetryInfo(),
        )
        has_retry = False
        for detail in status.details:
            has_retry |= detail.Unpack(retry)
            assert detail.Unpack(info) or detail.Unpack(bad) or detail.Is(retry.DESCRIPTOR)
        pushback = trailers.get("grpc-retry-pushback-ms")
        return cls(
            code=error.code(),
            message=error.details() or "",
            reason=info.reason,
            domain=info.domain,
            metadata=dict(info.metadata),
            fields={v.field: v.description for v in bad.field_violations},
            retry_s=retry.retry_delay.ToNanoseconds() / 1e9 if has_retry else None,
            pushback_ms=None if pushback is None else int(pushback),
        )


def told(call: Callable[..., object], *arguments: object, **settings: object) -> Told:
    """Return how a call was refused; one that was answered fails the test."""
    try:
        answer = call(*arguments, **settings)
    except grpc.RpcError as error:
        return Told.by(error)
    raise AssertionError(f"was answered: {answer}")


class Wire:
    """One connection to one listener."""

    def __init__(self, daemon: Daemon, listener: str = "poker.sock") -> None:
        """Connect to a listener of `daemon`: the name of its socket, or an address with a port."""
        target = listener if ":" in listener else f"unix:{daemon.home}/{listener}"
        self.channel = grpc.insecure_channel(target, NO_RETRIES)
        self.shuffles = shuffle_service_pb2_grpc.ShuffleServiceStub(self.channel)
        self.entropy = entropy_service_pb2_grpc.EntropyServiceStub(self.channel)
        self.health: Any = health_pb2_grpc.HealthStub(self.channel)

    def shuffle(
        self, request: ShuffleRequest, timeout_s: float | None = PATIENCE_S
    ) -> shuffle_service_pb2.ShuffleResponse:
        """Call Shuffle."""
        return self.shuffles.Shuffle(request, timeout=timeout_s)

    def get(
        self, request: GetShuffleRequest, timeout_s: float | None = PATIENCE_S
    ) -> shuffle_service_pb2.Shuffle:
        """Call GetShuffle."""
        return self.shuffles.GetShuffle(request, timeout=timeout_s).shuffle

    def raw(self, method: str) -> Callable[..., bytes]:
        """Return a method that takes and gives bytes, such as `ShuffleService/Shuffle`."""
        call: Callable[..., bytes] = self.channel.unary_unary(f"/entropyd.v1.{method}")
        return call

    def draw(self, table: str, hand: str) -> shuffle_service_pb2.Shuffle:
        """Draw a hand that was never drawn; one that was fails the test."""
        response = self.shuffle(order(table, hand))
        assert not response.replayed, f"{hand} was spent"
        return response.shuffle

    def replay(self, table: str, hand: str) -> shuffle_service_pb2.Shuffle:
        """Ask again for a hand that was drawn; one that was not fails the test."""
        response = self.shuffle(order(table, hand))
        assert response.replayed, f"{hand} was drawn just now"
        return response.shuffle

    def status(self) -> entropy_service_pb2.GetStatusResponse:
        """Call GetStatus."""
        return self.entropy.GetStatus(entropy_service_pb2.GetStatusRequest(), timeout=PATIENCE_S)

    def source_state(self) -> str:
        """Return the state of the one source: `lost`, `healthy`, ..."""
        name = types_pb2.SourceState.Name(self.status().sources[0].state)
        return name.removeprefix("SOURCE_STATE_").lower()

    def check(self, service: str = "") -> str:
        """Ask grpc.health.v1 and return the status by name."""
        request = health_pb2.HealthCheckRequest(service=service)
        status = self.health.Check(request, timeout=PATIENCE_S).status
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(status))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.channel.close()


def log_lines(daemon: Daemon, since: int = 0) -> list[dict[str, Any]]:
    """Return the lines that the daemon logged after the first `since` characters."""
    return [json.loads(line) for line in daemon.log[since:].splitlines() if line.startswith("{")]


def changes(lines: list[dict[str, Any]], subject: str) -> list[str]:
    """Return the states that `subject` changed to, in order."""
    return [line["state"] for line in lines if line.get("subject") == subject]


def rows(daemon: Daemon, query: str) -> list[tuple[Any, ...]]:
    """Ask the ledger's file itself, without writing to it."""
    path = daemon.home / "state" / "ledger.sqlite3"
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


DRAWN = """
    SELECT h.id, t.tenant, t.name, h.hand, h.sequence, h.items
    FROM hands h JOIN tables t ON t.id = h.table_id ORDER BY h.id
"""


def assert_numbers_have_no_gaps(daemon: Daemon) -> None:
    """Every table's hands are numbered 1, 2, 3, ..., and no deck is there twice."""
    drawn = rows(daemon, DRAWN)
    tables: dict[tuple[str, str], list[int]] = {}
    for _, tenant, table, _, sequence, _ in drawn:
        tables.setdefault((tenant, table), []).append(sequence)
    for table, sequences in tables.items():
        assert sorted(sequences) == list(range(1, len(sequences) + 1)), table
    decks = [items for *_, items in drawn]
    assert len(set(decks)) == len(decks)
