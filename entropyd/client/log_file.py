"""The log file: a range of the log with what a verifier needs, in one file.

Spec: docs/protocol.md, "The log file".
"""

from itertools import islice

from entropyd.client.log import Log, SignedReceipt
from entropyd.client.proofs import Proof
from entropyd.errors import RequestError
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.events import Event
from entropyd.log.keys import VerifierKey
from entropyd.log.receipt import Receipt, key_names
from entropyd.log.signed_note import SignedNote

# With signatures some 900 bytes each, a file of the verifier's 32 MiB holds three times as many.
MAX_ENTRIES = 10_000


def log_file(log: Log, first: int, last: int) -> Proof:
    """Return the file of the entries `first` to `last`.

    Args:
        log: where they are. Whoever calls must be allowed to see all of them.
        first: index of the first entry.
        last: of the last one, not below `first`.

    Raises:
        RequestError: the range is none, too long, not signed for yet, or has entries of others or
            of the log that this one goes on after.
    """
    if not 0 <= first <= last or last - first >= MAX_ENTRIES:
        raise RequestError(
            "range", f"is {first} to {last}; expected at most {MAX_ENTRIES} entries, first to last"
        )
    head = log.head()
    note = SignedNote.decode(head.checkpoint.encode())
    checkpoint = Checkpoint.decode(note.text)
    if last >= checkpoint.size:
        raise RequestError(
            "range",
            f"ends at {last}; the checkpoint covers {checkpoint.size} entries: end before that, or"
            " ask again, new ones are signed for within a second",
        )
    entries = list(islice(log.receipts(first), last - first + 1))
    _refuse_gap(entries, first, last)
    _refuse_other_log(entries[0], checkpoint.origin)
    keys = [VerifierKey.decode(text) for text in head.verifier_keys]
    # In a tree that ends with it, what stands beside a leaf is all that was before it.
    frontier = log.inclusion(first, first + 1).path[::-1]
    end = last + 1
    proof = log.consistency(end, checkpoint.size).path
    return {
        "entropyd": "log/v1",
        "origin": checkpoint.origin,
        "keys": [key.encode() for key in _in_force(checkpoint.origin, keys, entries, note)],
        "first": str(first),
        "entries": [entry.note for entry in entries],
        "frontier": [each.hex() for each in frontier],
        "checkpoint": head.checkpoint,
        "consistency": [each.hex() for each in proof],
    }


def _refuse_gap(entries: list[SignedReceipt], first: int, last: int) -> None:
    for expected, entry in enumerate(entries, first):
        if entry.index != expected:
            raise RequestError("range", f"entry {expected} is another tenant's; end before it")
    if len(entries) <= last - first:
        raise RequestError("range", f"entry {first + len(entries)} is not to be had; end before it")


def _refuse_other_log(entry: SignedReceipt, origin: str) -> None:
    """Refuse what an adopted ledger has from before: no key of the present log signed it."""
    log = _receipt(entry).log
    if log != origin:
        raise RequestError(
            "range",
            f"entry {entry.index} is of log {log!a}, after which {origin!a} goes on; begin"
            " behind it",
        )


def _receipt(entry: SignedReceipt) -> Receipt:
    return Receipt.decode(SignedNote.decode(entry.note.encode()).text)


def _in_force(
    origin: str, keys: list[VerifierKey], entries: list[SignedReceipt], checkpoint: SignedNote
) -> list[VerifierKey]:
    """Return the two keys that are in force before the range, as far as it does not change them."""
    signed = {origin: checkpoint, key_names(origin)[1]: SignedNote.decode(entries[0].note.encode())}
    found = {
        name: [key for key in keys if key.name == name and _is_signed(note, key)][-1]
        for name, note in signed.items()
    }
    for entry in reversed(entries):
        receipt = _receipt(entry)
        if receipt.event is Event.KEY and receipt.previous is not None:
            found[receipt.previous.name] = receipt.previous
    return list(found.values())


def _is_signed(note: SignedNote, key: VerifierKey) -> bool:
    return any(signature.names(key) for signature in note.signatures)
