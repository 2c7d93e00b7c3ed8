"""What an operator does to a ledger over the years: check it, archive hands, destroy secrets.

Each function is a command of `entropyd ledger`, holds the state directory, so that none runs beside
the daemon, and returns what it did, for people.
"""

import time

from entropyd.config import Config
from entropyd.daemon.ledger import ledger_path, open_ledger, open_secrets, set_anchor
from entropyd.errors import LedgerRefusedError, RequestError
from entropyd.ledger import archives, destruction, retention
from entropyd.ledger.hand_rows import HandRows
from entropyd.ledger.inspection import inspect
from entropyd.ledger.sqlite import SqliteLedger


def check(config: Config, sample: int | None) -> str:
    """Read the whole ledger and its archives, and say what was found sound.

    Args:
        config: of the node.
        sample: how many hands to decrypt, evenly over all; None for all.

    Raises:
        RequestError: no such sample.
        LedgerDamagedError: the first contradiction.
        LedgerUnavailableError: an archive is missing.
        LedgerConflictError: the daemon runs.
    """
    if sample is not None and sample < 1:
        raise RequestError("sample", f"is {sample}; expected a whole number from 1")
    with open_ledger(config) as ledger:
        every = 1 if sample is None else max(1, ledger.count() // sample)
        rows = HandRows(open_secrets(config))
        path = ledger_path(config)
        found = ledger.maintain(
            lambda connection, directory: inspect(path, connection, directory, rows, every=every)
        )
        position = ledger.position()
    return (
        f"{path}: sound. {found.hands} hand(s) at {len(found.tables)} table(s) without a gap,"
        f" {found.archived} of them archived, {found.decrypted} decrypted, {found.destroyed}"
        f" without secrets; {found.events} event(s); link {position.link.hex()}"
    )


def archive(config: Config, before: str | None) -> str:
    """Move the hands of closed months into archives.

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
        latest_ns = _boundary(ledger, now_ns, config.ledger.hot_for_ns)
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
    return (
        f"archived: hands {done[0].first} to {done[-1].last} of the ledger, in\n{files}\nThese"
        f" files never change: copy them from {config.node.state_dir} to where the backups are"
    )


def destroy_secrets(config: Config, before: str) -> str:
    """Destroy cards and seeds of archived hands that were drawn before a day.

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
        latest_ns = _boundary(ledger, now_ns, config.ledger.secrets_for_ns)
        if latest_ns is None:
            return "no hands, nothing to destroy"
        if before_ns > latest_ns:
            raise LedgerRefusedError(
                f"secrets of hands before {before} may not be destroyed yet, secrets_for keeps"
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
        set_anchor(config, ledger)
    if not done:
        return f"no archived hand before {before} has secrets, nothing to destroy"
    return (
        f"destroyed: cards and seeds of the ledger's hands up to {done[-1].destroyed_through}, in"
        f" {len(done)} archive(s), which have new names. Their ids stay spent. Backups and copies"
        " of archives made before still hold them: remove those too"
    )


def _boundary(ledger: SqliteLedger, now_ns: int, kept_for_ns: int) -> int | None:
    drawn_ns = ledger.maintain(lambda connection, _: archives.last_drawn_ns(connection))
    return None if drawn_ns is None else retention.latest_boundary(now_ns, drawn_ns, kept_for_ns)
