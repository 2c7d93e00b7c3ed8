"""What a ledger owes: one hand, one deck, recorded before it is shown.

Every store passes the same contract suite (tests/contract/ledger.py). A store
is used by one thread, the writer, except where a method says otherwise.

A draft becomes a record in one transaction that also gives the hand its
number q at its table, because the open hash O contains q and numbers without
gaps are what makes a missing hand visible. What the draft holds in the clear
(seeds, blinding, salt key, cards) the store keeps only encrypted.

Beside hands a store keeps subjects with numbered steps (subjects.py), in the
same transactions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from entropyd.ledger.entries import EventEntry, HandEntry, LogEntry
from entropyd.ledger.subjects import StepDraft, StepOutcome, StepRecord, Subject, SubjectKind
from entropyd.log.frontier import Node


@dataclass(frozen=True)
class HandDraft:
    """A drawn hand that is not recorded yet. It must not be shown to anyone.

    Attributes:
        tenant, table, hand: ids; `hand` is unique in the tenant for ever.
        rules: canonical rule lines (docs/protocol.md, "Rules").
        binding: X, which binds the four above. A store keeps it as these four
            and computes it again, so it must follow from them.
        claim_digest: 32 bytes; what the caller must show to read this hand again.
        size: n, the number of items, at least 1.
        commitment, deck_root, seats_root: C, D and A, 32 bytes each.
        provenance: what the answer tells of its sources; opaque, public, kept as given.
        items: the n items in dealing order, four big-endian bytes each.
        seeds: S, the seeds of all segments joined, 64 bytes each, at least one.
        blinding: r, 32 bytes.
        salt_key: K, 32 bytes.
        drawn_at_ns: wall clock, nanoseconds since 1970; a claim, never an order.
        entry: makes the hand's receipt of index, number and open hash; None: it has none.
    """

    tenant: str
    table: str
    hand: str
    rules: bytes
    binding: bytes
    claim_digest: bytes
    size: int
    commitment: bytes
    deck_root: bytes
    seats_root: bytes
    provenance: bytes
    items: bytes = field(repr=False)
    seeds: bytes = field(repr=False)
    blinding: bytes = field(repr=False)
    salt_key: bytes = field(repr=False)
    drawn_at_ns: int
    entry: HandEntry | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class HandRecord:
    """A recorded hand, as stored. The same bytes for every caller, for ever.

    Attributes:
        sequence: q, the hand's number at its table, from 1 without gaps.
        open_hash: O.
        draft: everything else. Seeds, blinding and salt key are empty unless
            they were asked for: an answer needs only the items.
        log_index: of its receipt; None of a hand that has none.
    """

    sequence: int
    open_hash: bytes
    draft: HandDraft
    log_index: int | None = None


class EventKind(StrEnum):
    """What else the ledger remembers, in order."""

    HEALTH_ALARM = "health-alarm"
    HEALTH_LATCH = "health-latch"
    HEALTH_RESET = "health-reset"
    HAND_READ = "hand-read"
    MATCH_READ = "match-read"
    RAFFLE_READ = "raffle-read"
    DAEMON_START = "daemon-start"
    DAEMON_STOP = "daemon-stop"
    LEDGER_ADOPTED = "ledger-adopted"
    LOG_KEY = "log-key"
    LOG_BUILD = "log-build"
    LOG_POLICY = "log-policy"
    HANDS_ARCHIVED = "hands-archived"
    SECRETS_DESTROYED = "secrets-destroyed"


@dataclass(frozen=True)
class Event:
    """Something worth remembering that is not a hand. Never holds a secret but its window.

    Attributes:
        kind: what happened.
        subject: to what: a source id, or `tenant/hand`.
        detail: JSON text, for people and auditors.
        at_ns: wall clock, nanoseconds since 1970; a claim.
        window: raw samples in which a health test fired, at most MAX_ALARM_WINDOW_BYTES; empty
            for any other event. Kept encrypted, and returned by `alarm_windows` alone.
        entry: makes the receipt of the event of its index; None: it has none. Of a commit that was
            not confirmed it is made again, with another index.
    """

    kind: EventKind
    subject: str
    detail: str
    at_ns: int
    window: bytes = field(default=b"", repr=False)
    entry: EventEntry | None = field(default=None, repr=False, compare=False)


# The proportion window of a source of bits, the longer one.
MAX_ALARM_WINDOW_BYTES = 1024
# Five alarms latch a source off: these are the last dozen of such stories, 64 KiB in all.
MAX_ALARM_WINDOWS = 64


@dataclass(frozen=True)
class AlarmWindow:
    """What a device sent when a health test fired.

    Attributes:
        event: the alarm.
        samples: of its window, up to the one that reached the cutoff.
    """

    event: Event
    samples: bytes = field(repr=False)


@dataclass(frozen=True)
class Recorded:
    """The draft was written by this commit. It may be shown now.

    The record is the one that `find` returns from now on, without secrets.
    """

    record: HandRecord


@dataclass(frozen=True)
class AlreadySpent:
    """The hand id was spent before. The draft was thrown away, unseen.

    The caller compares `record` with what was asked and answers with the
    stored hand or refuses.

    Attributes:
        record: the hand; None if it is one that is dealt card by card.
    """

    record: HandRecord | None


# Of a hand.
Outcome = Recorded | AlreadySpent
# What one commit takes, and what becomes of each.
Draft = HandDraft | StepDraft
DraftOutcome = Outcome | StepOutcome


class StepReader(Protocol):
    """The part of a ledger that reads subjects and their steps."""

    def subject(self, kind: SubjectKind, tenant: str, name: str) -> Subject | None:
        """Return a subject after its last step, or None. Any thread may call.

        What is returned has been synchronised to storage, as what `find` returns.

        Raises:
            LedgerUnavailableError: the store cannot be read now.
            SecretsDestroyedError: its state's secret was destroyed after its retention.
            LedgerDamagedError: the snapshot is not the one of the last step, or was changed.
        """
        ...

    def step(self, kind: SubjectKind, tenant: str, name: str, key: str) -> StepRecord | None:
        """Return the step of a subject that has this key, or None. Any thread may call.

        Args:
            kind: of the subject.
            tenant: whose subject.
            name: its name.
            key: as in the draft, not empty.

        Raises:
            LedgerUnavailableError: the store cannot be read now.
            SecretsDestroyedError: its secret was destroyed after its retention.
            LedgerDamagedError: the row was changed, or does not decrypt.
        """
        ...

    def steps(
        self, kind: SubjectKind, tenant: str, name: str, after: int, limit: int
    ) -> list[StepRecord]:
        """Return steps of a subject in the order of their numbers. Any thread may call.

        Args:
            kind: of the subject.
            tenant: whose subject.
            name: its name.
            after: the number after which to begin, 0 for all.
            limit: at most so many, from 1.

        Returns:
            None of them if there is no such subject, or no further step.

        Raises:
            As `step`, of each that would be returned.
        """
        ...

    def told_step(self, kind: SubjectKind, tenant: str, name: str, key: str) -> StepRecord | None:
        """Return a step as `step` does, with an empty secret; also one whose secret is destroyed.

        Raises:
            LedgerUnavailableError: the store cannot be read now.
            LedgerDamagedError: the row was changed.
        """
        ...

    def told_steps(
        self, kind: SubjectKind, tenant: str, name: str, after: int, limit: int
    ) -> list[StepRecord]:
        """Return steps as `steps` does, with empty secrets; also those whose are destroyed.

        Raises:
            As `told_step`.
        """
        ...

    def subjects(  # noqa: PLR0917  in the order in which a list asks for its pages
        self,
        kind: SubjectKind,
        tenant: str,
        prefix: str,
        label: str | None,
        after: str,
        limit: int,
    ) -> list[Subject]:
        """Return subjects in byte order of their names, for a page of a list. Any thread may call.

        A page is for looking through: `state_secret` is empty in it, also where there is one.

        Args:
            kind: of the subjects.
            tenant: whose.
            prefix: what their names begin with, "" for all.
            label: which label they have, None for any.
            after: the name after which to begin, "" for the first.
            limit: at most so many, from 1.

        Raises:
            LedgerUnavailableError: the store cannot be read now.
            LedgerDamagedError: one of the rows was changed.
        """
        ...


class Ledger(StepReader, Protocol):
    """A durable, exclusive history of hands and of the steps of subjects."""

    def commit(
        self,
        drafts: Sequence[Draft],
        events: Sequence[Event] = (),
        health_states: Sequence[tuple[str, str]] = (),
    ) -> list[DraftOutcome]:
        """Record `drafts`, `events` and health states in one synced transaction.

        On return everything has been synchronised to storage, as far as the
        disk honours a flush. Later drafts of one call see earlier ones: of two
        with one hand id the first is recorded, the second is AlreadySpent.

        Args:
            drafts: drawn hands and steps, mixed, in the order in which they get their numbers.
            events: appended in order.
            health_states: (source id, JSON text), each replaces the one before.

        Returns:
            One outcome a draft, in the same order: an Outcome of a hand, a StepOutcome of a step.

        Raises:
            LedgerUnavailableError: the store did not confirm. All or nothing
                was written, and which is not known: every draft must be
                discarded, and its hand looked up again before it is retried.
                The store remains usable: the next commit, which may be an
                empty one, finds out whether it works again.
            SecretsDestroyedError: a spent hand, or a step whose key is taken, lost its secrets
                after their retention. Nothing was written. Whoever looks ids and keys up first
                is told there and never commits it.
            LedgerDamagedError: the store contradicts itself. Fatal.
            InternalError: a draft contradicts itself, or a window is too long. Nothing was
                written. Fatal.
        """
        ...

    def find(self, tenant: str, hand: str, *, with_secrets: bool = False) -> HandRecord | None:
        """Return the record of a spent hand id, or None. Any thread may call.

        What is returned has been synchronised to storage: it may be shown. A
        commit that is under way is seen whole or not at all.

        Args:
            tenant: whose hand.
            hand: its id.
            with_secrets: decrypt seeds, blinding and salt key too.

        Raises:
            LedgerUnavailableError: the store cannot be read now.
            HandSpentError: it is a hand that is dealt card by card.
            SecretsDestroyedError: its cards were destroyed after their retention.
            LedgerDamagedError: the record does not decrypt, or does not follow
                from what is stored beside it.
        """
        ...

    def spent_among(self, tenant: str, hands: Sequence[str]) -> set[str]:
        """Return which of these hand ids are spent, in one question. Any thread may call.

        What is spent has been synchronised to storage, as what `find` returns.

        Raises:
            LedgerUnavailableError: the store cannot be read now.
        """
        ...

    def hands_at(
        self,
        tenant: str,
        table_prefix: str,
        label: str | None,
        after: tuple[str, int],
        limit: int,
    ) -> list[Subject]:
        """Return hands that are dealt card by card, in byte order of table, then by number.

        Any thread may call. As in a page of `subjects` there is no secret.

        Args:
            tenant: whose.
            table_prefix: what the tables begin with, "" for all.
            label: which label they have, None for any.
            after: table and number after which to begin, ("", 0) for the first.
            limit: at most so many, from 1.

        Raises:
            As `subjects`.
        """
        ...

    def log_size(self) -> int:
        """Return how many entries the log has. Any thread may call."""
        ...

    def log_entries(self, first: int, limit: int) -> list[LogEntry]:
        """Return entries in order of the log, none beyond its end. Any thread may call.

        Raises:
            LedgerUnavailableError: the store cannot be read now.
            LedgerDamagedError: one is missing, or is not the one that was appended.
        """
        ...

    def log_nodes(self, nodes: Sequence[Node]) -> list[bytes]:
        """Return the hashes of complete nodes of the tree. Any thread may call.

        Raises:
            LedgerUnavailableError: the store cannot be read now.
            LedgerDamagedError: one is missing.
        """
        ...

    def probe(self) -> None:
        """Return if a commit can be expected to succeed now. Any thread may call.

        Cheap enough for every readiness check, and no promise: only a commit knows.

        Raises:
            LedgerUnavailableError: the last commit failed and none succeeded
                since, or the store has too little room for draws.
            LedgerDamagedError: the store was taken away or replaced. Fatal.
        """
        ...

    def health_states(self) -> dict[str, str]:
        """Return the last stored health state of every source, as JSON text. Any thread."""
        ...

    def events(self, kind: EventKind | None = None) -> list[Event]:
        """Return the events of one kind, or all, oldest first. Any thread."""
        ...

    def alarm_windows(self) -> list[AlarmWindow]:
        """Return the windows of the newest alarms, MAX_ALARM_WINDOWS at most, oldest first.

        Any thread may call.

        Raises:
            LedgerUnavailableError: the store cannot be read now.
            LedgerDamagedError: one does not decrypt, or not with its event.
        """
        ...

    def count(self) -> int:
        """Return how many hands that are dealt whole are recorded. Any thread may call."""
        ...

    def close(self) -> None:
        """Let go of the store and its lock. May be called twice."""
        ...
