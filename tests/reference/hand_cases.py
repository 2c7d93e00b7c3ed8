# ruff: noqa: N803, E741 - names are the document's letters
"""Hands for docs/vectors/dealt_hands.json: played by the naive reference, each in one log.

Every secret is the SHA-512 of a label and every key that of log_cases, so that the files can be
made again from this text alone.
"""

from dataclasses import dataclass, field
from typing import Any

from tests.reference import log_cases, naive, naive_hands, naive_log
from tests.reference import naive_ed25519 as ed25519
from tests.reference.log_cases import LOG_KEY, ORIGIN, RECEIPTS_KEY, TIME, seed

RECEIPTS = ORIGIN + "/receipts"
WITNESS = "witness.example/w1"
ROLL_DEADLINE = "2026-11-30T07:48:00.000Z"
RULES = {
    "contributions": "none",
    "deck": "standard52",
    "decks": "1",
    "reveal": "never",
    "sampler": "masked",
}
# Of the short deck twelve are left: three ranks of four suits.
TWELVE = ",".join(str(card) for card in range(52) if 4 <= card % 13 <= 9)


def made(label, length=64):
    """Return `length` (at most 64) bytes that anyone can make again."""
    return naive.sha512(b"entropyd hand vector: " + label.encode("ascii"))[:length]


def hexes(values):
    return [value.hex() for value in values]


@dataclass
class Plan:
    """What becomes of a hand; `sealed_by` are the seats whose contribution counts."""

    label: str
    rules: dict[str, str]
    seats: dict[str, bool] = field(default_factory=dict)
    speakers: tuple[str, ...] = ()
    deal: tuple[str, ...] = ()
    last: str = "close"
    reason: str = ""
    show: tuple[int, ...] | None = None
    reveal: bool = False
    with_leaf_hashes: bool = False
    with_recipients: bool = True
    with_notes: bool = False
    discards: tuple[int, ...] | None = None
    parent: dict[str, Any] | None = None
    items: tuple[int, ...] | None = None


class Log:
    """A log that grows by the receipts of hands, its tables and its keys."""

    def __init__(self):
        self.entries: list[bytes] = []
        self.sequence = 0
        self.receipt_seed = seed(RECEIPTS)
        for key in (LOG_KEY, RECEIPTS_KEY):
            self.append("key", ("key", key))
        self.append("table", ("tenant", "acme"), ("table", "table-7"), log_cases.POLICY)

    def append(self, event, *lines):
        """Return the note of an entry more."""
        text = naive_log.write(log_cases.receipt(event, *lines, index=len(self.entries)))
        naive_log.read_receipt(text)
        self.entries.append(text)
        return self.sign(text)

    def sign(self, text):
        return naive_log.sign_note(text, (RECEIPTS, self.receipt_seed)).decode()

    def leaves(self):
        return [text[:-1] for text in self.entries]

    def checkpoint(self, size=None, witness=False):
        """Return the signed checkpoint of the first entries."""
        leaves = self.leaves()[:size]
        text = naive_log.checkpoint_text(ORIGIN, len(leaves), naive.merkle_root(leaves))
        note = naive_log.sign_note(text, (ORIGIN, seed(ORIGIN)))
        if witness:
            note += naive_log.cosignature_line(WITNESS, seed(WITNESS), text, 1_796_025_600)
        return note.decode()


class Played:
    """A hand with everything about it."""

    def __init__(self, plan, log):
        self.plan, self.log = plan, log
        log.sequence += 1
        self.hand, self.sequence = f"hand-{log.sequence}", log.sequence
        self.rules = naive.rules_lines(plan.rules)
        self.fields, _, self.n = naive.hand_rules(self.rules)
        self.X = naive.hand_X("acme", "table-7", self.hand, self.rules)
        segments = len(naive.segments_of(naive.shuffle_bounds(self.n)))
        self.seeds = [made(f"{plan.label} seed {s}") for s in range(segments)]
        self.r, self.K = made(f"{plan.label} r", 32), made(f"{plan.label} K", 32)
        self.keys = {
            seat: ed25519.public_key(self.seat_seed(seat)) if keyed else b""
            for seat, keyed in sorted(plan.seats.items())
        }
        self.commit()
        self.receipts = {"open": self.opening()}
        self.go_on()

    def seat_seed(self, seat):
        return made(f"{self.plan.label} key of {seat}", 32)

    def commit(self):
        discards = self.plan.discards
        self.items = naive_hands.items_of(
            self.n, self.seeds, self.X, self.fields["sampler"], discards
        )
        if self.plan.items:
            self.items = list(self.plan.items)
        self.C = naive.commitment_C(self.X, self.seeds, self.r)
        self.D = naive.deck_root_by_cards(self.X, self.K, self.items)
        self.A = naive.seats_root_A(self.keys)
        self.O = naive.open_hash_O(self.X, self.sequence, self.n, self.C, self.D, self.A)
        self.values = [(s, made(f"{self.plan.label} value of {s}", 32)) for s in self.plan.speakers]
        leaves = [naive.contribution_leaf(self.O, seat, value) for seat, value in self.values]
        self.leaves = naive.sort_contributions(leaves)
        self.R = naive.contributions_root_R(leaves)
        self.cut = naive.cut_permutation(self.O, self.n, leaves, self.fields["sampler"])
        self.deals = naive_log.deals_root(self.O, self.plan.deal)

    def which(self):
        own = (("tenant", "acme"), ("table", "table-7"), ("hand", self.hand))
        return (*own, ("sequence", str(self.sequence)))

    def opening(self):
        hashes = [(name, getattr(self, name).hex()) for name in "CDAO"]
        fixed = [("rules", naive.rules_hash(self.rules).hex()), ("n", str(self.n)), *hashes]
        if self.fields["contributions"] != "none":
            fixed.append(("deadline", TIME))
        fixed += [(n, self.fields[n]) for n in ("parent", "replaces") if n in self.fields]
        sources = (log_cases.POLICY, log_cases.source(), log_cases.OS)
        return self.log.append("open", *self.which(), *fixed, *sources)

    def go_on(self):
        O = ("O", self.O.hex())
        m = (("contributions", str(len(self.leaves))), ("R", self.R.hex()))
        last, sealed = self.plan.last, self.fields["contributions"] == "sealed"
        if last == "open" or (last == "void" and self.plan.reason == "expired"):
            pass
        else:
            if sealed and self.leaves:
                self.step("roll", O, *m, ("deadline", ROLL_DEADLINE))
            if last != "roll" and self.plan.reason != "unopened":
                self.step("seal", O, *m)
        if last in {"close", "void"}:
            end = [("dealt", str(len(self.plan.deal))), ("deals", self.deals.hex())]
            end += [("reason", self.plan.reason)] if last == "void" else []
            self.step(last, O, *end)

    def step(self, name, O, *lines):
        self.receipts[name] = self.log.append(name, *self.which(), O, *lines)

    # --- the file ------------------------------------------------------------

    def card(self, place):
        i, item, salt, path = naive_hands.card_proof(self.X, self.K, self.items, self.cut, place)
        dealt = self.plan.deal
        return {
            "place": place,
            "recipient": dealt[place] if place < len(dealt) else "",
            "leaf_index": i,
            "item": item,
            "salt": salt.hex(),
            "path": hexes(path),
        }

    def shown(self):
        if self.plan.show is not None:
            return self.plan.show
        if self.plan.last == "close":
            return range(self.n)
        return [place for place, to in enumerate(self.plan.deal) if to != "burn"]

    def note(self, seat, leaf_hash, reason=None, O=None, key_seed=None):
        lines = [("entropyd-note", "v1"), ("log", ORIGIN), ("O", O or self.O.hex())]
        lines += [("seat", seat), ("leaf", leaf_hash.hex())]
        lines += [("outcome", "refused"), ("reason", reason)] if reason else []
        lines += [] if reason else [("outcome", "accepted")]
        signer = (RECEIPTS, key_seed or seed(RECEIPTS))
        return naive_log.sign_note(naive_log.write(lines), signer).decode()

    def notes(self):
        of = {s: naive.leaf_hash(naive.contribution_leaf(self.O, s, v)) for s, v in self.values}
        told = [self.note(seat, leaf_hash) for seat, leaf_hash in of.items()]
        return [*told, self.note("seat-99", made("nobody's leaf", 32), "unknown-seat")]

    def file(self):
        """Return the hand file of the stage that the hand reached."""
        plan = self.plan
        file: dict[str, Any] = {
            "entropyd": "hand/v1",
            "tenant": "acme",
            "table": "table-7",
            "hand": self.hand,
            "rules": self.rules.decode("ascii"),
            "seats": [{"seat": seat, "key": key.hex()} for seat, key in self.keys.items()],
            "keys": [LOG_KEY, RECEIPTS_KEY],
            "receipts": self.receipts,
            "leaves": hexes(self.leaves) if "seal" in self.receipts else [],
            "cards": [self.card(place) for place in self.shown()],
        }
        if plan.with_leaf_hashes:
            file["leaf_hashes"] = hexes(naive.leaf_hash(leaf) for leaf in self.leaves)
        if plan.with_recipients and plan.deal:
            file["recipients"] = list(plan.deal)
        if plan.reveal:
            told = {"seeds": hexes(self.seeds), "blinding": self.r.hex(), "salt_key": self.K.hex()}
            more = {"discards": list(plan.discards)} if plan.discards else {}
            file["reveal"] = told | more
        if plan.parent:
            file["parent"] = plan.parent
        if plan.with_notes:
            file["notes"] = self.notes()
        return file

    def included(self, file, log):
        """Return the file with its receipts proved to be in a log."""
        proofs = {}
        for name, note in self.receipts.items():
            index = log.entries.index(naive_log.read_note(note.encode())[0])
            path = naive.merkle_path(index, log.leaves())
            proofs[name] = {"index": index, "path": hexes(path)}
        return file | {"checkpoint": log.checkpoint(witness=True), "inclusion": proofs}


SEATS = {"seat-1": False, "seat-2": True, "seat-10": False}
NINE = {f"seat-{number}": number % 2 == 0 for number in range(1, 10)}
OPEN, SEALED = {"contributions": "open"}, {"contributions": "sealed"}
REVEAL, WORD32 = {"reveal": "after_close"}, {"sampler": "word32"}
SHORT, SMALL = {"deck": "short36"}, {"deck": "short36", "removed": TWELVE}
TABLE_OF_TWO = ("seat-1", "seat-2", "seat-1", "seat-2", "burn", "board", "board", "board")


def plans():
    """Yield the hands but the child and the hand that replaces another."""
    yield Plan("nobody contributes", RULES, deal=TABLE_OF_TWO)
    yield Plan("one seat, in the open", RULES | OPEN | SHORT, {"seat-1": False}, ("seat-1",))
    yield Plan(
        "jokers, two of three seats, word-32, revealed",
        RULES | OPEN | REVEAL | WORD32 | {"deck": "standard54"},
        SEATS,
        ("seat-2", "seat-10"),
        TABLE_OF_TWO,
        reveal=True,
    )
    yield Plan(
        "nine sealed, a plan, revealed",
        RULES | SEALED | REVEAL | {"plan": ",".join([*NINE, *NINE, "burn"])},
        NINE,
        tuple(reversed(NINE)),
        (*NINE, *NINE, "burn", "board"),
        reveal=True,
        with_leaf_hashes=True,
        with_notes=True,
    )
    yield Plan("sealed, and nobody spoke", RULES | SEALED | SMALL, SEATS, last="seal")
    yield Plan("just opened", RULES | OPEN | SMALL, SEATS, ("seat-1",), last="open")
    yield Plan(
        "rolled", RULES | SEALED | SMALL, SEATS, ("seat-1", "seat-2"), last="roll",
        with_leaf_hashes=True, with_notes=True,
    )  # fmt: skip
    yield Plan("dealing", RULES | OPEN | SMALL, SEATS, tuple(SEATS), TABLE_OF_TWO, last="seal")
    yield Plan(
        "void while it was dealt", RULES | OPEN | SMALL, SEATS, ("seat-2",), TABLE_OF_TWO[:5],
        last="void", reason="misdeal",
    )  # fmt: skip
    yield Plan("void by time", RULES | OPEN | SMALL, SEATS, last="void", reason="expired")
    yield Plan(
        "a shoe of two decks", RULES | OPEN | SHORT | {"decks": "2"}, SEATS, ("seat-1",),
        TABLE_OF_TWO, show=(0, 1, 5, 71), with_recipients=False,
    )  # fmt: skip
    yield Plan(
        "eight decks with jokers", RULES | OPEN | WORD32 | {"deck": "standard54", "decks": "8"},
        SEATS, ("seat-1", "seat-10"), TABLE_OF_TWO, show=(0, 7, 8, 431),
    )  # fmt: skip
    yield Plan(
        "small", RULES | SEALED | SMALL | REVEAL, SEATS, ("seat-1", "seat-2"), TABLE_OF_TWO,
        reveal=True, with_leaf_hashes=True, with_notes=True,
    )  # fmt: skip


def play_all():
    """Return the log and its hands, in order."""
    log = Log()
    hands = [Played(plan, log) for plan in plans()]
    unopened = Plan(
        "void, a leaf is missing", RULES | SEALED | SMALL, SEATS, ("seat-1", "seat-2"),
        last="void", reason="unopened", with_leaf_hashes=True,
    )  # fmt: skip
    hands.append(Played(unopened, log))
    again = {"replaces": hands[-1].O.hex(), "removed": "4,17,30,43", "plan": "seat-1,seat-2"}
    hands.append(Played(Plan("in its place", RULES | SHORT | again, deal=TABLE_OF_TWO), log))
    hands += draw_game(log)
    return log, hands


DISCARDED = (1, 2, 6, 7)


def draw_game(log):
    """Return a parent and its child."""
    parent = Played(Plan("a parent", RULES | SMALL | REVEAL, deal=TABLE_OF_TWO, reveal=True), log)
    salt = naive_hands.child_salt(parent.K, parent.X, f"hand-{log.sequence + 1}")
    digest = naive_hands.child_digest(parent.O, DISCARDED, salt)
    rules = RULES | SMALL | REVEAL | {"cards": "4", "parent": digest.hex()}
    told = {"O": parent.O.hex(), "places": list(DISCARDED), "salt": salt.hex()}
    items = tuple(parent.items[parent.cut[place]] for place in DISCARDED)
    plan = Plan(
        "its child", rules, deal=("seat-1", "seat-2"), reveal=True, discards=items, parent=told
    )
    return [parent, Played(plan, log)]
