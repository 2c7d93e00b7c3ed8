"""Calls to DrawService and RaffleService of a real daemon, as a stranger's stubs make them."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import grpc
from google.rpc import error_details_pb2, status_pb2

from entropyd.v1 import draw_service_pb2 as pb
from entropyd.v1 import draw_service_pb2_grpc, raffle_service_pb2_grpc
from tests.system.harness import Daemon

Answer = TypeVar("Answer")
Code = grpc.StatusCode

CLAIM, OTHER_CLAIM = b"c" * 16, b"o" * 16
TIMEOUT_S = 10.0


class Desk:
    """Stubs of one listener."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.draws = draw_service_pb2_grpc.DrawServiceStub(channel)
        self.raffles = raffle_service_pb2_grpc.RaffleServiceStub(channel)

    def roll(self, draw: str = "roll", match: str = "m", **request: Any) -> Any:
        request = {"claim": CLAIM, "dice": [pb.Dice(count=2, faces=6)]} | request
        asked = pb.RollDiceRequest(key=key(draw, match), **request)
        return self.draws.RollDice(asked, timeout=TIMEOUT_S)

    def integers(self, draw: str = "numbers", match: str = "m", **request: Any) -> Any:
        given: dict[str, Any] = {"claim": CLAIM, "count": 3, "bound": "100"} | request
        asked = pb.DrawIntegersRequest(key=key(draw, match), **given)
        return self.draws.DrawIntegers(asked, timeout=TIMEOUT_S)

    def order(self, draw: str = "order", match: str = "m", **request: Any) -> Any:
        asked = pb.ShuffleItemsRequest(key=key(draw, match), **({"claim": CLAIM} | request))
        return self.draws.ShuffleItems(asked, timeout=TIMEOUT_S)

    def sample(self, draw: str = "sample", match: str = "m", **request: Any) -> Any:
        asked = pb.SampleRequest(key=key(draw, match), **({"claim": CLAIM} | request))
        return self.draws.Sample(asked, timeout=TIMEOUT_S)

    def tiles(self, draw: str = "tiles", match: str = "m", **request: Any) -> Any:
        given: dict[str, Any] = {"claim": CLAIM, "bag": "bag", "count": 7} | request
        asked = pb.DrawFromBagRequest(key=key(draw, match), **given)
        return self.draws.DrawFromBag(asked, timeout=TIMEOUT_S)

    def replay(self, match: str = "m", **request: Any) -> Any:
        asked = pb.ReplayMatchRequest(match=match, **({"claim": CLAIM} | request))
        return self.draws.ReplayMatch(asked, timeout=TIMEOUT_S)

    def listed(self, match: str = "m", **request: Any) -> Any:
        asked = pb.ListDrawsRequest(match=match, **({"claim": CLAIM} | request))
        return self.draws.ListDraws(asked, timeout=TIMEOUT_S)


@contextmanager
def desk(daemon: Daemon, socket: str = "poker.sock") -> Iterator[Desk]:
    """Stubs for the length of a block."""
    with grpc.insecure_channel(f"unix:{daemon.home}/{socket}") as channel:
        yield Desk(channel)


def key(draw: str, match: str) -> pb.DrawKey:
    return pb.DrawKey(match=match, draw=draw)


class Told:
    """What a refusal says."""

    def __init__(self, error: Any) -> None:
        self.code, self.text = error.code(), error.details()
        [raw] = [v for k, v in error.trailing_metadata() if k == "grpc-status-details-bin"]
        self.reason = self.field = self.why = ""
        for packed in status_pb2.Status.FromString(raw).details:
            info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
            if packed.Unpack(info):
                self.reason, self.why = info.reason, info.metadata["why"]
            elif packed.Unpack(bad):
                self.field = bad.field_violations[0].field


def told(call: Callable[[], object]) -> Told:
    """Return how a call was refused; one that was answered fails the test."""
    try:
        answer = call()
    except grpc.RpcError as error:
        return Told(error)
    raise AssertionError(f"was answered: {answer}")


def patiently(call: Callable[[], Answer], *, patience_s: float = 60.0) -> Answer:
    """Ask until it is answered, as a client that is told to come back does."""
    until = time.monotonic() + patience_s
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            refused: Any = error
            if refused.code() is not Code.UNAVAILABLE or time.monotonic() > until:
                raise
        time.sleep(0.1)
