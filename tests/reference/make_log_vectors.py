"""Make docs/vectors/log.json and the worked example of "The log" in docs/protocol.md.

    python -m tests.reference.make_log_vectors            write them
    python -m tests.reference.make_log_vectors --check    compare, exit 1 if anything differs

Everything comes from the naive reference. Keys are the SHA-256 of labels, so
that signatures can be made again from this text alone.
"""

import json
import sys

from tests.reference import log_cases, naive, naive_ed25519, naive_log
from tests.reference.log_cases import LOG_KEY, ORIGIN, RECEIPTS_KEY, key, seed
from tests.reference.make_vectors import DOCS, VECTORS, as_text

BEGIN = "<!-- made by tests/reference/make_log_vectors.py -->\n"
END = "<!-- end of the log -->\n"

RECEIPTS = ORIGIN + "/receipts"
WITNESSES = ("witness.example/w1", "w2")
SIZES = (1, 2, 3, 5, 7, 8, 13, 16)
LEAVES = [b"leaf " + naive.u32(number) for number in range(max(SIZES))]


# --- Receipts and notes to seats -------------------------------------------------


def texts(cases, read):
    for label, lines in cases:
        text = naive_log.write(lines)
        read(text)
        yield {
            "label": label,
            "text": text.decode("ascii"),
            "leaf_hash": naive.leaf_hash(text[:-1]).hex(),
        }


def refused_texts(cases, read):
    for reason, text in cases:
        try:
            read(text)
        except naive_log.Refused as refused:
            where = {"line": refused.line, "byte": refused.byte}
            yield {"reason": reason, "text_hex": text.hex()} | where
        else:
            raise ValueError(f"{reason}: is not refused")


def seat_notes():
    for label, lines in (("accepted", log_cases.NOTE), ("refused", log_cases.REFUSAL)):
        text = naive_log.write(lines)
        naive_log.read_seat_note(text)
        yield {"label": label, "text": text.decode("ascii")}


# --- Trees and proofs --------------------------------------------------------------


def trees():
    for size in (0, *SIZES):
        yield {"size": size, "root": naive.merkle_root(LEAVES[:size]).hex()}


def hexes(hashes):
    return [each.hex() for each in hashes]


def inclusion():
    """Yield every path of the sizes, and for each size some that are not one."""
    for size in SIZES:
        root = naive.merkle_root(LEAVES[:size])
        for i in range(size):
            path = naive.merkle_path(i, LEAVES[:size])
            leaf = naive.leaf_hash(LEAVES[i])
            yield inclusion_case(leaf, i, size, path, root)
            if i in {0, size - 1}:
                for wrong in wrong_hashes(path):
                    yield inclusion_case(leaf, i, size, wrong, root)
                yield inclusion_case(leaf, i, size, path, naive.sha256(root))
                yield inclusion_case(naive.sha256(leaf), i, size, path, root)
                yield inclusion_case(leaf, size, size, path, root)
                yield inclusion_case(leaf, (i + 1) % size, size, path, root)


def inclusion_case(leaf, i, size, path, root):
    return {
        "index": i,
        "size": size,
        "leaf_hash": leaf.hex(),
        "path": hexes(path),
        "root": root.hex(),
        "valid": holds(naive_log.verify_inclusion, leaf, i, size, path, root),
    }


def consistency():
    for size in SIZES:
        for old in SIZES:
            if old <= size:
                yield from consistency_cases(old, size)
        root = naive.merkle_root(LEAVES[:size])
        yield consistency_case(0, size, naive.sha256(b""), root, [])


def consistency_cases(old, size):
    old_root, root = naive.merkle_root(LEAVES[:old]), naive.merkle_root(LEAVES[:size])
    proof = naive_log.consistency_proof(old, LEAVES[:size])
    yield consistency_case(old, size, old_root, root, proof)
    if (old, size) in {(1, 2), (3, 7), (7, 8), (8, 13), (16, 16)}:
        for wrong in wrong_hashes(proof):
            yield consistency_case(old, size, old_root, root, wrong)
        yield consistency_case(old, size, root, naive.sha256(root), proof)
        yield consistency_case(old, size, naive.sha256(old_root), root, proof)
        yield consistency_case(size, old, root, old_root, proof)


def consistency_case(old, size, old_root, root, proof):
    return {
        "old": old,
        "size": size,
        "old_root": old_root.hex(),
        "root": root.hex(),
        "proof": hexes(proof),
        "valid": holds(naive_log.verify_consistency, old, size, old_root, root, proof),
    }


def wrong_hashes(hashes):
    """Yield lists near this one: one more, one fewer, one changed, two exchanged, one cut off."""
    yield [*hashes, naive.sha256(b"one more")]
    yield [naive.sha256(b"one more"), *hashes]
    if hashes:
        yield hashes[1:]
        yield hashes[:-1]
        yield [bytes([hashes[0][0] ^ 1]) + hashes[0][1:], *hashes[1:]]
        yield [*hashes[:-1], hashes[-1][:31]]
    if len(hashes) > 1:
        yield [hashes[1], hashes[0], *hashes[2:]]


def holds(verify, *arguments):
    try:
        verify(*arguments)
    except naive_log.Refused:
        return False
    return True


# --- Keys and notes ------------------------------------------------------------------


def keys():
    for name, key_type in ((ORIGIN, 1), (RECEIPTS, 1), *((name, 4) for name in WITNESSES)):
        text = key(name, key_type=key_type)
        yield {"name": name, "type": key_type, "seed": seed(name).hex(), "verifier_key": text}


def refused_keys():
    good = LOG_KEY
    name, key_id, encoded = good.split("+", 2)
    for reason, text in (
        ("nothing", ""),
        ("no name", f"+{key_id}+{encoded}"),
        ("a name with a space", good.replace("entropyd.", "entropyd ")),
        ("no id", f"{name}++{encoded}"),
        ("another id", f"{name}+00000000+{encoded}"),
        ("an id in capitals", f"{name}+{key_id.upper()}+{encoded}"),
        ("another name", "x" + good),
        ("no key", f"{name}+{key_id}+"),
        ("base64 cut off", good[:-1]),
        ("padding", good + "="),
        ("a byte more", key_with(name, 1, bytes(33))),
        ("a byte fewer", key_with(name, 1, bytes(31))),
        ("type 2", key_with(name, 2, bytes(32))),
        ("a newline", good + "\n"),
    ):
        if holds(naive_log.parse_key, text):
            raise ValueError(f"{reason}: is not refused")
        yield {"reason": reason, "verifier_key": text}


def key_with(name, key_type, public):
    return naive_log.key_text(name, key_type, public)


def signed(text, *names):
    return naive_log.sign_note(text, *((name, seed(name)) for name in names))


def notes():
    """Yield notes with the keys that are trusted, and who of them signed; nobody: refused."""
    for label, note, trusted in note_cases():
        try:
            text, signers = naive_log.open_note(note, trusted)
        except naive_log.Refused:
            text, signers = b"", []
        yield {
            "label": label,
            "note_hex": note.hex(),
            "keys": trusted,
            "text_hex": text.hex(),
            "signed_by": signers,
        }


def note_cases():
    text = b"One line.\n\nAnd another.\n"
    note = signed(text, RECEIPTS)
    stranger = signed(text, "stranger")[len(text) + 1 :]
    line = note[len(text) + 1 :]
    ours = [RECEIPTS_KEY]
    yield "signed", note, ours
    yield "signed by two", signed(text, ORIGIN, RECEIPTS), [LOG_KEY, RECEIPTS_KEY]
    yield "signed by two, one of them known", signed(text, ORIGIN, RECEIPTS), ours
    yield "a stranger's line before", text + b"\n" + stranger + line, ours
    yield "signed by a stranger only", text + b"\n" + stranger, ours
    yield "no key is trusted", note, []
    yield "the text is changed", note.replace(b"One", b"Two"), ours
    yield "a signature over another text", signed(b"x\n", RECEIPTS).replace(b"x", b"y"), ours
    yield "the key signs twice", note + line, ours
    yield "no signature", text + b"\n", ours
    yield "no empty line", text[:-14] + line, ours
    yield "the last newline is missing", note[:-1], ours
    yield "a line after the signatures", note + b"more\n", ours
    yield "an empty line after the signatures", note + b"\n", ours
    yield "text after the signatures", note + b"\nmore\n", ours
    yield "a hyphen for the dash", note.replace("\u2014".encode(), b"-"), ours
    yield "two spaces", note.replace(b"receipts ", b"receipts  "), ours
    yield "no padding", note.replace(b"=", b""), ours
    yield "base64 with a space", note[:-10] + b" " + note[-10:], ours
    yield "base64 with bits left over", left_over(note), ours
    yield "a signature of three bytes", text + "\n\u2014 a AAAA\n".encode(), ours
    for label, line_of_a_stranger in (
        ("a key id and no signature", "a AAAAAA=="),
        ("a name with +", "a+b AAAAAAA="),
        ("no name", " AAAAAAA="),
        ("nothing after the name", "a"),
        ("two spaces", "a  AAAAAAA="),
        ("a space at its end", "a AAAAAAA= "),
        ("base64 of another alphabet", "a AAAA-_8="),
    ):
        wrong = f"\u2014 {line_of_a_stranger}\n".encode()
        yield f"a stranger's line has {label}", note + wrong, ours
    yield "a stranger's line of one byte", note + "\u2014 a AAAAAAA=\n".encode(), ours
    yield "a tab in the text", note.replace(b" ", b"\t", 1), ours
    yield "CR LF", note.replace(b"\n", b"\r\n"), ours
    yield "no UTF-8", note.replace(b"One", b"On\xff"), ours
    yield "100 signatures", text + b"\n" + stranger * 99 + line, ours
    yield "101 signatures", text + b"\n" + stranger * 100 + line, ours
    yield "nothing", b"", ours
    yield "an empty text", b"\n" + line, ours


def left_over(note):
    """Return a note whose signature ends in another digit that decodes to the same bytes."""
    digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    at = note.rindex(b"=") - 1
    while note[at : at + 1] == b"=":
        at -= 1
    return note[:at] + bytes([digits[digits.index(note[at]) ^ 1]]) + note[at + 1 :]


# --- Checkpoints ---------------------------------------------------------------------


def checkpoints():
    """Yield checkpoints with the keys that are trusted, and what they say; null: refused."""
    for label, note, trusted, witnesses in checkpoint_cases():
        case = {"label": label, "note_hex": note.hex(), "keys": trusted, "witnesses": witnesses}
        try:
            origin, size, root, seen = naive_log.open_checkpoint(note, trusted, witnesses)
        except naive_log.Refused:
            yield case | {"says": None}
            continue
        saw = [{"witness": name, "time": str(time)} for name, time in seen]
        says = {"origin": origin, "size": str(size), "root": root.hex(), "seen_by": saw}
        yield case | {"says": says}


def checkpoint_cases():
    ours = [LOG_KEY]
    theirs = [key(name, key_type=4) for name in WITNESSES]
    root = naive.merkle_root(LEAVES[:5])
    text = naive_log.checkpoint_text(ORIGIN, 5, root)
    note = signed(text, ORIGIN)
    w1, w2 = (
        naive_log.cosignature_line(name, seed(name), text, 1_796_025_600) for name in WITNESSES
    )
    largest = naive_log.cosignature_line("w2", seed("w2"), text, 2**63 - 1)
    yield "signed by the operator only", note, ours, theirs
    yield "seen by one witness", note + w1, ours, theirs
    yield "seen by two", note + w2 + w1, ours, theirs
    yield "seen by nobody who is trusted", note + w1, ours, theirs[1:]
    yield "the last time that there is", note + largest, ours, theirs
    yield "of an empty log", signed(body("0", naive.sha256(b"")), ORIGIN), ours, theirs
    yield "the largest size", signed(body(str(2**63 - 1), root), ORIGIN), ours, theirs
    yield "with a line more", signed(text + b"more\n", ORIGIN), ours, theirs
    yield "under the key of receipts", signed(text, RECEIPTS), [RECEIPTS_KEY], theirs
    yield "under the wrong key", signed(text, RECEIPTS), ours, theirs
    yield "of another log", signed(text.replace(b"log", b"lag"), ORIGIN), ours, theirs
    for label, time in (("0", 0), ("beyond 2^63 - 1", 2**63)):
        line = naive_log.cosignature_line("w2", seed("w2"), text, time)
        yield f"a witness's time is {label}", note + line, ours, theirs
    other = naive_log.cosignature_line("w2", seed("w2"), text + b"x\n", 1)
    yield "a witness saw another checkpoint", note + other, ours, theirs
    plain = naive_log.signature_line(
        "w2", naive_log.parse_key(theirs[1])[1], naive_ed25519.sign(seed("w2"), text)
    )
    yield "a witness signed without a time", note + plain, ours, theirs
    yield "a witness twice", note + w1 + w1, ours, theirs
    yield "a key without time as a witness", signed(text, ORIGIN, RECEIPTS), ours, [RECEIPTS_KEY]
    for label, wrong in (
        ("a size with a zero in front", body("05", root)),
        ("a negative size", body("-5", root)),
        ("a size of 2^63", body(str(2**63), root)),
        ("a size that is no number", body("five", root)),
        ("a size of nothing", body("", root)),
        ("a root of 31 bytes", body("5", root[:31])),
        ("a root in hex", text.replace(text.split(b"\n")[2], root.hex().encode())),
        ("a root with bits left over", left_over(text)),
        ("a root of nothing for five leaves", body("5", naive.sha256(b""))),
        ("a root of something for no leaves", body("0", root)),
        ("two lines", text[: text.rindex(b"\n", 0, -1) + 1]),
        ("an empty line more", text + b"\nmore\n"),
        ("a receipt", naive_log.write(log_cases.SEAL)),
    ):
        yield label, signed(wrong, ORIGIN), ours, theirs


def body(size, root):
    first, _, rest = naive_log.checkpoint_text(ORIGIN, 1, root).split(b"\n", 2)
    return first + b"\n" + size.encode("ascii") + b"\n" + rest


# --- The worked example ----------------------------------------------------------------


def example_receipts():
    """Return the texts of a log of four entries."""
    open_hash = "52f21ab48b17e5dd7fc6e3285773326f9abbb78dbacc82f3301618083e2f525b"
    hand = (
        *log_cases.HAND,
        ("rules", "f1efb0cbbaafb3647525c3d0161c3a6e3b1e59d447f407eb7127f966811310d6"),
        ("n", "32"),
        ("C", "463fa808a9c7824b5e00017cd06daab56ee4d2af928defc4cef9c48383d93435"),
        ("D", "65e8703d6aa68f70e3dee12aecc7f290f4022b0e6df8f7ea425ebf8ddc4a58ac"),
        log_cases.NO_SEATS,
        ("O", open_hash),
        ("delivery", "whole-deck"),
        ("dealt", "32"),
    )
    table = (("tenant", "acme"), ("table", "table-7"), log_cases.POLICY)
    source = log_cases.source(numbers="16 96 18")
    user = log_cases.source("user", "user", "", "", "16 4 250", "none")
    made = [
        ("key", [("key", LOG_KEY)]),
        ("key", [("key", RECEIPTS_KEY)]),
        ("table", table),
        ("close", [*hand, log_cases.POLICY, source, user, log_cases.OS]),
    ]
    texts_ = [
        naive_log.write(log_cases.receipt(event, *lines, index=index))
        for index, (event, lines) in enumerate(made)
    ]
    for text in texts_:
        naive_log.read_receipt(text)
    return texts_


def worked_example():
    texts_ = example_receipts()
    leaves = [naive_log.receipt_leaf(text) for text in texts_]
    root = naive.merkle_root(leaves)
    text = naive_log.checkpoint_text(ORIGIN, 4, root)
    witness = WITNESSES[0]
    time = 1_796_025_600
    line = naive_log.cosignature_line(witness, seed(witness), text, time)
    yield "seed of <origin>", seed(ORIGIN).hex()
    yield "seed of <origin>/receipts", seed(RECEIPTS).hex()
    yield "seed of the witness", seed(witness).hex()
    yield "key of <origin>", LOG_KEY
    yield "key of <origin>/receipts", RECEIPTS_KEY
    yield "key of the witness", key(witness, key_type=4)
    for index, each in enumerate(texts_):
        yield f"receipt_{index}", json.dumps(each.decode("ascii"))
        yield f"leaf_hash_{index}", naive.leaf_hash(leaves[index]).hex()
    yield "note_3", escaped(signed(texts_[3], RECEIPTS))
    yield "root", root.hex()
    yield "path_3", " ".join(hexes(naive.merkle_path(3, leaves)))
    old = naive.merkle_root(leaves[:3])
    yield "root of the first 3", old.hex()
    yield "consistency of 3 and 4", " ".join(hexes(naive_log.consistency_proof(3, leaves)))
    yield "cosigned", escaped(naive_log.cosigned(text, time))
    yield "checkpoint", escaped(signed(text, ORIGIN) + line)


def escaped(text):
    return json.dumps(text.decode(), ensure_ascii=False)


def worked_text():
    lines = [f"{name} = {value}\n" for name, value in worked_example()]
    return BEGIN + "\n```text\n" + "".join(lines) + "```\n\n" + END


# --- Files ---------------------------------------------------------------------------------


def vectors():
    return {
        "receipts": list(texts(log_cases.good_receipts(), naive_log.read_receipt)),
        "receipts_refused": list(
            refused_texts(log_cases.refused_receipts(), naive_log.read_receipt)
        ),
        "seat_notes": list(seat_notes()),
        "seat_notes_refused": list(
            refused_texts(log_cases.refused_seat_notes(), naive_log.read_seat_note)
        ),
        "trees": list(trees()),
        "inclusion": list(inclusion()),
        "consistency": list(consistency()),
        "keys": list(keys()),
        "keys_refused": list(refused_keys()),
        "notes": list(notes()),
        "checkpoints": list(checkpoints()),
    }


def files():
    """Return path -> text of everything that is made here."""
    document = DOCS / "protocol.md"
    before, rest = document.read_text("utf-8").split(BEGIN)
    after = rest.split(END)[1]
    return {
        VECTORS / "log.json": as_text(vectors()),
        document: before + worked_text() + after,
    }


def main(arguments):
    different = {
        path: text
        for path, text in files().items()
        if not path.exists() or path.read_text("utf-8") != text
    }
    for path, text in different.items():
        print(path.name, "differs" if arguments == ["--check"] else "written")
        if arguments != ["--check"]:
            path.write_text(text, "utf-8")
    return 1 if arguments == ["--check"] and different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
