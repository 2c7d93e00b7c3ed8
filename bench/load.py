"""The load generator: a process of its own that calls as it is told and says what it saw.

Orders come in on standard input and figures leave on standard output, one JSON
object a line. It is never the yardstick: it reports its own CPU time too, so
that a figure which it limited can be seen.

    closed   N callers, each of whom calls again when it was answered; a turn may be two calls
    open     arrivals of a Poisson process, whatever the answers do; latency
             counts from when a call was due, not from when it could be sent
    batch    N callers of batches, each of whom calls again when it was answered
    stream   N hands under way on each stream
    hands    N tables at which one hand, dealt card by card, follows the other
"""

import asyncio
import hashlib
import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import uvloop

from bench.draw_load import ASKED, Turn, turns
from bench.hand_load import hands
from bench.http2 import Connection, connect
from bench.many_load import batches, streams
from bench.tally import Tally
from entropyd.v1 import shuffle_service_pb2, types_pb2

PATHS = {
    "shuffle": "/entropyd.v1.ShuffleService/Shuffle",
    "shuffle, card proofs": "/entropyd.v1.ShuffleService/Shuffle",
    "empty": "/entropyd.bench.v1.BenchService/Empty",
}
# A card room's tables; each hand is another.
TABLES = 64


@dataclass(frozen=True)
class Order:
    """What to do.

    Attributes:
        kind: `closed`, `open`, `batch`, `stream` or `hands`.
        method: key of PATHS, of `draw_load.ASKED` or of `hand_load.STYLES`.
        target: "unix:/path".
        pid: the server, whose CPU time is taken at both ends of the measured time.
        name: begins the hands' ids; never the same twice on one ledger.
        seconds: for how long.
        connections: how many connections share the calls, or how many streams there are.
        in_flight: callers of a closed loop or of batches; hands under way on each stream; tables.
        hands: hands of a batch, or of a message of a stream.
        again: each of these asks for the hands of the first, as a server that records nothing
            lets one: making them costs more than it takes to deal them.
        rate: arrivals a second of an open one.
        seed: of its arrival times.
        timeout_s: deadline of each call.
    """

    kind: str
    method: str
    target: str
    pid: int
    name: str
    seconds: float
    connections: int = 4
    in_flight: int = 1
    hands: int = 1
    again: bool = False
    rate: float = 0.0
    seed: int = 1
    timeout_s: int = 10


def messages(order: Order) -> Iterator[bytes]:
    """Yield the messages of an order's calls: another hand each, or nothing at all."""
    if order.method == "empty":
        while True:
            yield b""
    for number in count():
        hand = f"{order.name}-{number}"
        yield shuffle_service_pb2.ShuffleRequest(
            key=types_pb2.HandKey(table=f"table-{number % TABLES}", hand=hand),
            # As good as derived: what it is derived from is the client's affair.
            claim=hashlib.sha256(hand.encode()).digest()[:16],
            card_proofs=order.method == "shuffle, card proofs",
        ).SerializeToString()


async def closed(order: Order) -> dict[str, float]:
    """Keep `in_flight` turns under way for `seconds`."""
    lanes = await _connect(order)
    tally, texts, over = Tally(order.pid), _turns(order), False
    idle = asyncio.Event()
    active = order.in_flight

    def begin(lane: Sequence[Connection]) -> None:
        call(lane, next(texts), 0, time.monotonic())

    def call(lane: Sequence[Connection], turn: Turn, at: int, began: float) -> None:
        def done(answer: bytes | None) -> None:
            nonlocal active
            if answer is not None and at + 1 < len(turn):
                call(lane, turn, at + 1, began)
                lane[at + 1].flush()
                return
            if not over and answer is not None:
                tally.latencies_s.append(time.monotonic() - began)
            tally.refused += answer is None
            if over or answer is None:
                active -= 1
                idle.set() if not active else None
            else:
                begin(lane)
                # What goes on the connection that this answer came on goes out after it anyhow.
                if at:
                    lane[0].flush()

        lane[at].call(turn[at], done)

    for number in range(order.in_flight):
        begin(lanes[number % len(lanes)])
    for lane in lanes:
        lane[0].flush()
    await asyncio.sleep(order.seconds)
    result, over = tally.result(), True
    await idle.wait()
    return _closed([connection for lane in lanes for connection in lane], result)


async def open_loop(order: Order) -> dict[str, float]:
    """Call when a Poisson process says so, for `seconds`, and wait for the last answer."""
    connections = [connection for [connection] in await _connect(order)]
    tally, texts = Tally(order.pid), messages(order)
    loop = asyncio.get_running_loop()
    idle = asyncio.Event()
    arrivals = _arrivals(order)
    left = len(arrivals)
    begin = time.monotonic() + 0.1

    def call(number: int) -> None:
        due = begin + arrivals[number]
        tally.lateness_s.append(time.monotonic() - due)

        def done(answer: bytes | None) -> None:
            nonlocal left
            left -= 1
            idle.set() if not left else None
            tally.refused += answer is None
            if answer is not None:
                tally.latencies_s.append(time.monotonic() - due)

        connection = connections[number % len(connections)]
        connection.call(next(texts), done)
        connection.flush()

    def keep_time() -> None:
        for number, due in enumerate(arrivals):
            # A sleeping thread wakes within 0.1 ms; timers of event loops tick in milliseconds.
            time.sleep(max(0.0, begin + due - time.monotonic()))
            loop.call_soon_threadsafe(call, number)

    threading.Thread(target=keep_time, daemon=True).start()
    await idle.wait()
    return _closed(connections, tally.result())


def _arrivals(order: Order) -> list[float]:
    """Return the seconds at which calls are due: gaps are exponential."""
    generator = random.Random(order.seed)
    due, all_due = 0.0, []
    while (due := due + generator.expovariate(order.rate)) < order.seconds:
        all_due.append(due)
    return all_due


def _turns(order: Order) -> Iterator[Turn]:
    """Yield the messages of turn after turn."""
    if order.method in ASKED:
        return turns(order.method, order.name)
    return ((message,) for message in messages(order))


async def _connect(order: Order) -> list[list[Connection]]:
    """Return lanes: each is a connection for each method of a turn."""
    asked = ASKED.get(order.method)
    paths = [PATHS[order.method]] if asked is None else asked.paths
    lanes = min(order.connections, max(1, order.in_flight) if order.rate == 0 else 64)
    return [
        [await connect(order.target, path, timeout_s=order.timeout_s) for path in paths]
        for _ in range(lanes)
    ]


def _closed(connections: Sequence[Connection], result: dict[str, float]) -> dict[str, float]:
    trouble = [connection.trouble for connection in connections if connection.trouble]
    if trouble:
        raise RuntimeError(trouble[0])
    for connection in connections:
        connection.close()
    return result


KINDS: dict[str, Callable[[Order], Any]] = {
    "closed": closed,
    "open": open_loop,
    "batch": batches,
    "stream": streams,
    "hands": hands,
}


def main() -> None:
    """Obey orders until there are no more."""
    for line in sys.stdin:
        order = Order(**json.loads(line))
        print(json.dumps(uvloop.run(KINDS[order.kind](order))), flush=True)


if __name__ == "__main__":
    main()
