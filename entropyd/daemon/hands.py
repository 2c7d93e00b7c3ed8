"""Hands that are dealt card by card: what serves them, and what time makes of them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from entropyd.config import Config
from entropyd.ledger.contract import Ledger
from entropyd.log.signer import LogSigner
from entropyd.ops.observer import Observer
from entropyd.runtime.dealer import Dealer
from entropyd.runtime.hand_store import HandStore
from entropyd.runtime.hand_sweep import HandSweep
from entropyd.runtime.hand_tables import HandLimits
from entropyd.runtime.hand_watch import HandWatch
from entropyd.runtime.hands import Hands
from entropyd.runtime.writer import GroupCommitWriter
from entropyd.service.hand_core import HandCore
from entropyd.service.hand_feed import HandFeed
from entropyd.service.hand_messages import HandMessages
from entropyd.service.patience import Patience
from entropyd.service.receipt_sources import sources_of


@dataclass(frozen=True)
class HandParts:
    """What the daemon needs of them.

    Attributes:
        core: answers HandService.
        sweep: ends windows and hands in time; the daemon ticks it.
    """

    core: HandCore
    sweep: HandSweep
    _hands: Hands

    def take_over(self, config: Config) -> None:
        """Take other limits, for calls to come and for hands that are open."""
        limits = limits_of(config)
        if limits != self._hands.limits:
            self._hands.limits = limits
            self.sweep.rescan()


def make_hands(
    config: Config,
    *,
    dealer: Dealer,
    ledger: Ledger,
    writer: GroupCommitWriter,
    observer: Observer,
    signer: LogSigner,
    patience: Patience,
    on_fatal: Callable[[BaseException], None],
    log_begins: int,
) -> HandParts:
    """Return what serves hands of a daemon."""
    store, watch = HandStore(ledger), HandWatch(observer)
    hands = Hands(
        dealer.step_calls,
        store,
        watch,
        log=signer.origin,
        limits=limits_of(config),
        sources_of=sources_of,
        clock_ns=time.monotonic_ns,
        wall_ns=time.time_ns,
        log_begins=log_begins,
    )
    sweep = HandSweep(hands, config.tenants, clock_ns=time.monotonic_ns, on_fatal=on_fatal)
    feed = HandFeed(dealer.draining)
    for listener in (sweep.note, feed.changed):
        watch.listen(listener)
    watch.listen_to_doubts(sweep.look_at)
    messages = HandMessages(log=signer.origin, sign=signer.sign_receipt, receipt=store.receipt)
    core = HandCore(hands, messages, feed, events=writer, patience=patience, wall_ns=time.time_ns)
    return HandParts(core, sweep, hands)


def limits_of(config: Config) -> HandLimits:
    """Return the limits that the configuration asks for."""
    hands = config.hands
    return HandLimits(
        open=hands.per_table_open,
        dealing=hands.per_table_dealing,
        expire_after_ns=hands.expire_after_ns,
        max_window_ns=hands.max_contribute_for_ns,
    )
