"""The log at the start of the daemon: whose it is, and what it says first.

What is in force is an entry before anything is dealt under it: the keys, the build and the
policy, each when it is another one than the last that the ledger remembers.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution

from entropyd import __version__
from entropyd.config import Config
from entropyd.daemon.keys import LogKeys, load_log_keys
from entropyd.daemon.policy import hand_settings, policy_settings
from entropyd.entropy.policy import GatePolicy
from entropyd.errors import ConfigError
from entropyd.hands.receipts import NS_A_MS, table_receipt
from entropyd.ledger.contract import Event, EventKind, Ledger
from entropyd.ledger.entries import EventEntry, TableEntry
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.log.keys import SigningKey, VerifierKey
from entropyd.log.own_entries import build_entry, key_entry, policy_entry
from entropyd.log.signer import LogSigner, Term


@dataclass(frozen=True)
class _KeyEvent:
    key: VerifierKey
    index: int


def log_origin(config: Config, ledger: SqliteLedger) -> str:
    """Return the name of the log.

    A ledger that was adopted goes on under another one: the log before it had entries that this
    one lost, and nobody may sign two histories under one name.
    """
    adopted = ledger.events(EventKind.LEDGER_ADOPTED)
    return f"{config.node.log}/{ledger.origin()[:8]}" if adopted else config.node.log


def open_log(config: Config, ledger: SqliteLedger, policy: GatePolicy) -> LogSigner:
    """Append what is in force and was not before, and return what signs.

    Args:
        config: says where the keys are.
        ledger: held by the caller, whose writer does not run yet.
        policy: of the gate.

    Raises:
        ConfigError: a key cannot be used, or the log is another's.
        LedgerUnavailableError: the entries cannot be recorded.
    """
    origin = log_origin(config, ledger)
    keys = load_log_keys(config, origin, begun=ledger.log_size() > 0)
    opening = _Opening(ledger, origin)
    signer = LogSigner(
        origin,
        checkpoints=opening.terms("checkpoints", keys.checkpoints),
        receipts=opening.terms("receipts", keys.receipts),
        earlier=opening.earlier(keys),
    )
    opening.note_build()
    opening.note_policy(config, policy)
    opening.commit()
    ledger.set_table_entry(_table_entry(config, origin, policy.describe()))
    return signer


def note_reload(
    config: Config, ledger: SqliteLedger, origin: str, policy: GatePolicy
) -> Event | None:
    """Have tables say what is in force from now on; return the entry of it, None without a change.

    Args:
        config: in effect from now on.
        ledger: whose writer may run.
        origin: of the log.
        policy: of the gate, which no reload changes.
    """
    ledger.set_table_entry(_table_entry(config, origin, policy.describe()))
    event = _policy_event(origin, config, policy, time.time_ns())
    return event if _is_change(ledger, event) else None


def wheel_digest() -> bytes | None:
    """Return the SHA-256 of the wheel that is installed, as far as the installer noted it.

    Spec: the packaging specification "Recording the Direct URL Origin of installed
    distributions", `archive_info`.
    """
    try:
        noted = distribution("entropyd").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    hashes = json.loads(noted or "{}").get("archive_info", {}).get("hashes", {})
    return bytes.fromhex(hashes["sha256"]) if "sha256" in hashes else None


class _Opening:
    """What is appended at the start: collected first, then committed as one."""

    def __init__(self, ledger: SqliteLedger, origin: str) -> None:
        self._ledger = ledger
        self._origin = origin
        self._next = ledger.log_size()
        self._now_ns = time.time_ns()
        self._events: list[Event] = []
        self._keys = _key_events(ledger)
        self._refuse_another_log()

    def terms(self, which: str, keys: Sequence[SigningKey]) -> tuple[Term, ...]:
        """Return since when each key signs; a key that is new comes into force now.

        Raises:
            ConfigError: the file lacks a key that was in force, or its keys are in another order.
        """
        name = keys[0].key.name
        known = [event for event in self._keys if event.key.name == name]
        if [event.key for event in known] != [key.key for key in keys[: len(known)]]:
            raise ConfigError(
                f"keys.{which}: the file does not begin with the {len(known)} key(s) that the log"
                f" {self._origin} had, the last {known[-1].key.encode()}; restore it, a new key"
                " stands behind the old ones: `entropyctl keys rotate FILE`"
            )
        terms = [
            Term(key, -1 if number == 0 else event.index)
            for number, (key, event) in enumerate(zip(keys, known, strict=False))
        ]
        for key in keys[len(known) :]:
            previous = terms[-1].signing.key if terms else None
            terms.append(Term(key, self._note_key(key.key, previous)))
        return tuple(terms)

    def earlier(self, keys: LogKeys) -> tuple[LogSigner, ...]:
        """Return what signs entries from before the log went on under its present name.

        Raises:
            ConfigError: the files lack a key of that time.
        """
        origins = {event.key.name.removesuffix("/receipts"): None for event in self._keys}
        return tuple(
            LogSigner(
                origin,
                checkpoints=self._terms_of(origin, keys.checkpoints),
                receipts=self._terms_of(f"{origin}/receipts", keys.receipts),
            )
            for origin in origins
            if origin != self._origin
        )

    def _terms_of(self, name: str, keys: Sequence[SigningKey]) -> tuple[Term, ...]:
        private = {key.key.public_key: key.private for key in keys}
        terms: list[Term] = []
        for event in [event for event in self._keys if event.key.name == name]:
            if event.key.public_key not in private:
                raise ConfigError(
                    f"a key file lacks {event.key.encode()}, which signed receipts of this ledger;"
                    " restore it: a new key stands behind the old ones"
                )
            signing = SigningKey(event.key, private[event.key.public_key])
            terms.append(Term(signing, event.index if terms else -1))
        return tuple(terms)

    def note_build(self) -> None:
        """Append the build, if it is another one than the last."""
        digest, ms = wheel_digest(), self._now_ns // NS_A_MS
        told = {
            "log": self._origin,
            "version": __version__,
            "digest": digest.hex() if digest else "",
        }
        entry = build_entry(self._origin, version=__version__, digest=digest, ms=ms)
        event = Event(
            EventKind.LOG_BUILD, self._origin, json.dumps(told), self._now_ns, entry=entry
        )
        if _is_change(self._ledger, event):
            self._events.append(event)
            self._next += 1

    def note_policy(self, config: Config, policy: GatePolicy) -> None:
        """Append the policy, if it is another one than the last."""
        event = _policy_event(self._origin, config, policy, self._now_ns)
        if _is_change(self._ledger, event):
            self._events.append(event)
            self._next += 1

    def commit(self) -> None:
        """Record what was collected; nothing of it is in force before."""
        if self._events:
            self._ledger.commit([], self._events)

    def _note_key(self, key: VerifierKey, previous: VerifierKey | None) -> int:
        """Append that a key is in force; return since which entry, -1 for the first."""
        index = self._next
        entry = key_entry(
            self._origin,
            key,
            previous,
            index=index,
            reason=self._why(previous),
            ms=self._now_ns // NS_A_MS,
        )
        self._append(EventKind.LOG_KEY, json.dumps({"key": key.encode(), "index": index}), entry)
        return -1 if previous is None else index

    def _why(self, previous: VerifierKey | None) -> str:
        """Return what an entry `key` says of a log that goes on where another one ended."""
        if previous is not None or not self._keys:
            return ""
        return f"goes on after {self._keys[-1].key.name}, which lost entries"

    def _append(self, kind: EventKind, detail: str, entry: EventEntry) -> None:
        self._events.append(Event(kind, self._origin, detail, self._now_ns, entry=entry))
        self._next += 1

    def _refuse_another_log(self) -> None:
        """Refuse a log that was begun under another name, and was not given up since."""
        if not self._keys:
            return
        last = self._keys[-1].key.name.removesuffix("/receipts")
        if last != self._origin and not self._was_adopted():
            raise ConfigError(
                f"node.origin: the ledger's log is {last}, the configuration says {self._origin};"
                f' set origin = "{last}" in [node]: a log keeps its name for ever'
            )

    def _was_adopted(self) -> bool:
        """Return whether the ledger was adopted since the last key came into force."""
        kinds = {EventKind.LOG_KEY, EventKind.LEDGER_ADOPTED}
        last = [event.kind for event in self._ledger.events() if event.kind in kinds][-1]
        return last is EventKind.LEDGER_ADOPTED


def _policy_event(origin: str, config: Config, policy: GatePolicy, now_ns: int) -> Event:
    settings, described = policy_settings(config), policy.describe()
    told = {"log": origin, "policy": described, **{each.name: each.value for each in settings}}
    entry = policy_entry(origin, policy=described, settings=settings, ms=now_ns // NS_A_MS)
    return Event(EventKind.LOG_POLICY, origin, json.dumps(told), now_ns, entry=entry)


def _is_change(ledger: Ledger, event: Event) -> bool:
    """Return whether the last event of its kind says something else."""
    return [last.detail for last in ledger.events(event.kind)[-1:]] != [event.detail]


def _key_events(ledger: Ledger) -> list[_KeyEvent]:
    events = []
    for event in ledger.events(EventKind.LOG_KEY):
        detail = json.loads(event.detail)
        events.append(_KeyEvent(VerifierKey.decode(detail["key"]), int(detail["index"])))
    return events


def _table_entry(config: Config, origin: str, policy: str) -> TableEntry:
    settings = hand_settings(config)

    def entry(tenant: str, table: str, index: int, hands_before: int) -> bytes:
        return table_receipt(
            log=origin,
            index=index,
            tenant=tenant,
            table=table,
            policy=policy,
            settings=settings,
            hands_before=hands_before,
            ms=time.time_ns() // NS_A_MS,
        )

    return entry
