"""The state directory, its keys, its anchor, and the reset of a source in a stopped daemon."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from entropyd.config import Config
from entropyd.daemon.log import log_origin
from entropyd.daemon.sources import SourcePlan, make_source, plan_sources
from entropyd.entropy.entropy_source import EntropySource
from entropyd.errors import ConfigError
from entropyd.hands.receipts import NS_A_MS
from entropyd.ledger.anchor import Anchor, gap, read_anchor, refuse_gap, write_anchor
from entropyd.ledger.contract import Event, EventKind
from entropyd.ledger.entries import EventEntry
from entropyd.ledger.secrets import SecretBox, load_or_create_master_key
from entropyd.ledger.sqlite import FILE_NAME, SqliteLedger
from entropyd.ledger.state_dir import StateDirectory
from entropyd.log.own_entries import health_entry
from entropyd.log.source_line import ReceiptHealth, ReceiptSourceKind, SourceClass, SourceLine
from entropyd.ops.logs import get_logger
from entropyd.runtime.anchor_keeper import AnchorKeeper

MASTER_KEY_NAME = "master.key"


@contextmanager
def open_ledger(config: Config) -> Iterator[SqliteLedger]:
    """Hold the state directory and open its ledger, until the block ends.

    Raises:
        LedgerConflictError: another process holds the directory.
        ConfigError: directory or key cannot be used; the text has the remedy.
        LedgerDamagedError: the ledger contradicts itself, or has another key.
        LedgerBehindAnchorError: it is not the ledger that its anchor saw last.
    """
    with open_unanchored(config) as ledger:
        found = anchor_gap(config, ledger)
        if found is not None:
            path = config.ledger.anchor or Path()
            raise refuse_gap(ledger_path(config), path, found)
        yield ledger


@contextmanager
def open_unanchored(config: Config) -> Iterator[SqliteLedger]:
    """Do as `open_ledger`, whatever the anchor says: nothing may be dealt from this ledger."""
    with StateDirectory.hold(config.node.state_dir) as directory:
        ledger = SqliteLedger.open(
            directory, open_secrets(config), min_free_bytes=config.ledger.min_free_bytes
        )
        try:
            yield ledger
        finally:
            ledger.close()


def open_secrets(config: Config) -> SecretBox:
    """Return what encrypts and decrypts. Only who holds the state directory may make a key in it.

    Raises:
        ConfigError: the key cannot be used.
    """
    path = config.keys.at_rest_path(os.environ.get("CREDENTIALS_DIRECTORY"))
    if path is None:
        made = config.node.state_dir / MASTER_KEY_NAME
        return SecretBox(load_or_create_master_key(made, create=True))
    return SecretBox(load_or_create_master_key(path, create=False))


def ledger_path(config: Config) -> Path:
    """Return the ledger's file."""
    return config.node.state_dir / FILE_NAME


# --- the anchor ------------------------------------------------------------


def anchor_gap(config: Config, ledger: SqliteLedger) -> str | None:
    """Return how the ledger is not the one that its anchor saw, None if it is or has no anchor.

    Raises:
        ConfigError: the anchor cannot be read.
        LedgerRefusedError: its file is something else.
    """
    path = config.ledger.anchor
    if path is None:
        return None
    anchor = read_anchor(path)
    if anchor is not None:
        signed = anchor.head()
        return gap(
            anchor,
            origin=ledger.origin(),
            position=ledger.position(),
            link=ledger.link_at(anchor.position.hands),
            step_link=ledger.step_link_at(anchor.position.steps),
            log_root=ledger.log_root(signed.size) if signed else None,
        )
    # A first start with an anchor, or somebody took it away.
    if ledger.is_anchored():
        return "had an anchor that is not there: mount its disk, or copy the file to its new place"
    return None


def set_anchor(config: Config, ledger: SqliteLedger) -> None:
    """Write where the ledger stands into its anchor, if it has one. The writer's thread.

    The checkpoint that is there stays there, unless it is of another history.

    Raises:
        ConfigError, LedgerRefusedError: the old anchor cannot be read.
        LedgerUnavailableError: the new one cannot be written.
    """
    path = config.ledger.anchor
    if path is not None:
        write_anchor(path, Anchor(ledger.origin(), ledger.position(), _kept(path, ledger)))
        # If we die before this, the anchor is there and is found; after it, it is missed.
        ledger.note_anchored()


def _kept(path: Path, ledger: SqliteLedger) -> bytes:
    """Return the checkpoint in an anchor of this history, empty if there is none."""
    before = read_anchor(path)
    return before.checkpoint if before and before.origin == ledger.origin() else b""


class NoAnchor:
    """In place of the keeper where no anchor is configured."""

    age_s = 0.0

    def keep_checkpoint(self, checkpoint: bytes) -> None:
        """Keep nothing."""


@contextmanager
def kept_anchor(config: Config, ledger: SqliteLedger) -> Iterator[AnchorKeeper | NoAnchor]:
    """Keep the anchor behind the ledger until the block ends.

    Raises:
        LedgerUnavailableError: it cannot be written at the start. Later that is
            a line in the log, and dealing goes on.
    """
    path = config.ledger.anchor
    if path is None:
        yield NoAnchor()
        return
    set_anchor(config, ledger)
    if path.parent.stat().st_dev == config.node.state_dir.stat().st_dev:
        get_logger("ledger").warning("anchor and ledger are on one disk", anchor=str(path))
    origin = ledger.origin()
    keeper = AnchorKeeper(
        path,
        lambda: Anchor(origin, ledger.position()),
        report=_report_anchor,
        clock_ns=time.monotonic_ns,
        checkpoint=_kept(path, ledger),
    )
    keeper.start()
    try:
        yield keeper
    finally:
        keeper.stop()


def _report_anchor(trouble: str | None) -> None:
    log = get_logger("ledger")
    if trouble is None:
        log.info("anchor kept again")
    else:
        log.error("anchor not kept: a backup restored now would not be noticed", reason=trouble)


# --- a source --------------------------------------------------------------


def reset_source(config: Config, source_id: str, reason: str) -> str:
    """Take the latch off a source, in the ledger of a stopped daemon. Return what was done.

    Raises:
        ConfigError: there is no such source.
        LedgerConflictError: the daemon runs.
        RequestError: the reason is missing or too long.
    """
    plans = {plan.info.source_id: plan for plan in plan_sources(config)}
    if source_id not in plans:
        raise ConfigError(f"no source {source_id!r}; expected one of {', '.join(sorted(plans))}")
    with open_ledger(config) as ledger:
        now_ns = time.monotonic_ns()
        source = make_source(plans[source_id], ledger.health_states(), now_ns)
        latch = source.history.latch
        source.reset(now_ns, reason)
        detail = json.dumps({"reason": reason, "latch": latch})
        now_wall_ns = time.time_ns()
        entry = _reset_entry(
            config, ledger, plans[source_id], source, f"{reason} (was {latch or 'not latched'})"
        )
        reset = Event(EventKind.HEALTH_RESET, source_id, detail, now_wall_ns, entry=entry)
        ledger.commit([], [reset], [(source_id, json.dumps(source.history.to_json()))])
        set_anchor(config, ledger)
    return f"{source_id}: reset, was {latch or 'not latched'}; its start-up test still has to pass"


def _reset_entry(
    config: Config, ledger: SqliteLedger, plan: SourcePlan, source: EntropySource, reason: str
) -> EventEntry | None:
    """Return what makes the entry of a reset; None before the log has begun with its keys."""
    if not ledger.events(EventKind.LOG_KEY):
        return None
    info = plan.info
    line = SourceLine(
        SourceClass.HARDWARE,
        ReceiptSourceKind(str(info.kind)),
        info.driver,
        health=ReceiptHealth(str(source.state)),
    )
    return health_entry(
        log_origin(config, ledger),
        source=line,
        reason=f"health-reset {reason}",
        ms=time.time_ns() // NS_A_MS,
    )
