"""The check of a raffle from its published list.

Spec: docs/protocol.md, "What a full check of a raffle takes".
"""

from collections.abc import Sequence
from hmac import compare_digest

from entropyd.errors import ProofMismatchError, RequestError
from entropyd.games.raffle import (
    MAX_ENTRY_BYTES,
    RAFFLE_DRAW,
    Entries,
    RaffleRules,
    published_entries,
)
from entropyd.verify.compare import hex_difference, require_equal
from entropyd.verify.draws import CHECKED, not_checked, recompute
from entropyd.verify.fields import Fields
from entropyd.verify.presented import SHA256_BYTES, read_draw, read_rules
from entropyd.verify.report import LIST_BEFORE, OTHER_RAFFLES, Kind, Report


def check_raffle(fields: Fields) -> Report:
    """Check that the winners follow from the list, and the list from its hash.

    Args:
        fields: a raffle file.

    Raises:
        ProofMalformedError: the file has a form that no raffle has.
        ProofMismatchError: something does not follow; names what, and the usual cause.
    """
    tenant, raffle = fields.id("tenant"), fields.id("raffle")
    rules = read_rules(fields)
    if not isinstance(rules, RaffleRules):
        fields.refuse("rules", f"are of kind {rules.kind}; expected those of a raffle")
    entries = _entries(fields, rules)
    presented = read_draw(fields, rules, tenant=tenant, match=raffle, draw_id=RAFFLE_DRAW)
    said = fields.hex("entries_hash", SHA256_BYTES)
    winners, alternates = fields.texts("winners"), fields.texts("alternates")
    fields.finish()
    _check_hash("entries_hash", entries, said)
    _check_hash("rules.entries", entries, rules.entries)
    recompute(presented)
    names = [entries.texts[number] for number in presented.result]
    require_equal("winners", names[: rules.winners], list(winners))
    require_equal("alternates", names[rules.winners :], list(alternates))
    return _report(raffle, rules, winners, alternates)


def _entries(fields: Fields, rules: RaffleRules) -> Entries:
    texts = fields.texts("entries")
    if len(texts) != rules.n:
        fields.refuse("entries", f"are {len(texts)}; the rules say {rules.n}")
    for place, text in enumerate(texts):
        # Before they are normalised: that takes quadratic time of a text made for it.
        if len(text) > MAX_ENTRY_BYTES:
            fields.refuse(f"entries[{place}]", f"is longer than {MAX_ENTRY_BYTES} bytes")
    try:
        return published_entries(texts)
    except RequestError as error:
        raise fields.refused(error) from error


def _check_hash(path: str, entries: Entries, said: bytes) -> None:
    if not compare_digest(entries.digest, said):
        raise ProofMismatchError(
            hex_difference(entries.digest, said),
            field=path,
            causes=("the list was changed after it was sealed, or is another raffle's",),
        )


def _report(
    raffle: str, rules: RaffleRules, winners: Sequence[str], alternates: Sequence[str]
) -> Report:
    standing_by = f"; standing by: {', '.join(alternates)}" if alternates else ""
    return Report(
        kind=Kind.RAFFLE,
        subject=f"raffle {raffle}, {rules.n} entries",
        result=f"{', '.join(winners)}{standing_by}",
        checked=(
            "the list is canonical, each entry once, and entries_hash is its hash",
            *CHECKED,
            "winners and alternates are the entries that the result names",
        ),
        not_checked=(LIST_BEFORE, OTHER_RAFFLES, *not_checked(rules)),
    )
