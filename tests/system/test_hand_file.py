"""`entropyctl hand`: what it shows of a hand, and that its file is one that verifiers take."""

import json
from pathlib import Path
from typing import Any

import pytest

from entropyd.client import Contributions, HandAsk, SeatContribution
from entropyd.client.hand_file import hand_file
from entropyd.errors import RequestError
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.signed_note import SignedNote
from entropyd.verify import check_proof
from tests.fakes.hand_desk import Player
from tests.system.harness import running, until
from tests.system.test_cli import entropyctl

ANN, BOB = Player("seat-1"), Player("seat-2", keyed=True)
SEATS = {player.seat: player.as_seat.public_key for player in (BOB, ANN)}
PLACES = [("seat-1", 1), ("seat-2", 1), ("burn", 1), ("board", 1)]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with running(tmp_path_factory.mktemp("hand-file")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def client(daemon):
    with daemon.client(socket_name="dealer.sock") as client:
        yield client


@pytest.fixture
def hand(client, request):
    """A sealed hand of two seats, four places dealt; its id is the test's."""
    hands, name = client.hands(), request.node.name.removeprefix("test_")
    ask = HandAsk(name, name, contributions=Contributions.SEALED, seats=SEATS, contribute_for_s=60)
    opened = hands.open(ask)
    told = [player.seals(opened.open_hash) for player in (ANN, BOB)]
    sealed = [
        SeatContribution(one.seat, leaf_hash=one.leaf_hash, signature=one.signature) for one in told
    ]
    hands.contribute(name, name, opened.open_hash, sealed)
    values = [SeatContribution(player.seat, player.value) for player in (ANN, BOB)]
    hands.contribute(name, name, opened.open_hash, values, deals=PLACES)
    return name


def told_by(daemon, *arguments):
    return entropyctl(daemon, "hand", *arguments, socket="dealer.sock")


def trusted(client):
    return [part for key in client.log().head().verifier_keys for part in ("--key", key)]


def covered(client, hand):
    """Wait until a checkpoint covers all receipts of a hand."""
    last = max(signed.index for signed in hand.receipts.values())

    def size():
        note = SignedNote.decode(client.log().head().checkpoint.encode())
        return Checkpoint.decode(note.text).size

    until("a checkpoint covers the hand", lambda: size() > last)


def test_shown_saved_and_verified(daemon, client, hand, tmp_path):
    """The command of the README: a card shown, the hand closed, the file checked under the key."""
    covered(client, client.hands().close(hand, hand).hand)
    file = tmp_path / "hand.json"
    done = told_by(daemon, hand, hand, "--show", "3,0", "--save", str(file))
    assert 0 == done.returncode, done.stderr
    lines = done.stdout.splitlines()
    assert [
        f"closed: hand {hand}, number 1 at table {hand}",
        "4 of 52 cards dealt; 2 of 2 seats contributed",
    ] == lines[:2]
    assert ["place 0, seat-1", "place 3, board"] == [line.split(":")[0] for line in lines[3:]]
    checked = entropyctl(daemon, "verify", str(file), "--json", *trusted(client))
    [finding] = json.loads(checked.stdout)
    assert finding["verifies"], finding
    said = json.loads(file.read_text())
    assert ["open", "roll", "seal", "close"] == list(said["inclusion"]) == list(said["receipts"])
    assert [0, 3] == [card["place"] for card in said["cards"]]
    assert ["seat-1", "seat-2"] == [seat["seat"] for seat in said["seats"]]


def test_a_hand_has_a_file_at_every_step(daemon, client):
    """Open, void before a seal, and sealed without seats: each verifies as far as it goes."""
    hands, log = client.hands(), client.log()
    opened = hands.open(HandAsk("s", "s-1", contributions=Contributions.OPEN, seats=SEATS))
    sealed = hands.open(HandAsk("t", "t-1"))
    files: list[dict[str, Any]] = [hand_file(log, hand) for hand in (opened, sealed)]
    voided = hands.void("s", "s-1", "misdeal")
    covered(client, voided)
    files.append(hand_file(log, voided))
    for file in files:
        assert check_proof(json.dumps(file).encode()).checked
    assert [["open"], ["open", "seal"], ["open", "void"]] == [
        list(file["receipts"]) for file in files
    ]


def test_a_card_without_its_proof_is_refused(client, hand):
    """It would not verify, and who shows it should learn so now."""
    [card] = client.hands().deal(hand, hand, 4, [("board", 1)], proofs=False).cards
    found = client.hands().get(hand, hand)
    with pytest.raises(RequestError, match="place 4 has no proof"):
        hand_file(client.log(), found, [card])


def test_json_for_programs_and_what_is_refused(daemon, hand, tmp_path):
    """Nothing is shown where a file is in the way, and a place that was not dealt is named."""
    done = told_by(daemon, hand, hand, "--json")
    said = json.loads(done.stdout)
    assert ("sealed", 4, ["seat-1", "seat-2"], []) == (
        said["state"],
        said["dealt"],
        said["seats"],
        said["shown"],
    )
    there = tmp_path / "there.json"
    there.touch()
    assert 2 == told_by(daemon, hand, hand, "--save", str(there)).returncode
    assert 2 == told_by(daemon, hand, hand, "--show", "0-3").returncode
    refused = told_by(daemon, hand, hand, "--show", "7", "--save", str(tmp_path / "no.json"))
    assert (1, "") == (refused.returncode, refused.stdout)
    assert "FAILED_PRECONDITION" in refused.stderr
    assert [there] == list(Path(tmp_path).iterdir())
