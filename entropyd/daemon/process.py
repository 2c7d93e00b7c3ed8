"""The life of the daemon: start, watch, stop. Whatever decides lives below; `wiring` joins it.

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
from entropyd.daemon.feeding import Feeding
from entropyd.daemon.ledger import NoAnchor, kept_anchor, open_ledger
from entropyd.daemon.log import note_reload, open_log
from entropyd.daemon.parts import (
    free_bytes,
    gate_policy,
    self_test,
    socket_owner,
    spare_the_collector,
)
from entropyd.daemon.reload import Reread, reread
from entropyd.daemon.sources import SourcePlan, plan_sources
from entropyd.daemon.wiring import wire
from entropyd.errors import EntropydError, InternalError
from entropyd.ledger.contract import Event, EventKind
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.log.signer import LogSigner
from entropyd.ops.hardening import harden
from entropyd.ops.http import Heartbeat, OpsServer
from entropyd.ops.logs import configure, get_logger
from entropyd.ops.notify import Notifier
from entropyd.runtime.anchor_keeper import AnchorKeeper
from entropyd.runtime.reader import Report
from entropyd.service import grpc_server
from entropyd.service.adapter import Adapter
from entropyd.service.admission import Admission

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
        # Those of the start: another one needs a restart.
        self._tenants = config.tenants
        self._ledger = ledger
        self._log_origin = signer.origin
        self._log = get_logger("daemon")
        self._notifier = Notifier.from_environment()
        self._heartbeat = Heartbeat(time.monotonic_ns)
        self._failure: BaseException | None = None
        self._turns = 0
        self._admission = Admission()
        self._parts = wire(
            config,
            plans,
            ledger,
            signer=signer,
            keep_checkpoint=anchor.keep_checkpoint,
            os_random=os_random,
            post=self._post,
            on_fatal=self.end,
        )
        self._access = Access(config, self._parts.metrics)
        self._http = OpsServer(
            config.http.address,
            self._parts.metrics.registry,
            alive=self._heartbeat.probe,
            ready=self._ready,
        )
        self._parts.metrics.gate.ask_can_deal(self._can_deal)
        self._feeding = Feeding(self._notifier, self._parts.supervisor, self._parts.writer)

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
        self._parts.writer.start()
        self._note(EventKind.DAEMON_START)
        listeners: list[grpc_server.Listener] = []
        try:
            # What is in force is signed for before anybody can ask.
            self._parts.log_keeper.look()
            await self._listen(listeners)
            # Judged before anybody can ask: /readyz never says yes for want of a judgement.
            self._judge()
            self._http.start()
            self._parts.supervisor.start()
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
                observer=self._parts.observer,
                clock_ns=time.monotonic_ns,
                on_defect=self.end,
            )
            listener = grpc_server.Listener(
                configured.address.target,
                adapter,
                self._parts.services.shuffles,
                self._parts.entropy,
                draws=self._parts.services.draws,
                raffles=self._parts.services.raffles,
                fair=self._parts.services.fair,
                hands=self._parts.hands.core,
                log=self._parts.services.log,
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
        self._parts.metrics.heartbeat(at_unix_s=time.time())
        self._parts.intake.cycle()
        self._parts.dealer.pump()
        if self._judge():
            hold = self._parts.observer.hold
            for listener in listeners:
                listener.set_serving(process=True, dealing=hold is None)
            self._notifier.status(self._status())
        self._parts.hands.sweep.tick()
        self._parts.entropy.feed.poll()
        if self._turns % TICKS_A_READER_CHECK == 0:
            self._parts.supervisor.check()
            self._parts.log_keeper.look()
            self._show_levels()
            self._access.look()
            self._parts.sweeps.look()
        if self._reload_asked:
            await self._reload()
        self._feeding.feed(self._turns)

    def _status(self) -> str:
        """Say in one line what the daemon does, and what somebody should do about it."""
        hold = self._parts.observer.hold
        text = "dealing" if hold is None else f"holding: {hold.text}"
        return f"{text}; {self._caveat}" if self._caveat else text

    def _judge(self) -> bool:
        """Find out whether dealing is possible, and return whether that changed."""
        hold = self._parts.dealer.hold_for_any(self._tenants)
        return self._parts.observer.judged(hold, self._parts.dealer.waiters)

    async def _stop(self, listeners: Sequence[grpc_server.Listener]) -> None:
        """Let draws in flight end, then take everything down in the order of the data's way."""
        self._notifier.stopping("draining")
        self._parts.dealer.drain()
        self._parts.hands.sweep.stop()
        for listener in listeners:
            listener.set_serving(process=False, dealing=False)
        # Recorded hands are still answered here; waiters are still dealt to, if entropy comes.
        await self._parts.dealer.wait_until_idle(DRAIN_S)
        self._parts.dealer.dismiss_waiters()
        self._parts.supervisor.ask_to_stop()
        # Whoever is told that we stop comes back in a second: those that already called are told.
        await grpc_server.until_quiet(listeners, quiet_s=QUIET_S, limit_s=QUIET_LIMIT_S)
        await grpc_server.stop_all(listeners, LISTENER_GRACE_S)
        running = await asyncio.to_thread(self._parts.supervisor.join)
        if running:
            self._log.warning("readers did not end in time", readers=running)
        self._note(EventKind.DAEMON_STOP)
        await self._parts.writer.drain()
        await self._parts.writer.stop()
        self._sign_the_last()
        self._http.stop()
        self._log.info("stopped")

    def _sign_the_last(self) -> None:
        """Have the anchor keep a checkpoint of all that was recorded."""
        try:
            self._parts.log_keeper.look()
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
        self._parts.services.patience.set(
            max_hold_ns=config.gate.max_hold_ns,
            answer_before_deadline_ns=config.gate.answer_before_deadline_ns,
        )
        self._parts.hands.take_over(config)
        self._parts.metrics.configured(config.fingerprint())
        changed = note_reload(config, self._ledger, self._log_origin, self._parts.gate.policy)
        if changed is not None:
            self._parts.writer.note(changed)
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
            self._parts.intake.take(report)
        except Exception as error:  # noqa: BLE001  the one catch-all of the intake, and it ends the daemon
            self.end(error)

    def _ready(self) -> str | None:
        """Say why a draw could not be dealt now, or None. Called from the HTTP threads."""
        if self._stopping.is_set():
            return "stopping"
        hold = self._parts.observer.hold
        return None if hold is None else f"{hold.why}: {hold.text}"

    def _can_deal(self) -> bool:
        return self._heartbeat.probe() is None and self._ready() is None

    def _note(self, kind: EventKind) -> None:
        detail = f'{{"version": "{__version__}"}}'
        self._parts.writer.note(Event(kind, self._config.node.name, detail, time.time_ns()))

    def _show_levels(self) -> None:
        now_ns = time.monotonic_ns()
        for plan in self._plans:
            level = self._parts.gate.source_level_millibits(plan.info.source_id, now_ns)
            self._parts.metrics.source(plan.info.source_id).reservoir(level)
        for tenant in self._tenants:
            self._parts.metrics.users.pool(tenant, self._parts.gate.user_millibits(tenant, now_ns))
        self._parts.metrics.degraded(now=self._parts.gate.degraded)
        self._parts.metrics.ledger.anchor(self._anchor.age_s)
        sweep = self._parts.hands.sweep
        self._parts.observer.hands_stood(live=len(sweep), overdue_s=sweep.overdue_ns / 1e9)
        self._parts.observer.ledger_stood(
            self._parts.writer.stats, self._ledger.count(), free_bytes(self._config)
        )
