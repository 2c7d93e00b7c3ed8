# ruff: noqa: E741 - names are the document's letters
"""Make docs/vectors/dealt_hands.json from the naive reference.

python -m tests.reference.make_hand_vectors            write it
python -m tests.reference.make_hand_vectors --check    compare, exit 1 if it differs
"""

import copy
import sys
from typing import Any

from tests.reference import (
    hand_cases,
    log_file_cases,
    naive_hands,
    naive_log,
    naive_log_file,
)
from tests.reference import naive_ed25519 as ed25519
from tests.reference.hand_cases import WITNESS, hexes, made
from tests.reference.hand_tampering import tampered_hands
from tests.reference.log_cases import LOG_KEY, RECEIPTS_KEY, key
from tests.reference.make_vectors import VECTORS, as_text

PATH = VECTORS / "dealt_hands.json"
TRUSTED = [LOG_KEY, RECEIPTS_KEY]
WITNESSES = [key(WITNESS, key_type=4)]


def signatures():
    for label in ("one", "another"):
        seed, leaf_hash = made(f"seat key {label}", 32), made(f"leaf hash {label}", 32)
        yield {
            "label": label,
            "seed": seed.hex(),
            "leaf_hash": leaf_hash.hex(),
            "key": ed25519.public_key(seed).hex(),
            "signed": naive_hands.signed_bytes(leaf_hash).hex(),
            "signature": naive_hands.sign_contribution(seed, leaf_hash).hex(),
        }


def children():
    for hand, places in (("h", [0, 1]), ("~" * 128, list(range(3, 435)))):
        X, O, K = (made(f"parent {name} {hand[0]}", 32) for name in "XOK")
        salt = naive_hands.child_salt(K, X, hand)
        yield {
            "label": f"{len(places)} places",
            "X": X.hex(),
            "O": O.hex(),
            "salt_key": K.hex(),
            "hand": hand,
            "places": places,
            "salt": salt.hex(),
            "parent": naive_hands.child_digest(O, places, salt).hex(),
        }


def deals():
    O = made("O of deals", 32)
    for recipients in ([], ["seat-1"], ["burn", "board", "~" * 128], ["rabbit"] * 52):
        root = naive_log.deals_root(O, recipients)
        yield {
            "label": str(len(recipients)),
            "O": O.hex(),
            "recipients": recipients,
            "deals": root.hex(),
        }


def hand_vector(played, log):
    file = played.file()
    if played.plan.label in {"small", "nobody contributes", "rolled"}:
        file = played.included(file, log)
    naive_hands.check_hand(file)
    naive_hands.check_hand(file, TRUSTED, WITNESSES)
    vector = {
        "label": played.plan.label,
        "seeds": hexes(played.seeds),
        "blinding": played.r.hex(),
        "salt_key": played.K.hex(),
        "contributions": [{"seat": s, "value": v.hex()} for s, v in played.values],
        "recipients": list(played.plan.deal),
        "file": file,
        "trusted": TRUSTED,
        "witnesses": WITNESSES,
    }
    if played.plan.discards:
        vector["discards"] = list(played.plan.discards)
    hashes = {name: getattr(played, name).hex() for name in ("X", "C", "D", "A", "O", "R")}
    more = {"items": played.items, "leaves": hexes(played.leaves), "cut": played.cut}
    return vector | hashes | more | {"deals": played.deals.hex()}


def log_vector(label, file, trusted):
    naive_log_file.check_log(file)
    naive_log_file.check_log(file, trusted, WITNESSES)
    return {"label": label, "file": file, "trusted": trusted, "witnesses": WITNESSES}


def applied(file, changes):
    """Return a copy of a file with changes made to it, in their order."""
    holder: dict[str, Any] = {"file": copy.deepcopy(file)}
    for change in changes:
        steps: list[Any] = ["file", *change["at"]]
        target: Any = holder
        for step in steps[:-1]:
            target = target[step]
        last = steps[-1]
        if "to" in change:
            target[last] = copy.deepcopy(change["to"])
        else:
            del target[last]
    return holder["file"]


def refused_part(file, trusted, witnesses):
    check = naive_log_file.check_log if file["entropyd"] == "log/v1" else naive_hands.check_hand
    try:
        check(file, trusted, witnesses)
    except naive_hands.Refused as refused:
        return refused.part
    return None


def tampered(cases, bases):
    for reason, of, part, trusted, changes in cases:
        base = bases[of]
        keys = (base["trusted"], base["witnesses"]) if trusted else ([], [])
        found = refused_part(applied(base["file"], changes), *keys)
        if found != part:
            raise ValueError(f"{reason}: ends in {found}, not in {part}")
        yield {"reason": reason, "of": of, "part": part, "trusted": trusted, "changes": changes}


def vectors():
    log, played = hand_cases.play_all()
    hands = [hand_vector(one, log) for one in played]
    logs = [log_vector(*case) for case in log_file_cases.log_files(log)]
    bases = {vector["label"]: vector for vector in [*hands, *logs]}
    cases = [*tampered_hands(played, bases), *log_file_cases.tampered_logs(log, bases)]
    return {
        "signatures": list(signatures()),
        "children": list(children()),
        "deals": list(deals()),
        "hands": hands,
        "logs": logs,
        "tampered": list(tampered(cases, bases)),
    }


def main(arguments):
    text = as_text(vectors())
    if PATH.exists() and PATH.read_text("utf-8") == text:
        return 0
    print(PATH.name, "differs" if arguments == ["--check"] else "written")
    if arguments == ["--check"]:
        return 1
    PATH.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
