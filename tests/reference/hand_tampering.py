# ruff: noqa: E741 - names are the document's letters
"""Hand files that MUST be refused: what was changed in a good one, and where the check ends.

Yields (reason, label of the hand, part, whether the verifier has the keys, changes).
"""

import copy
import re

from tests.reference import hand_cases, log_cases, naive, naive_log
from tests.reference.hand_cases import RECEIPTS, WITNESS, Log, Plan, Played, made
from tests.reference.log_cases import LOG_KEY, ORIGIN, key, seed

STRANGER = "a stranger's key of receipts"


def to(value, *at):
    return {"at": list(at), "to": value}


def gone(*at):
    return {"at": list(at)}


def other(text):
    """Return hex that differs in its first digit."""
    return ("1" if text[0] == "0" else "0") + text[1:]


def resigned(note, signer=None, **changes):
    """Return a receipt with lines changed (None: left out) and signed again."""
    text, _ = naive_log.read_note(note.encode())
    lines = [line.split(": ", 1) for line in text.decode("ascii")[:-1].split("\n")]
    kept = [(n, changes.get(n, v)) for n, v in lines if changes.get(n, v) is not None]
    signed = naive_log.sign_note(naive_log.write(kept), (RECEIPTS, signer or seed(RECEIPTS)))
    return signed.decode()


def wrong_signature(note):
    """Return a note whose signature has another character in its middle."""
    at = note.rindex("=") - 30
    return note[:at] + ("A" if note[at] != "A" else "B") + note[at + 1 :]


def tampered_hands(played, bases):
    hands = {one.plan.label: one for one in played}
    yield from of_cards(hands, bases)
    yield from of_contributions(hands, bases)
    yield from of_receipts(hands, bases)
    yield from of_what_is_fixed(hands, bases)
    yield from of_the_end(hands, bases)
    yield from of_reveals(hands, bases)
    yield from of_notes(hands, bases)
    yield from of_the_log(bases)


def of_cards(hands, bases):
    cards = bases["small"]["file"]["cards"]

    def small(reason, *changes, part="cards[1]"):
        return reason, "small", part, False, list(changes)

    yield small("a card of another place", to(cards[2] | {"place": 1}, "cards", 1))
    for name in ("leaf_index", "item", "salt", "path"):
        yield small(f"{name} of another card", to(cards[2][name], "cards", 1, name))
    yield small(
        "salts exchanged",
        to(cards[1]["salt"], "cards", 0, "salt"),
        to(cards[0]["salt"], "cards", 1, "salt"),
        part="cards[0]",
    )
    yield small("an item that no deck has", to(12, "cards", 1, "item"))
    yield small("a place beyond the deck", to(12, "cards", 11, "place"), part="cards[11]")
    yield small("a card twice", to(cards[0], "cards", 1))
    yield small("a place below the one before", to([cards[1], cards[0]], "cards"))
    path = cards[1]["path"]
    yield small("a path without its last hash", to(path[:-1], "cards", 1, "path"))
    yield small("a path with a hash more", to([*path, path[0]], "cards", 1, "path"))
    yield small("a path turned round", to(path[::-1], "cards", 1, "path"))
    yield small("no path", to([], "cards", 1, "path"))
    yield small("another recipient", to("seat-1", "cards", 1, "recipient"))
    yield small("a card that was dealt has no recipient", to("", "cards", 1, "recipient"))
    yield small(
        "a card that was never dealt has one",
        to("seat-1", "cards", 9, "recipient"),
        part="cards[9]",
    )
    yield from cards_of_others(hands)
    yield two_cards_with_one_item()


def cards_of_others(hands):
    one = hands["small"]
    uncut = copy.copy(one)
    uncut.cut = list(range(one.n))
    place = next(p for p in range(one.n) if one.cut[p] != p)
    changes = [to(uncut.card(place), "cards", place)]
    yield "cards that nobody moved", "small", f"cards[{place}]", False, changes
    dealing = hands["dealing"]
    more = [*(dealing.card(p) for p in (0, 1, 2, 3)), dealing.card(4)]
    yield "a burned card shown before the close", "dealing", "cards[4]", False, [to(more, "cards")]
    more = [*(dealing.card(p) for p in (0, 1)), dealing.card(8)]
    yield "a card shown that was not dealt", "dealing", "cards[2]", False, [to(more, "cards")]
    opened = hands["just opened"]
    changes = [to([opened.card(0)], "cards")]
    yield "a card before the seal", "just opened", "cards[0]", False, changes
    changes = [to("seat-2", "cards", 0, "recipient")]
    yield (
        "a card that departs from the plan",
        "in its place",
        "cards[0]",
        False,
        [
            gone("recipients"),
            *changes,
        ],
    )


def two_cards_with_one_item():
    """A false deck, committed like a true one: only its cards show it."""
    rules = hand_cases.RULES | hand_cases.SMALL
    false = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0)
    plan = Plan("a false deck", rules, deal=hand_cases.TABLE_OF_TWO, items=false)
    file = Played(plan, Log()).file()
    return "two cards with one item", "small", "cards[11]", False, [to(file, *())]


def of_contributions(hands, bases):
    file, one = bases["small"]["file"], hands["small"]
    leaves = file["leaves"]

    def small(reason, part, *changes):
        return reason, "small", part, False, list(changes)

    yield small("a leaf left out", "leaves", to(leaves[:1], "leaves"))
    yield small("no leaves", "leaves", to([], "leaves"))
    changed = [to(changed_leaf(leaves[0]), "leaves", 0), gone("leaf_hashes")]
    yield small("a contribution changed", "leaves", *changed)
    yield small("leaves in the other order", "leaves", to(leaves[::-1], "leaves"))
    yield small("a leaf twice", "leaves[1]", to([leaves[0]] * 2, "leaves"))
    for reason, O, seat in (
        ("a leaf of another hand", made("another O", 32), "seat-1"),
        ("a leaf of no seat", one.O, "seat-3"),
    ):
        leaf = naive.contribution_leaf(O, seat, bytes(32)).hex()
        yield small(reason, "leaves[0]", to(leaf, "leaves", 0))
    yield small("a leaf with a byte more", "leaves[0]", to(leaves[0] + "00", "leaves", 0))
    hashes = file["leaf_hashes"]
    yield small("a leaf hash changed", "leaf_hashes", to(other(hashes[0]), "leaf_hashes", 0))
    yield small("a leaf hash left out", "leaf_hashes", to(hashes[:1], "leaf_hashes"))
    yield small("leaf hashes out of order", "leaf_hashes", to(hashes[::-1], "leaf_hashes"))
    yield "leaf hashes without a roll", "just opened", "leaf_hashes", False, [to([], "leaf_hashes")]
    leaf = naive.contribution_leaf(hands["just opened"].O, "seat-1", bytes(32)).hex()
    yield "a leaf before the seal", "just opened", "leaves", False, [to([leaf], "leaves")]


def changed_leaf(leaf):
    return leaf[:-1] + ("0" if leaf[-1] != "0" else "1")


def of_receipts(hands, bases):
    notes, others = bases["small"]["file"]["receipts"], bases["rolled"]["file"]["receipts"]

    def small(reason, part, *changes, trusted=False):
        return reason, "small", part, trusted, list(changes)

    for name, note in notes.items():
        part = f"receipts.{name}"
        yield small(f"{name}: a wrong signature", part, to(wrong_signature(note), "receipts", name))
        yield small(
            f"{name}: not signed", part, to(note.partition("\n\n")[0] + "\n", "receipts", name)
        )
        foreign = resigned(note, seed(STRANGER))
        yield small(f"{name}: signed by a stranger", part, to(foreign, "receipts", name))
        changed = note.replace("tenant: acme", "tenant: acne")
        yield small(f"{name}: another text", part, to(changed, "receipts", name))
        if name != "open":
            changed = resigned(note, O=made("another O", 32).hex())
            yield small(f"{name}: of another O", part, to(changed, "receipts", name))
            changed = resigned(note, sequence="99")
            yield small(f"{name}: another number", part, to(changed, "receipts", name))
            yield small(
                f"{name}: an older index", part, to(resigned(note, index="0"), "receipts", name)
            )
    for name in ("open", "roll"):
        part = f"receipts.{name}"
        yield small(f"{name} of another hand", part, to(others[name], "receipts", name))
    changed = bases["dealing"]["file"]["receipts"]["seal"]
    yield small("seal of another hand", "receipts.seal", to(changed, "receipts", "seal"))
    yield small(
        "the seal in place of the roll", "receipts.roll", to(notes["seal"], "receipts", "roll")
    )
    more = resigned(notes["seal"], contributions="3", R=made("R", 32).hex())
    yield small("a roll that is not the seal's", "receipts.seal", to(more, "receipts", "seal"))
    more = resigned(notes["seal"], R=made("R", 32).hex())
    yield small("R that is not the roll's", "receipts.seal", to(more, "receipts", "seal"))
    more = resigned(notes["roll"], contributions="4")
    yield small("more contributions than seats", "receipts.roll", to(more, "receipts", "roll"))
    yield small("sealed without a roll", "receipts.seal", gone("receipts", "roll"))
    yield small("closed without a seal", "receipts.close", gone("receipts", "seal"))
    yield small(
        "closed as a Shuffle",
        "receipts.close",
        to(as_shuffle(notes["close"], notes["open"]), "receipts", "close"),
        to([], "cards"),
        gone("recipients"),
        gone("checkpoint"),
        gone("inclusion"),
    )
    void = resigned(notes["close"], event="void", index="999", reason=None)
    void = void.replace("time: ", "reason: misdeal\ntime: ", 1)
    void = resigned(void)
    yield small("closed and void", "receipts.void", to(void, "receipts", "void"))
    yield from receipts_of_other_rules(hands, bases)
    yield from of_keys(notes)


def as_shuffle(close, opened):
    """Return the close that a `Shuffle` of the same hand would have had."""
    text = opened.partition("\n\n")[0] + "\n"
    [index] = re.findall("^index: .*\n", close, re.MULTILINE)
    [n] = re.findall("^n: (.*)\n", text, re.MULTILINE)
    for line, put in (
        ("index: .*\n", index),
        ("event: .*\n", "event: close\n"),
        ("A: .*\n", f"A: {naive_log.EMPTY}\n"),
        ("deadline: .*\n", f"delivery: whole-deck\ndealt: {n}\n"),
    ):
        text = re.sub(f"^{line}", put, text, count=1, flags=re.MULTILINE)
    return naive_log.sign_note(text.encode(), (RECEIPTS, seed(RECEIPTS))).decode()


def receipts_of_other_rules(hands, bases):
    note = bases["dealing"]["file"]["receipts"]["seal"]
    roll = resigned(note, event="roll", time=None).partition("\n\n")[0]
    roll = naive_log.sign_note(
        f"{roll}\ndeadline: {log_cases.TIME}\ntime: {log_cases.TIME}\n".encode(),
        (RECEIPTS, seed(RECEIPTS)),
    ).decode()
    yield (
        "a roll of open contributions",
        "dealing",
        "receipts.roll",
        False,
        [to(roll, "receipts", "roll")],
    )
    note = bases["nobody contributes"]["file"]["receipts"]["seal"]
    seal = resigned(note, contributions="1", R=made("R", 32).hex())
    yield (
        "a contribution where nobody contributes",
        "nobody contributes",
        "receipts.seal",
        False,
        [to(seal, "receipts", "seal")],
    )


def of_keys(notes):
    foreign = key(RECEIPTS, STRANGER)
    other_log = [key("other.example/log"), key("other.example/log/receipts")]
    forged = {name: resigned(note, seed(STRANGER)) for name, note in notes.items()}
    yield "keys of another log", "small", "receipts.open", False, [to(other_log, "keys")]
    yield "seventeen keys", "small", "keys", False, [to([LOG_KEY] * 17, "keys")]
    yield "no keys", "small", "receipts.open", False, [to([], "keys")]
    yield "the key of checkpoints alone", "small", "receipts.open", False, [to([LOG_KEY], "keys")]
    yield (
        "a key with another id",
        "small",
        "keys",
        False,
        [to(LOG_KEY.replace("+7", "+8"), "keys", 0)],
    )
    witness = key(RECEIPTS, key_type=4)
    yield (
        "the key of receipts as a witness's",
        "small",
        "receipts.open",
        False,
        [to([witness], "keys")],
    )
    yield (
        "signed by a stranger throughout, keys given",
        "small",
        "receipts.open",
        True,
        [
            to(forged, "receipts"),
            to([LOG_KEY, foreign], "keys"),
        ],
    )


def of_what_is_fixed(hands, bases):
    file = bases["small"]["file"]
    note = file["receipts"]["open"]

    def small(reason, part, *changes):
        return reason, "small", part, False, list(changes)

    for name in ("tenant", "table", "hand"):
        yield small(f"another {name}", "receipts.open", to("another", name))
    rules = file["rules"]
    yield small("other rules", "rules", to(rules.replace("masked", "word32"), "rules"))
    yield small("rules in another spelling", "rules", to(rules.replace("\n", "\r\n"), "rules"))
    deck = rules.replace("reveal", "proofs=deck\nreveal").replace("sealed", "none")
    yield small("rules of a whole deck", "rules", to(deck, "rules"))
    seats = file["seats"]
    yield small("a seat left out", "seats", to(seats[1:], "seats"))
    yield small("seats in another order", "seats", to(seats[::-1], "seats"))
    yield small("a seat twice", "seats", to([seats[0], *seats], "seats"))
    yield small("a seat without its key", "seats", to("", "seats", 2, "key"))
    yield small("a key of another seat", "seats", to(made("key", 32).hex(), "seats", 0, "key"))
    yield (
        "seats where nobody contributes",
        "nobody contributes",
        "seats",
        False,
        [to([{"seat": "seat-1", "key": ""}], "seats")],
    )
    for name, value in (("C", None), ("D", None), ("O", None), ("sequence", "99"), ("n", "13")):
        changed = resigned(note, **{name: value or made(name, 32).hex()})
        yield small(f"another {name}, signed", "receipts.open", to(changed, "receipts", "open"))
    changed = resigned(note, A=made("A", 32).hex())
    yield small("another A, signed", "seats", to(changed, "receipts", "open"))
    yield small(
        "no deadline", "receipts.open", to(resigned(note, deadline=None), "receipts", "open")
    )
    for of, name in (("its child", "parent"), ("in its place", "replaces")):
        note = bases[of]["file"]["receipts"]["open"]
        changed = to(resigned(note, **{name: made(name, 32).hex()}), "receipts", "open")
        yield f"another {name}, signed", of, "receipts.open", False, [changed]
        changed = to(resigned(note, **{name: None}), "receipts", "open")
        yield f"no {name}, signed", of, "receipts.open", False, [changed]


def of_the_end(hands, bases):
    file = bases["small"]["file"]
    recipients = file["recipients"]

    def small(reason, part, *changes):
        return reason, "small", part, False, list(changes)

    changed = ["seat-2", *recipients[1:]]
    yield small("deals root of other recipients", "recipients", to(changed, "recipients"))
    yield small("a recipient left out", "recipients", to(recipients[:-1], "recipients"))
    yield small("a recipient more", "recipients", to([*recipients, "board"], "recipients"))
    close = file["receipts"]["close"]
    yield small(
        "more dealt than there are cards", "receipts.close",
        to(resigned(close, dealt="13"), "receipts", "close"),
    )  # fmt: skip
    yield small(
        "another number dealt", "recipients", to(resigned(close, dealt="7"), "receipts", "close")
    )
    yield (
        "recipients before the seal",
        "just opened",
        "recipients",
        False,
        [to(["seat-1"], "recipients")],
    )
    departs = ["seat-2", *bases["in its place"]["file"]["recipients"][1:]]
    yield (
        "recipients that depart from the plan",
        "in its place",
        "recipients",
        False,
        [to(departs, "recipients")],
    )
    void = resigned(bases["void by time"]["file"]["receipts"]["void"], dealt="1", deals="0" * 64)
    yield (
        "cards dealt in a hand without a seal",
        "void by time",
        "receipts.void",
        False,
        [to(void, "receipts", "void")],
    )


def of_reveals(hands, bases):
    for of in ("small", "jokers, two of three seats, word-32, revealed"):
        told = bases[of]["file"]["reveal"]
        for name in ("blinding", "salt_key"):
            yield f"another {name}", of, "reveal", False, [to(other(told[name]), "reveal", name)]
        seeds = [made("another seed").hex(), *told["seeds"][1:]]
        yield "another seed", of, "reveal", False, [to(seeds, "reveal", "seeds")]
        yield "a seed left out", of, "reveal", False, [to(told["seeds"][1:], "reveal", "seeds")]
        more = [*told["seeds"], told["seeds"][0]]
        yield "a seed more", of, "reveal", False, [to(more, "reveal", "seeds")]
        swapped = told | {"blinding": told["salt_key"], "salt_key": told["blinding"]}
        yield "blinding and salt key exchanged", of, "reveal", False, [to(swapped, "reveal")]
    told = bases["small"]["file"]["reveal"]
    yield "revealed under reveal=never", "nobody contributes", "reveal", False, [to(told, "reveal")]
    cards = bases["small"]["file"]["cards"]
    shown = [card for card in cards if card["recipient"] not in {"", "burn"}]
    yield (
        "revealed before the close",
        "small",
        "reveal",
        False,
        [
            gone("receipts", "close"),
            to(shown, "cards"),
        ],
    )
    yield (
        "discards of a hand without a parent",
        "small",
        "reveal",
        False,
        [to([0, 1], "reveal", "discards")],
    )
    child = bases["its child"]["file"]
    discards, places = child["reveal"]["discards"], child["parent"]["places"]
    for reason, changed in (
        ("no discards", None),
        ("discards in another order", discards[::-1]),
        ("a discard left out", discards[1:]),
        ("a discard twice", [discards[0], *discards[:-1]]),
        ("a discard that no deck has", [99, *discards[1:]]),
    ):
        change = to(changed, "reveal", "discards") if changed else gone("reveal", "discards")
        yield reason, "its child", "reveal", False, [change]
    for reason, name, value in (
        ("other places of the parent", "places", [0, *places[1:]]),
        ("places that descend", "places", places[::-1]),
        ("a place left out", "places", places[1:]),
        ("another parent", "O", made("O", 32).hex()),
        ("another salt", "salt", made("salt", 32).hex()),
    ):
        yield reason, "its child", "parent", False, [to(value, "parent", name)]
    yield (
        "a parent of a hand that has none",
        "small",
        "parent",
        False,
        [to(child["parent"], "parent")],
    )


def of_notes(hands, bases):
    one = hands["small"]
    file = bases["small"]["file"]

    def small(reason, note):
        return reason, "small", "notes[0]", False, [to(note, "notes", 0)]

    lost = made("a contribution that was accepted", 32)
    leaf_hash = bytes.fromhex(file["leaf_hashes"][0])
    of_first = next(
        s for s, v in one.values if one.leaves[0] == naive.contribution_leaf(one.O, s, v)
    )
    of_other = next(s for s, _ in one.values if s != of_first)
    yield small("accepted, and left out", one.note("seat-1", lost))
    yield small("accepted for another seat", one.note(of_other, leaf_hash))
    yield small("accepted for no seat", one.note("seat-3", leaf_hash))
    yield small("a note of another hand", one.note("seat-1", leaf_hash, O=made("O", 32).hex()))
    yield small(
        "a note signed by a stranger", one.note(of_first, leaf_hash, key_seed=seed(STRANGER))
    )
    yield small("a note with a wrong signature", wrong_signature(file["notes"][0]))
    yield small("refused for no reason that there is", one.note("seat-1", lost, "dislike"))
    yield small("a receipt in place of a note", file["receipts"]["close"])
    rolled = hands["rolled"]
    yield (
        "accepted, and left out of the roll",
        "rolled",
        "notes[1]",
        False,
        [to(rolled.note("seat-1", lost), "notes", 1)],
    )


def of_the_log(bases):
    file = bases["small"]["file"]
    checkpoint, inclusion = file["checkpoint"], file["inclusion"]

    def small(reason, part, *changes, trusted=False):
        return reason, "small", part, trusted, list(changes)

    yield small(
        "checkpoint: a wrong signature", "checkpoint", to(wrong_log(checkpoint), "checkpoint")
    )
    text = naive_log.checkpoint_text("other.example/log", 5, made("root", 32))
    foreign = naive_log.sign_note(text, (ORIGIN, seed(ORIGIN))).decode()
    yield small("checkpoint of another log", "checkpoint", to(foreign, "checkpoint"))
    text = naive_log.read_note(checkpoint.encode())[0]
    by_receipts = naive_log.sign_note(text, (RECEIPTS, seed(RECEIPTS))).decode()
    yield small("checkpoint under the key of receipts", "checkpoint", to(by_receipts, "checkpoint"))
    bad = naive_log.cosignature_line(WITNESS, seed(WITNESS), text + b"x", 1)
    seen = naive_log.sign_note(text, (ORIGIN, seed(ORIGIN))) + bad
    yield small(
        "a trusted witness saw something else", "checkpoint", to(seen.decode(), "checkpoint"),
        trusted=True,
    )  # fmt: skip
    other_root = naive_log.checkpoint_text(ORIGIN, 9999, made("root", 32))
    forked = naive_log.sign_note(other_root, (ORIGIN, seed(ORIGIN))).decode()
    yield small("inclusion under another root", "inclusion.open", to(forked, "checkpoint"))
    for name, told in inclusion.items():
        part = f"inclusion.{name}"
        yield small(
            f"{name}: another index", part, to(told["index"] + 1, "inclusion", name, "index")
        )
        path = [other(told["path"][0]), *told["path"][1:]]
        yield small(f"{name}: another path", part, to(path, "inclusion", name, "path"))
        yield small(
            f"{name}: a path cut off", part, to(told["path"][:-1], "inclusion", name, "path")
        )
    yield small("inclusion without a checkpoint", "inclusion.open", gone("checkpoint"))
    change = to({"void": inclusion["close"]}, "inclusion")
    yield small("inclusion of a receipt that is not there", "inclusion.void", change)


def wrong_log(note):
    """Return a checkpoint whose first signature has another character."""
    at = note.index("— ") + len("— " + ORIGIN) + 20
    return note[:at] + ("A" if note[at] != "A" else "B") + note[at + 1 :]
