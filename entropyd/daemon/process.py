"""The life of the daemon: start, watch, stop. Wiring only; whatever decides lives below.

    start   known answers, lock, ledger, listeners, readers; READY=1
    watch   ten times a second: stir, judge whether dealing is possible, tell health, metrics and
            the service manager; twice a second: the readers; on SIGHUP: the configuration
    stop    no new draws; those in flight end; listeners; readers; ledger

It ends with exit code 0 only after it was asked to stop.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import uvloop

from entropyd import __version__
from entropyd.config import Asks, Config
from entropyd.daemon.access import Access
from entropyd.daemon.fair_sweeps import FairSweeps
from entropyd.daemon.feeding import Feeding
from entropyd.daemon.hands import make_hands
from entropyd.daemon.ledger import NoAnchor, kept_anchor, open_ledger
from entropyd.daemon.log import note_reload, open_log
from entropyd.daemon.parts import (
    describer,
    free_bytes,
    gate_policy,
    make_metrics,
    receipts_of,
    self_test,
    socket_owner,
    spare_the_collector,
)
from entropyd.daemon.reload import Reread, reread
from entropyd.daemon.services import make_services
from entropyd.daemon.sources import SourcePlan, make_source, plan_sources
from entropyd.entropy.gate import Gate, SourceFacts
from entropyd.entropy.source_state import SourceState
from entropyd.errors import EntropydError, InternalError
from entropyd.ledger.contract import Event, EventKind
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.log.signer import LogSigner
from entropyd.ops.hardening import harden
from entropyd.ops.http import Heartbeat, OpsServer
from entropyd.ops.logs import configure, get_logger
from entropyd.ops.notify import Notifier
from entropyd.ops.observer import Observer
from entropyd.rbg.construction import SeedConstruction
from entropyd.runtime.anchor_keeper import AnchorKeeper
from entropyd.runtime.dealer import Dealer
from entropyd.runtime.intake import Intake
from entropyd.runtime.log_keeper import LogKeeper
from entropyd.runtime.reader import Report
from entropyd.runtime.served_tables import ServedTables
from entropyd.runtime.supervisor import Supervisor
from entropyd.runtime.writer import GroupCommitWriter
from entropyd.service import grpc_server
from entropyd.service.adapter import Adapter
from entropyd.service.admission import Admission
from entropyd.service.entropy_core import EntropyCore

TICK_S = 0.1
TICKS_A_READER_CHECK = 5
# Draws in flight when we are asked to stop get this long. With the wait for quiet, the listeners'
# grace and the readers' last read (1 s) the whole stop stays below 5 s, and the unit's
# TimeoutStopSec above that.
DRAIN_S = 2.0
# A thousand calls take our loop a tenth of a second: none came for that long, none is left.
QUIET_S = 0.1
QUIET_LIMIT_S = 0.5
LISTENER_GRACE_S = 0.5


def run(
    config: Config,
    *,
    config_file: Path | None = None,
    os_random: Callable[[int], bytes] = os.getrandom,
) -> None:
    """Run until SIGTERM or SIGINT.

    Args:
        config: what to run.
        config_file: what to read again on SIGHUP; without one, nothing is.
        os_random: the operating system's generator. No configuration reaches it: only a
            program that calls this, to play a recorded run again, can bring another.

    Raises:
        EntropydError: the daemon cannot start, or had to end; the command turns
            it into an exit code that is not 0.
    """
    configure(level=config.log.level, json=config.log.format == "json")
    for refused in harden(lock_memory=config.mode.production):
        get_logger("daemon").warning("hardening not to be had", what=refused)
    # Known answers before anything else: a generator that computes wrongly must not even listen.
    self_test()
    plans = plan_sources(config)
    with open_ledger(config) as ledger, kept_anchor(config, ledger) as anchor:
        daemon = Daemon(
            config,
            plans,
            ledger,
            signer=open_log(config, ledger, gate_policy(config)),
            anchor=anchor,
            os_random=os_random,
            config_file=config_file,
        )
        spare_the_collector()
        uvloop.run(daemon.serve())


class Daemon:
    """One daemon in one event loop. Owned by the loop's thread."""

    def __init__(
        self,
        config: Config,
        plans: Sequence[SourcePlan],
        ledger: SqliteLedger,
        *,
        signer: LogSigner,
        anchor: AnchorKeeper | NoAnchor,
        os_random: Callable[[int], bytes],
        config_file: Path | None,
    ) -> None:
        """Build everything; `serve` starts it."""
        self._anchor = anchor
        self._config_file = config_file
        self._reload_asked = False
        self._caveat = ""
        self._config = config
        self._plans = plans
        self._ledger = ledger
        self._log = get_logger("daemon")
        self._notifier = Notifier.from_environment()
        self._heartbeat = Heartbeat(time.monotonic_ns)
        self._failure: BaseException | None = None
        self._turns = 0
        infos = {plan.info.source_id: plan.info for plan in plans}
        required = {plan.info.source_id: plan.required for plan in plans}
        self._tenants = config.tenants
        self._admission = Admission()
        self._gate = Gate(gate_policy(config))
        self._metrics = make_metrics(config, plans, self._tenants, self._gate.policy)
        self._access = Access(config, self._metrics)
        self._observer = Observer(self._metrics, clock_ns=time.monotonic_ns, wall_s=time.time)
        self._log_origin = signer.origin
        self._log_keeper = LogKeeper(
            ledger,
            signer,
            observer=self._observer,
            keep=anchor.keep_checkpoint,
            clock_ns=time.monotonic_ns,
        )
        construction = SeedConstruction(config.node.name, self_test=self_test)
        self._writer = GroupCommitWriter(
            ledger, in_flight=lambda: self._dealer.in_flight, on_fatal=self.end
        )
        self._dealer = Dealer(
            gate=self._gate,
            construction=construction,
            hands=ledger,
            writer=self._writer,
            observer=self._observer,
            describe=describer(config, self._gate),
            receipts=receipts_of(signer.origin, self._gate),
            on_fatal=self.end,
            os_random=os_random,
            clock_ns=time.monotonic_ns,
            wall_ns=time.time_ns,
            max_waiters=config.gate.max_waiters,
            tenants=len(self._tenants),
            tables=ServedTables(config.node.serves_tables),
        )
        self._intake = Intake(
            gate=self._gate,
            construction=construction,
            infos=infos,
            required=required,
            log=signer.origin,
            store=self._writer,
            observer=self._observer,
            fill_rate=self._dealer.fill_rate,
            wake=self._dealer.pump,
            os_random=os_random,
            clock_ns=time.monotonic_ns,
            wall_ns=time.time_ns,
        )
        for plan in plans:
            self._gate.set_source(
                plan.info.source_id,
                SourceFacts(plan.info, "", SourceState.LOST, 0, plan.required),
            )
        now_ns = time.monotonic_ns()
        stored = ledger.health_states()
        self._supervisor = Supervisor(
            [(make_source(plan, stored, now_ns), plan.driver) for plan in plans],
            post=self._post,
            clock_ns=time.monotonic_ns,
            on_dead=self._observer.reader_died,
        )
        self._services = make_services(
            config,
            dealer=self._dealer,
            ledger=ledger,
            writer=self._writer,
            observer=self._observer,
            signer=signer,
            log_keeper=self._log_keeper,
        )
        self._hands = make_hands(
            config,
            dealer=self._dealer,
            ledger=ledger,
            writer=self._writer,
            observer=self._observer,
            signer=signer,
            patience=self._services.patience,
            on_fatal=self.end,
        )
        self._entropy = EntropyCore(
            gate=self._gate,
            intake=self._intake,
            dealer=self._dealer,
            hands=ledger,
            observer=self._observer,
            infos=infos,
            required=required,
            node=config.node.name,
            version=__version__,
            clock_ns=time.monotonic_ns,
        )
        self._sweeps = FairSweeps(
            self._services.sweep,
            self._tenants,
            observer=self._observer,
            clock_ns=time.monotonic_ns,
            wall_ns=time.time_ns,
            on_fatal=self.end,
        )
        self._http = OpsServer(
            config.http.address,
            self._metrics.registry,
            alive=self._heartbeat.probe,
            ready=self._ready,
        )
        self._metrics.gate.ask_can_deal(self._can_deal)
        self._feeding = Feeding(self._notifier, self._supervisor, self._writer)

    # --- life ----------------------------------------------------------------

    async def serve(self) -> None:
        """Start, watch until asked to stop, stop.

        Raises:
            EntropydError: it could not start, or had to end.
        """
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._stopping.set)
        self._loop.add_signal_handler(signal.SIGHUP, self._ask_to_reload)
        self._writer.start()
        self._note(EventKind.DAEMON_START)
        listeners: list[grpc_server.Listener] = []
        try:
            # What is in force is signed for before anybody can ask.
            self._log_keeper.look()
            await self._listen(listeners)
            # Judged before anybody can ask: /readyz never says yes for want of a judgement.
            self._judge()
            self._http.start()
            self._supervisor.start()
            self._notifier.ready(self._status())
            self._log.info("started", version=__version__, node=self._config.node.name)
            await self._watch(listeners)
        finally:
            await self._stop(listeners)
        if self._failure is not None:
            raise self._failure

    def end(self, error: BaseException) -> None:
        """End the daemon because of what must never happen. Called on the loop's thread."""
        if self._failure is None:
            self._failure = (
                error
                if isinstance(error, EntropydError)
                else InternalError(f"ended by {type(error).__name__}, see the log")
            )
            self._log.critical("ending", reason=str(self._failure), exc_info=error)
        self._stopping.set()

    async def _listen(self, listeners: list[grpc_server.Listener]) -> None:
        for configured in self._config.listeners:
            door = self._access.door(configured)
            adapter = Adapter(
                door.authenticator,
                admission=self._admission,
                name=configured.address.target,
                max_calls=configured.max_calls,
                observer=self._observer,
                clock_ns=time.monotonic_ns,
                on_defect=self.end,
            )
            listener = grpc_server.Listener(
                configured.address.target,
                adapter,
                self._services.shuffles,
                self._entropy,
                draws=self._services.draws,
                raffles=self._services.raffles,
                fair=self._services.fair,
                hands=self._hands.core,
                log=self._services.log,
                certificates=door.certificates,
                open_reflection=configured.asks is Asks.NOTHING,
            )
            listeners.append(listener)
            owner, group = socket_owner(configured)
            await listener.start(mode=int(configured.mode, 8), owner=owner, group=group)
            listener.set_serving(process=True, dealing=False)
            self._log.info("listening", address=configured.address.target, port=listener.port)

    async def _watch(self, listeners: Sequence[grpc_server.Listener]) -> None:
        """Turn until asked to stop. A turn that fails ends the daemon."""
        while not self._stopping.is_set():
            try:
                await self._turn(listeners)
            except Exception as error:  # noqa: BLE001  the one catch-all of the watch, and it ends it
                self.end(error)
            try:
                await asyncio.wait_for(self._stopping.wait(), TICK_S)
            except TimeoutError:
                continue

    async def _turn(self, listeners: Sequence[grpc_server.Listener]) -> None:
        self._turns += 1
        self._heartbeat.beat()
        self._metrics.heartbeat(at_unix_s=time.time())
        self._intake.cycle()
        self._dealer.pump()
        if self._judge():
            hold = self._observer.hold
            for listener in listeners:
                listener.set_serving(process=True, dealing=hold is None)
            self._notifier.status(self._status())
        self._hands.sweep.tick()
        self._entropy.feed.poll()
        if self._turns % TICKS_A_READER_CHECK == 0:
            self._supervisor.check()
            self._log_keeper.look()
            self._show_levels()
            self._access.look()
            self._sweeps.look()
        if self._reload_asked:
            await self._reload()
        self._feeding.feed(self._turns)

    def _status(self) -> str:
        """Say in one line what the daemon does, and what somebody should do about it."""
        hold = self._observer.hold
        text = "dealing" if hold is None else f"holding: {hold.text}"
        return f"{text}; {self._caveat}" if self._caveat else text

    def _judge(self) -> bool:
        """Find out whether dealing is possible, and return whether that changed."""
        hold = self._dealer.hold_for_any(self._tenants)
        return self._observer.judged(hold, self._dealer.waiters)

    async def _stop(self, listeners: Sequence[grpc_server.Listener]) -> None:
        """Let draws in flight end, then take everything down in the order of the data's way."""
        self._notifier.stopping("draining")
        self._dealer.drain()
        self._hands.sweep.stop()
        for listener in listeners:
            listener.set_serving(process=False, dealing=False)
        # Recorded hands are still answered here; waiters are still dealt to, if entropy comes.
        await self._dealer.wait_until_idle(DRAIN_S)
        self._dealer.dismiss_waiters()
        self._supervisor.ask_to_stop()
        # Whoever is told that we stop comes back in a second: those that already called are told.
        await grpc_server.until_quiet(listeners, quiet_s=QUIET_S, limit_s=QUIET_LIMIT_S)
        await grpc_server.stop_all(listeners, LISTENER_GRACE_S)
        running = await asyncio.to_thread(self._supervisor.join)
        if running:
            self._log.warning("readers did not end in time", readers=running)
        self._note(EventKind.DAEMON_STOP)
        await self._writer.drain()
        await self._writer.stop()
        self._sign_the_last()
        self._http.stop()
        self._log.info("stopped")

    def _sign_the_last(self) -> None:
        """Have the anchor keep a checkpoint of all that was recorded."""
        try:
            self._log_keeper.look()
        except EntropydError as error:
            self.end(error)

    # --- the configuration, read again -----------------------------------------

    def _ask_to_reload(self) -> None:
        self._reload_asked = True

    async def _reload(self) -> None:
        """Take over what a changed file allows; if the file is wrong, change nothing."""
        self._reload_asked = False
        if self._config_file is None:
            self._log.warning("no configuration file to read again")
            return
        self._notifier.reloading("reading the configuration", time.monotonic_ns())
        try:
            found = await asyncio.to_thread(reread, self._config_file, self._config, self._tenants)
        except EntropydError as error:
            self._caveat = "the configuration file is wrong and not in effect, see the log"
            # The text has the remedy; where it was raised is of no use to an operator.
            self._log.error("configuration not in effect", reason=str(error))
        else:
            self._take_over(found)
        self._notifier.ready(self._status())

    def _take_over(self, found: Reread) -> None:
        config = found.config
        self._access.replace_clients(config.clients)
        configure(level=config.log.level, json=config.log.format == "json")
        self._services.patience.set(
            max_hold_ns=config.gate.max_hold_ns,
            answer_before_deadline_ns=config.gate.answer_before_deadline_ns,
        )
        self._hands.take_over(config)
        self._metrics.configured(config.fingerprint())
        changed = note_reload(config, self._ledger, self._log_origin, self._gate.policy)
        if changed is not None:
            self._writer.note(changed)
        self._config = config
        waiting = ", ".join(found.waiting)
        self._caveat = f"needs a restart: {waiting}" if waiting else ""
        self._log.info(
            "configuration read again", in_effect=found.taken, needs_restart=found.waiting
        )

    # --- what the parts call -------------------------------------------------

    def _post(self, report: Report) -> None:
        """Carry a report from a reader's thread to the loop."""
        try:
            self._loop.call_soon_threadsafe(self._take, report)
        except RuntimeError:
            # The loop is closed: the daemon has stopped, and nobody deals from this any more.
            return

    def _take(self, report: Report) -> None:
        try:
            self._intake.take(report)
        except Exception as error:  # noqa: BLE001  the one catch-all of the intake, and it ends the daemon
            self.end(error)

    def _ready(self) -> str | None:
        """Say why a draw could not be dealt now, or None. Called from the HTTP threads."""
        if self._stopping.is_set():
            return "stopping"
        hold = self._observer.hold
        return None if hold is None else f"{hold.why}: {hold.text}"

    def _can_deal(self) -> bool:
        return self._heartbeat.probe() is None and self._ready() is None

    def _note(self, kind: EventKind) -> None:
        detail = f'{{"version": "{__version__}"}}'
        self._writer.note(Event(kind, self._config.node.name, detail, time.time_ns()))

    def _show_levels(self) -> None:
        now_ns = time.monotonic_ns()
        for plan in self._plans:
            level = self._gate.source_level_millibits(plan.info.source_id, now_ns)
            self._metrics.source(plan.info.source_id).reservoir(level)
        for tenant in self._tenants:
            self._metrics.users.pool(tenant, self._gate.user_millibits(tenant, now_ns))
        self._metrics.degraded(now=self._gate.degraded)
        self._metrics.ledger.anchor(self._anchor.age_s)
        sweep = self._hands.sweep
        self._observer.hands_stood(live=len(sweep), overdue_s=sweep.overdue_ns / 1e9)
        self._observer.ledger_stood(
            self._writer.stats, self._ledger.count(), free_bytes(self._config)
        )
