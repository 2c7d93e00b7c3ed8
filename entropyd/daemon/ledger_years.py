"""What an operator does to a ledger over the years: check it, archive hands, destroy secrets.

Each function is a command of `entropyd ledger`, holds the state directory, so that none runs beside
the daemon, and returns what it did, for people.
"""

import time
from collections.abc import Sequence

from entropyd.config import Config
from entropyd.daemon.ledger import ledger_path, open_ledger, open_secrets, set_anchor
from entropyd.errors import LedgerRefusedError, RequestError
from entropyd.ledger import archives, destruction, retention, step_destruction
from entropyd.ledger.inspection import inspect
from entropyd.ledger.sqlite import SqliteLedger


def check(config: Config, sample: int | None) -> str:
    """Read the whole ledger and its archives, and say what was found sound.

    Args:
        config: of the node.
        sample: how many hands and steps to decrypt, evenly over all; None for all.

    Raises:
        RequestError: no such sample.
        LedgerDamagedError: the first contradiction.
        LedgerUnavailableError: an archive is missing.
        LedgerConflictError: the daemon runs.
    """
    if sample is not None and sample < 1:
        raise RequestError("sample", f"is {sample}; expected a whole number from 1")
    with open_ledger(config) as ledger:
        position = ledger.position()
        every = 1 if sample is None else max(1, (position.hands + position.steps) // sample)
        path, secrets = ledger_path(config), open_secrets(config)
        found = ledger.maintain(
            lambda connection, directory: inspect(path, connection, directory, secrets, every=every)
        )
    steps = found.steps
    return (
        f"{path}: sound. {found.hands} hand(s) at {len(found.tables)} table(s) without a gap,"
        f" {found.archived} of them archived, {found.decrypted} decrypted, {found.destroyed}"
        f" without secrets; {steps.steps} step(s) of {steps.subjects} match(es), raffles and seed"
        f" pairs, {found.dealt} hand(s) dealt card by card among them, {steps.decrypted} decrypted,"
        f" {steps.destroyed} without secrets; {found.events} event(s); {found.entries} receipt(s)"
        f" in the log; link {position.link.hex()}, of steps {position.step_link.hex()}"
    )


def archive(config: Config, before: str | None) -> str:
    """Move the hands of closed months into archives. Steps stay where they are: they have none.

    Args:
        config: of the node.
        before: the month, such as 2026-05, before which hands are moved; None for the latest that
            `hot_for` allows.

    Raises:
        RequestError: it is no month.
        LedgerRefusedError: hands of that time stay hot, or the clock cannot be right.
        LedgerConflictError: the daemon runs.
    """
    wanted_ns = None if before is None else retention.parse_month(before)
    with open_ledger(config) as ledger:
        now_ns = time.time_ns()
        latest_ns = _boundary(_last_hand(ledger), now_ns, config.ledger.hot_for_ns)
        if latest_ns is None:
            return "no hands, nothing to archive"
        latest = retention.month_of(latest_ns)
        before_ns = retention.parse_month(latest) if wanted_ns is None else wanted_ns
        if before_ns > latest_ns:
            raise LedgerRefusedError(
                f"hands since {before} may not be archived yet, hot_for keeps them; expected at"
                f" most {latest}"
            )
        last = ledger.maintain(lambda c, _: archives.last_closed(c, before_ns, now_ns))
        done = ledger.maintain(
            lambda c, directory: list(
                archives.archive_through(c, directory, last, at_ns=time.time_ns())
            )
        )
        set_anchor(config, ledger)
    if not done:
        return f"no hand before {retention.month_of(before_ns)} is hot, nothing to archive"
    files = "\n".join(f"  {archives.DIRECTORY_NAME}/{one.name}" for one in done)
    # Steps are read again as long as their subject goes on, and hold a small part of the bytes.
    return (
        f"archived: hands {done[0].first} to {done[-1].last} of the ledger, in\n{files}\nThese"
        f" files never change: copy them from {config.node.state_dir} to where the backups are."
        " Matches, raffles and seed pairs stay in the ledger"
    )


def destroy_secrets(config: Config, before: str) -> str:
    """Destroy cards and seeds of archived hands, and secrets of steps, from before a day.

    Args:
        config: of the node.
        before: the day, such as 2026-05-31.

    Raises:
        RequestError: it is no day.
        LedgerRefusedError: `secrets_for` keeps them, they are still hot, or the clock cannot be
            right.
        LedgerConflictError: the daemon runs.
    """
    before_ns = retention.parse_day(before)
    with open_ledger(config) as ledger:
        now_ns = time.time_ns()
        lasts = [at for at in (_last_hand(ledger), _last_step(ledger)) if at is not None]
        latest_ns = _boundary(max(lasts, default=None), now_ns, config.ledger.secrets_for_ns)
        if latest_ns is None:
            return "no hands and no steps, nothing to destroy"
        if before_ns > latest_ns:
            raise LedgerRefusedError(
                f"secrets from before {before} may not be destroyed yet, secrets_for keeps"
                f" them; expected at most {retention.day_of(latest_ns)}"
            )
        if ledger.maintain(lambda c, _: archives.has_closed(c, before_ns, now_ns)):
            raise LedgerRefusedError(
                f"hands before {before} are still hot; run `entropyd ledger archive` first"
            )
        done = ledger.maintain(
            lambda c, directory: list(
                destruction.destroy_through(
                    c,
                    directory,
                    destruction.last_expired(c, directory, before_ns, now_ns),
                    at_ns=time.time_ns(),
                )
            )
        )
        steps = ledger.maintain(
            lambda c, _: list(
                step_destruction.destroy_steps_through(
                    c,
                    step_destruction.last_expired_step(c, before_ns, now_ns),
                    at_ns=time.time_ns(),
                )
            )
        )
        set_anchor(config, ledger)
    return _say_destroyed(before, done, steps)


def _say_destroyed(before: str, done: Sequence[archives.Archive], steps: Sequence[int]) -> str:
    if not (done or steps):
        return f"no archived hand and no step before {before} has secrets, nothing to destroy"
    parts = []
    if done:
        parts.append(
            f"cards and seeds of the ledger's hands up to {done[-1].destroyed_through}, in"
            f" {len(done)} archive(s), which have new names"
        )
    if steps:
        parts.append(f"secrets of the ledger's steps up to {steps[-1]}")
    return (
        f"destroyed: {'; '.join(parts)}. Their ids stay spent. Backups and copies of archives made"
        " before still hold them: remove those too"
    )


def _last_hand(ledger: SqliteLedger) -> int | None:
    return ledger.maintain(lambda connection, _: archives.last_drawn_ns(connection))


def _last_step(ledger: SqliteLedger) -> int | None:
    return ledger.maintain(lambda connection, _: step_destruction.last_step_ns(connection))


def _boundary(last_ns: int | None, now_ns: int, kept_for_ns: int) -> int | None:
    return None if last_ns is None else retention.latest_boundary(now_ns, last_ns, kept_for_ns)
