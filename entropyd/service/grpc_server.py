"""gRPC around the servicer core: listeners, health, reflection, and nothing that decides.

One `grpc.aio` server for each listener, because a listener can be an identity.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from entropyd.errors import ConfigError
from entropyd.service.adapter import Adapter, Context, Parser, Unregistered, only
from entropyd.service.certificates import Certificates
from entropyd.service.draw_core import DrawCore
from entropyd.service.entropy_core import EntropyCore
from entropyd.service.fair_core import FairCore
from entropyd.service.hand_core import HandCore
from entropyd.service.health import Health, Reflection
from entropyd.service.log_core import LogCore
from entropyd.service.raffle_core import RaffleCore
from entropyd.service.servicers import servicer_of
from entropyd.service.shuffle_core import ShuffleCore
from entropyd.v1 import (
    draw_service_pb2,
    draw_service_pb2_grpc,
    entropy_service_pb2,
    entropy_service_pb2_grpc,
    fair_service_pb2,
    fair_service_pb2_grpc,
    hand_service_pb2,
    hand_service_pb2_grpc,
    ledger_service_pb2,
    ledger_service_pb2_grpc,
    raffle_service_pb2,
    raffle_service_pb2_grpc,
    shuffle_service_pb2,
    shuffle_service_pb2_grpc,
)

SHUFFLE_SERVICE = "entropyd.v1.ShuffleService"
DRAW_SERVICE = "entropyd.v1.DrawService"
RAFFLE_SERVICE = "entropyd.v1.RaffleService"
ENTROPY_SERVICE = "entropyd.v1.EntropyService"
FAIR_SERVICE = "entropyd.v1.FairService"
HAND_SERVICE = "entropyd.v1.HandService"
LEDGER_SERVICE = "entropyd.v1.LedgerService"
DEALING_SERVICES = (SHUFFLE_SERVICE, DRAW_SERVICE, RAFFLE_SERVICE, FAIR_SERVICE, HAND_SERVICE)

# The largest honest request is a list of 1 MiB in 100,000 texts, before each of which stand three
# bytes at most; of a raffle also the white space around them, for which twice the list is room. A
# batch of 1,000 hands is below 0.4 MiB, metadata of stock clients below 1 KiB.
MAX_MESSAGE_BYTES = 2 * 1024 * 1024
# The largest answer is a raffle with its entries, which all win, and its opening: twice 1.3 MiB of
# texts, and 0.8 MiB of numbers and seeds. 1,000 decks are 2.5 MiB; a stock client takes 4 MiB.
MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_METADATA_BYTES = 8 * 1024
# Calls that gRPC took off the wire and our loop has not reached yet. Beyond 1,000, its default, it
# ends some of them with CANCELLED, which no client may retry: the refusal must be ours, so this is
# four times the queue of the default `max_waiters`.
MAX_PENDING_CALLS = 16_384

SERVER_OPTIONS: tuple[tuple[str, int], ...] = (
    # Without this a second daemon would share the port unseen: two ledgers, two decks for a hand.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_ANSWER_BYTES),
    ("grpc.max_metadata_size", MAX_METADATA_BYTES),
    ("grpc.server.max_pending_requests", MAX_PENDING_CALLS),
    ("grpc.server.max_pending_requests_hard_limit", MAX_PENDING_CALLS),
    # Our client pings every 30 s; the default minimum of 300 s would cut it off.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)

# What strangers can reach: they get this long to shake hands, by default two minutes, ...
HANDSHAKE_TIMEOUT_MS = 10_000
# ... and a certificate is asked for when a connection is made. Clients that an authority no longer
# vouches for are out after an hour and a minute, and calls get that minute to end; a client whose
# [[client]] was removed is refused at its next call.
MAX_CONNECTION_AGE_MS = 3_600_000
MAX_CONNECTION_AGE_GRACE_MS = 60_000

NETWORK_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.server_handshake_timeout_ms", HANDSHAKE_TIMEOUT_MS),
    ("grpc.max_connection_age_ms", MAX_CONNECTION_AGE_MS),
    ("grpc.max_connection_age_grace_ms", MAX_CONNECTION_AGE_GRACE_MS),
)


class _ShuffleServicer(shuffle_service_pb2_grpc.ShuffleServiceServicer):
    # The core's answers are bytes already. The stubs, which know messages alone, are told `Any`.

    def __init__(self, adapter: Adapter, core: ShuffleCore) -> None:
        self._adapter = adapter
        self._core = core

    async def Shuffle(self, request: shuffle_service_pb2.ShuffleRequest, context: Context) -> Any:
        return await self._adapter.carry("Shuffle", self._core.shuffle, request, context)

    async def GetShuffle(
        self, request: shuffle_service_pb2.GetShuffleRequest, context: Context
    ) -> Any:
        return await self._adapter.carry("GetShuffle", self._core.get_shuffle, request, context)

    async def BatchShuffle(
        self, request: shuffle_service_pb2.BatchShuffleRequest, context: Context
    ) -> Any:
        return await self._adapter.carry("BatchShuffle", self._core.batch_shuffle, request, context)

    async def StreamShuffles(
        self,
        request_iterator: AsyncIterator[shuffle_service_pb2.StreamShufflesRequest],
        context: Context,
    ) -> AsyncIterator[Any]:
        async for response in self._adapter.carry_stream(
            "StreamShuffles", self._core.stream_shuffles, request_iterator, context
        ):
            yield response


class _EntropyServicer(entropy_service_pb2_grpc.EntropyServiceServicer):
    def __init__(self, adapter: Adapter, core: EntropyCore) -> None:
        self._adapter = adapter
        self._core = core

    async def AddUserEntropy(
        self,
        request: entropy_service_pb2.AddUserEntropyRequest,
        context: Context,
    ) -> entropy_service_pb2.AddUserEntropyResponse:
        return await self._adapter.carry(
            "AddUserEntropy", self._core.add_user_entropy, request, context
        )

    async def GetStatus(
        self, request: entropy_service_pb2.GetStatusRequest, context: Context
    ) -> entropy_service_pb2.GetStatusResponse:
        return await self._adapter.carry("GetStatus", self._core.get_status, request, context)

    async def WatchStatus(
        self, request: entropy_service_pb2.WatchStatusRequest, context: Context
    ) -> AsyncIterator[entropy_service_pb2.WatchStatusResponse]:
        async for response in self._adapter.carry_stream(
            "WatchStatus", self._core.watch_status, only(request), context
        ):
            yield response


class Listener:
    """One address, one server."""

    def __init__(
        self,
        address: str,
        adapter: Adapter,
        shuffles: ShuffleCore,
        entropy: EntropyCore,
        *,
        draws: DrawCore,
        raffles: RaffleCore,
        fair: FairCore,
        hands: HandCore,
        log: LogCore,
        certificates: Certificates | None = None,
        open_reflection: bool = True,
    ):
        """Make a listener; `start` binds it.

        Args:
            address: "unix:/path", or "host:port" with a literal address.
            adapter: carries its calls.
            shuffles: core of ShuffleService.
            entropy: core of EntropyService.
            draws: core of DrawService.
            raffles: core of RaffleService.
            fair: core of FairService.
            hands: core of HandService.
            log: core of LedgerService.
            certificates: what it shows in TLS; None for plain text.
            open_reflection: whether everybody who reaches it is told of its services, or only
                callers with the role `admin`.
        """
        self.address = address
        self.port = 0
        self._adapter = adapter
        self._certificates = certificates
        self._lock: int | None = None
        options = SERVER_OPTIONS if certificates is None else SERVER_OPTIONS + NETWORK_OPTIONS
        self._server = grpc.aio.server(options=options)
        # The generated code calls the two methods that it has, and no other.
        parser: Any = Parser(self._server)
        shuffle_service_pb2_grpc.add_ShuffleServiceServicer_to_server(
            _ShuffleServicer(adapter, shuffles), parser
        )
        entropy_service_pb2_grpc.add_EntropyServiceServicer_to_server(
            _EntropyServicer(adapter, entropy), parser
        )
        draw_service_pb2_grpc.add_DrawServiceServicer_to_server(
            servicer_of(
                draw_service_pb2.DESCRIPTOR.services_by_name["DrawService"], adapter, draws
            ),
            parser,
        )
        raffle_service_pb2_grpc.add_RaffleServiceServicer_to_server(
            servicer_of(
                raffle_service_pb2.DESCRIPTOR.services_by_name["RaffleService"], adapter, raffles
            ),
            parser,
        )
        fair_service_pb2_grpc.add_FairServiceServicer_to_server(
            servicer_of(fair_service_pb2.DESCRIPTOR.services_by_name["FairService"], adapter, fair),
            parser,
        )
        hand_service_pb2_grpc.add_HandServiceServicer_to_server(
            servicer_of(
                hand_service_pb2.DESCRIPTOR.services_by_name["HandService"], adapter, hands
            ),
            parser,
        )
        ledger_service_pb2_grpc.add_LedgerServiceServicer_to_server(
            servicer_of(
                ledger_service_pb2.DESCRIPTOR.services_by_name["LedgerService"], adapter, log
            ),
            parser,
        )
        self._health = Health()
        unregistered: Any = Unregistered(self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, unregistered)
        names = (
            *DEALING_SERVICES,
            ENTROPY_SERVICE,
            LEDGER_SERVICE,
            health.SERVICE_NAME,
            reflection.SERVICE_NAME,
        )
        add_reflection: Any = reflection_pb2_grpc.add_ServerReflectionServicer_to_server
        add_reflection(Reflection(names, adapter, open_to_all=open_reflection), unregistered)

    @property
    def calls(self) -> int:
        """How many calls reached it so far."""
        return self._adapter.calls

    async def start(self, *, mode: int, owner: int, group: int) -> None:
        """Bind and serve.

        Args:
            mode: permissions of a unix socket.
            owner: its user id; -1 leaves it as it is.
            group: its group id; -1 leaves it as it is.

        Raises:
            ConfigError: the address is taken, cannot be bound or not be given to its owner and
                group. Nothing is served.
        """
        path = self._socket_path()
        if path is not None:
            self._lock = _lock_socket(path)
        try:
            self.port = self._add_port()
        except RuntimeError as error:
            raise _cannot_bind(self.address) from error
        if self.port == 0:
            raise _cannot_bind(self.address)
        if path is not None:
            # The process's umask made it 0700 or tighter until here: nobody else got in before.
            _hand_over(path, mode=mode, owner=owner, group=group)
        await self._server.start()

    def set_serving(self, *, process: bool, dealing: bool) -> None:
        """Tell health watchers how it stands: the process as a whole, and dealing."""
        self._health.set("", serving=dealing)
        for service in DEALING_SERVICES:
            self._health.set(service, serving=dealing)
        for service in (ENTROPY_SERVICE, LEDGER_SERVICE):
            self._health.set(service, serving=process)

    async def stop(self, grace_s: float) -> None:
        """Take no more calls, give those in flight `grace_s` seconds, and let go of the address."""
        self.set_serving(process=False, dealing=False)
        await self._server.stop(grace_s)
        path = self._socket_path()
        if path is not None and self._lock is not None:
            path.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def _add_port(self) -> int:
        if self._certificates is None:
            return self._server.add_insecure_port(self.address)
        return self._server.add_secure_port(self.address, self._certificates.credentials())

    def _socket_path(self) -> Path | None:
        return (
            Path(self.address.removeprefix("unix:")) if self.address.startswith("unix:") else None
        )


def _cannot_bind(address: str) -> ConfigError:
    return ConfigError(
        f"cannot listen on {address}: it is taken or not ours to bind; is another entropyd running?"
        " Stop it, or choose another `address` in [[listener]]"
    )


def _hand_over(path: Path, *, mode: int, owner: int, group: int) -> None:
    """Let those in who may use a socket."""
    try:
        os.chown(path, owner, group)
        path.chmod(mode)
    except OSError as error:
        raise ConfigError(
            f"listener unix:{path}: cannot be given to its owner and group ({error.strerror});"
            " name a `group` that the daemon is in, and no `owner`"
        ) from error


def _lock_socket(path: Path) -> int:
    """Hold the name of a unix socket: gRPC removes a socket file that it finds, in use or not."""
    try:
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on unix:{path}: {error.strerror}; make its directory, writable for the"
            " daemon, or choose another `address` in [[listener]]"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise _cannot_bind(f"unix:{path}") from error
    return lock


async def until_quiet(listeners: Sequence[Listener], *, quiet_s: float, limit_s: float) -> None:
    """Wait until no call came for `quiet_s` seconds, or for `limit_s` seconds.

    What gRPC took off the wire and we did not reach when a server stops, it
    ends with CANCELLED, which no client may retry.
    """
    for _ in range(round(limit_s / quiet_s)):
        before = [listener.calls for listener in listeners]
        await asyncio.sleep(quiet_s)
        if before == [listener.calls for listener in listeners]:
            return


async def stop_all(listeners: Sequence[Listener], grace_s: float) -> None:
    """Stop every listener at the same time."""
    await asyncio.gather(*(listener.stop(grace_s) for listener in listeners))
