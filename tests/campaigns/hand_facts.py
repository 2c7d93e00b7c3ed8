# ruff: noqa: E741, N803 - names are the document's letters
"""What is recorded of hands, and what callers were told of them, as the model has them.

Takes hands apart as they are stored, and receipts by their lines. Looks at what
must hold of a disk at any moment, and of an answer when it is given.

Spec: docs/protocol.md, "Receipts" and "Hands dealt card by card".
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from entropyd.hands import snapshot
from entropyd.ledger.subjects import SubjectKind
from tests.campaigns import hand_model as model
from tests.fakes.hand_desk import HOUR
from tests.fakes.ledger import MemoryDisk
from tests.reference import naive, naive_hands

# What was told, by what it is about: told once, told for ever.
Book = dict[tuple[Any, ...], bytes]
Fact = tuple[tuple[Any, ...], bytes]


def tables(disk: MemoryDisk) -> model.Table:
    """Return the hands of the one table, in order of their numbers."""
    ordered = sorted((place, owner) for owner, place in disk.dealt.items())
    states = [disk.subjects[SubjectKind.HAND, tenant, name].state for _, (tenant, name) in ordered]
    return {owner[1]: hand(state) for (_, owner), state in zip(ordered, states, strict=True)}


@lru_cache(maxsize=4096)
def hand(state: bytes) -> model.Hand:
    """Return a hand of what is recorded of it. Nobody changes it."""
    kept = snapshot.decode(_fields(state)[0])
    opened, rules = kept.opened, kept.opened.rules.encode().decode("ascii")
    return {
        "mode": str(opened.rules.contributions),
        "seats": tuple(seat.name for seat in opened.seats),
        "n": opened.size,
        "state": kept.state.upper(),
        "said": {seat: [one.leaf_hash.hex(), bool(one.leaf)] for seat, one in kept.spoken.items()},
        "leaves": {seat: one.leaf.hex() for seat, one in kept.spoken.items()},
        "deadline": opened.deadline_ns,
        "window": opened.leaf_window_ns,
        "expires": opened.opened_at_ns + HOUR,
        "roll": None if kept.roll is None else kept.roll.deadline_ns,
        "runs": [
            [run.first_place, list(run.recipients), run.claim_digest.hex()] for run in kept.runs
        ],
        "reason": kept.reason,
        "O": opened.open_hash,
        "X": naive.hand_X(opened.tenant, opened.table, opened.hand, rules.encode()),
        "plain": {
            "tenant": opened.tenant,
            "table": opened.table,
            "hand": opened.hand,
            "rules": rules,
            "sequence": opened.sequence,
            "size": opened.size,
            "seats": [[seat.name, seat.public_key.hex()] for seat in opened.seats],
            "C": opened.commitment.hex(),
            "D": opened.deck_root.hex(),
            "A": opened.seats_root.hex(),
            "O": opened.open_hash.hex(),
        },
    }


def public(one: model.Hand) -> model.Hand:
    """Return what the model knows of a hand, without what follows from it."""
    return {name: value for name, value in one.items() if name not in {"plain", "leaves"}}


def _fields(packed: bytes) -> list[bytes]:
    fields = []
    while packed:
        length = int.from_bytes(packed[:4], "big")
        fields.append(packed[4 : 4 + length])
        packed = packed[4 + length :]
    return fields


def lines(text: bytes) -> dict[str, str]:
    """Return the lines of a receipt or note, by name."""
    return dict(line.split(": ", 1) for line in text.decode("utf-8").splitlines() if ": " in line)


# --- what must hold of a disk -------------------------------------------------------------


def disk_faults(disk: MemoryDisk) -> Iterator[str]:
    """Say what is wrong with what is recorded."""
    hands = tables(disk)
    log = [lines(entry.text) for entry in disk.log]
    if [str(number) for number in range(len(log))] != [entry["index"] for entry in log]:
        yield "receipts do not stand where they say"
    numbers = [one["plain"]["sequence"] for one in hands.values()]
    if numbers != list(range(1, len(hands) + 1)):
        yield f"the table's numbers are {numbers}"
    if [entry["event"] for entry in log[:1]] != ["table"][: len(hands)]:
        yield "the table has no receipt before its first hand"
    live = [one for one in hands.values() if model.is_live(one)]
    if len(live) > model.LIMITS["open"]:
        yield f"{len(live)} hands are open"
    if sum(bool(one["runs"]) for one in live) > model.LIMITS["dealing"]:
        yield "too many hands are being dealt"
    opened = [entry["sequence"] for entry in log if entry["event"] == "open"]
    if opened != [str(number) for number in numbers]:
        yield f"open receipts have numbers {opened}"
    for name, one in hands.items():
        yield from _hand_faults(name, one, [entry for entry in log if entry.get("hand") == name])
        yield from _open_faults(disk, name, one)


def _hand_faults(name: str, one: model.Hand, log: Sequence[Mapping[str, str]]) -> Iterator[str]:
    events = [entry["event"] for entry in log]
    if events != events_of(one):
        yield f"{name} is {one['state']} and has receipts {events}"
    if len({entry["O"] for entry in log}) != 1 or log[0]["O"] != one["O"].hex():
        yield f"{name}: receipts of another hand"
    hashes = sorted(hashed for hashed, _ in one["said"].values())
    leaves = sorted((leaf for leaf in one["leaves"].values() if leaf), key=_hash_of)
    for entry in log:
        if entry["event"] in {"roll", "seal"} and (entry["contributions"], entry["R"]) != (
            str(len(hashes)),
            naive_hands.root_of_hashes([bytes.fromhex(one) for one in hashes]).hex(),
        ):
            yield f"{name}: a receipt of another roll"
        if entry["event"] == "seal" and [_hash_of(leaf) for leaf in leaves] != hashes:
            yield f"{name} is sealed without a leaf"
        if entry["event"] in {"close", "void"}:
            yield from _end_faults(name, one, entry)


def _end_faults(name: str, one: model.Hand, entry: Mapping[str, str]) -> Iterator[str]:
    dealt = model.dealt(one)
    deals = [
        naive.LP(b"entropyd/deal/v1")
        + naive.LP(one["O"])
        + naive.u32(place)
        + naive.LP(to.encode("ascii"))
        for place, to in enumerate(dealt)
    ]
    said = entry["dealt"], entry["deals"], entry.get("reason", "")
    if said != (str(len(dealt)), naive.merkle_root(deals).hex(), one["reason"]):
        yield f"{name}: its end says {said}"


def _hash_of(leaf: str) -> str:
    hashed: str = naive.leaf_hash(bytes.fromhex(leaf)).hex()
    return hashed


def events_of(one: model.Hand) -> list[str]:
    """Return the receipts that a hand has, in order."""
    rolled = ["roll"] if one["roll"] else []
    sealed = one["state"] in {model.SEALED, model.CLOSED} or bool(one["runs"])
    # A void hand was sealed before if its window was over and nothing lacks.
    was_cut = one["roll"] is not None and all(there for _, there in one["said"].values())
    seal = ["seal"] if sealed or was_cut else []
    end = {model.CLOSED: ["close"], model.VOID: ["void"]}.get(one["state"], [])
    return ["open", *rolled, *seal, *end]


def _open_faults(disk: MemoryDisk, name: str, one: model.Hand) -> Iterator[str]:
    """O, C and D follow from what was drawn, whatever happened since."""
    [first] = [step for step in disk.steps[SubjectKind.HAND, "room", name] if step.step == "open"]
    plain = json.dumps(one["plain"], sort_keys=True)
    for what, follows in _drawn(first.secret, plain).items():
        if not follows:
            yield f"{name}: {what} does not follow from what was drawn"


@lru_cache(maxsize=4096)
def deck_of(secret: bytes) -> tuple[tuple[int, ...], bytes, bytes, bytes]:
    """Return items, seeds, r and K of the step that opened a hand."""
    items, seeds, r, K = _fields(secret)
    ordered = [int.from_bytes(items[at : at + 2], "big") for at in range(0, len(items), 2)]
    return tuple(ordered), seeds, r, K


@lru_cache(maxsize=4096)
def _drawn(secret: bytes, plain_text: str) -> dict[str, bool]:
    plain = json.loads(plain_text)
    items, seeds, r, K = deck_of(secret)
    X = naive.hand_X(plain["tenant"], plain["table"], plain["hand"], plain["rules"].encode())
    C, D, A = (bytes.fromhex(plain[name]) for name in "CDA")
    O = naive.open_hash_O(X, plain["sequence"], plain["size"], C, D, A)
    split = [seeds[at : at + 64] for at in range(0, len(seeds), 64)]
    return {
        "C": C == naive.commitment_C(X, split, r),
        "D": D == naive.deck_root_by_cards(X, K, items),
        "A": A == naive.seats_root_A({seat: bytes.fromhex(key) for seat, key in plain["seats"]}),
        "O": O.hex() == plain["O"],
        "a": list(items) == naive.shuffle(plain["size"], split, X, "masked"),
    }


# --- what is told -------------------------------------------------------------------------


def replies(asked: Sequence[model.Call], answer: Any) -> list[Any]:
    """Return what each part of a call was told; None: nothing was said of it."""
    first: Any = model.OK
    if asked[0]["do"] == "contribute":
        first = [outcome.refused for outcome in answer.outcomes]
    if len(asked) == 1:
        return [first]
    done, refused = (
        ("dealt", "deal_refusal") if asked[1]["do"] == "deal" else ("next", "next_refusal")
    )
    if answer.HasField(refused):
        return [first, getattr(answer, refused).reason]
    return [first, model.OK if answer.HasField(done) else None]


def facts(name: str, answer: Any) -> Iterator[Fact]:
    """Yield what an answer says that may never be said otherwise."""
    fields = {field.name: value for field, value in answer.ListFields()}
    if "hand" in fields:
        yield from _facts_of_hand(answer.hand)
    for outcome in fields.get("outcomes", ()):
        if not outcome.refused:
            yield ("note", name, outcome.seat), outcome.note.encode()
    for card in fields.get("cards", ()):
        yield ("recipient", name, card.place, bool(card.recipient)), card.recipient.encode()
        if card.item:
            yield ("card", name, card.place), _encoded(card)
    if "revealed" in fields:
        yield ("revealed", name), _encoded(answer.revealed)
    if "dealt" in fields and not isinstance(answer.dealt, int):
        yield from facts(name, answer.dealt)
    if "next" in fields:
        yield from facts(answer.next.hand.opened.key.hand, answer.next)


def _facts_of_hand(told: Any) -> Iterator[Fact]:
    name = told.opened.key.hand
    for part in ("opened", "roll", "sealed", "ended"):
        if told.HasField(part):
            yield (part, name), _encoded(getattr(told, part))


def _encoded(message: Any) -> bytes:
    encoded: bytes = message.SerializeToString(deterministic=True)
    return encoded


def answer_faults(disk: MemoryDisk, do: str, name: str, answer: Any) -> Iterator[str]:
    """Say what an answer tells that is not recorded when it is told, or does not follow."""
    fields = {field.name for field, _ in answer.ListFields()}
    hands = tables(disk)
    if "hand" in fields:
        yield from _told_hand_faults(disk, hands, answer.hand)
    for outcome in getattr(answer, "outcomes", ()):
        said = hands[name]["said"].get(outcome.seat, [""])[0]
        if not outcome.refused and lines(outcome.note.encode())["leaf"] != said:
            yield f"{name}: {outcome.seat} was told accepted, and its leaf is not recorded"
    for card in getattr(answer, "cards", ()):
        yield from _card_faults(disk, hands[name], card, burned=do == "show")
    if "dealt" in fields and not isinstance(answer.dealt, int):
        yield from answer_faults(disk, "deal", name, answer.dealt)
    if "next" in fields:
        yield from answer_faults(disk, "open", answer.next.hand.opened.key.hand, answer.next)


def _told_hand_faults(disk: MemoryDisk, hands: model.Table, told: Any) -> Iterator[str]:
    name = told.opened.key.hand
    one = hands.get(name)
    if one is None or told.opened.open_hash != one["O"]:
        yield f"{name}: told, and not recorded"
        return
    if told.dealt > len(model.dealt(one)):
        yield f"{name}: told of {told.dealt} cards, recorded {len(model.dealt(one))}"
    for part in ("opened", "roll", "sealed", "ended"):
        if told.HasField(part):
            receipt = getattr(told, part).receipt
            recorded = (
                disk.log[receipt.log_index].text if receipt.log_index < len(disk.log) else b""
            )
            if not recorded or not receipt.note.encode().startswith(recorded + b"\n"):
                yield f"{name}: its receipt of {part} is not in the log"
    if told.HasField("sealed"):
        items = [
            int.from_bytes(told.sealed.cut[at : at + 4], "big") for at in range(0, 4 * one["n"], 4)
        ]
        if items != cut_of(one):
            yield f"{name}: told another cut"


def cut_of(one: model.Hand) -> list[int]:
    """Return the cut of a sealed hand, by the naive reference."""
    return list(_cut(one["O"], one["n"], tuple(sorted(one["leaves"].values()))))


@lru_cache(maxsize=4096)
def _cut(O: bytes, n: int, leaves: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(naive.cut_permutation(O, n, [bytes.fromhex(leaf) for leaf in leaves], "masked"))


def _card_faults(disk: MemoryDisk, one: model.Hand, card: Any, *, burned: bool) -> Iterator[str]:
    name, to = one["plain"]["hand"], model.dealt(one)
    log = [lines(entry.text) for entry in disk.log]
    if ("seal", name) not in [(entry["event"], entry.get("hand")) for entry in log]:
        yield f"{name}: a card left before the seal was recorded"
        return
    recipient = to[card.place] if card.place < len(to) else ""
    if card.recipient != recipient:
        yield f"{name}: place {card.place} went to {card.recipient!r}, recorded is {recipient!r}"
    hidden = (recipient == "burn" and not (burned and one["state"] == model.CLOSED)) or (
        not recipient and one["state"] != model.CLOSED
    )
    told = card.item, card.salt, tuple(card.path)
    if hidden and told != (b"", b"", ()):
        yield f"{name}: the card of place {card.place} left, which may not"
    if not hidden:
        [first] = [
            step for step in disk.steps[SubjectKind.HAND, "room", name] if step.step == "open"
        ]
        items, _, _, K = deck_of(first.secret)
        index, item, salt, path = naive_hands.card_proof(
            one["X"], K, items, cut_of(one), card.place
        )
        if (card.leaf_index, *told) != (index, naive.u32(item), salt, tuple(path)):
            yield f"{name}: another card at place {card.place}, or another proof"
