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


def e_class(class_name, sources):
    message = LP(b"entropyd/condition/v1") + LP(class_name.encode("ascii"))
    for source_id in sorted(source.encode("ascii") for source in sources):
        message = message + LP(source_id) + LP(sources[source_id.decode("ascii")])
    return sha512(message)


def entropy_input(hardware, cover, user, os):
    return (
        e_class("hardware", hardware)
        + e_class("cover", cover)
        + e_class("user", user)
        + e_class("os", os)
    )


def instantiate(origin, hardware, cover, user, os, nonce):
    return Drbg(
        entropy_input(hardware, cover, user, os),
        nonce,
        LP(b"entropyd/drbg/v1") + LP(origin.encode("ascii")),
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


def stir(drbg, hardware, user=None):
    """Mix samples that nothing will be dealt from into the state."""
    drbg.reseed(entropy_input(hardware, {}, user or {}, {}), LP(b"entropyd/stir/v1"))


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


def hand_X(tenant, table, hand, rules):
    return (
        LP(b"entropyd/hand/v1")
        + LP(tenant.encode("ascii"))
        + LP(table.encode("ascii"))
        + LP(hand.encode("ascii"))
        + LP(rules_hash(rules))
    )


def draw_X(tenant, match, draw, rules):
    return (
        LP(b"entropyd/draw/v1")
        + LP(tenant.encode("ascii"))
        + LP(match.encode("ascii"))
        + LP(draw.encode("ascii"))
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
    return merkle_root(
        [
            LP(b"entropyd/seat/v1") + LP(seat.encode("ascii")) + LP(seats[seat])
            for seat in sorted(seats)
        ]
    )


def open_hash_O(X, q, n, C, D, A):
    return sha256(LP(b"entropyd/open/v1") + LP(X) + u64(q) + u32(n) + LP(C) + LP(D) + LP(A))


# --- Contributions and cut ---------------------------------------------------


def contribution_leaf(O, seat, value):
    return LP(b"entropyd/contribution/v1") + LP(O) + LP(seat.encode("ascii")) + LP(value)


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
    return sha256(LP(b"entropyd/claim/v1") + LP(X) + LP(claim))


def derive_claim(claim_key, table, hand, place):
    message = (
        LP(b"entropyd/claim-key/v1")
        + LP(table.encode("ascii"))
        + LP(hand.encode("ascii"))
        + u32(place)
    )
    return hmac.new(claim_key, message, hashlib.sha256).digest()[0:16]


# --- User events -------------------------------------------------------------


def user_events(events):
    """Return the samples of a list of (x, y, t)."""
    return b"".join(u32(x) + u32(y) + u64(t) for x, y, t in events)
