# ruff: noqa: N803, E741 - names are the document's letters
"""Inputs that docs/protocol.md has refused: each is right but for one field.

`refused_rules` are rules of hands, for docs/vectors/rules.json; `refused_inputs`
everything else, for docs/vectors/refusals.json. `refuse` makes the latter with
the naive reference, which must agree.
"""

import itertools
from collections.abc import Callable

from tests.reference import naive

SHUFFLE = (
    "contributions=none\ndeck=standard52\ndecks=1\nproofs=deck\nreveal=never\nsampler=masked\n"
)
SEALED = SHUFFLE.replace("=none", "=sealed").replace("proofs=deck\n", "")


def refused_rules():
    """Yield text (one character a byte), reason, and the field that is refused."""
    yield from ((*case, "rules") for case in refused_lines())
    for name in ("contributions", "deck", "decks", "reveal", "sampler"):
        line = next(line for line in SHUFFLE.splitlines(True) if line.startswith(name + "="))
        yield SHUFFLE.replace(line, ""), f"{name} is missing", name
    for name in ("zebra", "_", "z" * 32):
        yield with_line(f"{name}=1"), f"unknown name of {len(name)} bytes", name
    yield from refused_values()
    yield from refused_decks()
    yield from refused_dealing()


def refused_lines():
    """Yield what is no list of lines, whatever a hand's names are."""
    yield "", "no line"
    yield "\n", "one empty line"
    yield SHUFFLE[:-1], "the last line does not end"
    yield SHUFFLE + "\n", "an empty line at the end"
    yield SHUFFLE.replace("decks", "\ndecks"), "an empty line between"
    yield SHUFFLE.replace("\n", "\r\n"), "carriage returns"
    yield "\n".join(reversed(SHUFFLE.splitlines())) + "\n", "names are not in byte order"
    yield SHUFFLE + "sampler=masked\n", "a name stands twice"
    yield SHUFFLE.replace("deck=standard52", "Deck=standard52"), "upper-case name"
    yield with_line(f"{'z' * 33}=1"), "a name of 33 bytes"
    yield "=1\n" + SHUFFLE, "a name of no bytes"
    yield with_line("zebra"), "no ="
    for value in ("", "x" * 1025):
        yield SHUFFLE.replace("never", value), f"a value of {len(value)} bytes"
    for byte in "\x00\x1f\x7f\x80\xe9\xff":
        yield SHUFFLE.replace("never", f"never{byte}"), f"byte 0x{ord(byte):02X} in a value"
    yield SHUFFLE.replace("reveal", "removed=\nreveal"), "removed="


def refused_values():
    """Yield lines whose value the name does not have. The first ones are at the grammar's ends."""
    yield SHUFFLE.replace("never", "x" * 1024), "unknown value of 1024 bytes", "reveal"
    yield SHUFFLE.replace("never", "never "), "a space after the value", "reveal"
    yield SHUFFLE.replace("never", "never~"), "byte 0x7E in a value", "reveal"
    yield SHUFFLE.replace("never", "=never"), "a second =", "reveal"
    yield SHUFFLE.replace("never", "always"), "unknown reveal", "reveal"
    yield SHUFFLE.replace("=none", "=all"), "unknown contributions", "contributions"
    yield SHUFFLE.replace("masked", "modulo"), "unknown sampler", "sampler"
    yield SHUFFLE.replace("standard52", "standard53"), "unknown deck", "deck"
    yield SHUFFLE.replace("standard52", " standard52"), "a space before the value", "deck"
    yield SHUFFLE.replace("proofs=deck", "proofs=none"), "proofs other than deck", "proofs"
    for contributions in ("open", "sealed"):
        text = SHUFFLE.replace("=none", f"={contributions}")
        yield text, f"proofs=deck beside contributions={contributions}", "proofs"


def refused_decks():
    """Yield numbers of copies and removed cards that no deck has."""
    for decks in ("0", "9", "01", "+1", "1 ", "10", "1.0", "8 ", "08"):
        yield SHUFFLE.replace("decks=1", f"decks={decks}"), f"decks={decks}", "decks"
    for removed in ("52", "3,2", "2,2", "2,", ",2", "02", "2, 3", "-1", "1-3", "all"):
        yield with_removed(removed), f"removed={removed}", "removed"
    short = with_removed("3").replace("standard52", "short36")
    yield short, "a removed card that the deck does not have", "removed"
    yield with_removed(joined(range(51))), "one card is left", "removed"
    yield (
        with_removed(joined(range(1, 52))).replace("decks=1", "decks=8"),
        "8 of one card",
        "removed",
    )
    yield with_removed(joined(range(52))), "no card is left", "removed"


def refused_dealing():
    """Yield lines of hands dealt card by card that cannot stand, or not as they do."""
    alone = SHUFFLE.replace("proofs=deck\n", "")
    hashed = "ab" * 32
    for cards in ("1", "0", "433", "07", "-2", "all"):
        lines = alone.replace("contributions", f"cards={cards}\ncontributions")
        yield (
            lines.replace("reveal", f"parent={hashed}\nreveal"),
            f"cards={cards}",
            "cards",
        )
    yield alone.replace("contributions", "cards=7\ncontributions"), "cards alone", "parent"
    yield alone.replace("reveal", f"parent={hashed}\nreveal"), "parent alone", "cards"
    for digest in (hashed[:-1], hashed + "a", hashed.upper()):
        child = alone.replace("contributions", "cards=7\ncontributions")
        yield (
            child.replace("reveal", f"parent={digest}\nreveal"),
            f"parent={digest[-3:]} of {len(digest)}",
            "parent",
        )
        yield (
            alone.replace("reveal", f"replaces={digest}\nreveal"),
            f"replaces={digest[-3:]} of {len(digest)}",
            "replaces",
        )
    for plan in (",", "seat-1,", ",seat-1", "a seat", "x" * 129, ",".join(["b"] * 53)):
        yield (
            alone.replace("reveal", f"plan={plan}\nreveal"),
            f"plan={plan[:9]} of {len(plan)}",
            "plan",
        )
    yield SHUFFLE.replace("proofs", "plan=seat-1\nproofs"), "proofs=deck beside a plan", "proofs"
    yield (
        SHUFFLE.replace("reveal", f"replaces={hashed}\nreveal"),
        "proofs=deck beside replaces",
        "proofs",
    )
    child = SHUFFLE.replace("contributions", "cards=7\ncontributions")
    yield (
        child.replace("proofs", f"parent={hashed}\nproofs"),
        "proofs=deck beside a parent",
        "proofs",
    )


def with_line(line):
    """Return the rules with one more line, in its place."""
    lines = [*SHUFFLE.splitlines(), line]
    return "".join(f"{line}\n" for line in sorted(lines, key=lambda line: line.split("=")[0]))


def with_removed(value):
    return SHUFFLE.replace("reveal", f"removed={value}\nreveal")


def joined(cards):
    return ",".join(str(card) for card in cards)


# --- Everything but rules ----------------------------------------------------

NO_IDS = {
    "of no characters": "",
    "of 129 characters": "~" * 129,
    "of a space": " ",
    "with a space inside": "a b",
    "that ends in a newline": "a\n",
    "with 0x1F": "a\x1f",
    "with 0x7F": "a\x7f",
    "with U+00E9": "\u00e9",
}
LONGEST = "!" * 128


def refused_inputs():
    """Yield vectors: reason, of, the inputs, field."""
    ids = {"tenant": "acme", "table": LONGEST, "hand": "1", "match": "m", "draw": LONGEST}
    hand, draw = ("tenant", "table", "hand"), ("tenant", "match", "draw")
    for of, names, rules, field, reason in (
        ("hand", hand, "r=1\n", "r", "a hand's rules are another draw's"),
        ("draw", draw, "", "rules", "rules without a line"),
    ):
        given = {name: ids[name] for name in names} | {"rules": SHUFFLE}
        yield from bad_ids(of, given, names)
        yield vector(of, given | {"rules": rules}, field, reason)
    yield from refused_sources()
    yield from refused_events()
    yield from refused_bounds()
    yield from refused_seats()
    yield from refused_contributions()
    yield from refused_claims()


def vector(of, inputs, field, reason):
    return {"reason": reason, "of": of} | inputs | {"field": field}


def bad_ids(of, inputs, names):
    for name, (reason, text) in itertools.product(names, NO_IDS.items()):
        yield vector(of, inputs | {name: text}, name, f"a {name} id {reason}")


def refused_sources():
    for name in ("hardware", "cover", "user", "os"):
        one = {"class": name, "sources": {"q": ""}}
        yield vector("condition", one, "samples", f"a {name} source without samples")
    two = {"class": "user", "sources": {"a": "00", "b": ""}}
    yield vector("condition", two, "samples", "the second source is without samples")
    for reason, text in NO_IDS.items():
        bad = {"class": "user", "sources": {text: "00"}}
        yield vector("condition", bad, "source", f"a source id {reason}")
    for text in ("alice", " alice", "acme ", "acme  alice", "acme a b"):
        bad = {"user": {text: "00"}}
        yield vector("stir", bad, "source", f"a stirred user named {text!r}")
    for reason, text in {**NO_IDS, "with a +": "dc1+a"}.items():
        yield vector("instantiate", {"origin": text}, "origin", f"an origin {reason}")


def refused_events():
    good, ends = [0, 0, "0"], {"x": 2**32, "y": 2**32, "t": str(2**64)}
    for place, (field, end) in enumerate(ends.items()):
        for value in (end, "-1" if field == "t" else -1):
            event = [*good[:place], value, *good[place + 1 :]]
            reason = f"an event with {field} = {value}"
            yield vector("events", {"events": [good, event]}, field, reason)


def refused_bounds():
    for sampler in ("masked", "word32"):
        for bound, reason in ((0, "0"), (2**249 + 1, "2^249 + 1")):
            inputs = {"sampler": sampler, "bounds": ["2", str(bound)]}
            yield vector("list", inputs, "bounds", f"{sampler}: a bound of {reason}")
    inputs = {"sampler": "word32", "bounds": [str(2**32 + 1)]}
    yield vector("list", inputs, "bounds", "word32: a bound of 2^32 + 1")


def refused_seats():
    for length in (1, 31, 33, 64):
        seats = {"seat-1": "", "seat-2": "ab" * length}
        yield vector("seats", {"seats": seats}, "seats", f"a seat key of {length} bytes")
    for reason, text in NO_IDS.items():
        yield vector("seats", {"seats": {text: ""}}, "seats", f"a seat id {reason}")


def refused_contributions():
    value = "ab" * 32
    good = {"rules": SEALED, "O": "cd" * 32, "seats": {"seat-1": "", "seat-2": ""}}

    def speaking(*pairs, **other):
        given = [{"seat": seat, "value": value} for seat, value in pairs]
        return good | other | {"contributions": given}

    for length in (0, 31, 33, 64):
        inputs = speaking(("seat-1", "ab" * length))
        yield vector("contributions", inputs, "value", f"a value of {length} bytes")
    inputs = speaking(("seat 1", value))
    yield vector("contributions", inputs, "seat", "a contribution of a seat that is no id")
    for name, pairs in {
        "a seat that is not in A": [("seat-3", value)],
        "a seat twice": [("seat-1", value), ("seat-2", value), ("seat-1", "ef" * 32)],
        "a seat twice, the same": [("seat-1", value), ("seat-1", value)],
    }.items():
        yield vector("contributions", speaking(*pairs), "contributions", f"contributions of {name}")
    inputs = speaking(rules=SHUFFLE)
    yield vector("contributions", inputs, "seats", "seats under contributions=none")
    inputs = speaking(("seat-1", value), rules=SHUFFLE, seats={})
    yield vector("contributions", inputs, "contributions", "one under contributions=none")


def refused_claims():
    good = {"claim_key": "ab" * 32, "table": LONGEST, "hand": "1", "place": 0}
    for length in (0, 16, 31):
        inputs = good | {"claim_key": "ab" * length}
        yield vector("claim", inputs, "claim_key", f"a claim key of {length} bytes")
    yield from bad_ids("claim", good, ("table", "hand"))
    for place in (-1, 2**32):
        yield vector("claim", good | {"place": place}, "place", f"place {place}")
    for length in (0, 15, 17, 32):
        inputs = {"X": "00", "claim": "ab" * length}
        yield vector("claim_digest", inputs, "claim", f"a claim of {length} bytes")


# --- The naive reference on them ---------------------------------------------

unhex = bytes.fromhex


def unhexed(mapping):
    return {name: unhex(value) for name, value in mapping.items()}


def any_drbg(origin="o"):
    return naive.instantiate(origin, {}, {}, {}, {}, bytes(32))


def make_hand(tenant, table, hand, rules):
    naive.hand_rules(rules.encode("ascii"))
    return naive.hand_X(tenant, table, hand, rules.encode("ascii"))


def make_list(sampler, bounds):
    segments = naive.segments_of([int(bound) for bound in bounds])
    return naive.draw_list(
        [int(bound) for bound in bounds], [bytes(64)] * len(segments), b"", sampler
    )


def make_contributions(rules, O, seats, contributions):
    pairs = [(given["seat"], unhex(given["value"])) for given in contributions]
    return naive.contribution_leaves(rules.encode("ascii"), unhex(O), unhexed(seats), pairs)


MAKE: dict[str, Callable[..., object]] = {
    "hand": make_hand,
    "draw": lambda tenant, match, draw, rules: naive.draw_X(tenant, match, draw, rules.encode()),
    "condition": lambda sources, **other: naive.e_class(other["class"], unhexed(sources)),
    "events": lambda events: naive.user_events([(x, y, int(t)) for x, y, t in events]),
    "stir": lambda user: naive.stir(any_drbg(), {}, unhexed(user)),
    "instantiate": any_drbg,
    "list": make_list,
    "seats": lambda seats: naive.seats_root_A(unhexed(seats)),
    "contributions": make_contributions,
    "claim": lambda claim_key, **other: naive.derive_claim(unhex(claim_key), **other),
    "claim_digest": lambda X, claim: naive.claim_digest(unhex(X), unhex(claim)),
}


def inputs_of(case):
    """Return what is to be made from, without what is said of it."""
    return {name: value for name, value in case.items() if name not in {"reason", "of", "field"}}


def refuse(case):
    """Make what a vector asks for with the naive reference: the field that it refuses, or None."""
    try:
        MAKE[case["of"]](**inputs_of(case))
    except naive.Refused as refused:
        return refused.field
    return None
