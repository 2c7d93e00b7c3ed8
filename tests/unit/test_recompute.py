"""The check of a whole deck: what follows passes, every single lie is named."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from entropyd.errors import CommitmentMismatchError, OrderMismatchError
from entropyd.hands.rules import Contributions, Parent, Rules
from entropyd.verify.recompute import PresentedDeck, recompute_whole_deck

CASES = json.loads((Path(__file__).parents[2] / "docs/vectors/hands.json").read_text("utf-8"))
WHOLE = [case for case in CASES["cases"] if not case["contributions"]]
unhex = bytes.fromhex


def presented(case):
    return PresentedDeck(
        tenant=case["tenant"],
        table=case["table"],
        hand=case["hand"],
        encoded_rules=case["rules"].encode("ascii"),
        sequence=case["sequence"],
        commitment=unhex(case["C"]),
        deck_root=unhex(case["D"]),
        seats_root=unhex(case["A"]),
        open_hash=unhex(case["O"]),
        seeds=unhex("".join(case["seeds"])),
        blinding=unhex(case["blinding"]),
        salt_key=unhex(case["salt_key"]),
        items=b"".join(item.to_bytes(4, "big") for item in case["items"]),
    )


TRUE = presented(WHOLE[0])


def flipped(value, byte=0):
    return value[:byte] + bytes([value[byte] ^ 1]) + value[byte + 1 :]


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case["label"])
def test_a_true_deck_passes(case):
    """Nothing is raised, and nothing else could be: the check returns no value to ignore."""
    recompute_whole_deck(presented(case))


@pytest.mark.parametrize(
    ("lie", "error", "message"),
    [
        (
            {"items": TRUE.items[4:8] + TRUE.items[:4] + TRUE.items[8:]},
            OrderMismatchError,
            "place 0",
        ),
        ({"items": flipped(TRUE.items, 207)}, OrderMismatchError, "place 51"),
        ({"items": TRUE.items[:-4]}, OrderMismatchError, "204 bytes; expected 208"),
        ({"items": TRUE.items + bytes(4)}, OrderMismatchError, "212 bytes; expected 208"),
        ({"seeds": flipped(TRUE.seeds)}, OrderMismatchError, "place"),
        ({"seeds": TRUE.seeds[:-1]}, CommitmentMismatchError, "63 bytes; expected 64"),
        ({"seeds": TRUE.seeds * 2}, CommitmentMismatchError, "128 bytes; expected 64"),
        ({"blinding": flipped(TRUE.blinding)}, CommitmentMismatchError, "commitment C"),
        ({"blinding": b""}, CommitmentMismatchError, "blinding r: 0 bytes"),
        ({"commitment": flipped(TRUE.commitment)}, CommitmentMismatchError, "commitment C"),
        ({"commitment": b""}, CommitmentMismatchError, "commitment C"),
        ({"salt_key": flipped(TRUE.salt_key)}, CommitmentMismatchError, "deck root D"),
        ({"salt_key": bytes(33)}, CommitmentMismatchError, "salt key K: 33 bytes"),
        ({"deck_root": flipped(TRUE.deck_root)}, CommitmentMismatchError, "deck root D"),
        ({"seats_root": flipped(TRUE.seats_root)}, CommitmentMismatchError, "seats root A"),
        ({"open_hash": flipped(TRUE.open_hash)}, CommitmentMismatchError, "open hash O"),
        ({"sequence": 2}, CommitmentMismatchError, "open hash O"),
        ({"sequence": 0}, CommitmentMismatchError, "sequence number q"),
        ({"sequence": 2**64}, CommitmentMismatchError, "sequence number q"),
        ({"tenant": "acne"}, OrderMismatchError, "place"),
        ({"table": "table-8"}, OrderMismatchError, "place"),
        ({"hand": "2"}, OrderMismatchError, "place"),
        ({"hand": ""}, CommitmentMismatchError, "key.hand"),
        ({"encoded_rules": TRUE.encoded_rules[:-1]}, CommitmentMismatchError, "rules"),
        ({"encoded_rules": Rules(whole_deck_proof=False).encode()}, OrderMismatchError, "place"),
        (
            {
                "encoded_rules": Rules(
                    contributions=Contributions.OPEN, whole_deck_proof=False
                ).encode()
            },
            CommitmentMismatchError,
            "contributions=open",
        ),
        (
            {"encoded_rules": Rules(parent=Parent(bytes(32), 7), whole_deck_proof=False).encode()},
            CommitmentMismatchError,
            "rules name a parent",
        ),
    ],
)
def test_every_single_lie_is_named(lie, error, message):
    """One field is changed, and the error says which value does not follow."""
    with pytest.raises(error, match=message):
        recompute_whole_deck(replace(TRUE, **lie))


def test_a_lie_is_told_without_secrets_or_cards():
    """Neither the error nor the representation shows a seed, a key or an item."""
    secrets = (TRUE.seeds, TRUE.blinding, TRUE.salt_key, TRUE.items)
    with pytest.raises(OrderMismatchError) as refused:
        recompute_whole_deck(replace(TRUE, items=flipped(TRUE.items, 3)))
    for secret in secrets:
        assert secret.hex() not in str(refused.value)
        assert repr(secret) not in repr(TRUE)
