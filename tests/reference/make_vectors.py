# ruff: noqa: N803, E741 - names are the document's letters
"""Make docs/vectors/*.json and the worked example of docs/protocol.md from the naive reference.

    python -m tests.reference.make_vectors            write them
    python -m tests.reference.make_vectors --check    compare, exit 1 if anything differs
    python -m tests.reference.make_vectors --search   find the rare cases again (half a minute)

Every input is the SHA-512 of a label, so that the files can be made again from
this text alone. Cases that a random seed hits too rarely carry a counter in
RARE, found by `--search`.
"""

import json
import sys
from pathlib import Path

from tests.reference import naive
from tests.reference.games_vectors import games
from tests.reference.make_draw_vectors import match_draws, raffles
from tests.reference.refusals import refused_inputs, refused_rules
from tests.reference.trace import ALL_BRANCHES, WatchedBits, trace

DOCS = Path(__file__).parents[2] / "docs"
VECTORS = DOCS / "vectors"
BEGIN = "<!-- made by tests/reference/make_vectors.py -->\n"
END = "<!-- end -->\n"

# Label of a case -> first counter whose seed takes the branches in the second place.
RARE = {
    "52 cards, second block": (101_242, {"masked:across-blocks", "masked:second-block"}),
    "seven bounds of 2^31 + 1, third block": (
        3_094,
        {"masked:third-block", "masked:rejected-5-in-a-row"},
    ),
    "word-32, bounds of 2^31 + 1, rejections in a row": (8, {"word32:rejected-5-in-a-row"}),
}


def made(label, length=64):
    """Return `length` (at most 64) bytes that anyone can make again."""
    return naive.sha512(b"entropyd vector: " + label.encode("ascii"))[:length]


# --- draws.json --------------------------------------------------------------


def draw_cases():
    thirty_two = 2**32
    half = 2**31 + 1
    yield "bound 1 takes nothing", "list", "masked", [1], None
    yield "bounds 1 between others", "list", "masked", [1, 2, 1, 3, 1], None
    yield "bounds 1 to 33", "list", "masked", list(range(1, 34)), None
    yield "ten dice", "list", "masked", [6] * 10, None
    yield "249 coins fill a segment, the 250th begins another", "list", "masked", [2] * 250, None
    yield "a segment ends short of 249", "list", "masked", [5] * 84, None
    yield "wide bounds", "list", "masked", [thirty_two, thirty_two + 1, 2**52, 2**53 - 1], None
    yield "seven bounds of 2^31 + 1, third block", "list", "masked", [half] * 7, None
    yield "one item", "shuffle", "masked", 1, None
    yield "two items", "shuffle", "masked", 2, None
    yield "36 cards", "shuffle", "masked", 36, None
    yield "52 cards", "shuffle", "masked", 52, None
    yield "52 cards, second block", "shuffle", "masked", 52, None
    yield "54 cards, two segments", "shuffle", "masked", 54, None
    yield "six decks, ten segments", "shuffle", "masked", 312, None
    yield "5 of 52", "sample", "masked", 52, 5
    yield "52 of 52 ends at bound 1", "sample", "masked", 52, 52
    yield "40 of 100, two segments", "sample", "masked", 100, 40
    yield "1 of 1", "sample", "masked", 1, 1
    yield "word-32, bound 1 takes a word", "list", "word32", [1, 1, 6], None
    yield "word-32, small bounds", "list", "word32", list(range(1, 38)), None
    yield "word-32, powers of two", "list", "word32", [2, 2**31, thirty_two, thirty_two], None
    yield "word-32, bounds of 2^31 + 1, rejections in a row", "list", "word32", [half] * 8, None
    yield "word-32, one item takes nothing", "shuffle", "word32", 1, None
    yield "word-32, 52 cards", "shuffle", "word32", 52, None
    yield "word-32, 54 cards, two segments", "shuffle", "word32", 54, None
    yield "word-32, 6 of 49", "sample", "word32", 49, 6
    yield "word-32, 52 of 52 ends at bound 1", "sample", "word32", 52, 52


def draw_inputs(label, bounds, counter):
    X = naive.draw_X("vectors", "draws", str(counter), f"label={label}\n".encode("ascii"))
    count = len(naive.segments_of(bounds))
    return X, [made(f"{label}, counter {counter}, seed {s}") for s in range(count)]


def draw_bounds(kind, size, m):
    if kind == "list":
        return size
    return naive.shuffle_bounds(size) if kind == "shuffle" else naive.sample_bounds(size, m)


def draw_case(label, kind, sampler, size, m):
    bounds = draw_bounds(kind, size, m)
    X, seeds = draw_inputs(label, bounds, RARE.get(label, (0, None))[0])
    seen = trace(bounds, seeds, X, sampler)
    case = {"label": label, "kind": kind, "sampler": sampler}
    case |= {"bounds": bounds} if kind == "list" else {"n": size}
    case |= {"m": m} if kind == "sample" else {}
    case |= {
        "X": X.hex(),
        "seeds": [seed.hex() for seed in seeds],
        "segment_bounds": seen.segment_bounds,
        "bits": seen.bits,
        "draws": seen.values,
    }
    if kind == "shuffle":
        case["result"] = naive.shuffle(size, seeds, X, sampler)
    if kind == "sample":
        case["result"] = naive.sample(size, m, seeds, X, sampler)
    case["covers"] = sorted(seen.branches)
    return case


class GivenBits:
    """Gives prepared values in the place of a keystream's bits."""

    def __init__(self, values):
        self.values = list(values)

    def take(self, number_of_bits):
        return format(self.values.pop(0), f"0{number_of_bits}b")


def tries_cases():
    """Yield label, sampler, bound, values of the tries."""
    for rejected in (0, 1, 126, 127):
        yield f"masked, accepted as try {rejected + 1}", "masked", 3, [3] * rejected + [2]
        words = [2**32 - 1] * rejected + [2**32 - 2]
        yield f"word-32, accepted as try {rejected + 1}", "word32", 3, words
    yield "masked, the 128th try is rejected", "masked", 3, [3] * 128
    yield "masked, the smallest value rejected", "masked", 33, [33, 32]
    yield "word-32, the 128th try is rejected", "word32", 3, [2**32 - 1] * 128
    half = 2**31 + 1
    yield "word-32, the smallest word rejected", "word32", half, [half, half - 1]


def tries_case(label, sampler, bound, values):
    bits = GivenBits(values)
    try:
        result = {"masked": naive.masked, "word32": naive.word32}[sampler](bits, bound)
    except naive.TooManyRejectionsError:
        result = None
    if bits.values:
        raise ValueError(f"{label}: {len(bits.values)} values are left")
    names = ("label", "sampler", "bound", "values", "result")
    return dict(zip(names, (label, sampler, bound, values, result), strict=True))


def draws():
    return {
        "cases": [draw_case(*case) for case in draw_cases()],
        "tries": [tries_case(*case) for case in tries_cases()],
    }


# --- hands.json --------------------------------------------------------------


def rules(deck="standard52", decks=1, removed=(), **other):
    fields = {
        "contributions": "none",
        "deck": deck,
        "decks": str(decks),
        "proofs": "deck",
        "reveal": "never",
        "sampler": "masked",
    } | other
    if removed:
        fields["removed"] = ",".join(str(card) for card in removed)
    return naive.rules_lines({name: value for name, value in fields.items() if value})


def hand_cases():
    """Yield label, table, hand, sequence, rules, seats, contributions."""
    plain: tuple[dict[str, bytes], list[tuple[str, bytes]]] = ({}, [])
    yield "one deck", "table-7", "1", 1, rules(), *plain
    yield "jokers, two segments", "table-7", "2", 2, rules("standard54"), *plain
    yield "short deck", "short", "hand-0001", 1, rules("short36"), *plain
    yield "three dead cards", "table-7", "3", 3, rules(removed=[0, 21, 51]), *plain
    yield "two cards are left", "t", "h", 1, rules(removed=range(2, 52)), *plain
    yield "six decks", "shoe", "6", 2**32 + 1, rules(decks=6), *plain
    yield "eight decks, one joker", "shoe", "8", 2**53 - 1, rules("standard54", 8, [52]), *plain
    two_short = rules("short36", 2, [4, 17, 30, 43])
    yield "two short decks without sixes", "shoe", "2", 9, two_short, *plain
    longest = ["".join(chr(c) for c in range(0x21, 0x7F)) + "~" * 34, "!" * 128]
    yield "longest ids, every character", *longest, 1, rules(), *plain
    by_card = rules(proofs="", reveal="after_close")
    yield "card by card, nobody contributes", "table-7", "4", 4, by_card, *plain
    seats = {"seat-1": b"", "seat-10": made("a public key", 32), "seat-2": b""}
    values = [(seat, made(f"value of {seat}", 32)) for seat in ("seat-2", "seat-10", "seat-1")]
    opened = rules("standard54", proofs="", contributions="open")
    yield "card by card, three contribute", "table-7", "5", 5, opened, seats, values
    sealed = rules("short36", proofs="", contributions="sealed", sampler="word32")
    yield "word-32, one of three contributes", "table-8", "6", 1, sealed, seats, values[:1]


def deck_of(text):
    fields, removed, n = naive.hand_rules(text)
    return fields["deck"], removed, n


def opened_cards(X, K, items, cut, cards):
    """Yield what proves the cards of the first two places and of the last."""
    leaves = naive.card_leaves(X, K, items)
    for place in (0, 1, len(items) - 1):
        index = cut[place]
        yield {
            "place": place,
            "leaf_index": index,
            "item": items[index],
            "card": naive.card_text(cards[place]),
            "salt": naive.salt(X, K, index).hex(),
            "path": [node.hex() for node in naive.merkle_path(index, leaves)],
        }


def hand_case(label, table, hand, sequence, text, seats, contributions):
    tenant = "acme"
    fields, removed, n = naive.hand_rules(text)
    deck = fields["deck"]
    X = naive.hand_X(tenant, table, hand, text)
    count = len(naive.segments_of(naive.shuffle_bounds(n)))
    seeds = [made(f"{label}, seed {s}") for s in range(count)]
    r, K = made(f"{label}, blinding", 32), made(f"{label}, salt key", 32)
    items = naive.shuffle(n, seeds, X, fields["sampler"])
    C = naive.commitment_C(X, seeds, r)
    root = naive.deck_root_whole if "proofs" in fields else naive.deck_root_by_cards
    D, A = root(X, K, items), naive.seats_root_A(seats)
    O = naive.open_hash_O(X, sequence, n, C, D, A)
    leaves = naive.contribution_leaves(text, O, seats, contributions)
    cut = naive.cut_permutation(O, n, leaves, fields["sampler"])
    cards = [naive.card_of(items[place], deck, removed) for place in cut]
    claim_key = made(f"{label}, claim key", 32)
    claim = naive.derive_claim(claim_key, table, hand, 0)
    return {
        "label": label,
        "tenant": tenant,
        "table": table,
        "hand": hand,
        "sequence": sequence,
        "rules": text.decode("ascii"),
        "seeds": [seed.hex() for seed in seeds],
        "blinding": r.hex(),
        "salt_key": K.hex(),
        "claim_key": claim_key.hex(),
        "seats": {seat: key.hex() for seat, key in seats.items()},
        "contributions": [{"seat": seat, "value": value.hex()} for seat, value in contributions],
        "n": n,
        "rules_hash": naive.rules_hash(text).hex(),
        "X": X.hex(),
        "C": C.hex(),
        "items": items,
        "D": D.hex(),
        "A": A.hex(),
        "O": O.hex(),
        "R": naive.contributions_root_R(leaves).hex(),
        "cut": cut,
        "dealt_cards": bytes(cards).hex(),
        "dealt_text": " ".join(naive.card_text(card) for card in cards),
        "claim": claim.hex(),
        "claim_digest": naive.claim_digest(X, claim).hex(),
        "opened": [] if "proofs" in fields else list(opened_cards(X, K, items, cut, cards)),
    }


def hands():
    return {"cases": [hand_case(*case) for case in hand_cases()]}


# --- seeds.json --------------------------------------------------------------


def classes(label, user=True, cover=True, devices=("quantis-1",)):
    """Return (hardware, cover, user, os) with lengths as a Quantis at 6 bits a byte has them."""
    players = {
        "alice": naive.user_events([(17, 940, 1_000), (18, 938, 1_016)]),
        "Bob": made(f"{label}, blob", 20),
    }
    return (
        {device: made(f"{label}, {device}", 54) for device in devices},
        {devices[0]: made(f"{label}, cover", 42)} if cover else {},
        players if user else {},
        {"getrandom": made(f"{label}, getrandom", 64)},
    )


def as_json(four):
    names = ("hardware", "cover", "user", "os")
    return {
        name: {source: samples.hex() for source, samples in sources.items()}
        for name, sources in zip(names, four, strict=True)
    }


def seed_step(drbg, label, X, segments):
    seeds, r, K = naive.seed_draw(drbg, X, segments)
    return {
        "do": "draw",
        "X": X.hex(),
        "segments": [as_json(four) for four in segments],
        "seeds": [seed.hex() for seed in seeds],
        "blinding": r.hex(),
        "salt_key": K.hex(),
    }


def batch_step(drbg, shared, hands):
    made_of = naive.seed_batch(drbg, shared, hands)
    return {
        "do": "batch",
        "shared": as_json(shared),
        "hands": [
            {
                "X": X.hex(),
                "hardware": {source: samples.hex() for source, samples in hardware.items()},
                "cover": {source: samples.hex() for source, samples in cover.items()},
                "seed": S.hex(),
                "blinding": r.hex(),
                "salt_key": K.hex(),
            }
            for (X, hardware, cover), (S, r, K) in zip(hands, made_of, strict=True)
        ],
    }


def batch_hand(j):
    """Return X, hardware, cover of hand j of a long batch, as docs/protocol.md makes them."""
    samples = naive.sha512(naive.u32(j)) + naive.sha256(naive.u32(j))
    return naive.LP(b"hand ") + naive.u32(j), {"q": samples[:54]}, {"q": samples[54:]}


def long_batch_step(drbg, shared, size):
    made_of = naive.seed_batch(drbg, shared, [batch_hand(j) for j in range(size)])
    digest = naive.sha512(b"".join(S + r + K for S, r, K in made_of))
    return {"do": "batch", "shared": as_json(shared), "made": size, "digest": digest.hex()}


def batch_steps(drbg):
    """Yield batches of one hand, of three, and around the 512 hands of one request."""
    X = [naive.hand_X("acme", "table-8", str(hand), rules()) for hand in range(4)]

    def hand(number, cover, devices):
        hardware, covered, _, _ = classes(f"batch {number}", cover=cover, devices=devices)
        return X[number], hardware, covered

    yield batch_step(drbg, classes("batch of one"), [hand(0, cover=True, devices=("quantis-1",))])
    three = [
        hand(1, cover=False, devices=("quantis-1",)),
        hand(2, cover=True, devices=("b", "a", "B")),
        hand(3, cover=True, devices=("quantis-1",)),
    ]
    yield batch_step(drbg, classes("batch of three", user=False, cover=False), three)
    for size in (511, 512, 513, 1000, 1024, 1025):
        yield long_batch_step(drbg, classes(f"batch of {size}"), size)


def seed_run():
    origin, nonce = "entropyd.example/vectors", made("nonce", 32)
    start = classes("instantiate", cover=False, user=False, devices=("quantis-2", "quantis-1"))
    hardware, cover, user, os = start
    drbg = naive.instantiate(origin, hardware, cover, user, os, nonce)
    X = [naive.hand_X("acme", "table-7", str(hand), rules()) for hand in (1, 2, 3)]
    steps = [seed_step(drbg, "first", X[0], [classes("first", user=False)])]
    old = {"quantis-1": made("old samples"), "quantis-2": made("older samples", 7)}
    stirred_user = {
        "acme alice": naive.user_events([(3, 4, 5)]),
        "acme-2 alice": made("old blob", 9),
        "acme Bob": made("older blob", 9),
    }
    for hardware, user in ((old, {}), ({}, stirred_user)):
        naive.stir(drbg, hardware, user)
        steps.append({"do": "stir"} | as_json((hardware, {}, user, {})))
    three = [classes("a"), classes("b", cover=False), classes("c", devices=("b", "a", "B"))]
    steps.append(seed_step(drbg, "second", X[1], three))
    steps += batch_steps(drbg)
    steps.append(seed_step(drbg, "third", X[2], [classes("third")]))
    return {
        "origin": origin,
        "nonce": nonce.hex(),
        "instantiate": as_json(start),
        "steps": steps,
    }


def seeds():
    return {"runs": [seed_run()]}


# --- rules.json --------------------------------------------------------------


def accepted_rules():
    """Yield the rules of every hand above, and those at the ends of what may stand together."""
    yield from (case[4] for case in hand_cases())
    yield rules(reveal="after_close", sampler="word32")
    yield rules(proofs="", contributions="sealed", reveal="after_close", sampler="word32")
    yield rules("short36", 8)
    yield rules(proofs="", plan="seat-1,seat-2,burn,board", replaces="ab" * 32)
    yield rules(proofs="", plan=",".join(["b"] * 52))
    yield rules("standard54", 2, (52,), proofs="", cards="2", parent="cd" * 32, plan="a,b")
    yield rules(proofs="", cards="432", parent="cd" * 32, contributions="sealed")


def rules_vectors():
    accepted = {text.decode("ascii") for text in accepted_rules()}
    return {
        "accepted": [
            {
                "rules": text,
                "rules_hash": naive.rules_hash(text.encode("ascii")).hex(),
                "n": deck_of(text.encode("ascii"))[2],
            }
            for text in sorted(accepted)
        ],
        "refused": [
            {"reason": reason, "rules_hex": text.encode("latin-1").hex(), "field": field}
            for text, reason, field in refused_rules()
        ],
    }


# --- encodings.json ----------------------------------------------------------


def binding_cases():
    """Yield label, match, draw, rules: any rules, for only hands have their own names."""
    yield "dice", "match-1", "1", "dice=10\nsampler=masked\nsides=6\n"
    yield "rules of a hand", "match-1", "2", rules().decode("ascii")
    yield "longest ids", "!" * 128, "~" * 128, "r=1\n"
    yield "shortest rules", "m", "d", "_= \n"
    yield "longest name and value", "m", "d", "z" * 32 + "=" + "x" * 1024 + "\n"
    every = "".join(chr(byte) for byte in range(0x20, 0x7F))
    yield "every byte of a value, = among them", "m", "d", f"value={every}\n"
    yield "every byte of a name", "m", "d", "0123456789=1\n_=2\nabcdefghijklmnopqrstuvwxyz=3\n"


def binding_case(label, match, draw, text):
    encoded = text.encode("ascii")
    return {
        "label": label,
        "tenant": "acme",
        "match": match,
        "draw": draw,
        "rules": text,
        "rules_hash": naive.rules_hash(encoded).hex(),
        "X": naive.draw_X("acme", match, draw, encoded).hex(),
    }


def events_cases():
    yield "all zero", [(0, 0, 0)]
    yield "each number in its place", [(1, 2, 3)]
    yield "three events in order", [(640, 360, 125_000), (641, 359, 133_333), (641, 359, 141_666)]
    yield "largest numbers", [(2**32 - 1, 0, 0), (0, 2**32 - 1, 0), (0, 0, 2**64 - 1)]
    yield "a time above 2^53", [(0, 0, 2**53 + 1)]


def events_case(label, events):
    return {
        "label": label,
        "events": [[x, y, str(t)] for x, y, t in events],
        "samples": naive.user_events(events).hex(),
    }


def claim_cases():
    """Yield label, length of the claim key, table, hand, place."""
    yield "shortest key", 32, "table-7", "42", 0
    yield "a key of one byte more", 33, "table-7", "42", 0
    yield "a key longer than a block of SHA-256", 65, "table-7", "42", 0
    yield "another place", 32, "table-7", "42", 5
    yield "the last place", 32, "table-7", "42", 2**32 - 1
    yield "longest ids", 32, "!" * 128, "~" * 128, 0


def claim_case(label, length, table, hand, place):
    claim_key = (made(f"{label}, claim key") + made(f"{label}, more of it"))[:length]
    X = naive.hand_X("acme", table, hand, rules())
    claim = naive.derive_claim(claim_key, table, hand, place)
    return {
        "label": label,
        "claim_key": claim_key.hex(),
        "table": table,
        "hand": hand,
        "place": place,
        "X": X.hex(),
        "claim": claim.hex(),
        "claim_digest": naive.claim_digest(X, claim).hex(),
    }


def encodings():
    return {
        "draws": [binding_case(*case) for case in binding_cases()],
        "events": [events_case(*case) for case in events_cases()],
        "claims": [claim_case(*case) for case in claim_cases()],
    }


# --- The worked example ------------------------------------------------------


def worked_example():
    """Return the names and values of docs/protocol.md, "Worked example", in order."""
    tenant, table, hand, q = "acme", "table-7", "42", 17
    text = rules("short36", removed=[4, 17, 30, 43])
    origin, nonce = "entropyd.example/log", made("worked example, nonce", 32)
    start = {"quantis-1": made("worked example, instantiate", 24)}
    start_os = {"getrandom": made("worked example, instantiate os", 64)}
    hardware = {"quantis-1": made("worked example, hardware", 16)}
    cover = {"quantis-1": made("worked example, cover", 8)}
    user = {"alice": naive.user_events([(640, 360, 125_000)])}
    os = {"getrandom": made("worked example, os", 64)}
    X = naive.hand_X(tenant, table, hand, text)
    drbg = naive.instantiate(origin, start, {}, {}, start_os, nonce)
    yield "tenant", tenant
    yield "table", table
    yield "hand", hand
    yield "q", q
    yield "rules", json.dumps(text.decode("ascii"))
    yield "rules_hash", naive.rules_hash(text)
    yield "X", X
    yield "origin", origin
    yield "instantiate.hardware.quantis-1", start["quantis-1"]
    yield "instantiate.os.getrandom", start_os["getrandom"]
    yield "instantiate.nonce", nonce
    yield "instantiate.e_hardware", naive.e_class("hardware", start)
    yield "instantiate.e_cover", naive.e_class("cover", {})
    yield "instantiate.e_user", naive.e_class("user", {})
    yield "instantiate.e_os", naive.e_class("os", start_os)
    yield "instantiate.Key", drbg.key
    yield "instantiate.V", drbg.v
    yield "hardware.quantis-1", hardware["quantis-1"]
    yield "cover.quantis-1", cover["quantis-1"]
    yield "user.alice.event", "640 360 125000"
    yield "user.alice", user["alice"]
    yield "os.getrandom", os["getrandom"]
    yield "e_hardware", naive.e_class("hardware", hardware)
    yield "e_cover", naive.e_class("cover", cover)
    yield "e_user", naive.e_class("user", user)
    yield "e_os", naive.e_class("os", os)
    yield "additional_input", naive.LP(b"entropyd/seed/v1") + naive.LP(X) + naive.u32(0)
    [S_0], r, K = naive.seed_draw(drbg, X, [(hardware, cover, user, os)])
    yield "S_0", S_0
    yield "r", r
    yield "K", K
    yield from worked_draws(text, X, S_0)
    yield from worked_commitments(text, q, X, S_0, r, K)
    claim_key = made("worked example, claim key", 32)
    claim = naive.derive_claim(claim_key, table, hand, 0)
    yield "claim_key", claim_key
    yield "claim", claim
    yield "claim_digest", naive.claim_digest(X, claim)


def worked_draws(text, X, S_0):
    deck, removed, n = deck_of(text)
    message = naive.LP(b"entropyd/stream/v1") + naive.LP(X) + naive.u32(0) + naive.u64(0)
    bits, tries = WatchedBits(S_0, X, 0), []
    for k in naive.shuffle_bounds(n):
        bits.takes.clear()
        naive.masked(bits, k)
        tries.append(f"{k}:" + "/".join(str(v) for _, v, _ in bits.takes))
    a = naive.shuffle(n, [S_0], X, "masked")
    cards = [naive.card_of(item, deck, removed) for item in a]
    yield "n", n
    yield "block_0", naive.hmac_sha512(S_0, message)
    yield "tries", spaced(tries)
    yield "draws", spaced(naive.draw_list(naive.shuffle_bounds(n), [S_0], X, "masked"))
    yield "a", spaced(a)
    yield "card_ids", spaced(cards)
    yield "text", spaced(naive.card_text(card) for card in cards)


def worked_commitments(text, q, X, S_0, r, K):
    n = deck_of(text)[2]
    a = naive.shuffle(n, [S_0], X, "masked")
    C, A = naive.commitment_C(X, [S_0], r), naive.seats_root_A({})
    D = naive.deck_root_whole(X, K, a)
    yield "C", C
    yield "D", D
    yield "A", A
    yield "O", naive.open_hash_O(X, q, n, C, D, A)
    leaves = naive.card_leaves(X, K, a)
    yield "salt_0", naive.salt(X, K, 0)
    yield "salt_1", naive.salt(X, K, 1)
    yield "leaf_1", leaves[1]
    yield "leaf_hash_1", naive.leaf_hash(leaves[1])
    yield "D_card_by_card", naive.merkle_root(leaves)


def spaced(values):
    return " ".join(str(value) for value in values)


def worked_text():
    lines = [
        f"{name} = {value.hex() if isinstance(value, bytes) else value}\n"
        for name, value in worked_example()
    ]
    return BEGIN + "\n```text\n" + "".join(lines) + "```\n\n" + END


# --- Files -------------------------------------------------------------------


def as_text(document):
    """Return JSON with one line a field, so that a difference can be read."""
    parts = []
    for name, cases in document.items():
        objects = [
            "  {\n"
            + ",\n".join(f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in case.items())
            + "\n  }"
            for case in cases
        ]
        parts.append(f" {json.dumps(name)}: [\n" + ",\n".join(objects) + "\n ]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def files():
    """Return path -> text of everything that is made here."""
    document = DOCS / "protocol.md"
    before, rest = document.read_text("utf-8").split(BEGIN)
    after = rest.split(END)[1]
    return {
        VECTORS / "draws.json": as_text(draws()),
        VECTORS / "hands.json": as_text(hands()),
        VECTORS / "seeds.json": as_text(seeds()),
        VECTORS / "rules.json": as_text(rules_vectors()),
        VECTORS / "encodings.json": as_text(encodings()),
        VECTORS / "games.json": as_text(games()),
        VECTORS / "match_draws.json": as_text(match_draws()),
        VECTORS / "raffles.json": as_text(raffles()),
        VECTORS / "refusals.json": as_text({"refused": list(refused_inputs())}),
        document: before + worked_text() + after,
    }


def search():
    """Print, for each rare case, the first counter that takes its branches."""
    for label, kind, sampler, size, m in draw_cases():
        if label not in RARE:
            continue
        wanted, counter = RARE[label][1], 0
        bounds = draw_bounds(kind, size, m)
        while True:
            X, seeds = draw_inputs(label, bounds, counter)
            if wanted <= trace(bounds, seeds, X, sampler).branches:
                break
            counter += 1
        print(label, counter)


def main(arguments):
    if arguments == ["--search"]:
        search()
        return 0
    different = [
        path
        for path, text in files().items()
        if not path.exists() or path.read_text("utf-8") != text
    ]
    for path in different:
        print(path.name, "differs" if arguments == ["--check"] else "written")
        if arguments != ["--check"]:
            path.write_text(files()[path], "utf-8")
    covered = {branch for case in draws()["cases"] for branch in case["covers"]}
    print("branches not covered:", sorted(ALL_BRANCHES - covered) or "none")
    return 1 if arguments == ["--check"] and (different or covered != ALL_BRANCHES) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
