"""What the daemon answers with: the cores of its services, which share patience and lists."""

import time
from dataclasses import dataclass

from entropyd.config import Config
from entropyd.games.seed_pair import Profile
from entropyd.ledger.contract import Ledger
from entropyd.log.signer import LogSigner
from entropyd.ops.observer import Observer
from entropyd.runtime.dealer import Dealer
from entropyd.runtime.fair import FairLimits, FairLines
from entropyd.runtime.fair_sweep import FairSweep
from entropyd.runtime.line_records import LineRecords
from entropyd.runtime.log_keeper import LogKeeper
from entropyd.runtime.writer import GroupCommitWriter
from entropyd.service.counted_fair import CountedFair
from entropyd.service.draw_core import DrawCore
from entropyd.service.fair_core import FairCore
from entropyd.service.lists import Lists
from entropyd.service.log_core import LogCore
from entropyd.service.patience import Patience
from entropyd.service.raffle_core import RaffleCore
from entropyd.service.shuffle_core import ShuffleCore


@dataclass(frozen=True)
class Services:
    """The cores that draw.

    Attributes:
        shuffles, draws, raffles, fair: one for each service.
        log: of LedgerService.
        sweep: reveals overdue seed pairs.
        patience: how long their calls wait.
    """

    shuffles: ShuffleCore
    draws: DrawCore
    raffles: RaffleCore
    fair: FairCore
    log: LogCore
    sweep: FairSweep
    patience: Patience


def make_services(
    config: Config,
    *,
    dealer: Dealer,
    ledger: Ledger,
    writer: GroupCommitWriter,
    observer: Observer,
    signer: LogSigner,
    log_keeper: LogKeeper,
    adopted_at_ns: int,
) -> Services:
    """Return the cores of a daemon; `adopted_at_ns` is as of `FairLines`."""
    shuffles = ShuffleCore(
        dealer,
        events=writer,
        clock_ns=time.monotonic_ns,
        wall_ns=time.time_ns,
        max_hold_ns=config.gate.max_hold_ns,
        answer_before_deadline_ns=config.gate.answer_before_deadline_ns,
    )
    patience, lists = shuffles.patience, Lists()
    draws = DrawCore(
        dealer.step_calls,
        ledger=ledger,
        events=writer,
        observer=observer,
        patience=patience,
        lists=lists,
        clock_ns=time.monotonic_ns,
        wall_ns=time.time_ns,
        large_seeds=config.draws.large_seeds,
        log=signer.origin,
    )
    raffles = RaffleCore(
        dealer.step_calls,
        ledger=ledger,
        events=writer,
        observer=observer,
        patience=patience,
        lists=lists,
        clock_ns=time.monotonic_ns,
        wall_ns=time.time_ns,
        large_seeds=config.draws.large_seeds,
        log=signer.origin,
    )
    records = LineRecords(ledger)
    lines = FairLines(
        dealer.step_calls,
        records,
        limits=FairLimits(
            profile=Profile(config.fair.profile),
            reveal_after_ns=config.fair.reveal_after_ns,
            max_rounds=config.fair.max_rounds,
        ),
        clock_ns=time.monotonic_ns,
        wall_ns=time.time_ns,
        adopted_at_ns=adopted_at_ns,
    )
    sweep = FairSweep(lines, records, clock_ns=time.monotonic_ns)
    fair = CountedFair(
        lines, records, sweep, patience=patience, wall_ns=time.time_ns, observer=observer
    )
    log = LogCore(ledger, log_keeper, signer)
    return Services(shuffles, draws, raffles, fair, log, sweep, patience)
