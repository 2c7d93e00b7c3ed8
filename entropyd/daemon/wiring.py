"""What a daemon is made of, from the devices to the services, and who calls whom.

Built in the order of the data's way. Nothing runs yet: threads, listeners and
timers begin where `Daemon` starts them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from entropyd import __version__
from entropyd.config import Config
from entropyd.daemon.fair_sweeps import FairSweeps
from entropyd.daemon.hands import HandParts, make_hands
from entropyd.daemon.ledger_care import adopted_at_ns
from entropyd.daemon.parts import describer, gate_policy, make_metrics, receipts_of, self_test
from entropyd.daemon.services import Services, make_services
from entropyd.daemon.sources import SourcePlan, make_source
from entropyd.entropy.gate import Gate, SourceFacts
from entropyd.entropy.source_state import SourceState
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.log.signer import LogSigner
from entropyd.ops.metrics import Metrics
from entropyd.ops.observer import Observer
from entropyd.rbg.construction import SeedConstruction
from entropyd.runtime.dealer import Dealer
from entropyd.runtime.intake import Intake
from entropyd.runtime.log_keeper import LogKeeper
from entropyd.runtime.reader import Report
from entropyd.runtime.served_tables import ServedTables
from entropyd.runtime.supervisor import Supervisor
from entropyd.runtime.writer import GroupCommitWriter
from entropyd.service.entropy_core import EntropyCore


@dataclass(frozen=True)
class Parts:
    """The parts of one daemon. Owned by the event loop's thread where they do not say otherwise.

    Attributes:
        gate: holds what was gathered, and releases seeds.
        metrics: what a scrape shows.
        observer: tells metrics and the log what happened.
        supervisor: reader threads, one for each device.
        intake: takes what they report.
        dealer: draws.
        writer: the thread that records.
        log_keeper: signs checkpoints.
        services: cores of the services that draw, and of the log.
        hands: the same for hands that are dealt card by card, and what time makes of them.
        entropy: core of EntropyService.
        sweeps: reveals seed pairs that are overdue.
    """

    gate: Gate
    metrics: Metrics
    observer: Observer
    supervisor: Supervisor
    intake: Intake
    dealer: Dealer
    writer: GroupCommitWriter
    log_keeper: LogKeeper
    services: Services
    hands: HandParts
    entropy: EntropyCore
    sweeps: FairSweeps


def wire(
    config: Config,
    plans: Sequence[SourcePlan],
    ledger: SqliteLedger,
    *,
    signer: LogSigner,
    keep_checkpoint: Callable[[bytes], None],
    os_random: Callable[[int], bytes],
    post: Callable[[Report], None],
    on_fatal: Callable[[BaseException], None],
) -> Parts:
    """Return the parts of a daemon.

    Args:
        config: what to run.
        plans: its devices.
        ledger: open, and this daemon's alone.
        signer: of receipts and checkpoints.
        keep_checkpoint: gets each signed checkpoint, to be kept outside of the ledger.
        os_random: the operating system's generator.
        post: called on a reader's thread with what it read; carries it to the loop's.
        on_fatal: called with what must never happen; ends the daemon.
    """
    infos = {plan.info.source_id: plan.info for plan in plans}
    required = {plan.info.source_id: plan.required for plan in plans}
    gate = Gate(gate_policy(config))
    # Until a reader has its device, and says so.
    for plan in plans:
        gate.set_source(
            plan.info.source_id, SourceFacts(plan.info, "", SourceState.LOST, 0, plan.required)
        )
    metrics = make_metrics(config, plans, config.tenants, gate.policy)
    observer = Observer(metrics, clock_ns=time.monotonic_ns, wall_s=time.time)
    log_keeper = LogKeeper(
        ledger, signer, observer=observer, keep=keep_checkpoint, clock_ns=time.monotonic_ns
    )
    construction = SeedConstruction(config.node.name, self_test=self_test)
    # The writer asks when it commits, and the dealer is there by then.
    writer = GroupCommitWriter(ledger, in_flight=lambda: dealer.in_flight, on_fatal=on_fatal)
    dealer = Dealer(
        gate=gate,
        construction=construction,
        hands=ledger,
        writer=writer,
        observer=observer,
        describe=describer(config, gate),
        receipts=receipts_of(signer.origin, gate),
        on_fatal=on_fatal,
        os_random=os_random,
        clock_ns=time.monotonic_ns,
        wall_ns=time.time_ns,
        max_waiters=config.gate.max_waiters,
        tenants=len(config.tenants),
        tables=ServedTables(config.node.serves_tables),
    )
    intake = Intake(
        gate=gate,
        construction=construction,
        infos=infos,
        required=required,
        log=signer.origin,
        store=writer,
        observer=observer,
        fill_rate=dealer.fill_rate,
        wake=dealer.pump,
        os_random=os_random,
        clock_ns=time.monotonic_ns,
        wall_ns=time.time_ns,
    )
    now_ns = time.monotonic_ns()
    stored = ledger.health_states()
    supervisor = Supervisor(
        [(make_source(plan, stored, now_ns), plan.driver) for plan in plans],
        post=post,
        clock_ns=time.monotonic_ns,
        on_dead=observer.reader_died,
    )
    services = make_services(
        config,
        dealer=dealer,
        ledger=ledger,
        writer=writer,
        observer=observer,
        signer=signer,
        log_keeper=log_keeper,
        adopted_at_ns=adopted_at_ns(ledger),
    )
    hands = make_hands(
        config,
        dealer=dealer,
        ledger=ledger,
        writer=writer,
        observer=observer,
        signer=signer,
        patience=services.patience,
        on_fatal=on_fatal,
        log_begins=ledger.log_begins(),
    )
    entropy = EntropyCore(
        gate=gate,
        intake=intake,
        dealer=dealer,
        hands=ledger,
        observer=observer,
        infos=infos,
        required=required,
        node=config.node.name,
        version=__version__,
        clock_ns=time.monotonic_ns,
    )
    sweeps = FairSweeps(
        services.sweep,
        config.tenants,
        observer=observer,
        clock_ns=time.monotonic_ns,
        wall_ns=time.time_ns,
        on_fatal=on_fatal,
    )
    return Parts(
        gate=gate,
        metrics=metrics,
        observer=observer,
        supervisor=supervisor,
        intake=intake,
        dealer=dealer,
        writer=writer,
        log_keeper=log_keeper,
        services=services,
        hands=hands,
        entropy=entropy,
        sweeps=sweeps,
    )
