"""Section 20.7 of docs/protocol.md from its text alone: the check of a log file."""

from tests.reference import naive_log
from tests.reference.naive import leaf_hash, sha256
from tests.reference.naive_hands import Refused, need

FIRST = ["open", "roll", "seal", "close", "void"]


class Keys:
    """The keys of a log and from which entry on each is in force."""

    def __init__(self, origin, file_keys, trusted):
        self.eras = {}
        for name in [origin, origin + "/receipts"]:
            named = [key for key in file_keys if is_of(key, name)]
            need(len(named) == 1, "keys")
            if trusted:
                given = [key for key in trusted if is_of(key, name)]
                named = given if len(given) == 1 else [key for key in named if key in given]
                need(len(named) == 1, "keys")
            self.eras[name] = [(-1, named[0])]

    def in_force(self, name, index):
        return [key for entry, key in self.eras[name] if entry <= index][-1]


def is_of(key, name):
    try:
        its_name, _, kind, _ = naive_log.parse_key(key)
    except naive_log.Refused:
        raise Refused("keys") from None
    return its_name == name and kind == 1


def check_log(file, trusted=(), witnesses=()):
    """Return the number of entries and the witnesses seen, or refuse the file."""
    origin, first = file["origin"], int(file["first"])
    need(len(file["keys"]) <= 16, "keys")
    keys = Keys(origin, file["keys"], list(trusted))
    need(file["entries"] or (first == 0 and not file["frontier"]), "frontier")
    story = Story(first)
    leaves = []
    for number, entry in enumerate(file["entries"]):
        part = f"entries[{number}]"
        try:
            lines = read_entry(entry.encode(), origin, first + number, keys)
        except naive_log.Refused as refused:
            raise Refused(part, str(refused)) from None
        story.goes_on(part, lines)
        text = entry.partition("\n\n")[0]
        leaves.append(leaf_hash(text.rstrip("\n").encode()))
    root = check_frontier(file, first, leaves)
    return len(leaves), check_checkpoint(file, origin, first + len(leaves), root, keys, witnesses)


def read_entry(entry, origin, index, keys):
    signed = b"\n\n" in entry
    text = naive_log.read_note(entry)[0] if signed else entry
    lines = naive_log.read_receipt(text)
    values = dict(lines)
    values["setting"] = [value for line, value in lines if line == "setting"]
    naive_log.need(values["log"] == origin and values["index"] == str(index), "place")
    name = origin + "/receipts"
    signers = {keys.in_force(name, index - 1)}
    if values["event"] == "key":
        of = naive_log.parse_key(values["key"])[0]
        if "previous" in values:
            naive_log.need(signed and values["previous"] == keys.eras[of][-1][1], "previous")
            if of == name:
                signers.add(values["key"])
            keys.eras[of].append((index, values["key"]))
        else:
            naive_log.need(values["key"] == keys.eras[of][-1][1], "key")
    if signed:
        known = list(dict.fromkeys(key for _, key in keys.eras[name]))
        naive_log.need(signers <= set(naive_log.open_note(entry, known)[1]), "signers")
    return values


class Story:
    """What entries tell, one after the other."""

    def __init__(self, first):
        self.first = first
        self.tables, self.sequences, self.hands, self.draws = {}, {}, {}, {}
        self.seals, self.drawn = {}, set()

    def goes_on(self, part, entry):
        if entry["event"] == "table":
            table = (entry["tenant"], entry["table"])
            need(table not in self.tables and table not in self.sequences, part)
            said = [text.split(" ")[1] for text in entry["setting"] if "hands_before " in text]
            self.tables[table] = int(said[0]) if said else 0
        elif entry["event"] == "draw" and "match" in entry:
            self.draw(part, entry)
        elif "raffle" in entry:
            self.raffle(part, entry)
        elif "hand" in entry:
            self.hand(part, entry)

    def raffle(self, part, entry):
        raffle, announced = (entry["tenant"], entry["raffle"]), (entry["rules"], entry["entries"])
        need(raffle not in self.drawn, part)
        if entry["event"] == "seal":
            need(raffle not in self.seals, part)
            self.seals[raffle] = announced
        else:
            need(self.seals.get(raffle, announced) == announced, part)
            self.drawn.add(raffle)

    def draw(self, part, entry):
        match, number = (entry["tenant"], entry["match"]), int(entry["number"])
        before = self.draws.get(match, 0 if self.first == 0 else None)
        need(before is None or number == before + 1, part)
        self.draws[match] = number

    def hand(self, part, entry):
        hand, event = (entry["tenant"], entry["hand"]), entry["event"]
        if event == "open" or "delivery" in entry:
            self.opens(part, entry, hand)
            return
        if event == "void" and "O" not in entry:
            need(hand not in self.hands, part)
            self.hands[hand] = [entry]
            return
        steps = self.hands.get(hand)
        if steps is None:
            need(self.first != 0, part)
            self.hands[hand] = [entry]
            return
        for line in ["table", "sequence", "O"]:
            need(steps[0].get(line) == entry[line], part)
        need(FIRST.index(event) > FIRST.index(steps[-1]["event"]), part)
        need(steps[-1]["event"] not in {"close", "void"} and "delivery" not in steps[0], part)
        if event == "close":
            need(steps[-1]["event"] == "seal", part)
        if event == "seal" and steps[-1]["event"] == "roll":
            need(steps[-1]["contributions"] == entry["contributions"], part)
            need(steps[-1]["R"] == entry["R"], part)
        steps.append(entry)

    def opens(self, part, entry, hand):
        need(hand not in self.hands, part)
        table, number = (entry["tenant"], entry["table"]), int(entry["sequence"])
        before = self.sequences.get(table, self.tables.get(table))
        need(self.first != 0 or table in self.tables, part)
        need(before is None or number == before + 1, part)
        self.sequences[table] = number
        self.hands[hand] = [entry]


def check_frontier(file, first, leaves):
    frontier = [bytes.fromhex(each) for each in file["frontier"]]
    sizes = [2**bit for bit in range(62, -1, -1) if first & 2**bit]
    need(len(frontier) == len(sizes), "frontier")
    parts = list(zip(sizes, frontier, strict=True))
    for leaf in leaves:
        parts.append((1, leaf))
        while len(parts) > 1 and parts[-1][0] == parts[-2][0]:
            (size, right), (_, left) = parts.pop(), parts.pop()
            parts.append((2 * size, sha256(b"\x01" + left + right)))
    if not parts:
        return None
    root = parts[-1][1]
    for _, left in reversed(parts[:-1]):
        root = sha256(b"\x01" + left + root)
    return root


def check_checkpoint(file, origin, end, root, keys, witnesses):
    size, its_root, seen = open_checkpoint(
        file["checkpoint"], origin, keys, "checkpoint", witnesses
    )
    need(size >= end, "checkpoint")
    proof = [bytes.fromhex(each) for each in file["consistency"]]
    if end:
        consistent(end, size, root, its_root, proof, "consistency")
    need(end or proof == [], "consistency")
    if "older" in file:
        old, old_root, _ = open_checkpoint(file["older"]["checkpoint"], origin, keys, "older", ())
        proof = [bytes.fromhex(each) for each in file["older"]["consistency"]]
        consistent(old, size, old_root, its_root, proof, "older")
    return seen


def open_checkpoint(note, origin, keys, part, witnesses):
    try:
        text, _ = naive_log.read_note(note.encode())
        _, size, _ = naive_log.read_checkpoint(text)
        key = keys.in_force(origin, size - 1)
        _, size, root, seen = naive_log.open_checkpoint(note.encode(), [key], witnesses)
    except naive_log.Refused as refused:
        raise Refused(part, str(refused)) from None
    return size, root, seen


def consistent(old, size, old_root, root, proof, part):
    try:
        naive_log.verify_consistency(old, size, old_root, root, proof)
    except naive_log.Refused:
        raise Refused(part) from None
