# ruff: noqa: N803, E741 - names are the document's letters
"""Section 21 of docs/protocol.md once more, from its text alone, and the check of a hand file.

Nothing here is shared with entropyd. A file is what a JSON parser gives; whether it has the form
of section 22 is not asked here.
"""

from tests.reference import naive, naive_log
from tests.reference import naive_ed25519 as ed25519
from tests.reference.naive import (
    LP,
    card_leaves,
    commitment_C,
    contribution_leaf,
    cut_permutation,
    deck_ids,
    deck_root_by_cards,
    hand_rules,
    hand_X,
    hmac_sha512,
    id_bytes,
    leaf_hash,
    merkle_path,
    merkle_root,
    open_hash_O,
    rules_hash,
    salt,
    seats_root_A,
    segments_of,
    sha256,
    shuffle,
    shuffle_bounds,
    sort_contributions,
    u32,
)

REASONS = [
    "other-hand",
    "unknown-seat",
    "window-over",
    "already-spoken",
    "wrong-form",
    "copied",
    "bad-signature",
    "not-in-roll",
]
STEPS = ["open", "roll", "seal", "close", "void"]


class Refused(Exception):  # noqa: N818 - it says what became of the input
    """The file is refused. `part` is where."""

    def __init__(self, part, why=""):
        super().__init__(f"{part}: {why}")
        self.part = part


def need(condition, part, why=""):
    if not condition:
        raise Refused(part, why)


# --- 21.2, 21.6, 21.7 ---------------------------------------------------------


def signed_bytes(leaf_hash_):
    return LP(b"entropyd/contribution-signature/v1") + LP(leaf_hash_)


def sign_contribution(seed, leaf_hash_):
    return ed25519.sign(seed, signed_bytes(leaf_hash_))


def judge(hand, said, now):
    """Return why a contribution is refused, None if it is accepted (section 21.2).

    `hand` has O, mode, state, seats (names), spoken (seat -> leaf hash, whether its value is
    known), deadline, roll_deadline (None without a roll). `said` has O, seat, value or leaf_hash,
    and `signed`: whether the seat has no key, or signed the leaf hash.
    """
    if said["O"] != hand["O"]:
        return "other-hand"
    if said["seat"] not in hand["seats"]:
        return "unknown-seat"
    hashed = said.get("leaf_hash")
    if hashed is None:
        hashed = leaf_hash(contribution_leaf(hand["O"], said["seat"], said["value"]))
    before, opened = hand["spoken"].get(said["seat"], (None, False))
    if before == hashed and ("leaf_hash" in said or opened):
        return None
    if before == hashed:
        return judge_sealed_value(hand, now)
    if "value" in said and hand["state"] == "rolled":
        return "not-in-roll"
    return judge_first(hand, said, hashed, now)


def judge_sealed_value(hand, now):
    if hand["roll_deadline"] is None:
        return "wrong-form"
    in_time = hand["state"] == "rolled" and now < hand["roll_deadline"]
    return None if in_time else "window-over"


def judge_first(hand, said, hashed, now):
    if now >= hand["deadline"] or hand["state"] != "open":
        return "window-over"
    if said["seat"] in hand["spoken"]:
        return "already-spoken"
    if ("value" in said) != (hand["mode"] == "open"):
        return "wrong-form"
    if hashed in [other for other, _ in hand["spoken"].values()]:
        return "copied"
    return None if said["signed"] else "bad-signature"


def child_salt(parent_K, parent_X, hand):
    message = LP(b"entropyd/child-salt/v1") + LP(parent_X) + LP(id_bytes("hand", hand))
    return hmac_sha512(parent_K, message)[0:32]


def child_digest(parent_O, places, salt_):
    joined = b"".join(u32(place) for place in places)
    return sha256(LP(b"entropyd/child/v1") + LP(parent_O) + LP(joined) + LP(salt_))


def card_proof(X, K, items, cut, place):
    """Return leaf index, item, salt and path of the card at a place."""
    i = cut[place]
    return i, items[i], salt(X, K, i), merkle_path(i, card_leaves(X, K, items))


def items_of(n, seeds, X, sampler, discards=None):
    order = shuffle(n, seeds, X, sampler)
    return order if discards is None else [discards[i] for i in order]


# --- 21.9: the hand file --------------------------------------------------------


class Notes:
    """Under which keys a file's notes are looked at."""

    def __init__(self, file_keys, trusted):
        self.keys = trusted or file_keys

    def open(self, note, part):
        """Return the text of a receipt or a note to a seat."""
        try:
            text, _ = naive_log.read_note(note.encode())
            to_seat = text.startswith(b"entropyd-note")
            lines = dict(naive_log.read(text, naive_log.NOTE_LINES if to_seat else naive_log.LINES))
            keys = self.of(lines.get("log", "") + "/receipts")
            return naive_log.open_note(note.encode(), keys)[0]
        except naive_log.Refused as refused:
            raise Refused(part, str(refused)) from None

    def of(self, name):
        parsed = [(key, naive_log.parse_key(key)) for key in self.keys]
        return [key for key, (its_name, _, kind, _) in parsed if (its_name, kind) == (name, 1)]


def check_hand(file, trusted=(), witnesses=()):
    """Return the steps seen and the witnesses seen, or refuse the file."""
    need(len(file["keys"]) <= 16, "keys")
    need(len(file.get("notes", [])) <= 1024, "notes")
    for text in file["keys"]:
        try:
            naive_log.parse_key(text)
        except naive_log.Refused:
            raise Refused("keys") from None
    notes = Notes(file["keys"], list(trusted))
    fields, _, n = check_rules(file)
    seats = check_seats(file, fields)
    opened = check_open(file, fields, n, seats, notes)
    steps = check_steps(file, fields, len(seats), opened, notes)
    hashes = check_leaf_hashes(file, steps)
    leaves = check_leaves(file, seats, opened, steps, hashes)
    end = check_end(file, n, steps)
    recipients = check_recipients(file, fields, n, opened, steps, end)
    check_cards(file, fields, n, opened, steps, leaves, end, recipients)
    check_parent(file, fields)
    check_reveal(file, fields, n, opened, steps)
    check_notes(file, seats, opened, steps, hashes, notes)
    seen = check_inclusion(file, opened, steps, notes, witnesses)
    return [name for name in STEPS if name in steps], seen


def check_rules(file):
    try:
        fields, removed, n = hand_rules(file["rules"].encode())
    except (naive.Refused, ValueError):
        raise Refused("rules") from None
    need("proofs" not in fields, "rules")
    return fields, removed, n


def item_space(fields):
    removed = [int(card) for card in fields.get("removed", "").split(",") if card]
    return int(fields["decks"]) * len(deck_ids(fields["deck"], removed))


def check_seats(file, fields):
    names = [seat["seat"] for seat in file["seats"]]
    need(names == sorted(set(names)) and len(names) <= 64, "seats")
    need(names == [] or fields["contributions"] != "none", "seats")
    return {seat["seat"]: bytes.fromhex(seat["key"]) for seat in file["seats"]}


def receipt(file, name, notes):
    part = f"receipts.{name}"
    text = notes.open(file["receipts"][name], part)
    try:
        lines = dict(naive_log.read_receipt(text))
    except naive_log.Refused as refused:
        raise Refused(part, str(refused)) from None
    need(lines["event"] == name, part, "event")
    return lines


def check_open(file, fields, n, seats, notes):
    opened = receipt(file, "open", notes)
    for name in ["tenant", "table", "hand"]:
        need(opened[name] == file[name], "receipts.open", name)
    rules = file["rules"].encode()
    need(opened["rules"] == rules_hash(rules).hex(), "rules")
    need(opened["n"] == str(n), "receipts.open", "n")
    need(opened["A"] == seats_root_A(seats).hex(), "seats")
    X = hand_X(file["tenant"], file["table"], file["hand"], rules)
    C, D, A = (bytes.fromhex(opened[name]) for name in "CDA")
    O = open_hash_O(X, int(opened["sequence"]), n, C, D, A)
    need(opened["O"] == O.hex(), "receipts.open", "O")
    need(("deadline" in opened) == (fields["contributions"] != "none"), "receipts.open", "deadline")
    for name in ["parent", "replaces"]:
        need(opened.get(name) == fields.get(name), "receipts.open", name)
    return opened


def check_steps(file, fields, seats, opened, notes):
    """Return name -> receipt of all that are there."""
    steps = {"open": opened}
    for name in STEPS[1:]:
        if name not in file["receipts"]:
            continue
        part, found = f"receipts.{name}", receipt(file, name, notes)
        for line in ["log", "tenant", "table", "hand", "sequence", "O"]:
            need(found.get(line) == opened[line], part, line)
        need(int(found["index"]) > max(int(step["index"]) for step in steps.values()), part)
        check_counts(name, found, fields, seats, steps)
        steps[name] = found
    return steps


def check_counts(name, found, fields, seats, steps):
    part = f"receipts.{name}"
    m = int(found.get("contributions", "0"))
    need(m <= seats, part, "m")
    if name == "roll":
        need(fields["contributions"] == "sealed" and m >= 1, part)
    if name == "seal":
        need(fields["contributions"] != "none" or m == 0, part)
        need(("roll" in steps) == (fields["contributions"] == "sealed" and m != 0), part)
        for line in ["contributions", "R"]:
            need("roll" not in steps or steps["roll"][line] == found[line], part, line)
    if name in {"close", "void"}:
        need("delivery" not in found, part, "a Shuffle's")
        need("close" not in steps and (name == "void" or "seal" in steps), part)


def rolled(steps):
    return steps.get("seal", steps.get("roll"))


def check_leaf_hashes(file, steps):
    if "leaf_hashes" not in file:
        return [leaf_hash(bytes.fromhex(leaf)) for leaf in file["leaves"]] if file["leaves"] else []
    hashes = [bytes.fromhex(each) for each in file["leaf_hashes"]]
    roll = rolled(steps)
    need(roll is not None, "leaf_hashes")
    need(str(len(hashes)) == roll["contributions"], "leaf_hashes")
    need(hashes == sorted(set(hashes)), "leaf_hashes")
    need(root_of_hashes(hashes).hex() == roll["R"], "leaf_hashes")
    return hashes


def root_of_hashes(hashes):
    """The RFC 6962 root of leaves whose leaf hashes are known."""
    if hashes == []:
        return sha256(b"")
    if len(hashes) == 1:
        return hashes[0]
    k = 1
    while k * 2 < len(hashes):
        k = k * 2
    return sha256(b"\x01" + root_of_hashes(hashes[:k]) + root_of_hashes(hashes[k:]))


def check_leaves(file, seats, opened, steps, hashes):
    leaves = [bytes.fromhex(leaf) for leaf in file["leaves"]]
    m = int(steps["seal"]["contributions"]) if "seal" in steps else 0
    need(len(leaves) == m, "leaves")
    spoken: list[str] = []
    for place, leaf in enumerate(leaves):
        seat = seat_of(leaf, bytes.fromhex(opened["O"]), seats)
        need(seat is not None and seat not in spoken, f"leaves[{place}]")
        spoken.append(seat)
    need(leaves == sort_contributions(leaves), "leaves")
    need("seal" not in steps or merkle_root(leaves).hex() == steps["seal"]["R"], "leaves")
    need("seal" not in steps or hashes == [leaf_hash(leaf) for leaf in leaves], "leaves")
    return leaves


def seat_of(leaf, O, seats):
    for seat in seats:
        start = LP(b"entropyd/contribution/v1") + LP(O) + LP(seat.encode("ascii")) + u32(32)
        if leaf.startswith(start) and len(leaf) == len(start) + 32:
            return seat
    return None


def check_end(file, n, steps):
    name = "close" if "close" in steps else "void"
    end = steps.get(name)
    if end is not None:
        dealt = int(end["dealt"])
        need(dealt <= n and (dealt == 0 or "seal" in steps), f"receipts.{name}")
    return end


def check_recipients(file, fields, n, opened, steps, end):
    if "recipients" not in file:
        return None
    recipients = file["recipients"]
    need(len(recipients) <= n and (recipients == [] or "seal" in steps), "recipients")
    plan = fields["plan"].split(",") if "plan" in fields else []
    for to, planned in zip(recipients, plan, strict=False):
        need(to == planned, "recipients")
    if end is not None:
        need(str(len(recipients)) == end["dealt"], "recipients")
        root = naive_log.deals_root(bytes.fromhex(opened["O"]), recipients)
        need(root.hex() == end["deals"], "recipients")
    return recipients


def check_cards(file, fields, n, opened, steps, leaves, end, recipients):
    rules = file["rules"].encode()
    X = hand_X(file["tenant"], file["table"], file["hand"], rules)
    cut, before = None, -1
    seen: list[int] = []
    for number, card in enumerate(file["cards"]):
        part = f"cards[{number}]"
        need("seal" in steps, part)
        if cut is None:
            cut = cut_permutation(bytes.fromhex(opened["O"]), n, leaves, fields["sampler"])
        place, i, item = card["place"], card["leaf_index"], card["item"]
        need(before < place < n and i == cut[place] and 0 <= item < item_space(fields), part)
        leaf = LP(b"entropyd/card/v1") + LP(X) + u32(i) + u32(item) + bytes.fromhex(card["salt"])
        path = [bytes.fromhex(each) for each in card["path"]]
        try:
            naive_log.verify_inclusion(leaf_hash(leaf), i, n, path, bytes.fromhex(opened["D"]))
        except naive_log.Refused:
            raise Refused(part) from None
        need(item not in seen, part)
        check_recipient(part, card, fields, steps, end, recipients)
        before, seen = place, [*seen, item]


def check_recipient(part, card, fields, steps, end, recipients):
    place, to = card["place"], card["recipient"]
    plan = fields["plan"].split(",") if "plan" in fields else []
    if recipients is not None:
        need(to == (recipients[place] if place < len(recipients) else ""), part)
    need(to == "" or place >= len(plan) or to == plan[place], part)
    need(end is None or (to != "") == (place < int(end["dealt"])), part)
    need(to not in {"", "burn"} or "close" in steps, part)


def check_parent(file, fields):
    if "parent" in file:
        told = file["parent"]
        places = told["places"]
        need("parent" in fields and str(len(places)) == fields["cards"], "parent")
        need(places == sorted(set(places)), "parent")
        digest = child_digest(bytes.fromhex(told["O"]), places, bytes.fromhex(told["salt"]))
        need(digest.hex() == fields["parent"], "parent")


def check_reveal(file, fields, n, opened, steps):
    if "reveal" not in file:
        return
    told = file["reveal"]
    need(fields["reveal"] == "after_close" and "close" in steps, "reveal")
    X = hand_X(file["tenant"], file["table"], file["hand"], file["rules"].encode())
    seeds = [bytes.fromhex(seed) for seed in told["seeds"]]
    need(len(seeds) == len(segments_of(shuffle_bounds(n))), "reveal")
    C = commitment_C(X, seeds, bytes.fromhex(told["blinding"]))
    need(C.hex() == opened["C"], "reveal")
    discards = told.get("discards")
    need(("parent" in fields) == (discards is not None), "reveal")
    if discards is not None:
        need(len(discards) == n == len(set(discards)), "reveal")
        need(all(0 <= item < item_space(fields) for item in discards), "reveal")
    items = items_of(n, seeds, X, fields["sampler"], discards)
    D = deck_root_by_cards(X, bytes.fromhex(told["salt_key"]), items)
    need(D.hex() == opened["D"], "reveal")


def check_notes(file, seats, opened, steps, hashes, notes):
    for number, note in enumerate(file.get("notes", [])):
        part = f"notes[{number}]"
        text = notes.open(note, part)
        try:
            said = dict(naive_log.read_seat_note(text))
        except naive_log.Refused:
            raise Refused(part) from None
        need(said["log"] == opened["log"] and said["O"] == opened["O"], part)
        if said["outcome"] == "refused":
            need(said["reason"] in REASONS, part)
            continue
        need(said["seat"] in seats, part)
        known = "seal" in steps or ("roll" in steps and "leaf_hashes" in file)
        need(not known or bytes.fromhex(said["leaf"]) in hashes, part)
        if "seal" in steps:
            of_seat = [
                leaf_hash(bytes.fromhex(leaf)).hex()
                for leaf in file["leaves"]
                if seat_of(bytes.fromhex(leaf), bytes.fromhex(opened["O"]), [said["seat"]])
            ]
            need(of_seat == [said["leaf"]], part)


def check_inclusion(file, opened, steps, notes, witnesses):
    seen: list[tuple[str, int]] = []
    size, root = 0, b""
    if "checkpoint" in file:
        keys = notes.of(opened["log"])
        try:
            note = file["checkpoint"].encode()
            _, size, root, seen = naive_log.open_checkpoint(note, keys, witnesses)
        except naive_log.Refused:
            raise Refused("checkpoint") from None
    for name, told in file.get("inclusion", {}).items():
        part = f"inclusion.{name}"
        need("checkpoint" in file and name in steps, part)
        need(str(told["index"]) == steps[name]["index"], part)
        text, _ = naive_log.read_note(file["receipts"][name].encode())
        path = [bytes.fromhex(each) for each in told["path"]]
        try:
            naive_log.verify_inclusion(leaf_hash(text[:-1]), told["index"], size, path, root)
        except naive_log.Refused:
            raise Refused(part) from None
    return seen
