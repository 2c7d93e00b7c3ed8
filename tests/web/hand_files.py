"""Hand and log files for the page: those of the vectors, and others that the reference plays."""

import copy
from functools import cache
from typing import Any

from entropyd.hands.card_proof import CardProof, CardTree
from tests.reference import hand_cases, naive
from tests.reference.hand_cases import Log, Plan, Played
from tests.web.proofs import File, vectors

VECTORS = vectors("dealt_hands")
BASES: dict[str, File] = {one["label"]: one for one in (*VECTORS["hands"], *VECTORS["logs"])}
HANDS = {one["label"]: one["file"] for one in VECTORS["hands"]}
LOGS = {one["label"]: one["file"] for one in VECTORS["logs"]}
FILES = HANDS | LOGS
SMALL = HANDS["small"]


def keys_of(label: str) -> str:
    """Return the keys of a file of the vectors as somebody would paste them."""
    base = BASES[label]
    return "\n".join([*base["trusted"], *base["witnesses"]])


def tampered(vector: File) -> File:
    """Return the file of one of the vectors that MUST be refused."""
    holder: Any = {"file": copy.deepcopy(BASES[vector["of"]]["file"])}
    for change in vector["changes"]:
        path = ["file", *change["at"]]  # of the file itself too, where all of it is another one
        target = holder
        for step in path[:-1]:
            target = target[step]
        if "to" in change:
            target[path[-1]] = copy.deepcopy(change["to"])
        else:
            del target[path[-1]]
    file: File = holder["file"]
    return file


@cache
def large_hand() -> File:
    """Return a closed hand of 432 cards, all of them shown, and the whole of it revealed."""
    rules = hand_cases.RULES | {"contributions": "open", "deck": "standard54", "decks": "8"}
    seats = {f"seat-{number}": False for number in range(1, 10)}
    plan = Plan(
        "432 cards", rules | {"reveal": "after_close"}, seats, tuple(seats), ("board",) * 400,
        show=(), reveal=True,
    )  # fmt: skip
    played = Played(plan, Log())
    # The reference makes a path by hashing the whole tree: here they are made of one.
    tree = CardTree(played.X, played.K, played.items)
    proofs = [tree.prove(place, leaf) for place, leaf in enumerate(played.cut)]
    file: File = played.file()
    return file | {"cards": [_card(proof, plan.deal) for proof in proofs]}


def _card(proof: CardProof, deal: tuple[str, ...]) -> File:
    return {
        "place": proof.place,
        "recipient": deal[proof.place] if proof.place < len(deal) else "",
        "leaf_index": proof.leaf_index,
        "item": proof.item,
        "salt": proof.salt.hex(),
        "path": [node.hex() for node in proof.path],
    }


def with_two_values_exchanged(label: str) -> File:
    """Return a file in which two seats have each other's contribution, in order again."""
    file: File = copy.deepcopy(HANDS[label])
    contributions = BASES[label]["contributions"]
    opened = bytes.fromhex(BASES[label]["O"])
    values = {one["seat"]: bytes.fromhex(one["value"]) for one in contributions}
    first, second = sorted(values)[:2]
    values[first], values[second] = values[second], values[first]
    leaves = [naive.contribution_leaf(opened, seat, value) for seat, value in values.items()]
    file["leaves"] = [leaf.hex() for leaf in naive.sort_contributions(leaves)]
    file.pop("leaf_hashes", None)
    return file
