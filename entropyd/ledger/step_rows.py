"""A step and its subject as rows of the ledger, and back: what is encrypted, what is checked.

Pure apart from the salt of each encryption: rows in, records or an error out.

A row's secret is sealed, and names its subject, the number of the step and the field, so that it
decrypts nowhere else. Everything else of a row stands in the clear under a proof, which nobody can
make without the master key: one that was edited by hand is damage, with a secret or without one.
The proof says whether there is a secret and not which, so that it outlives the secret.

    secret   what was sealed; empty: there is none; NULL: it was destroyed (destruction.py)
    link     the running hash over all steps of the ledger (chain.py); of a step alone
    proof    HMAC over all but the secret

GAP: a subject that was renamed or removed by hand looks like one that never was, until somebody
reads it under its new name, or `entropyd ledger check` reads all.
"""

from hashlib import sha256
from typing import NamedTuple

from entropyd.encoding import check_id, lp, u64
from entropyd.errors import InternalError, RequestError, SecretsDestroyedError
from entropyd.ledger.chain import next_step_link
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite_statements import Row
from entropyd.ledger.stored_row import row_damaged
from entropyd.ledger.subjects import StepDraft, StepRecord, Subject, SubjectKind

SubjectId = tuple[SubjectKind, str, str]

_SUBJECT = lp(b"entropyd/subject/v1")
_STEP = lp(b"entropyd/step/v1")
_SNAPSHOT = lp(b"entropyd/snapshot/v1")
# What a proof says of the secret beside it.
_KEPT, _NONE = lp(b"secret"), lp(b"")


class StoredStep(NamedTuple):
    """Every column of a step but its subject's."""

    id: int
    number: int
    step: str
    key: str
    at_ns: int
    public: bytes
    secret: bytes | None
    link: bytes
    proof: bytes

    @property
    def where(self) -> str:
        """What error texts call it."""
        return f"steps/{self.id}"

    def told(self) -> bytes:
        """Return the digest of what stands in the clear."""
        texts = (self.step.encode(), self.key.encode(), str(self.at_ns).encode(), self.public)
        secret = _NONE if self.secret == b"" else _KEPT
        numbers = u64(self.id) + u64(self.number)
        return sha256(_STEP + numbers + b"".join(map(lp, texts)) + secret).digest()


class StoredSubject(NamedTuple):
    """Every column of a subject, and its last step.

    Attributes:
        last_number, last_id: of its last row in `steps`; None where there is none.
    """

    id: int
    kind: str
    tenant: str
    name: str
    steps: int
    label: str
    state: bytes
    secret: bytes | None
    proof: bytes
    last_number: int | None
    last_id: int | None

    @property
    def where(self) -> str:
        """What error texts call it."""
        return f"subjects/{self.id}"

    def told(self) -> bytes:
        """Return the digest of what stands in the clear and is not bound otherwise."""
        secret = _NONE if self.secret == b"" else _KEPT
        return sha256(
            _SNAPSHOT + u64(self.id) + lp(self.label.encode()) + lp(self.state) + secret
        ).digest()


def check_step(draft: StepDraft) -> None:
    """Refuse a draft that could not be read back.

    Raises:
        InternalError: tenant or name is no id, a text cannot be written, or `expected` is below 0.
            Whoever made the draft is broken. Nothing was written.
    """
    try:
        check_id("tenant", draft.tenant)
        check_id("name", draft.name)
        for text in (draft.step, draft.key, draft.label):
            text.encode("utf-8")
    except RequestError as error:
        raise _broken(draft, f"its {error.field} is no id") from error
    except UnicodeEncodeError as error:
        raise _broken(draft, "a text is not Unicode") from error
    if not draft.step:
        raise _broken(draft, "it does not say what kind of step it is")
    if draft.expected is not None and draft.expected < 0:
        raise _broken(draft, f"it expects {draft.expected} steps")
    _check_table(draft)


def _check_table(draft: StepDraft) -> None:
    """Refuse a hand without a table and a number, and a table for anything else."""
    opens = draft.kind is SubjectKind.HAND and draft.expected == 0
    if opens != bool(draft.table):
        raise _broken(draft, "the first step of a hand, and no other step, takes a table's number")
    if draft.kind is SubjectKind.HAND and draft.expected is None:
        raise _broken(draft, "a step of a hand says how many steps there are")
    if draft.table:
        try:
            check_id("table", draft.table)
        except RequestError as error:
            raise _broken(draft, "its table is no id") from error


def subject_id(draft: StepDraft) -> SubjectId:
    """Return which subject a draft is of."""
    return draft.kind, draft.tenant, draft.name


def subject_binding(kind: str, tenant: str, name: str) -> bytes:
    """Return what ties secrets and proofs to one subject. No hand's X begins like it."""
    return _SUBJECT + lp(kind.encode()) + lp(tenant.encode()) + lp(name.encode())


class StepRows:
    """Makes rows of drafts and records of rows. Stateless; any thread."""

    def __init__(self, secrets: SecretBox) -> None:
        self._secrets = secrets

    def salts(self, rows: int) -> list[bytes]:
        """Return fresh salts for the secrets of so many rows."""
        return self._secrets.salts(rows)

    def write(
        self,
        draft: StepDraft,
        row_id: int,
        subject: int,
        number: int,
        before: bytes,
        *,
        salt: bytes,
    ) -> tuple[StepRecord, Row]:
        """Return the record that a draft becomes with `number`, and its row of `steps`.

        The last column but one is the row's link, which follows `before`.

        Args:
            draft: the step.
            row_id: its number in the ledger.
            subject: the id of its subject's row.
            number: its number among the steps of the subject.
            before: the link of the step before it in the ledger.
            salt: a fresh one.
        """
        binding = subject_binding(*subject_id(draft))
        secret = self._seal(draft.secret, binding, number, b"secret", salt)
        open_row = StoredStep(
            row_id, number, draft.step, draft.key, draft.at_ns, draft.public, secret, b"", b""
        )
        link = next_step_link(before, binding, open_row.told())
        row = open_row._replace(link=link)
        proof = self._proof(row.told() + link, binding, number, b"step")
        record = StepRecord(number, draft.step, draft.key, draft.public, draft.secret, draft.at_ns)
        return record, (row_id, subject, *row[1:-1], proof)

    def write_subject(self, draft: StepDraft, row_id: int, steps: int, salt: bytes) -> Row:
        """Return the row of `subjects` after a draft became the subject's last step."""
        binding = subject_binding(*subject_id(draft))
        secret = self._seal(draft.state_secret, binding, steps, b"state_secret", salt)
        row = StoredSubject(
            row_id, *subject_id(draft), steps, draft.label, draft.state, secret, b"", None, None
        )
        return (*row[:8], self._proof(row.told(), binding, steps, b"snapshot"))

    def read(self, row: StoredStep, owner: SubjectId, *, with_secret: bool = True) -> StepRecord:
        """Return the record in a row that was found for a subject.

        Args:
            row: as it was found.
            owner: the subject.
            with_secret: decrypt its secret too; it is empty otherwise.

        Raises:
            LedgerDamagedError: the row is another subject's, or was changed.
            SecretsDestroyedError: the secret is asked for, and gone.
        """
        binding = subject_binding(*owner)
        self.check(row, binding)
        if not with_secret:
            return StepRecord(row.number, row.step, row.key, row.public, b"", row.at_ns)
        if row.secret is None:
            raise _destroyed(f"step {row.number}", owner)
        secret = self._open(row.secret, binding, row.number, b"secret", row.where)
        return StepRecord(row.number, row.step, row.key, row.public, secret, row.at_ns)

    def check(self, row: StoredStep, binding: bytes) -> None:
        """Return if what stands in the clear is what was written.

        Raises:
            LedgerDamagedError: it is not.
        """
        fields = "subject_id, number, step, key, at_ns, public, link or proof"
        if row.id < 1 or row.number < 1:
            raise row_damaged(row.where, fields, "is out of range")
        proof = self._proof(row.told() + row.link, binding, row.number, b"step")
        if row.proof != proof:
            raise row_damaged(row.where, fields, "was changed")

    def read_subject(self, row: StoredSubject, *, with_secret: bool) -> Subject:
        """Return the subject in a row.

        Args:
            row: as it was found.
            with_secret: decrypt the state's secret too; it is empty otherwise.

        Raises:
            LedgerDamagedError: the row was changed, or is not that of the last step.
            SecretsDestroyedError: the secret is asked for, and gone.
        """
        self.check_subject(row)
        secret = b""
        if with_secret and row.secret is None:
            raise _destroyed("its last state", (SubjectKind(row.kind), row.tenant, row.name))
        if with_secret and row.secret:
            binding = subject_binding(row.kind, row.tenant, row.name)
            secret = self._open(row.secret, binding, row.steps, b"state_secret", row.where)
        return Subject(
            SubjectKind(row.kind), row.tenant, row.name, row.steps, row.state, secret, row.label
        )

    def check_subject(self, row: StoredSubject) -> None:
        """Return if what stands in the clear is what was written with the last step.

        Raises:
            LedgerDamagedError: it is not.
        """
        check_steps(row.where, row.steps, row.last_number)
        if row.id < 1:
            raise row_damaged(row.where, "id", "is out of range")
        binding = subject_binding(row.kind, row.tenant, row.name)
        if row.proof != self._proof(row.told(), binding, row.steps, b"snapshot"):
            fields = "kind, tenant, name, label, state or proof"
            raise row_damaged(row.where, fields, "was changed")

    def _seal(self, secret: bytes, binding: bytes, number: int, field: bytes, salt: bytes) -> bytes:
        if not secret:
            return b""
        return self._secrets.seal(
            secret, binding=binding, state=_state(number), field=field, salt=salt
        )

    def _open(self, sealed: bytes, binding: bytes, number: int, field: bytes, where: str) -> bytes:
        if not sealed:
            return b""
        return self._secrets.open(
            sealed, binding=binding, state=_state(number), field=field, row=where
        )

    def _proof(self, data: bytes, binding: bytes, number: int, field: bytes) -> bytes:
        return self._secrets.proof(data, binding=binding, state=_state(number), field=field)


def check_steps(where: str, steps: int, last_number: int | None) -> None:
    """Return if a subject counts the steps that it has.

    Raises:
        LedgerDamagedError: it does not.
    """
    if steps != last_number or steps < 1:
        raise row_damaged(where, "steps", f"is {steps}, the last step has number {last_number}")


def _state(number: int) -> bytes:
    return b"step/%d" % number


def _destroyed(what: str, owner: SubjectId) -> SecretsDestroyedError:
    kind, _, name = owner
    return SecretsDestroyedError(
        f"{kind} {name!r}, {what}: its secret was destroyed after its retention; the name stays"
        " spent"
    )


def _broken(draft: StepDraft, what: str) -> InternalError:
    return InternalError(
        f"draft of a step of {draft.kind} {draft.name!r}: {what}; nothing was written"
    )
