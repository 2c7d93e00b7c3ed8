# ruff: noqa: N803, E741 - names are the document's letters
"""The protocol once more, as slowly and as plainly as it can be written.

Nothing here is shared with entropyd: the standard library's SHA-2 and HMAC
are the only helpers. Bits are the characters "0" and "1" of one long string,
trees are recursions, and nothing is cached. Where this and the production
code agree, they agree because both follow docs/protocol.md.

It is also the reference that recomputes recorded runs of a daemon: see
`instantiate`, `seed_draw` and `stir`.

Not constant-time, not fast, not for dealing.
"""

import hashlib
import hmac


class Refused(Exception):  # noqa: N818 - it says what became of the input
    """The document has an input refused. `field` is that input, or the rule in `rules`."""

    def __init__(self, field):
        super().__init__(field)
        self.field = field


# --- Encoding ----------------------------------------------------------------


def LP(b):
    return len(b).to_bytes(4, "big") + b


def u32(number):
    return number.to_bytes(4, "big")


def u64(number):
    return number.to_bytes(8, "big")


def sha256(message):
    return hashlib.sha256(message).digest()


def sha512(message):
    return hashlib.sha512(message).digest()


def hmac_sha512(key, message):
    return hmac.new(key, message, hashlib.sha512).digest()


# --- Ids ---------------------------------------------------------------------


def id_bytes(field, text):
    if len(text) < 1 or len(text) > 128:
        raise Refused(field)
    for character in text:
        if ord(character) < 0x21 or ord(character) > 0x7E:
            raise Refused(field)
    return text.encode("ascii")


# --- HMAC_DRBG with SHA-512 (SP 800-90A, 10.1.2) -----------------------------


class Drbg:
    """The working state: Key and V. Every output is preceded by a reseed here."""

    def __init__(self, entropy_input, nonce, personalization_string):
        self.key = bytes(64)
        self.v = b"\x01" * 64
        self.update(entropy_input + nonce + personalization_string)

    def update(self, provided_data):
        self.key = hmac_sha512(self.key, self.v + b"\x00" + provided_data)
        self.v = hmac_sha512(self.key, self.v)
        if provided_data != b"":
            self.key = hmac_sha512(self.key, self.v + b"\x01" + provided_data)
            self.v = hmac_sha512(self.key, self.v)

    def reseed(self, entropy_input, additional_input):
        self.update(entropy_input + additional_input)

    def generate(self, number_of_bytes):
        output = b""
        while len(output) < number_of_bytes:
            self.v = hmac_sha512(self.key, self.v)
            output = output + self.v
        self.update(b"")
        return output[:number_of_bytes]


# --- The construction around it ----------------------------------------------
#
# "Sources" are a dictionary: source id (text) -> samples as delivered (bytes).


def source_bytes(source):
    return id_bytes("source", source)


def stirred_user_bytes(source):
    tenant, _, user = source.partition(" ")
    return source_bytes(tenant) + b" " + source_bytes(user)


def e_class(class_name, sources, id_of=source_bytes):
    message = LP(b"entropyd/condition/v1") + LP(class_name.encode("ascii"))
    for source_id, samples in sorted((id_of(source), sources[source]) for source in sources):
        if samples == b"":
            raise Refused("samples")
        message = message + LP(source_id) + LP(samples)
    return sha512(message)


def entropy_input(hardware, cover, user, os):
    return (
        e_class("hardware", hardware)
        + e_class("cover", cover)
        + e_class("user", user)
        + e_class("os", os)
    )


def instantiate(origin, hardware, cover, user, os, nonce):
    if "+" in origin:
        raise Refused("origin")
    return Drbg(
        entropy_input(hardware, cover, user, os),
        nonce,
        LP(b"entropyd/drbg/v1") + LP(id_bytes("origin", origin)),
    )


def seed_draw(drbg, X, segments):
    """Return ([S_0, S_1, ...], r, K).

    `segments` holds, for each segment, the four dictionaries of sources
    (hardware, cover, user, os) that its seed was gated on.
    """
    seeds = []
    r = K = None
    for s, (hardware, cover, user, os) in enumerate(segments):
        drbg.reseed(
            entropy_input(hardware, cover, user, os), LP(b"entropyd/seed/v1") + LP(X) + u32(s)
        )
        if s < len(segments) - 1:
            seeds.append(drbg.generate(64))
        else:
            output = drbg.generate(128)
            seeds.append(output[0:64])
            r = output[64:96]
            K = output[96:128]
    return seeds, r, K


def seed_batch(drbg, shared, hands):
    """Return [(S_j, r_j, K_j), ...].

    `shared` holds the four dictionaries of sources of the shared reseed,
    `hands` for each hand X and two dictionaries: hardware, cover.
    """
    hardware, cover, user, os = shared
    drbg.reseed(
        entropy_input(hardware, cover, user, os), LP(b"entropyd/batch/v1") + u32(len(hands))
    )
    output = b""
    left = len(hands)
    while left > 512:
        output = output + drbg.generate(128 * 512)
        left = left - 512
    output = output + drbg.generate(128 * left)
    made = []
    for j, (X, hardware, cover) in enumerate(hands):
        k = output[128 * j : 128 * j + 64]
        r = output[128 * j + 64 : 128 * j + 96]
        K = output[128 * j + 96 : 128 * j + 128]
        S = hmac_sha512(
            k,
            LP(b"entropyd/batch-seed/v1")
            + LP(X)
            + e_class("hardware", hardware)
            + e_class("cover", cover),
        )
        made.append((S, r, K))
    return made


def stir(drbg, hardware, user=None):
    """Mix samples that nothing will be dealt from into the state.

    `user` goes by "tenant user": the pools of all tenants are stirred together.
    """
    stirred = (
        e_class("hardware", hardware)
        + e_class("cover", {})
        + e_class("user", user or {}, stirred_user_bytes)
        + e_class("os", {})
    )
    drbg.reseed(stirred, LP(b"entropyd/stir/v1"))


# --- Segments ----------------------------------------------------------------


def b(k):
    """Return ceil(log2 k)."""
    bits = 0
    while 2**bits < k:
        bits = bits + 1
    return bits


def segments_of(bounds):
    segments: list[list[int]] = [[]]
    bits_in_segment = 0
    for k in bounds:
        if k < 1 or k > 2**249:
            raise Refused("bounds")
        if bits_in_segment + b(k) > 249:
            segments.append([])
            bits_in_segment = 0
        segments[-1].append(k)
        bits_in_segment = bits_in_segment + b(k)
    return segments


def shuffle_bounds(n):
    return [i + 1 for i in range(n - 1, 0, -1)]


def sample_bounds(n, m):
    """Steps i = n-1 down to n-m; the step i = 0 has nothing to choose from (bound 1)."""
    return [i + 1 for i in range(n - 1, n - m - 1, -1)]


# --- Keystream and draws -----------------------------------------------------


class TooManyRejectionsError(Exception):
    pass


class Bits:
    """A string of "0" and "1" that gets longer when it must."""

    def __init__(self, S_s, X, s):
        self.S_s, self.X, self.s = S_s, X, s
        self.block = 0
        self.string = ""
        self.taken = 0

    def take(self, number_of_bits):
        while len(self.string) < self.taken + number_of_bits:
            message = LP(b"entropyd/stream/v1") + LP(self.X) + u32(self.s) + u64(self.block)
            for byte in hmac_sha512(self.S_s, message):
                self.string = self.string + format(byte, "08b")
            self.block = self.block + 1
        bits = self.string[self.taken : self.taken + number_of_bits]
        self.taken = self.taken + number_of_bits
        return bits


def masked(bits, k):
    if k == 1:
        return 0
    for _ in range(128):
        v = int(bits.take(b(k)), 2)
        if v < k:
            return v
    raise TooManyRejectionsError


def word32(bits, n):
    if n > 2**32:
        raise Refused("bounds")
    for _ in range(128):
        w = int(bits.take(32), 2)
        if w < 2**32 - (2**32 % n):
            return w % n
    raise TooManyRejectionsError


def draw_list(bounds, seeds, X, sampler):
    values = []
    segments = segments_of(bounds)
    if len(segments) != len(seeds):
        raise ValueError("one seed for each segment")
    for s, segment in enumerate(segments):
        bits = Bits(seeds[s], X, s)
        for k in segment:
            values.append({"masked": masked, "word32": word32}[sampler](bits, k))
    return values


def shuffle(n, seeds, X, sampler):
    a = list(range(n))
    values = draw_list(shuffle_bounds(n), seeds, X, sampler)
    for i in range(n - 1, 0, -1):
        j = values.pop(0)
        a[i], a[j] = a[j], a[i]
    return a


def sample(n, m, seeds, X, sampler):
    a = list(range(n))
    values = draw_list(sample_bounds(n, m), seeds, X, sampler)
    for i in range(n - 1, n - m - 1, -1):
        j = values.pop(0)
        a[i], a[j] = a[j], a[i]
    return [a[i] for i in range(n - 1, n - m - 1, -1)]


# --- Cards -------------------------------------------------------------------


def deck_ids(name, removed):
    ids = {
        "standard52": list(range(52)),
        "standard54": list(range(54)),
        "short36": [card for card in range(52) if card % 13 >= 4],
    }[name]
    return [card for card in ids if card not in removed]


def card_of(item, name, removed):
    ids = deck_ids(name, removed)
    return ids[item % len(ids)]


def card_text(card):
    if card >= 52:
        return "X" + str(card - 51)
    return "23456789TJQKA"[card % 13] + "cdhs"[card // 13]


# --- Rules and X -------------------------------------------------------------


def rules_lines(fields):
    return "".join(f"{name}={fields[name]}\n" for name in sorted(fields)).encode("ascii")


def rules_hash(rules):
    return sha256(rules)


NAME_BYTES = b"abcdefghijklmnopqrstuvwxyz0123456789_"


def rules_fields(rules):
    """Return name -> value of the rules of any draw."""
    lines = rules.split(b"\n")
    if len(lines) < 2 or lines.pop() != b"":
        raise Refused("rules")
    names, fields = [], {}
    for line in lines:
        name, equals, value = line.partition(b"=")
        if equals == b"" or len(name) not in range(1, 33) or len(value) not in range(1, 1025):
            raise Refused("rules")
        if any(byte not in NAME_BYTES for byte in name):
            raise Refused("rules")
        if any(byte not in range(0x20, 0x7F) for byte in value):
            raise Refused("rules")
        names.append(name)
        fields[name.decode("ascii")] = value.decode("ascii")
    if names != sorted(set(names)):
        raise Refused("rules")
    return fields


HAND_RULES = {
    "contributions": ["none", "open", "sealed"],
    "deck": ["standard52", "standard54", "short36"],
    "decks": ["1", "2", "3", "4", "5", "6", "7", "8"],
    "reveal": ["never", "after_close"],
    "sampler": ["masked", "word32"],
}


OPTIONAL_HAND_RULES = ["cards", "parent", "plan", "proofs", "removed", "replaces"]


def hand_rules(rules):
    """Return (fields, ids of the removed cards, n)."""
    fields = rules_fields(rules)
    for name in fields:
        if name not in [*HAND_RULES, *OPTIONAL_HAND_RULES]:
            raise Refused(name)
    for name, values in HAND_RULES.items():
        if fields.get(name) not in values:
            raise Refused(name)
    if "proofs" in fields and (fields["proofs"], fields["contributions"]) != ("deck", "none"):
        raise Refused("proofs")
    removed = removed_ids(fields)
    m = len(deck_ids(fields["deck"], removed))
    if m < 2:
        raise Refused("removed")
    n = int(fields["decks"]) * m
    if "cards" in fields or "parent" in fields:
        n = discards(fields)
    if "replaces" in fields and not is_hash(fields["replaces"]):
        raise Refused("replaces")
    check_plan(fields, n)
    if "proofs" in fields and ("parent" in fields or "plan" in fields or "replaces" in fields):
        raise Refused("proofs")
    return fields, removed, n


def check_plan(fields, n):
    if "plan" in fields:
        plan = fields["plan"].split(",")
        if len(plan) > n or not all(1 <= len(to) <= 128 and " " not in to for to in plan):
            raise Refused("plan")


def discards(fields):
    """Return n of a hand that is dealt from another's discards."""
    for name in ["cards", "parent"]:
        if name not in fields:
            raise Refused(name)
    if not is_hash(fields["parent"]):
        raise Refused("parent")
    if fields["cards"] not in [str(n) for n in range(2, 433)]:
        raise Refused("cards")
    return int(fields["cards"])


def is_hash(text):
    return len(text) == 64 and all(digit in "0123456789abcdef" for digit in text)


def removed_ids(fields):
    if "removed" not in fields:
        return []
    whole = deck_ids(fields["deck"], [])
    removed = [card for card in whole if str(card) in fields["removed"].split(",")]
    if ",".join(str(card) for card in removed) != fields["removed"]:
        raise Refused("removed")
    return removed


def hand_X(tenant, table, hand, rules):
    return (
        LP(b"entropyd/hand/v1")
        + LP(id_bytes("tenant", tenant))
        + LP(id_bytes("table", table))
        + LP(id_bytes("hand", hand))
        + LP(rules_hash(rules))
    )


def draw_X(tenant, match, draw, rules):
    rules_fields(rules)
    return (
        LP(b"entropyd/draw/v1")
        + LP(id_bytes("tenant", tenant))
        + LP(id_bytes("match", match))
        + LP(id_bytes("draw", draw))
        + LP(rules_hash(rules))
    )


# --- RFC 6962 ----------------------------------------------------------------


def leaf_hash(leaf):
    return sha256(b"\x00" + leaf)


def merkle_root(leaves):
    if len(leaves) == 0:
        return sha256(b"")
    if len(leaves) == 1:
        return leaf_hash(leaves[0])
    k = 1
    while k * 2 < len(leaves):
        k = k * 2
    return sha256(b"\x01" + merkle_root(leaves[:k]) + merkle_root(leaves[k:]))


def merkle_path(m, leaves):
    """Return the inclusion proof of leaf m (RFC 6962, 2.1.1)."""
    if len(leaves) <= 1:
        return []
    k = 1
    while k * 2 < len(leaves):
        k = k * 2
    if m < k:
        return [*merkle_path(m, leaves[:k]), merkle_root(leaves[k:])]
    return [*merkle_path(m - k, leaves[k:]), merkle_root(leaves[:k])]


# --- Commitments -------------------------------------------------------------


def commitment_C(X, seeds, r):
    return sha256(LP(b"entropyd/commit/v1") + LP(X) + LP(b"".join(seeds)) + LP(r))


def salt(X, K, i):
    pair = hmac_sha512(K, LP(b"entropyd/salt/v1") + LP(X) + u32(i // 2))
    return pair[0:32] if i % 2 == 0 else pair[32:64]


def card_leaves(X, K, items):
    return [
        LP(b"entropyd/card/v1") + LP(X) + u32(i) + u32(item) + salt(X, K, i)
        for i, item in enumerate(items)
    ]


def deck_root_by_cards(X, K, items):
    return merkle_root(card_leaves(X, K, items))


def deck_root_whole(X, K, items):
    return sha256(
        LP(b"entropyd/deck/v1") + LP(X) + LP(K) + LP(b"".join(u32(item) for item in items))
    )


def seats_root_A(seats):
    """`seats` is a dictionary: seat -> Ed25519 public key, or empty bytes for none."""
    for key in seats.values():
        if len(key) not in (0, 32):
            raise Refused("seats")
    return merkle_root(
        [
            LP(b"entropyd/seat/v1") + LP(id_bytes("seats", seat)) + LP(seats[seat])
            for seat in sorted(seats)
        ]
    )


def open_hash_O(X, q, n, C, D, A):
    return sha256(LP(b"entropyd/open/v1") + LP(X) + u64(q) + u32(n) + LP(C) + LP(D) + LP(A))


# --- Contributions and cut ---------------------------------------------------


def contribution_leaf(O, seat, value):
    if len(value) != 32:
        raise Refused("value")
    return LP(b"entropyd/contribution/v1") + LP(O) + LP(id_bytes("seat", seat)) + LP(value)


def contribution_leaves(rules, O, seats, contributions):
    """`contributions` is a list of (seat, value), in any order."""
    if hand_rules(rules)[0]["contributions"] == "none" and seats != {}:
        raise Refused("seats")
    spoken: list[str] = []
    for seat, _ in contributions:
        id_bytes("seat", seat)
        if seat not in seats or seat in spoken:
            raise Refused("contributions")
        spoken.append(seat)
    return [contribution_leaf(O, seat, value) for seat, value in contributions]


def sort_contributions(leaves):
    return sorted(leaves, key=leaf_hash)


def contributions_root_R(leaves):
    return merkle_root(sort_contributions(leaves))


def cut_key(O, leaves):
    message = LP(b"entropyd/cut/v1") + LP(O) + u32(len(leaves)) + LP(contributions_root_R(leaves))
    for leaf in sort_contributions(leaves):
        message = message + LP(leaf)
    return sha512(message)


def cut_permutation(O, n, leaves, sampler):
    if leaves == []:
        return list(range(n))
    segments = len(segments_of(shuffle_bounds(n)))
    return shuffle(n, [cut_key(O, leaves)] * segments, O, sampler)


# --- Claims ------------------------------------------------------------------


def claim_digest(X, claim):
    if len(claim) != 16:
        raise Refused("claim")
    return sha256(LP(b"entropyd/claim/v1") + LP(X) + LP(claim))


def derive_claim(claim_key, table, hand, place):
    if len(claim_key) < 32:
        raise Refused("claim_key")
    if place not in range(2**32):
        raise Refused("place")
    message = (
        LP(b"entropyd/claim-key/v1")
        + LP(id_bytes("table", table))
        + LP(id_bytes("hand", hand))
        + u32(place)
    )
    return hmac.new(claim_key, message, hashlib.sha256).digest()[0:16]


# --- User events -------------------------------------------------------------


def user_events(events):
    """Return the samples of a list of (x, y, t)."""
    for x, y, t in events:
        if x not in range(2**32):
            raise Refused("x")
        if y not in range(2**32):
            raise Refused("y")
        if t not in range(2**64):
            raise Refused("t")
    return b"".join(u32(x) + u32(y) + u64(t) for x, y, t in events)
