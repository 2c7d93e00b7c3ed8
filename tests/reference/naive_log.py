"""Sections 19 and 20 of docs/protocol.md once more, from their text alone.

Nothing here is shared with entropyd. A receipt is a list of (name, value), each
value its text: whether a text is one is decided kind by kind, and nothing is
turned into an object. Like naive.py: not fast, not for use.
"""

import base64
import calendar

from tests.reference import naive_ed25519 as ed25519
from tests.reference.naive import LP, merkle_root, sha256, u64

EMPTY = sha256(b"").hex()


class Refused(Exception):  # noqa: N818 - it says what became of the input
    """The document has this refused. `line` and `byte` are from 1, 0 where they do not apply."""

    def __init__(self, why, line=0, byte=0):
        super().__init__(why)
        self.line, self.byte = line, byte


# --- Kinds of values: each returns nothing, or raises at a position from 0 ---


def need(condition, why, at=0):
    if not condition:
        raise Refused(why, byte=at)


def is_word(*words):
    return lambda text: need(text in words, "word")


def is_id(text):
    need(1 <= len(text) <= 128 and all(0x21 <= ord(c) <= 0x7E for c in text), "id")


def is_origin(text):
    is_id(text)
    need("+" not in text, "origin")


def is_decimal(least, most):
    def check(text):
        need(text and all(c in "0123456789" for c in text), "digits")
        need(text == "0" or text[0] != "0", "leading zero")
        need(len(text) <= 20 and least <= int(text) <= most, "range")

    return check


def is_hash(text):
    for at, c in enumerate(text):
        need(c in "0123456789abcdef", "hex", at)
    need(len(text) == 64, "length")


def is_time(text):
    need(len(text) == 24, "time")
    for at, pattern in enumerate("dddd-dd-ddTdd:dd:dd.dddZ"):
        need(text[at] in "0123456789" if pattern == "d" else text[at] == pattern, "time")
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    need(year >= 1970 and 1 <= month <= 12, "date")
    need(1 <= day <= calendar.monthrange(year, month)[1], "day")
    need(int(text[11:13]) < 24 and int(text[14:16]) < 60 and int(text[17:19]) < 60, "hour")


def is_outside(text, least=1):
    raw, at = b"", 0
    while at < len(text):
        byte = ord(text[at])
        need(0x21 <= byte <= 0x7E, "plain byte", at)
        width = 1
        if text[at] == "%":
            digits = text[at + 1 : at + 3]
            need(len(digits) == 2 and all(c in "0123456789ABCDEF" for c in digits), "percent", at)
            byte, width = int(digits, 16), 3
            need(not 0x21 <= byte <= 0x7E or byte == 0x25, "needless percent", at)
        raw += bytes([byte])
        at += width
    need(least <= len(raw) <= 1024, "length")
    try:
        raw.decode()
    except UnicodeDecodeError:
        raise Refused("UTF-8") from None


def percent(text):
    """Return outside text percent-encoded."""
    return "".join(
        chr(b) if 0x21 <= b <= 0x7E and b != 0x25 else "%" + format(b, "02X") for b in text.encode()
    )


def is_setting(text):
    name, space, value = text.partition(" ")
    need(space and 1 <= len(name) <= 64, "setting")
    need(all(c in "abcdefghijklmnopqrstuvwxyz0123456789_." for c in name), "setting")
    within(is_outside, value, len(name) + 1)


def is_key(text):
    need(all(0x21 <= ord(c) <= 0x7E for c in text), "key")
    _, _, key_type, _ = parse_key(text)
    need(key_type in {1, 4}, "type")


def within(check, text, start):
    try:
        check(text)
    except Refused as refused:
        raise Refused(str(refused), byte=start + refused.byte) from None


U64 = is_decimal(0, 2**64 - 1)
SOURCE = [
    (
        "class",
        is_word(*(b + c for b in ("", "batch-") for c in ("hardware", "cover", "user", "os"))),
    ),
    ("kind", is_word("hardware", "os", "mock", "replay", "user")),
    ("driver", lambda text: is_outside(text, 0)),
    ("serial", lambda text: is_outside(text, 0)),
    ("samples", U64),
    ("credited", U64),
    ("age", U64),
    ("health", is_word("none", "lost", "startup", "assessing", "healthy", "failed")),
]


def is_source(text):
    parts = text.split(" ")
    need(len(parts) == 8, "eight parts")
    for part, (name, _) in zip(parts, SOURCE, strict=True):
        need(part.startswith(name + "="), "parts")
    start = 0
    for part, (name, check) in zip(parts, SOURCE, strict=True):
        within(check, part[len(name) + 1 :], start + len(name) + 1)
        start += len(part) + 1


# --- Lines -------------------------------------------------------------------

EVENTS = "table open roll seal close void draw policy key health build"
SEQUENCE, COUNT = is_decimal(1, 2**64 - 1), is_decimal(0, 2**32 - 1)
LINES = {
    "entropyd-receipt": is_word("v1"),
    "log": is_origin,
    "index": is_decimal(0, 2**63 - 2),
    "event": is_word(*EVENTS.split()),
    **dict.fromkeys(["tenant", "table", "hand", "match", "draw", "raffle"], is_id),
    "sequence": SEQUENCE,
    "number": SEQUENCE,
    "rules": is_hash,
    "n": is_decimal(1, 2**32 - 1),
    **dict.fromkeys(["entries", "C", "D", "A", "O"], is_hash),
    "contributions": COUNT,
    "R": is_hash,
    "deadline": is_time,
    **dict.fromkeys(["escrow", "parent", "replaces"], is_hash),
    "delivery": is_word("whole-deck"),
    "dealt": COUNT,
    "deals": is_hash,
    "reason": is_outside,
    "policy": is_outside,
    "setting": is_setting,
    "key": is_key,
    "previous": is_key,
    "version": is_outside,
    "digest": is_hash,
    "source": is_source,
    "seeds": is_word("computational"),
    "degraded": is_word("yes"),
    "time": is_time,
}
NOTE_LINES = {
    "entropyd-note": is_word("v1"),
    "log": is_origin,
    "O": is_hash,
    "seat": is_id,
    "leaf": is_hash,
    "outcome": is_word("accepted", "refused"),
    "reason": is_outside,
}
REPEATED = {"setting", "source"}

ALWAYS = "entropyd-receipt log index event time"
HAND = "tenant table hand sequence O"
FORMS = {
    "table": ("tenant table policy", "setting"),
    "open": (f"{HAND} rules n C D A policy source", "deadline escrow parent replaces degraded"),
    "roll": (f"{HAND} contributions R deadline", ""),
    "seal": (f"{HAND} contributions R", ""),
    "seal raffle": ("tenant raffle rules entries", ""),
    "close": (f"{HAND} dealt deals", ""),
    "close whole": (
        f"{HAND} rules n C D A delivery dealt policy source",
        "escrow replaces degraded",
    ),
    "void": ("tenant table hand dealt reason", "sequence O deals"),
    "draw": ("tenant match draw number C D policy source", "rules seeds degraded"),
    "draw raffle": ("tenant raffle rules entries C D policy source", "seeds degraded"),
    "policy": ("policy", "tenant table reason setting"),
    "key": ("key", "previous reason"),
    "health": ("reason source", ""),
    "build": ("version", "digest reason"),
}


def write(lines):
    """Return the text of a list of (name, value)."""
    return "".join(f"{name}: {value}\n" for name, value in lines).encode("ascii")


def read(text, kinds):
    """Return the list of (name, value) of a text, or refuse it."""
    if len(text) > 65535:
        raise Refused("too long")
    line, start = 1, 0
    for at, byte in enumerate(text):
        if byte == 0x0A:
            line, start = line + 1, at + 1
        elif not 0x20 <= byte <= 0x7E:
            raise Refused("byte", line, at - start + 1)
    if not text.endswith(b"\n"):
        raise Refused("end", line)
    found, order, before = [], list(kinds), -1
    for line, raw in enumerate(text.decode("ascii")[:-1].split("\n"), start=1):
        name, colon, value = raw.partition(": ")
        if not colon or not value:
            raise Refused("line", line, 1)
        place = order.index(name) if name in order else -1
        if place < before or (place == before and name not in REPEATED) or place < 0:
            raise Refused("name", line, 1)
        before = place
        try:
            kinds[name](value)
        except Refused as refused:
            raise Refused(str(refused), line, len(name) + 3 + refused.byte) from None
        found.append((name, value))
    return found


def read_receipt(text):
    lines = read(text, LINES)
    values: dict[str, str] = {}
    line_of: dict[str, int] = {}
    for number, (name, value) in enumerate(lines, start=1):
        values.setdefault(name, value)
        line_of.setdefault(name, number)
    for name in ALWAYS.split():
        need(name in values, name)
    check_form(values, line_of)
    check_contents(values, lines, line_of)
    return lines


def rule(condition, why, line=0):
    if not condition:
        raise Refused(why, line)


def check_form(values, line_of):
    must, may = FORMS[form_name(values)]
    for name in LINES:
        if name in values:
            rule(name in f"{ALWAYS} {must} {may}".split(), "no place", line_of[name])
        else:
            rule(name not in must.split(), "missing")


def check_contents(values, lines, line_of):
    for count, root in (("contributions", "R"), ("dealt", "deals")):
        if root in values:
            rule((values[count] == "0") == (values[root] == EMPTY), "root", line_of[root])
    if "delivery" in values:
        rule(values["dealt"] == values["n"], "dealt", line_of["dealt"])
        rule(values["A"] == EMPTY, "A", line_of["A"])
    if values["event"] == "void":
        opened = [name in values for name in ("sequence", "O", "deals")]
        rule(all(opened) or not any(opened), "opened", line_of.get("O", 0))
        rule(any(opened) or values["dealt"] == "0", "dealt", line_of["dealt"])
    names = [value.partition(" ")[0] for name, value in lines if name == "setting"]
    rule(names == sorted(set(names)), "settings", line_of.get("setting", 0))
    for name, value in lines:
        if values["event"] == "table" and name == "setting":
            setting, _, said = value.partition(" ")
            digits = said.isdecimal() and len(said) <= 20 and said[0] != "0"
            fits = digits and 1 <= int(said) <= 2**64 - 2
            rule(setting != "hands_before" or fits, "hands_before", line_of["setting"])
    check_receipt_keys(values, line_of)


def form_name(values):
    event = values["event"]
    if event == "close" and "delivery" in values:
        return "close whole"
    return f"{event} raffle" if event in {"seal", "draw"} and "raffle" in values else event


def check_receipt_keys(values, line_of):
    origin = values["log"]
    for name in {"key", "previous"} & values.keys():
        key_name, _, key_type, _ = parse_key(values[name])
        ours = key_name in {origin, origin + "/receipts"}
        rule(key_type == 1 and ours, "key", line_of["key"])
    if "previous" in values:
        same_name = parse_key(values["key"])[0] == parse_key(values["previous"])[0]
        two = same_name and values["key"] != values["previous"]
        rule(two, "previous", line_of["previous"])


def read_seat_note(text):
    lines = read(text, NOTE_LINES)
    values = dict(lines)
    for name in ["entropyd-note", "log", "O", "seat", "leaf", "outcome"]:
        need(name in values, name)
    if (values["outcome"] == "refused") != ("reason" in values):
        raise Refused(
            "reason", [name for name, _ in lines].index("reason") + 1 if "reason" in values else 0
        )
    return lines


def receipt_leaf(text):
    return text[:-1]


# --- Keys and signed notes -----------------------------------------------------


def unbase64(text):
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Refused("base64") from None
    need(base64.b64encode(data).decode("ascii") == text, "base64")
    return data


def key_id(name, key_type, public):
    return sha256(name.encode() + b"\n" + bytes([key_type]) + public)[:4]


def key_text(name, key_type, public):
    encoded = base64.b64encode(bytes([key_type]) + public).decode("ascii")
    return f"{name}+{key_id(name, key_type, public).hex()}+{encoded}"


def parse_key(text):
    """Return name, id, type, public key."""
    parts = text.split("+", 2)
    need(len(parts) == 3, "parts")
    name, given_id, encoded = parts
    check_name(name)
    data = unbase64(encoded)
    need(len(data) == 33, "length")
    need(data[0] in {1, 4}, "type")
    need(key_id(name, data[0], data[1:]).hex() == given_id, "id")
    return name, key_id(name, data[0], data[1:]), data[0], data[1:]


def check_name(name):
    need(name != "" and "+" not in name and not any(c.isspace() for c in name), "name")


def signature_line(name, id_, value):
    return f"\u2014 {name} {base64.b64encode(id_ + value).decode('ascii')}\n".encode()


def sign_note(text, *signers):
    """Return a note; signers are (name, seed)."""
    lines = b""
    for name, seed in signers:
        public = ed25519.public_key(seed)
        lines += signature_line(name, key_id(name, 1, public), ed25519.sign(seed, text))
    return text + b"\n" + lines


def read_note(note):
    """Return text and signatures (name, key id, value)."""
    need(len(note) <= 1000000, "length")
    try:
        shown = note.decode()
    except UnicodeDecodeError:
        raise Refused("UTF-8") from None
    need(not any(ord(c) < 0x20 and c != "\n" for c in shown), "control character")
    need("\n\n" in shown and shown.endswith("\n"), "form")
    text, _, rest = shown.rpartition("\n\n")
    signatures = []
    for line in rest[:-1].split("\n"):
        need(line.startswith("\u2014 "), "dash")
        name, space, encoded = line[2:].partition(" ")
        need(space, "parts")
        check_name(name)
        data = unbase64(encoded)
        need(len(data) >= 5, "length")
        signatures.append((name, data[:4], data[4:]))
    need(len(signatures) <= 100, "signatures")
    return (text + "\n").encode(), signatures


def lines_of(signatures, keys):
    """Return (key, value) for the lines that name one of the keys, each at most once."""
    found: list[tuple[str, bytes]] = []
    for name, id_, value in signatures:
        for key in keys:
            if parse_key(key)[:2] == (name, id_):
                need(key not in [other for other, _ in found], "twice")
                found.append((key, value))
    return found


def open_note(note, keys):
    """Return text and those of `keys` that signed."""
    text, signatures = read_note(note)
    found = lines_of(signatures, keys)
    for key, value in found:
        _, _, key_type, public = parse_key(key)
        need(key_type == 1 and ed25519.verify(public, text, value), "signature")
    need(found, "nobody")
    return text, [key for key, _ in found]


# --- Checkpoints -----------------------------------------------------------------


def checkpoint_text(origin, size, root):
    return f"{origin}\n{size}\n{base64.b64encode(root).decode('ascii')}\n".encode()


def read_checkpoint(text):
    lines = text.decode().split("\n")
    need(len(lines) >= 4 and all(lines[:-1]) and lines[-1] == "", "lines")
    is_decimal(0, 2**63 - 1)(lines[1])
    root = unbase64(lines[2])
    need(len(root) == 32 and (lines[1] == "0") == (root.hex() == EMPTY), "root")
    return lines[0], int(lines[1]), root


def cosigned(text, time):
    return b"cosignature/v1\ntime " + str(time).encode("ascii") + b"\n" + text


def cosignature_line(name, seed, text, time):
    public = ed25519.public_key(seed)
    value = u64(time) + ed25519.sign(seed, cosigned(text, time))
    return signature_line(name, key_id(name, 4, public), value)


def open_checkpoint(note, keys, witnesses):
    """Return origin, size, root and the witnesses seen, as (name, time)."""
    text, signed_by = open_note(note, keys)
    origin, size, root = read_checkpoint(text)
    need(all(parse_key(key)[0] == origin for key in signed_by), "origin")
    seen = []
    for key, value in lines_of(read_note(note)[1], witnesses):
        name, _, key_type, public = parse_key(key)
        need(key_type == 4 and len(value) == 72, "cosignature")
        time = int.from_bytes(value[:8], "big")
        need(1 <= time <= 2**63 - 1, "time")
        need(ed25519.verify(public, cosigned(text, time), value[8:]), "cosignature")
        seen.append((name, time))
    return origin, size, root, seen


# --- Proofs --------------------------------------------------------------------


def consistency_proof(old, leaves):
    """PROOF of RFC 6962, 2.1.2."""
    return subproof(old, leaves, whole=True)


def subproof(old, leaves, whole):
    if old == len(leaves):
        return [] if whole else [merkle_root(leaves)]
    k = 1
    while k * 2 < len(leaves):
        k = k * 2
    if old <= k:
        return [*subproof(old, leaves[:k], whole), merkle_root(leaves[k:])]
    return [*subproof(old - k, leaves[k:], whole=False), merkle_root(leaves[:k])]


def node(left, right):
    return sha256(b"\x01" + left + right)


def verify_inclusion(leaf, i, s, path, root):
    need(0 <= i < s, "range")
    need(all(len(h) == 32 for h in [leaf, root, *path]), "length")
    f, last, h = i, s - 1, leaf
    for p in path:
        need(last != 0, "too long")
        if f % 2 == 1 or f == last:
            h = node(p, h)
            while f % 2 == 0 and f > 0:
                f, last = f // 2, last // 2
        else:
            h = node(h, p)
        f, last = f // 2, last // 2
    need(last == 0 and h == root, "root")


def verify_consistency(o, s, old_root, root, proof):
    need(1 <= o <= s, "range")
    if o == s:
        need(not proof and old_root == root, "same")
        return
    if o & (o - 1) == 0:
        proof = [old_root, *proof]
    need(proof, "empty")
    need(all(len(h) == 32 for h in [old_root, root, *proof]), "length")
    f, last = o - 1, s - 1
    while f % 2 == 1:
        f, last = f // 2, last // 2
    a = b = proof[0]
    for p in proof[1:]:
        need(last != 0, "too long")
        if f % 2 == 1 or f == last:
            a, b = node(p, a), node(p, b)
            while f % 2 == 0 and f > 0:
                f, last = f // 2, last // 2
        else:
            b = node(b, p)
        f, last = f // 2, last // 2
    need(last == 0 and a == old_root and b == root, "root")


def deals_root(open_hash, recipients):
    """Section 21.6, for receipts that say it."""
    label, bound = LP(b"entropyd/deal/v1"), LP(open_hash)
    return merkle_root(
        [
            label + bound + p.to_bytes(4, "big") + LP(r.encode("ascii"))
            for p, r in enumerate(recipients)
        ]
    )
