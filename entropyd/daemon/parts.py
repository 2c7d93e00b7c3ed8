"""What the daemon is made of, as its configuration says. Nothing here runs."""

import gc
import grp
import os
import pwd
import time
from collections.abc import Sequence

from entropyd import __version__
from entropyd.config import Config, Listener, UnixEndpoint
from entropyd.daemon.sources import SourcePlan
from entropyd.entropy.gate import Gate, GatedBatch, GatedSeed, HoldReason
from entropyd.entropy.health import HealthTest
from entropyd.entropy.policy import GatePolicy, UserShortfall
from entropyd.entropy.source import SourceKind
from entropyd.entropy.user import UserLimits
from entropyd.errors import ConfigError
from entropyd.hands.known_answers import draw_known_answers
from entropyd.hands.receipts import Sources
from entropyd.ops.metrics import Constants, Metrics, Vocabulary
from entropyd.rbg.kat import run_known_answer_tests
from entropyd.runtime.drawer import Describe, HandReceipts
from entropyd.service.provenance import encode_provenance, receipt_sources
from entropyd.v1 import (
    draw_service_pb2,
    entropy_service_pb2,
    fair_service_pb2,
    hand_service_pb2,
    ledger_service_pb2,
    raffle_service_pb2,
    shuffle_service_pb2,
)

# As metrics name them: no two services have a method of one name.
METHODS = tuple(
    method.name
    for file in (
        shuffle_service_pb2,
        draw_service_pb2,
        raffle_service_pb2,
        fair_service_pb2,
        hand_service_pb2,
        ledger_service_pb2,
        entropy_service_pb2,
    )
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
)
# What a draw makes is freed without the collector of cycles, which looks by default whenever 700
# objects more are alive: 85 times a second under 64 callers, for 24 us of CPU time a draw. 50,000
# objects are some 10 MB, the most that cycles can then keep.
COLLECT_AFTER_OBJECTS = 50_000

SIMULATED = frozenset({SourceKind.MOCK, SourceKind.REPLAY})


def self_test() -> None:
    """Compute every known answer, from hash to hand. Raises SelfTestError."""
    run_known_answer_tests(draw_known_answers())


def spare_the_collector() -> None:
    """Let the cycle collector look seldom, and never again at what stays until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER_OBJECTS, *gc.get_threshold()[1:])


def gate_policy(config: Config) -> GatePolicy:
    """Return the policy that the configuration asks for."""
    gate = config.gate
    return GatePolicy(
        hardware_bits=gate.hardware_bits,
        min_hardware_sources=gate.min_hardware_sources,
        user_bits=gate.user_bits,
        user_shortfall=UserShortfall(gate.user_shortfall),
        max_sample_age_ns=gate.max_sample_age_ns,
        reservoir_bytes=gate.reservoir_bytes,
        allow_simulated=not config.mode.production,
        development=not config.mode.production,
        user_limits=UserLimits(max_age_ns=gate.max_sample_age_ns),
    )


def describer(config: Config, gate: Gate) -> Describe:
    """Return what makes the provenance of draws."""

    def describe(
        draws: Sequence[Sequence[GatedSeed]],
        drawn_at_ns: int,
        *,
        batch: GatedBatch | None = None,
    ) -> list[bytes]:
        return encode_provenance(
            draws,
            drawn_at_ns,
            node=config.node.name,
            policy=gate.policy.describe(),
            degraded=gate.degraded,
            batch=batch,
        )

    return describe


def receipts_of(log: str, gate: Gate) -> HandReceipts:
    """Return what receipts of hands that are dealt whole are made of.

    Args:
        log: origin of the log.
        gate: knows what is in force.
    """

    def sources(
        draws: Sequence[Sequence[GatedSeed]], *, batch: GatedBatch | None = None
    ) -> list[Sources]:
        return receipt_sources(
            draws, policy=gate.policy.describe(), degraded=gate.degraded, batch=batch
        )

    return HandReceipts(log, sources)


def make_metrics(
    config: Config, plans: Sequence[SourcePlan], tenants: tuple[str, ...], policy: GatePolicy
) -> Metrics:
    """Return the series of a daemon, with every label that they can have."""
    return Metrics(
        Vocabulary(
            sources={plan.info.source_id: plan.info.claimed_millibits for plan in plans},
            tenants=tenants,
            health_tests=tuple(str(test) for test in HealthTest),
            hold_reasons=tuple(str(why) for why in HoldReason),
            methods=METHODS,
        ),
        Constants(
            start_unix_s=time.time(),
            version=__version__,
            config_hash=config.fingerprint(),
            simulated=any(plan.info.kind in SIMULATED for plan in plans),
            production=config.mode.production,
            seed_millibits=policy.seed_millibits,
            min_free_bytes=config.ledger.min_free_bytes,
        ),
        clock_ns=time.monotonic_ns,
    )


def socket_owner(listener: Listener) -> tuple[int, int]:
    """Return uid and gid of a listener's socket, -1 for the daemon's own.

    Raises:
        ConfigError: there is no such user or group.
    """
    if not isinstance(listener.address, UnixEndpoint):
        return -1, -1
    try:
        uid = -1 if listener.owner is None else pwd.getpwnam(listener.owner).pw_uid
        gid = -1 if listener.group is None else grp.getgrnam(listener.group).gr_gid
    except KeyError as error:
        raise ConfigError(
            f"listener {listener.address.target}: no such user or group ({error}); create it, or"
            " leave `owner` and `group` out"
        ) from error
    return uid, gid


def free_bytes(config: Config) -> int:
    """Return how much room is left where the ledger is."""
    room = os.statvfs(config.node.state_dir)
    return room.f_bavail * room.f_frsize
