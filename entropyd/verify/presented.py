"""A draw as somebody presents it, and whether each part of it follows from the others.

Spec: docs/protocol.md, "What a full check of a draw takes".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hmac import compare_digest

from entropyd.draw.keystream import SEED_BYTES
from entropyd.errors import ProofMismatchError, RequestError
from entropyd.games.draw_kind import DrawRules
from entropyd.games.draw_rules import ItemsRules, ServerSeedRules, decode
from entropyd.games.draws import Outcome, binding_of, draw, result_root
from entropyd.hands.commitment import seed_commitment
from entropyd.hands.whole_deck import BLINDING_BYTES, SALT_KEY_BYTES
from entropyd.verify.fields import Fields

SHA256_BYTES = 32


@dataclass(frozen=True, slots=True)
class PresentedDraw:
    """Everything that somebody says of a draw. Only its form was looked at.

    Attributes:
        path: where it stands in its file; empty for the file itself.
        tenant, match, draw: ids.
        rules: of the draw.
        seeds, blinding, salt_key: S, r, K.
        commitment, result_root: C and D.
        result: as many numbers as the rules draw, each fit to be encoded.
    """

    path: str
    tenant: str
    match: str
    draw: str
    rules: DrawRules
    seeds: tuple[bytes, ...] = field(repr=False)
    blinding: bytes = field(repr=False)
    salt_key: bytes = field(repr=False)
    commitment: bytes
    result_root: bytes
    result: tuple[int, ...] = field(repr=False)

    @property
    def binding(self) -> bytes:
        """X."""
        return binding_of(self.rules, self.tenant, self.match, self.draw)

    def at(self, name: str) -> str:
        """Return the path of a member."""
        return f"{self.path}.{name}" if self.path else name

    def computed(self) -> Outcome:
        """Return what rules, ids and secrets come to."""
        return draw(
            self.rules,
            self.binding,
            seeds=self.seeds,
            blinding=self.blinding,
            salt_key=self.salt_key,
        )

    def commitment_fits(self) -> bool:
        """Return whether C is over these ids, rules, seeds and this blinding."""
        computed = seed_commitment(self.binding, self.seeds, self.blinding)
        return compare_digest(computed, self.commitment)

    def root_fits(self) -> bool:
        """Return whether D is over these ids, rules, this salt key and the presented result."""
        encoded = self.rules.encode_result(self.result)
        return compare_digest(result_root(self.binding, self.salt_key, encoded), self.result_root)

    def changed(self, **changes: object) -> "PresentedDraw":
        """Return another draw that differs in these."""
        return replace(self, **changes)  # type: ignore[arg-type]


def read_rules(fields: Fields) -> DrawRules:
    """Return the rules of a draw.

    Raises:
        ProofMalformedError: they are not canonical, or not of a draw that is proved alone.
    """
    try:
        rules = decode(fields.text("rules").encode("utf-8"))
    except RequestError as error:
        raise fields.refused(error, "rules") from error
    if isinstance(rules, ServerSeedRules):
        fields.refuse("rules", "are of a server seed, which is checked by the rounds of its pair")
    return rules


def read_draw(
    fields: Fields, rules: DrawRules, *, tenant: str, match: str, draw_id: str
) -> PresentedDraw:
    """Return a draw whose members have the form that its rules ask for.

    What it costs to compute is bounded by the file: there are as many numbers
    as the rules draw before anything is drawn.

    Raises:
        ProofMalformedError: a member has another form.
    """
    result = fields.decimals("result")
    expected = rules.n if isinstance(rules, ItemsRules) else len(rules.bounds())
    if len(result) != expected:
        fields.refuse("result", f"has {len(result)} numbers; the rules draw {expected}")
    _check_numbers(fields, rules, result)
    seeds = fields.hexes("seeds", SEED_BYTES)
    if len(seeds) != rules.seeds_needed():
        fields.refuse("seeds", f"are {len(seeds)}; the rules take {rules.seeds_needed()}")
    return PresentedDraw(
        path=fields.path,
        tenant=tenant,
        match=match,
        draw=draw_id,
        rules=rules,
        seeds=seeds,
        blinding=fields.hex("blinding", BLINDING_BYTES),
        salt_key=fields.hex("salt_key", SALT_KEY_BYTES),
        commitment=fields.hex("commitment", SHA256_BYTES),
        result_root=fields.hex("result_root", SHA256_BYTES),
        result=result,
    )


def _check_numbers(fields: Fields, rules: DrawRules, result: Sequence[int]) -> None:
    """Refuse numbers that cannot be encoded; which of the others are wrong, drawing will tell."""
    limit = 1 << 8 * rules.number_bytes
    for place, number in enumerate(result):
        if number >= limit:
            fields.refuse(f"result[{place}]", f"is {number}; expected less than {limit}")


def first_other(presented: PresentedDraw, drawn: Sequence[int]) -> ProofMismatchError | None:
    """Return what is wrong with the first number that the seeds do not draw; None if all are."""
    pairs = enumerate(zip(drawn, presented.result, strict=True))
    for place, (computed, said) in pairs:
        if computed != said:
            return ProofMismatchError(
                f"is {said}; the seeds draw {computed} there",
                field=presented.at(f"result[{place}]"),
            )
    return None
