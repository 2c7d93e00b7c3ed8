"""Inputs of draws that are not hands, and of raffles, that the document has refused.

Each is right but for one field. For docs/vectors/match_draws.json and raffles.json.
"""

from tests.reference import naive_draws
from tests.reference.naive import rules_lines

HASH = "ab" * 32
INTEGERS = {"kind": "integers", "sampler": "masked", "bound": "100", "count": "3", "low": "1"}
DICE = {"kind": "dice", "sampler": "masked", "dice": "2d6"}
ITEMS = {"kind": "items", "sampler": "masked", "n": "5"}
SAMPLE = {"kind": "sample", "sampler": "masked", "n": "49", "m": "6"}
DOMINOES = {
    "kind": "bag",
    "sampler": "masked",
    "bag": "main",
    "counts": ",".join(["1"] * 28),
    "m": "7",
    "tiles": "dominoes",
}
CUSTOM = DOMINOES | {"counts": "3,0,2", "m": "5", "tiles": f"custom-{HASH}"}
RAFFLE = {
    "kind": "raffle",
    "sampler": "masked",
    "entries": HASH,
    "n": "10",
    "winners": "7",
    "alternates": "3",
}
SERVER_SEED = {"kind": "server_seed", "sampler": "masked", "profile": "v2"}
ALL = (INTEGERS, DICE, ITEMS, SAMPLE, DOMINOES, CUSTOM, RAFFLE, SERVER_SEED)

NO_NUMBERS = ("", "-1", "+1", "01", "1 ", "1.0", "1e3", "0x1", "\u0661")
NO_HASHES = ("ab" * 31, "ab" * 33, "AB" * 32, "0x" + "ab" * 31, "zz" * 32)


def refused_draw_rules():
    """Yield text (one character a byte), reason, field."""
    good = rules_lines(DICE).decode("ascii")
    yield "", "no line", "rules"
    yield good[:-1], "the last line does not end", "rules"
    yield "\n".join(reversed(good.splitlines())) + "\n", "names are not in byte order", "rules"
    yield good + "sampler=masked\n", "a name stands twice", "rules"
    for fields, name, value, reason in refused_lines():
        text = rules_lines({k: v for k, v in (fields | {name: value}).items() if v is not None})
        yield text.decode("latin-1"), f"{fields['kind']}: {reason}", name


def refused_lines():
    """Yield good fields, the name that is changed, its value (None: it is left out), reason."""
    for fields in ALL[:5] + ALL[6:]:
        for name in fields:
            yield fields, name, None, f"{name} is missing"
        yield fields, "zebra", "1", "unknown name"
        yield fields, "sampler", "modulo", "unknown sampler"
        yield fields, "seeds", "all", "seeds=all"
        yield fields, "seeds", "computational", "computational, and one seed is enough"
    for fields, other in ((ITEMS, "m"), (DICE, "count"), (INTEGERS, "labels"), (DICE, "labels")):
        yield fields, other, "1", f"{other} is another kind's"
    yield DOMINOES, "labels", HASH, "labels beside tiles"
    yield DICE, "kind", "coins", "unknown kind"
    yield DICE, "kind", "Dice", "upper-case kind"
    yield from refused_numbers()
    yield from refused_dice()
    yield from refused_bags()
    yield from refused_hashes()
    yield SERVER_SEED, "profile", "v3", "unknown profile"
    yield SERVER_SEED, "sampler", "word32", "word32 without bounds"


def refused_numbers():
    for fields, name, values in (
        (INTEGERS, "bound", ("0", str(2**64 + 1), "9" * 25)),
        (INTEGERS, "count", ("0", "10001", "1000000000")),
        (INTEGERS, "low", (str(2**64 - 99), str(2**64))),
        (ITEMS, "n", ("0", "100001")),
        (SAMPLE, "n", ("0", str(2**32 + 1))),
        (SAMPLE, "m", ("0", "50")),
        (SAMPLE | {"n": str(2**32)}, "m", ("100001",)),
        (CUSTOM, "m", ("0", "6")),
        (RAFFLE, "n", ("0", "100001")),
        (RAFFLE, "winners", ("0", "11")),
        (RAFFLE, "alternates", ("4",)),
    ):
        for value in values:
            yield fields, name, value, f"{name}={value}"
    for fields, name in ((INTEGERS, "low"), (ITEMS, "n"), (CUSTOM, "m"), (RAFFLE, "alternates")):
        # Nothing at all, and a character that no rule has, break the grammar and not this rule.
        for text in NO_NUMBERS[1:-1]:
            yield fields, name, text, f"{name}={text!r}"
    wide = INTEGERS | {"sampler": "word32"}
    yield wide, "bound", str(2**32 + 1), "word32 below 2^32 + 1"


def refused_dice():
    for dice in (
        *("d6", "2d", "2", "d", "6d2d", "2d6,", ",2d6", "2d6,,2d6", "2d6, 2d6", "2D6", "2x6"),
        *("0d6", "2d0", "02d6", "2d06", "-2d6", "2d-6", "+2d6", "2d6+1"),
        *("10001d6", "5000d6,5001d6", "1000000000d6", "99999999999d6", f"1d{2**32 + 1}"),
        *(",".join(["1d6"] * 33), "1d99999999999"),
    ):
        yield DICE, "dice", dice, f"dice={dice[:40]}"


def refused_bags():
    for bag in ("Main", "a b", "a/b", "a.b", "a" * 65, "a,b"):
        yield DOMINOES, "bag", bag, f"bag={bag[:40]}"
    for counts in ("3,0,", ",3,2", "3,,2", "3, 2", "03,2", "-1,6", "1001,0", "0,0,0", "0"):
        yield CUSTOM | {"m": "1"}, "counts", counts, f"counts={counts}"
    yield CUSTOM, "counts", ",".join(["5"] * 257), "257 kinds"
    yield CUSTOM, "counts", ",".join(["1000"] * 10 + ["1"]), "10001 tiles"
    yield DOMINOES, "counts", ",".join(["1"] * 27), "27 kinds of dominoes"
    yield DOMINOES, "counts", ",".join(["1"] * 29), "29 kinds of dominoes"
    yield DOMINOES, "counts", ",".join(["2"] + ["1"] * 27), "a domino more than there are"
    for tiles in ("german", "English", "custom", "custom-", f"custom{HASH}", f"Custom-{HASH}"):
        yield CUSTOM, "tiles", tiles, f"tiles={tiles[:40]}"
    for text in NO_HASHES:
        yield CUSTOM, "tiles", f"custom-{text}", f"tiles=custom-{text[:6]}... of {len(text)}"


def refused_hashes():
    for fields, name in (
        (ITEMS, "labels"),
        (SAMPLE, "labels"),
        (RAFFLE, "entries"),
    ):
        for text in NO_HASHES:
            yield fields, name, text, f"{name}={text[:6]}... of {len(text)}"
    yield SAMPLE | {"n": "100001"}, "labels", HASH, "labels of 100001 items"


# --- Labels, bags and entries --------------------------------------------------


def refused_labels():
    """Yield reason, labels, n."""
    yield "one too few", ["a", "b"], 3
    yield "one too many", ["a", "b"], 1
    yield "an empty label", ["a", ""], 2
    yield "a label of 257 bytes", ["a" * 257], 1
    yield "a label of 129 characters and 258 bytes", ["\u00e9" * 129], 1
    for character in "\x00\t\n\x1f\x7f\x80\x9f":
        yield f"U+{ord(character):04X} in a label", [f"a{character}b"], 1
    yield "4097 labels of 256 bytes are above 1 MiB", ["a" * 256] * 4097, 4097


def refused_matches():
    """Yield reason, draws as (fields, result), field."""
    three = CUSTOM | {"m": "3"}
    first = (three, [0, 2, 0])
    yield "refilled above what it held", [first, (three | {"counts": "4,0,1"}, [0])], "counts"
    yield "less than was left", [first, (three | {"counts": "0,0,1", "m": "1"}, [2])], "counts"
    again = (three | {"counts": "1,1,1", "m": "1"}, [0])
    yield "a kind that it never held", [first, again], "counts"
    yield "a kind more", [first, (three | {"counts": "1,0,1,0", "m": "1"}, [0])], "counts"
    yield "a kind less", [first, (three | {"counts": "1,0", "m": "1"}, [0])], "counts"
    other = three | {"counts": "1,0,1", "m": "1", "tiles": f"custom-{'cd' * 32}"}
    yield "other tiles", [first, (other, [0])], "tiles"
    between = (DICE, [3, 4])
    late = (three | {"counts": "3,0,2", "m": "1"}, [0])
    taken = (three | {"counts": "1,0,1", "m": "2"}, [0, 2])
    yield "taken again though nothing is left", [first, between, taken, late, taken], "counts"


def refused_returns():
    """Yield reason, first, left, returns."""
    yield "a kind that is not of the bag", [3, 0, 2], [1, 0, 1], [3]
    yield "a kind below 0", [3, 0, 2], [1, 0, 1], [-1]
    yield "a tile that is in the bag", [3, 0, 2], [3, 0, 1], [0]
    yield "a tile too many", [3, 0, 2], [1, 0, 1], [2, 0, 0, 0]
    yield "a kind that it never held", [3, 0, 2], [0, 0, 0], [1]


def refused_entries():
    """Yield reason, entries as given."""
    yield "no entry", []
    yield "an empty entry", ["a", ""]
    yield "white space alone", ["a", " \t\u2003\u3000"]
    yield "an entry of 257 bytes", ["a" * 257]
    yield "two entries that are equal", ["b", "a", "b"]
    yield "two entries that are equal without their white space", ["b", "a", "\u00a0b\n"]
    yield "two entries that are equal in form C", ["\u00e9", "e\u0301"]
    yield "two entries that are equal in form C: the Kelvin sign", ["K", "\u212a"]
    for character in "\x00\x1c\x1f\x7f\x9f\ue000\U000f0000\ufdd0\uffff\U0010ffff\u0378":
        yield f"U+{ord(character):04X} at the end of an entry", [f"a{character}"]
    for character in "\t\n\r\x85\u2028\u2029":
        yield f"U+{ord(character):04X} inside an entry", [f"a{character}b"]


def refused_raffles():
    """Yield reason, fields of the rules, entries as given, raffle id, field."""
    given = [f"ticket {i}" for i in range(4)]
    entries = naive_draws.canonical_entries(given)
    right = {
        "kind": "raffle",
        "sampler": "masked",
        "entries": naive_draws.entries_hash_E(entries).hex(),
        "n": "4",
        "winners": "1",
        "alternates": "1",
    }
    yield "rules of another kind", SAMPLE, given, "r", "kind"
    yield "an entry less", right, given[:3], "r", "n"
    yield "an entry more", right, [*given, "ticket 5"], "r", "n"
    yield "another entry", right, [*given[:3], "ticket 5"], "r", "entries"
    yield "another E", right | {"entries": HASH}, given, "r", "entries"
    yield "a raffle id of a space", right, given, " ", "raffle"
    yield "a raffle id of 129 characters", right, given, "r" * 129, "raffle"
