# ruff: noqa: N803, RUF001 - names are the document's letters, tiles are Cyrillic ones
"""Draws that are not hands, and raffles: sections 16 and 17, as plainly as they can be written.

Beside `naive`, whose keystream, samplers and hashes these sections build on,
and like it sharing nothing with entropyd. A sample is taken from a whole list
of its items, or, of more than 100,000, by following every item back through
the swaps.
"""

import hashlib
import hmac
import unicodedata

from tests.reference.naive import (
    LP,
    Bits,
    Refused,
    commitment_C,
    draw_list,
    draw_X,
    id_bytes,
    masked,
    rules_fields,
    sample,
    sample_bounds,
    segments_of,
    sha256,
    shuffle,
    shuffle_bounds,
    u32,
    u64,
    word32,
)

# --- Rules (16.1) --------------------------------------------------------------

KINDS = {
    "integers": ["bound", "count", "low"],
    "dice": ["dice"],
    "items": ["n"],
    "sample": ["n", "m"],
    "bag": ["bag", "counts", "m", "tiles"],
    "raffle": ["entries", "n", "winners", "alternates"],
    "server_seed": ["profile"],
}
DIGITS = "0123456789"


def number(text, field, least, most):
    """Return the decimal number, which is within both ends."""
    if text == "" or any(character not in DIGITS for character in text):
        raise Refused(field)
    # Longer than any limit here: Python refuses to read very long numbers.
    if len(text) > 30 or str(int(text)) != text:
        raise Refused(field)
    if int(text) < least or int(text) > most:
        raise Refused(field)
    return int(text)


def hash_text(text, field):
    if len(text) != 64 or any(character not in DIGITS + "abcdef" for character in text):
        raise Refused(field)


def draw_rules(rules):
    """Return (fields, values): the lines as text, and what they mean by name."""
    fields = rules_fields(rules)
    kind = fields.get("kind")
    if kind not in KINDS:
        raise Refused("kind")
    optional = ["seeds"] + (["labels"] if kind in ("items", "sample") else [])
    for name in fields:
        if name not in ["kind", "sampler", *KINDS[kind], *optional]:
            raise Refused(name)
    for name in ["sampler", *KINDS[kind]]:
        if name not in fields:
            raise Refused(name)
    if fields["sampler"] not in ("masked", "word32"):
        raise Refused("sampler")
    values = {
        "integers": integers_values,
        "dice": dice_values,
        "items": items_values,
        "sample": sample_values,
        "bag": bag_values,
        "raffle": raffle_values,
        "server_seed": server_seed_values,
    }[kind](fields)
    if fields.get("seeds", "computational") != "computational":
        raise Refused("seeds")
    if "seeds" in fields and len(segments_of(bounds_of(fields, values))) == 1:
        raise Refused("seeds")
    return fields, values


def widest(fields):
    return 2**32 if fields["sampler"] == "word32" else 2**64


def integers_values(fields):
    bound = number(fields["bound"], "bound", 1, widest(fields))
    count = number(fields["count"], "count", 1, 10_000)
    low = number(fields["low"], "low", 0, 2**64 - 1)
    if low + bound > 2**64:
        raise Refused("low")
    return {"bound": bound, "count": count, "low": low}


def dice_values(fields):
    groups = fields["dice"].split(",")
    if len(groups) > 32:
        raise Refused("dice")
    dice = []
    for group in groups:
        count, d, faces = group.partition("d")
        if d == "":
            raise Refused("dice")
        each = number(faces, "dice", 1, 2**32)
        dice.extend([each] * number(count, "dice", 1, 10_000))
    if len(dice) > 10_000:
        raise Refused("dice")
    return {"dice": dice}


def items_values(fields):
    if "labels" in fields:
        hash_text(fields["labels"], "labels")
    return {"n": number(fields["n"], "n", 1, 100_000)}


def sample_values(fields):
    n = number(fields["n"], "n", 1, 2**32)
    m = number(fields["m"], "m", 1, min(n, 100_000))
    if "labels" in fields:
        hash_text(fields["labels"], "labels")
        if n > 100_000:
            raise Refused("labels")
    return {"n": n, "m": m}


def bag_values(fields):
    bag = fields["bag"]
    if len(bag) > 64 or any(c not in "abcdefghijklmnopqrstuvwxyz0123456789_-" for c in bag):
        raise Refused("bag")
    counts = [number(text, "counts", 0, 1000) for text in fields["counts"].split(",")]
    if len(counts) > 256 or sum(counts) < 1 or sum(counts) > 10_000:
        raise Refused("counts")
    tiles = fields["tiles"]
    if tiles.startswith("custom-"):
        hash_text(tiles[7:], "tiles")
    elif tiles not in PRESETS:
        raise Refused("tiles")
    else:
        whole = [count for _, count in PRESETS[tiles]]
        if len(whole) != len(counts):
            raise Refused("counts")
        for k in range(len(whole)):
            if counts[k] > whole[k]:
                raise Refused("counts")
    m = number(fields["m"], "m", 1, sum(counts))
    return {"counts": counts, "m": m}


def raffle_values(fields):
    hash_text(fields["entries"], "entries")
    n = number(fields["n"], "n", 1, 100_000)
    winners = number(fields["winners"], "winners", 1, n)
    alternates = number(fields["alternates"], "alternates", 0, n - winners)
    return {"n": n, "winners": winners, "alternates": alternates}


def server_seed_values(fields):
    if fields["profile"] not in ("v1", "v2"):
        raise Refused("profile")
    if fields["sampler"] != "masked":
        raise Refused("sampler")
    return {}


# --- Bounds and results (16.2) -------------------------------------------------


def bounds_of(fields, values):
    kind = fields["kind"]
    if kind == "integers":
        return [values["bound"]] * values["count"]
    if kind == "dice":
        return values["dice"]
    if kind == "items":
        return shuffle_bounds(values["n"])
    if kind == "server_seed":
        return []
    return sample_bounds(*sample_size(fields, values))


def sample_size(fields, values):
    """Return (n, m) of the sample that a draw of these kinds takes."""
    if fields["kind"] == "sample":
        return values["n"], values["m"]
    if fields["kind"] == "bag":
        return sum(values["counts"]), values["m"]
    return values["n"], values["winners"] + values["alternates"]


def seeds_needed(rules):
    fields, values = draw_rules(rules)
    if "seeds" in fields:
        return 1
    return len(segments_of(bounds_of(fields, values)))


def one_seed_list(bounds, seed, X, sampler):
    """Draw the whole list from segment 0."""
    bits = Bits(seed, X, 0)
    return [{"masked": masked, "word32": word32}[sampler](bits, k) for k in bounds]


def one_or_all(fields, bounds, seeds, X):
    if "seeds" in fields:
        return one_seed_list(bounds, seeds[0], X, fields["sampler"])
    return draw_list(bounds, seeds, X, fields["sampler"])


def followed(n, m, values):
    """Return the sample of section 10: what ends in each place, followed back through the swaps."""
    swaps = [(n - 1 - step, values[step]) for step in range(m)]
    chosen = []
    for step in range(m):
        place = n - 1 - step
        for i, j in reversed(swaps):
            if place == i:
                place = j
            elif place == j:
                place = i
        chosen.append(place)
    return chosen


def swapped(n, last, values):
    """Do the steps of section 10 from i = n - 1 down to `last` with values drawn before."""
    a = list(range(n))
    for i in range(n - 1, last - 1, -1):
        j = values.pop(0)
        a[i], a[j] = a[j], a[i]
    return a


def result_of(rules, seeds, X):
    """Return the numbers of the result; of a server seed its 32 bytes."""
    fields, values = draw_rules(rules)
    kind, sampler = fields["kind"], fields["sampler"]
    bounds = bounds_of(fields, values)
    if len(seeds) != seeds_needed(rules):
        raise Refused("seeds")
    if kind == "server_seed":
        return int(Bits(seeds[0], X, 0).take(256), 2).to_bytes(32, "big")
    if kind in ("integers", "dice"):
        first = 1 if kind == "dice" else values["low"]
        return [first + v for v in one_or_all(fields, bounds, seeds, X)]
    if kind == "items":
        if "seeds" in fields:
            return swapped(values["n"], 1, one_seed_list(bounds, seeds[0], X, sampler))
        return shuffle(values["n"], seeds, X, sampler)
    n, m = sample_size(fields, values)
    if n > 100_000:
        chosen = followed(n, m, one_or_all(fields, bounds, seeds, X))
    elif "seeds" in fields:
        a = swapped(n, n - m, one_seed_list(bounds, seeds[0], X, sampler))
        chosen = [a[i] for i in range(n - 1, n - m - 1, -1)]
    else:
        chosen = sample(n, m, seeds, X, sampler)
    return [kind_of(item, values["counts"]) for item in chosen] if kind == "bag" else chosen


def kind_of(item, counts):
    """Return the kind of a tile: first come the tiles of kind 0, then those of kind 1."""
    kind = 0
    while item >= counts[kind]:
        item = item - counts[kind]
        kind = kind + 1
    return kind


def result_bytes(kind, result):
    if kind == "server_seed":
        return result
    width = u64 if kind in ("integers", "dice") else u32
    return b"".join(width(n) for n in result)


def result_root_D(X, K, kind, result):
    return sha256(LP(b"entropyd/result/v1") + LP(X) + LP(K) + LP(result_bytes(kind, result)))


def drawn(tenant, match, draw, rules, seeds, r, K):
    """Return (X, result, C, D)."""
    fields, _ = draw_rules(rules)
    X = draw_X(tenant, match, draw, rules)
    result = result_of(rules, seeds, X)
    return X, result, commitment_C(X, seeds, r), result_root_D(X, K, fields["kind"], result)


# --- Labels (16.3) -------------------------------------------------------------


def labels_hash(labels, n):
    if len(labels) != n:
        raise Refused("labels")
    message = LP(b"entropyd/labels/v1") + u32(n)
    total = 0
    for label in labels:
        for character in label:
            if ord(character) < 0x20 or 0x7F <= ord(character) <= 0x9F:
                raise Refused("labels")
        encoded = utf8(label, "labels")
        if len(encoded) < 1 or len(encoded) > 256:
            raise Refused("labels")
        total = total + len(encoded)
        message = message + LP(encoded)
    if total > 1_048_576:
        raise Refused("labels")
    return sha256(message)


def utf8(text, field):
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise Refused(field)
    return text.encode("utf-8")


# --- Presets (16.4) ------------------------------------------------------------


def preset(text):
    """Return [(label, count), ...] of a table like "A 9, B 2"."""
    return [(part.split(" ")[0], int(part.split(" ")[1])) for part in text.split(", ")]


PRESETS = {
    "english": preset(
        "A 9, B 2, C 2, D 4, E 12, F 2, G 3, H 2, I 9, J 1, K 1, L 4, M 2, N 6, O 8, P 2, Q 1, R 6,"
        " S 4, T 6, U 4, V 2, W 2, X 1, Y 2, Z 1, blank 2"
    ),
    "polish": preset(
        "A 9, Ą 1, B 2, C 3, Ć 1, D 3, E 7, Ę 1, F 1, G 2, H 2, I 8, J 2, K 3, L 3, Ł 2, M 3, N 5,"
        " Ń 1, O 6, Ó 1, P 3, R 4, S 4, Ś 1, T 3, U 2, W 4, Y 4, Z 5, Ź 1, Ż 1, blank 2"
    ),
    "ukrainian": preset(
        "А 8, Б 2, В 4, Г 2, Ґ 1, Д 3, Е 5, Є 1, Ж 1, З 2, И 7, І 5, Ї 1, Й 1, К 4, Л 3, М 4, Н 7,"
        " О 10, П 3, Р 5, С 4, Т 5, У 3, Ф 1, Х 1, Ц 1, Ч 1, Ш 1, Щ 1, Ь 1, Ю 1, Я 2, ʼ 1, blank 2"
    ),
    "dominoes": [(f"{a}-{b}", 1) for a in range(7) for b in range(a, 7)],
}


# --- Bags of a match (16.5) ----------------------------------------------------


def counts_after(first, left, returns):
    """Return what the bag holds once the tiles are back in it."""
    counts = list(left)
    for kind in returns:
        if kind not in range(len(counts)):
            raise Refused("returns")
        counts[kind] = counts[kind] + 1
    for k in range(len(counts)):
        if counts[k] > first[k]:
            raise Refused("returns")
    return counts


def left_after(counts, kinds):
    left = list(counts)
    for kind in kinds:
        left[kind] = left[kind] - 1
    return left


def check_bags(draws):
    """Refuse the draws of a match, a list of (rules, result), whose counts do not follow."""
    bags: dict[str, tuple[str, list[int], list[int]]] = {}
    for rules, result in draws:
        fields, values = draw_rules(rules)
        if fields["kind"] != "bag":
            continue
        counts = values["counts"]
        if fields["bag"] in bags:
            tiles, first, left = bags[fields["bag"]]
            if tiles != fields["tiles"]:
                raise Refused("tiles")
            if len(counts) != len(first):
                raise Refused("counts")
            for k in range(len(first)):
                if counts[k] < left[k] or counts[k] > first[k]:
                    raise Refused("counts")
        else:
            first = counts
        bags[fields["bag"]] = (fields["tiles"], first, left_after(counts, result))


# --- Claims (16.7, 17.2) -------------------------------------------------------


def owner_claim_digest(label, tenant, name, claim):
    if len(claim) != 16:
        raise Refused("claim")
    binding = LP(label) + LP(id_bytes("tenant", tenant)) + LP(name)
    return sha256(LP(b"entropyd/claim/v1") + LP(binding) + LP(claim))


def owner_claim(claim_key, label, name):
    if len(claim_key) < 32:
        raise Refused("claim_key")
    return hmac.new(claim_key, LP(label) + LP(name), hashlib.sha256).digest()[0:16]


def match_claim_digest(tenant, match, claim):
    return owner_claim_digest(b"entropyd/match/v1", tenant, id_bytes("match", match), claim)


def match_claim(claim_key, match):
    return owner_claim(claim_key, b"entropyd/match-claim/v1", id_bytes("match", match))


def raffle_claim_digest(tenant, raffle, claim):
    return owner_claim_digest(b"entropyd/raffle/v1", tenant, id_bytes("raffle", raffle), claim)


def raffle_claim(claim_key, raffle):
    return owner_claim(claim_key, b"entropyd/raffle-claim/v1", id_bytes("raffle", raffle))


# --- Raffles (17.1) ------------------------------------------------------------

WHITE_SPACE = [
    *range(0x09, 0x0E),
    *[0x20, 0x85, 0xA0, 0x1680],
    *range(0x2000, 0x200B),
    *[0x2028, 0x2029, 0x202F, 0x205F, 0x3000],
]


def canonical_entry(text):
    utf8(text, "entries")
    entry = unicodedata.normalize("NFC", text)
    while entry != "" and ord(entry[0]) in WHITE_SPACE:
        entry = entry[1:]
    while entry != "" and ord(entry[-1]) in WHITE_SPACE:
        entry = entry[:-1]
    for character in entry:
        if unicodedata.category(character) in ("Cc", "Cs", "Co", "Cn"):
            raise Refused("entries")
        if ord(character) in (0x2028, 0x2029):
            raise Refused("entries")
    if len(entry.encode("utf-8")) not in range(1, 257):
        raise Refused("entries")
    return entry


def canonical_entries(texts):
    """Return the entries of a raffle, in byte order."""
    entries = sorted(canonical_entry(text).encode("utf-8") for text in texts)
    if len(entries) < 1 or len(entries) > 100_000 or len(b"".join(entries)) > 1_048_576:
        raise Refused("entries")
    for i in range(1, len(entries)):
        if entries[i - 1] == entries[i]:
            raise Refused("entries")
    return [entry.decode("utf-8") for entry in entries]


def entries_hash_E(entries):
    message = LP(b"entropyd/raffle-entries/v1") + u32(len(entries))
    return sha256(message + b"".join(LP(entry.encode("utf-8")) for entry in entries))


def raffled(tenant, raffle, texts, rules, seeds, r, K):
    """Return (X, numbers of the entries, C, D) of a raffle over a list of texts."""
    id_bytes("raffle", raffle)
    fields, values = draw_rules(rules)
    entries = canonical_entries(texts)
    if fields["kind"] != "raffle":
        raise Refused("kind")
    if len(entries) != values["n"]:
        raise Refused("n")
    if entries_hash_E(entries).hex() != fields["entries"]:
        raise Refused("entries")
    return drawn(tenant, raffle, "raffle", rules, seeds, r, K)
