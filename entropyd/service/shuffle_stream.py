"""One stream of hands: requests in, answers out, and a bound on what lies between.

Hands that were read and not answered, and answers that were not taken, are
together at most MAX_OUTSTANDING and one message. While there are as many,
nothing is read, so that gRPC's flow control stops a client that sends and does
not read. Answers that are ready when the stream can write leave in one message:
those of one commit are.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

from entropyd.errors import EntropydError, RequestError, ShuttingDownError
from entropyd.runtime.dealer import Dealer
from entropyd.runtime.orders import Dealt, DrawOrder
from entropyd.service.error_table import refusal
from entropyd.service.orders import MAX_HANDS, check_count, order_of
from entropyd.service.shuffle_proofs import refuse_card_proofs
from entropyd.service.wire import hand_answer, stream_response
from entropyd.v1 import shuffle_service_pb2, types_pb2

# Eight messages of a busy caller, and 2 MiB of answers for one that never reads.
MAX_OUTSTANDING = 1024

Request = shuffle_service_pb2.StreamShufflesRequest


class ShuffleStream:
    """The hands of one stream. Owned by the event loop's thread."""

    def __init__(self, dealer: Dealer, tenant: str, answer_by_ns: Callable[[], int]) -> None:
        """Make a stream of `tenant`.

        Args:
            dealer: finds and draws.
            tenant: whose hands.
            answer_by_ns: until when hands that are read now may wait.
        """
        self._dealer = dealer
        self._tenant = tenant
        self._answer_by_ns = answer_by_ns
        self._ready: deque[tuple[DrawOrder | types_pb2.HandKey, Dealt | EntropydError]] = deque()
        self._outstanding = 0
        self._fatal: EntropydError | None = None
        # Set when there may be something to do for the side that writes, or for the one that reads.
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._asked = dealer.ask_each(self._tell)

    async def answers(self, requests: AsyncIterator[Request]) -> AsyncGenerator[bytes, None]:
        """Yield answers until all hands of `requests` were answered.

        Raises:
            RequestError: a message is malformed.
            ShuttingDownError: the daemon stops; what was read was answered before.
            EntropydError: nothing can be dealt any more.
        """
        loop = asyncio.get_running_loop()
        reading = loop.create_task(self._read(requests))
        draining = loop.create_task(self._dealer.draining.wait())
        try:
            reading.add_done_callback(self._has_read)
            draining.add_done_callback(lambda _: self._news.set())
            while not (self._is_over(reading, draining) and not self._outstanding):
                await self._news.wait()
                self._news.clear()
                while self._ready:
                    yield self._take()
                if self._fatal is not None:
                    raise self._fatal
        finally:
            reading.cancel()
            draining.cancel()
            self._asked.hang_up()
        self._raise_what_ended_it(reading)

    def _is_over(self, reading: "asyncio.Task[None]", draining: "asyncio.Task[bool]") -> bool:
        """Return whether no hand comes any more: the client said so, or we stop."""
        if draining.done():
            reading.cancel()
        return reading.done() or draining.done()

    def _raise_what_ended_it(self, reading: "asyncio.Task[None]") -> None:
        if reading.done() and not reading.cancelled():
            error = reading.exception()
            if error is None:
                return
            raise error
        raise ShuttingDownError("the daemon is stopping; open the stream again when it is back")

    def _has_read(self, reading: "asyncio.Task[None]") -> None:
        # Looked at: a client that hung up leaves nobody to be told of its last message.
        _ = reading.cancelled() or reading.exception()
        self._news.set()

    # --- reading ----------------------------------------------------------------

    async def _read(self, requests: AsyncIterator[Request]) -> None:
        async for request in requests:
            check_count(request.hands)
            self._ask(request.hands)
            while self._outstanding >= MAX_OUTSTANDING:
                self._room.clear()
                await self._room.wait()

    def _ask(self, hands: Sequence[shuffle_service_pb2.ShuffleRequest]) -> None:
        """Let the dealer have the hands of a message; what is malformed is answered at once."""
        self._outstanding += len(hands)
        orders = []
        for request in hands:
            try:
                refuse_card_proofs(request)
                orders.append(order_of(request, self._tenant))
            except RequestError as error:
                self._tell(request.key, error)
        if not orders:
            return
        try:
            self._asked.ask(orders, answer_by_ns=self._answer_by_ns())
        except EntropydError:
            # The ledger cannot be asked: the stream ends with that, once the others are answered.
            self._outstanding -= len(orders)
            raise

    # --- writing ----------------------------------------------------------------

    def _tell(self, order: DrawOrder | types_pb2.HandKey, answer: Dealt | EntropydError) -> None:
        if isinstance(answer, EntropydError) and answer.fatal:
            self._fatal = answer
        self._ready.append((order, answer))
        self._news.set()

    def _take(self) -> bytes:
        """Return a `StreamShufflesResponse` of answers that are ready, and let in as many hands."""
        count = min(len(self._ready), MAX_HANDS)
        told = [self._ready.popleft() for _ in range(count)]
        self._outstanding -= count
        if self._outstanding < MAX_OUTSTANDING:
            self._room.set()
        return stream_response([_answer(order, answer) for order, answer in told])


def _answer(order: DrawOrder | types_pb2.HandKey, answer: Dealt | EntropydError) -> bytes:
    if isinstance(answer, Dealt):
        return hand_answer(answer)
    key = types_pb2.HandKey(table=order.table, hand=order.hand)
    told = shuffle_service_pb2.HandAnswer(key=key, refusal=refusal(answer))
    return told.SerializeToString()
