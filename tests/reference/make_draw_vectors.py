"""The vectors of sections 16 and 17, from the naive reference; `make_vectors` writes them.

Every seed is the SHA-512 of a label, so that the files can be made again from
this text alone. Numbers of results are decimal text: they go up to 2^64 - 1.
"""

from tests.reference import naive_draws
from tests.reference.draw_refusals import (
    CUSTOM,
    DICE,
    DOMINOES,
    INTEGERS,
    ITEMS,
    SAMPLE,
    SERVER_SEED,
    refused_draw_rules,
    refused_entries,
    refused_labels,
    refused_matches,
    refused_raffles,
    refused_returns,
)
from tests.reference.naive import rules_hash, rules_lines, segments_of, sha512

WORD32 = {"sampler": "word32"}
ONE_SEED = {"seeds": "computational"}
FRUIT = ["apple", "pear", "\u0433\u0440\u0443\u0448\u0430", "pear", "\U0001f34e"]


def made(label, length=64):
    """Return `length` (at most 64) bytes that anyone can make again."""
    return sha512(b"entropyd draw vector: " + label.encode("ascii"))[:length]


# --- match_draws.json ----------------------------------------------------------


def draw_cases():
    """Yield label, fields of the rules."""
    yield "three numbers", INTEGERS
    yield "a bound of 1", INTEGERS | {"bound": "1", "low": str(2**64 - 1)}
    yield "all 64 bits", INTEGERS | {"bound": str(2**64), "low": "0", "count": "5"}
    highest = {"bound": str(2**63 + 1), "low": str(2**63 - 1), "count": "9"}
    yield "the highest numbers, rejections", INTEGERS | highest
    yield "word-32, a bound of 2^32", INTEGERS | WORD32 | {"bound": str(2**32), "count": "9"}
    yield "word-32, a bound of 1", INTEGERS | WORD32 | {"bound": "1"}
    yield "word-32, rejections", INTEGERS | WORD32 | {"bound": str(2**31 + 1), "count": "12"}
    yield "two dice", DICE
    yield "dice in groups, in the order asked", DICE | {"dice": "1d20,3d6,1d20,2d4,1d1,1d100"}
    yield "the most faces", DICE | {"dice": f"2d{2**32},1d{2**32 - 1}"}
    yield "84 dice, two seeds", DICE | {"dice": "84d6"}
    yield "84 dice, one seed", DICE | ONE_SEED | {"dice": "84d6"}
    yield "word-32, 84 dice, one seed", DICE | ONE_SEED | WORD32 | {"dice": "84d6"}
    yield "one item", ITEMS | {"n": "1"}
    yield "five items with labels", ITEMS | {"labels": naive_draws.labels_hash(FRUIT, 5).hex()}
    yield "52 items, one seed is all", ITEMS | {"n": "52"}
    yield "60 items, two seeds", ITEMS | {"n": "60"}
    yield "60 items, one seed", ITEMS | ONE_SEED | {"n": "60"}
    yield "word-32, 60 items", ITEMS | WORD32 | {"n": "60"}
    yield "six of 49", SAMPLE
    yield "all of 60", SAMPLE | {"n": "60", "m": "60"}
    yield "all of 60, one seed", SAMPLE | ONE_SEED | {"n": "60", "m": "60"}
    yield "40 of 2^32, six seeds", SAMPLE | {"n": str(2**32), "m": "40"}
    yield "40 of 2^32, one seed", SAMPLE | ONE_SEED | {"n": str(2**32), "m": "40"}
    yield "word-32, 9 of 100001", SAMPLE | WORD32 | {"n": "100001", "m": "9"}
    labels = {"labels": naive_draws.labels_hash(FRUIT, 5).hex(), "n": "5", "m": "2"}
    yield "two of five with labels", SAMPLE | labels
    yield "seven dominoes", DOMINOES
    for name in ("english", "polish", "ukrainian"):
        counts = ",".join(str(count) for _, count in naive_draws.PRESETS[name])
        yield (
            f"{name}, the whole bag",
            DOMINOES
            | {
                "tiles": name,
                "counts": counts,
                "m": str(sum(count for _, count in naive_draws.PRESETS[name])),
            },
        )
    yield "a bag with a kind that is gone", CUSTOM
    yield "one kind", CUSTOM | {"counts": "1000", "m": "3"}
    yield "word-32, a bag", CUSTOM | WORD32
    yield "a bag, one seed", CUSTOM | ONE_SEED | {"counts": "60,0,40", "m": "70"}
    for profile in ("v1", "v2"):
        yield f"server seed {profile}", SERVER_SEED | {"profile": profile}


def bounds_by_seed(rules):
    """Return how many bounds each seed decides."""
    fields, values = naive_draws.draw_rules(rules)
    bounds = naive_draws.bounds_of(fields, values)
    return [len(bounds)] if "seeds" in fields else [len(part) for part in segments_of(bounds)]


def as_text(result):
    return result.hex() if isinstance(result, bytes) else [str(number) for number in result]


def secrets(label, rules):
    seeds = [made(f"{label}, seed {s}") for s in range(naive_draws.seeds_needed(rules))]
    return seeds, made(f"{label}, blinding", 32), made(f"{label}, salt key", 32)


def draw_case(label, fields):
    rules = rules_lines(fields)
    seeds, r, K = secrets(label, rules)
    X, result, C, D = naive_draws.drawn(
        "acme", "ludo/1", label.replace(" ", "-"), rules, seeds, r, K
    )
    return {
        "label": label,
        "tenant": "acme",
        "match": "ludo/1",
        "draw": label.replace(" ", "-"),
        "rules": rules.decode("ascii"),
        "seeds": [seed.hex() for seed in seeds],
        "blinding": r.hex(),
        "salt_key": K.hex(),
        "rules_hash": rules_hash(rules).hex(),
        "X": X.hex(),
        "segment_bounds": bounds_by_seed(rules),
        "C": C.hex(),
        "result": as_text(result),
        "D": D.hex(),
    }


def label_cases():
    for labels in (
        ["a"],
        FRUIT,
        ["same"] * 3,
        ["a" * 256, "\u00e9" * 128, " ", "\u2028", "\u00a0"],
    ):
        digest = naive_draws.labels_hash(labels, len(labels))
        yield {"labels": labels, "labels_hash": digest.hex()}


def claim_cases():
    for tenant, match in (("acme", "ludo/1"), ("acme-2", "ludo/1"), ("!" * 128, "~" * 128)):
        key = made(f"claim key of {match[:9]}", 32)
        claim = naive_draws.match_claim(key, match)
        yield {
            "claim_key": key.hex(),
            "tenant": tenant,
            "match": match,
            "claim": claim.hex(),
            "claim_digest": naive_draws.match_claim_digest(tenant, match, claim).hex(),
        }


def bag_cases():
    """Yield bags from draw to draw: what is put back, what is in then, what comes, what is left."""
    first = [count for _, count in naive_draws.PRESETS["dominoes"]]
    yield bag_case("no returns", first, [([], 7), ([], 7), ([], 14)])
    turns = [([], 5), ([2, 0], 3), ([0, 0, 2], 4), ([0, 2], 1)]
    yield bag_case("exchanges", [4, 0, 3], turns)


def bag_case(label, first, turns):
    counts, steps = list(first), []
    for returns, m in turns:
        counts = naive_draws.counts_after(first, counts, returns)
        # Any tiles will do here: the lowest kinds that are left.
        kinds = [kind for kind, count in enumerate(counts) for _ in range(count)][:m]
        if len(kinds) != m:
            raise ValueError(label)
        left = naive_draws.left_after(counts, kinds)
        steps.append({"returns": returns, "counts": counts, "result": kinds, "left": left})
        counts = left
    return {"label": label, "first": first, "steps": steps}


def match_draws():
    return {
        "match_draws": [draw_case(*case) for case in draw_cases()],
        "presets": [
            {
                "name": name,
                "labels": [label for label, _ in kinds],
                "counts": [count for _, count in kinds],
            }
            for name, kinds in naive_draws.PRESETS.items()
        ],
        "labels": list(label_cases()),
        "match_claims": list(claim_cases()),
        "bags": list(bag_cases()),
        "refused_draw_rules": [
            {"reason": reason, "rules_hex": text.encode("latin-1").hex(), "field": field}
            for text, reason, field in refused_draw_rules()
        ],
        "refused_labels": [
            {"reason": reason, "labels": labels, "n": n}
            for reason, labels, n in refused_labels()
            if n < 1000
        ],
        "refused_returns": [
            {"reason": reason, "first": first, "left": left, "returns": returns}
            for reason, first, left, returns in refused_returns()
        ],
        "refused_matches": [
            {
                "reason": reason,
                "draws": [
                    {"rules": rules_lines(fields).decode("ascii"), "result": as_text(result)}
                    for fields, result in draws
                ],
                "field": field,
            }
            for reason, draws, field in refused_matches()
        ],
    }


# --- raffles.json --------------------------------------------------------------

NAMES = [
    *(
        "  Zo\u00eb ",
        "Zoe",
        "Zoe\u0308 (2)",
        "\u0410\u043d\u043d\u0430",
        "\u0141ukasz\u3000",
        "=1+1",
    ),
    *("a\u00a0b", "\U0001f600", "Ticket 10", "Ticket 9", "\ufb01", "fi", "\u200d"),
]


def raffle_cases():
    """Yield label, entries as given, winners, alternates, other fields."""
    yield "names in any order and form", NAMES, 3, 2, {}
    yield "one entry", ["all alone"], 1, 0, {}
    yield "everybody wins, word-32", [f"ticket {i:03}" for i in range(12)], 12, 0, WORD32
    hundred = [f"ticket {i}" for i in range(100)]
    yield "two seeds", hundred, 10, 40, {}
    yield "one seed", hundred, 10, 40, ONE_SEED


def raffle_case(label, given, winners, alternates, other):
    entries = naive_draws.canonical_entries(given)
    E = naive_draws.entries_hash_E(entries)
    numbers = {"n": str(len(entries)), "winners": str(winners), "alternates": str(alternates)}
    fields = {"kind": "raffle", "sampler": "masked", "entries": E.hex()} | numbers | other
    rules, raffle, key = rules_lines(fields), "raffle-" + label[:3], made("raffle claim key", 32)
    seeds, r, K = secrets(label, rules)
    X, result, C, D = naive_draws.raffled("acme", raffle, given, rules, seeds, r, K)
    claim = naive_draws.raffle_claim(key, raffle)
    return {
        "label": label,
        "tenant": "acme",
        "raffle": raffle,
        "given": given,
        "rules": rules.decode("ascii"),
        "seeds": [seed.hex() for seed in seeds],
        "blinding": r.hex(),
        "salt_key": K.hex(),
        "claim_key": key.hex(),
        "entries": entries,
        "E": E.hex(),
        "X": X.hex(),
        "segment_bounds": bounds_by_seed(rules),
        "C": C.hex(),
        "result": as_text(result),
        "D": D.hex(),
        "winners": [entries[number] for number in result[:winners]],
        "alternates": [entries[number] for number in result[winners:]],
        "claim": claim.hex(),
        "claim_digest": naive_draws.raffle_claim_digest("acme", raffle, claim).hex(),
    }


def raffles():
    return {
        "raffles": [raffle_case(*case) for case in raffle_cases()],
        "refused_entries": [
            {"reason": reason, "given": given} for reason, given in refused_entries()
        ],
        "refused_raffles": [
            {
                "reason": reason,
                "tenant": "acme",
                "raffle": raffle,
                "rules": rules_lines(fields).decode("ascii"),
                "given": given,
                "field": field,
            }
            for reason, fields, given, raffle, field in refused_raffles()
        ],
    }
