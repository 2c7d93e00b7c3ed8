"""The state directory, its keys, and what an operator does to them while the daemon is stopped."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from entropyd.config import Config
from entropyd.daemon.sources import make_source, plan_sources
from entropyd.errors import ConfigError
from entropyd.ledger.contract import Event, EventKind
from entropyd.ledger.secrets import SecretBox, load_or_create_master_key
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.ledger.state_dir import StateDirectory

MASTER_KEY_NAME = "master.key"


@contextmanager
def open_ledger(config: Config) -> Iterator[SqliteLedger]:
    """Hold the state directory and open its ledger, until the block ends.

    Raises:
        LedgerConflictError: another process holds the directory.
        ConfigError: directory or key cannot be used; the text has the remedy.
        LedgerDamagedError: the ledger contradicts itself, or has another key.
    """
    with StateDirectory.hold(config.node.state_dir) as directory:
        # The directory first: only who holds it may make a key in it.
        path = config.keys.at_rest_path(os.environ.get("CREDENTIALS_DIRECTORY"))
        if path is None:
            key = load_or_create_master_key(directory.path / MASTER_KEY_NAME, create=True)
        else:
            key = load_or_create_master_key(path, create=False)
        ledger = SqliteLedger.open(
            directory, SecretBox(key), min_free_bytes=config.ledger.min_free_bytes
        )
        try:
            yield ledger
        finally:
            ledger.close()


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
        reset = Event(EventKind.HEALTH_RESET, source_id, detail, time.time_ns())
        ledger.commit([], [reset], [(source_id, json.dumps(source.history.to_json()))])
    return f"{source_id}: reset, was {latch or 'not latched'}; its start-up test still has to pass"
