"""From three recordings and the calls made on them to every seed and card, without entropyd.

What bytes a seed is made from is worked out here once more, from the rules as the documents
state them; what is made of the bytes is left to the naive reference. Only files and calls go
in, nothing that the daemon answered, but for one thing: where the device was pulled out in the
middle, how far it had been read and had sent by then.

The rules, for one required source whose samples all have the credit that is claimed for them:

- The first 1,024 samples after an opening are the start-up test and the next 65,536 the first
  assessment: neither is ever dealt from.
- Samples then leave in the order of their arrival, whole: 448 bits of them instantiate the
  generator; each seed takes 320 bits as class hardware, then as class cover what its users'
  estimate lacks of 249.
- What users forward waits in order and leaves whole: a seed takes contributions until they
  count for 249 bits, or all. A blob counts half a bit for each byte value in it but one; an
  event, from the third on, a bit if position and interval both changed; one user at most a
  quarter of 249 bits a seed; what was forwarded before, nothing, and it is thrown away.
- What is read and not dealt from when the device is lost is stirred in, at once.
"""

import json
from dataclasses import dataclass

from tests.campaigns.device_calls import Call, Deal, Files, Forward
from tests.reference import naive

ORIGIN = "test"
TENANT = "acme"
SOURCE = "quantis"

CREDIT = 6_000  # millibits a sample: the claim for a Quantis
DROPPED = 1_024 + 65_536
INSTANTIATE = 448_000
HARDWARE = 320_000
USERS = 249_000
ONE_USER = 62_250


@dataclass(frozen=True)
class Seed:
    """What one seed was made from: places in the recordings.

    Attributes:
        hardware, cover: bytes of the capture.
        users: user id -> bytes that the seed took from that user.
        lines: lines of the user file that they stood in.
        estimate: what they count for, in millibits.
        getrandom: bytes of the getrandom file.
    """

    hardware: range
    cover: range
    users: dict[str, bytes]
    lines: tuple[int, ...]
    estimate: int
    getrandom: range


@dataclass(frozen=True)
class Hand:
    """One hand as it must have been dealt; names as in docs/protocol.md."""

    call: Deal
    made_from: tuple[Seed, ...]
    rules: bytes
    sequence: int
    S: bytes
    r: bytes
    K: bytes
    items: bytes
    cards: bytes
    text: str
    C: bytes
    D: bytes
    O: bytes  # noqa: E741


@dataclass(frozen=True)
class Recomputed:
    """A whole run.

    Attributes:
        instantiated: bytes of the capture that instantiated the generator.
        stirred: bytes of the capture that were stirred in, one range for each loss.
        hands: in the order of the calls.
    """

    instantiated: range
    stirred: tuple[range, ...]
    hands: tuple[Hand, ...]

    @property
    def decks(self) -> list[tuple[bytes, ...]]:
        """What makes each hand this hand and no other: order, commitments, seeds and keys."""
        return [(h.items, h.C, h.D, h.O, h.S, h.r, h.K) for h in self.hands]

    @property
    def spent(self) -> list[range]:
        """Every range of the capture that went into the generator, in order of use."""
        seeds = [seed for hand in self.hands for seed in hand.made_from]
        ranges = [self.instantiated, *self.stirred]
        ranges += [part for seed in seeds for part in (seed.hardware, seed.cover)]
        return sorted((part for part in ranges if part), key=lambda part: part.start)


def recompute(files: Files, calls: tuple[Call, ...]) -> Recomputed:
    """Return what the daemon must have dealt."""
    return _Run(files).play(calls)


class _Run:
    def __init__(self, files):
        self.files = files
        self.lines = [json.loads(line) for line in files.users.splitlines()]
        self.at = DROPPED  # in the capture
        self.random_at = 0  # in the getrandom file
        self.waiting = []  # lines of the user file
        self.seen = []
        self.tables = {}
        self.stirred = []

    def play(self, calls) -> Recomputed:
        hands = []
        drbg, instantiated = self.instantiate()
        for call in calls:
            if isinstance(call, Deal):
                hands.append(self.deal(drbg, call))
            elif isinstance(call, Forward):
                self.forward(call.line)
            else:
                self.replug(drbg, call)
        return Recomputed(instantiated, tuple(self.stirred), tuple(hands))

    # --- the generator -----------------------------------------------------------

    def instantiate(self):
        part = self.take(INSTANTIATE)
        os = {"getrandom": self.bytes_of(self.random(64))}
        nonce = self.bytes_of(self.random(32))
        return naive.instantiate(ORIGIN, self.samples(part), {}, {}, os, nonce), part

    def deal(self, drbg, call):
        rules = rules_of(call)
        X = naive.hand_X(TENANT, call.table, call.hand, rules)
        n = call.decks * len(naive.deck_ids(call.deck, call.removed))
        segments = naive.segments_of(naive.shuffle_bounds(n))
        made_from = tuple(self.seed() for _ in segments)
        seeds, r, K = naive.seed_draw(
            drbg,
            X,
            [
                (
                    self.samples(seed.hardware),
                    self.samples(seed.cover),
                    seed.users,
                    {"getrandom": self.bytes_of(seed.getrandom)},
                )
                for seed in made_from
            ],
        )
        a = naive.shuffle(n, seeds, X, "masked")
        cards = [naive.card_of(item, call.deck, call.removed) for item in a]
        q = self.tables[call.table] = self.tables.get(call.table, 0) + 1
        C = naive.commitment_C(X, seeds, r)
        D = naive.deck_root_whole(X, K, a)
        return Hand(
            call=call,
            made_from=made_from,
            rules=rules,
            sequence=q,
            S=b"".join(seeds),
            r=r,
            K=K,
            items=b"".join(naive.u32(item) for item in a),
            cards=bytes(cards),
            text=" ".join(naive.card_text(card) for card in cards),
            C=C,
            D=D,
            O=naive.open_hash_O(X, q, n, C, D, naive.seats_root_A({})),
        )

    def replug(self, drbg, call):
        part = range(self.at, call.samples)
        self.stirred.append(part)
        naive.stir(drbg, self.samples(part))
        self.at = call.sent + DROPPED

    # --- what a seed is made from -----------------------------------------------

    def seed(self):
        lines, estimate = self.contributions()
        hardware = self.take(HARDWARE)
        cover = self.take(max(0, USERS - estimate))
        users: dict[str, bytes] = {}
        for line in lines:
            user = self.lines[line]["user"]
            users[user] = users.get(user, b"") + user_bytes(self.lines[line])
        return Seed(hardware, cover, users, tuple(lines), estimate, self.random(64))

    def take(self, millibits):
        count = 0
        while count * CREDIT < millibits:
            count = count + 1
        self.at = self.at + count
        return range(self.at - count, self.at)

    def random(self, count):
        self.random_at = self.random_at + count
        return range(self.random_at - count, self.random_at)

    def samples(self, part):
        return {SOURCE: self.files.capture[part.start : part.stop]} if part else {}

    def bytes_of(self, part):
        return self.files.getrandom[part.start : part.stop]

    # --- what users sent ------------------------------------------------------------

    def forward(self, line):
        sent = ("blob" in self.lines[line], user_bytes(self.lines[line]))
        if sent not in self.seen:
            self.seen.append(sent)
            self.waiting.append(line)

    def contributions(self):
        taken: list[int] = []
        by_user: dict[str, int] = {}
        while sum(by_user.values()) < USERS and self.waiting:
            line = self.waiting.pop(0)
            taken.append(line)
            user = self.lines[line]["user"]
            worth = by_user.get(user, 0) + estimate_of(self.lines[line])
            by_user[user] = min(worth, ONE_USER)
        return taken, sum(by_user.values())


def rules_of(call):
    fields = {
        "contributions": "none",
        "deck": call.deck,
        "decks": str(call.decks),
        "proofs": "deck",
        "reveal": "never",
        "sampler": "masked",
    }
    if call.removed:
        fields["removed"] = ",".join(str(card) for card in call.removed)
    return naive.rules_lines(fields)


def user_bytes(line):
    """Return a line of the user file as the samples of class user that it is."""
    return bytes.fromhex(line["blob"]) if "blob" in line else naive.user_events(line["events"])


def estimate_of(line):
    """Return what a line counts for, in millibits, before the cap."""
    if "blob" in line:
        return 500 * (len(set(user_bytes(line))) - 1)
    events, bits = line["events"], 0
    for (_, _, t0), (x1, y1, t1), (x2, y2, t2) in zip(events, events[1:], events[2:], strict=False):
        if (x1, y1) != (x2, y2) and t2 - t1 != t1 - t0:
            bits = bits + 1
    return 1_000 * bits
