"""A player's software in two languages, at one table: honest hands, and every lie of a dealer."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from entropyd.draw.cards import Deck
from entropyd.draw.samplers import Sampler
from entropyd.hands.deals import deals_root
from entropyd.hands.rules import Contributions, Reveal
from entropyd.verify import check_proof
from tests.examples.lies import LIES, OPENED_MS, of_receipt
from tests.examples.seats import (
    EXAMPLES,
    PROGRAMS,
    RECIPIENTS,
    SHOWN,
    Driver,
    Game,
    Program,
    Sitting,
    publics,
)
from tests.fakes.hand_dealer import RECEIPTS, HandDealer, resigned
from tests.fakes.opened_hands import made
from tests.reference import naive, naive_hands

NONE, OPEN, SEALED = Contributions
LANGUAGES = ("python", "js")
ENTROPYCTL = Path(sys.executable).with_name("entropyctl")
GARBAGE: list[Any] = [None, True, 0, -1, 2**64, "", "x", "\u2028", [], [None], {}, {"a": 1}]
MISSING = object()


@pytest.fixture(scope="module")
def drivers() -> Iterator[dict[str, Driver]]:
    drivers = {language: Driver(language) for language in LANGUAGES}
    yield drivers
    assert [0, 0] == [driver.end() for driver in drivers.values()]


@pytest.fixture
def seats(drivers, tmp_path) -> list[Sitting]:
    """Seat 1 runs Python and has a key; seat 2 runs JavaScript and has one, too."""
    return sit_down(drivers, tmp_path, LANGUAGES)


def sit_down(drivers, home: Path, languages, keyed=True) -> list[Sitting]:
    seats = []
    for number, language in enumerate(languages, start=1):
        secrets = home / f"seat-{number}"
        secrets.mkdir()
        seats.append(Sitting(drivers[language], f"seat-{number}", secrets, keyed))
    return seats


def check_both(file: Any) -> list[str]:
    """Return the steps of a hand file that both verifiers take, under the operator's key."""
    check_proof(json.dumps(file).encode(), [RECEIPTS.key])
    steps: list[str] = naive_hands.check_hand(file, [RECEIPTS.key.encode()])[0]
    return steps


# --- honest hands ------------------------------------------------------------------


@pytest.mark.parametrize("mode", Contributions)
@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("deck", [Deck(), Deck("standard54", 8)])
def test_an_honest_hand_is_played_to_its_end(drivers, tmp_path, mode, keyed, deck):
    """Both see their own cards, the board and what is shown, and the file is a proof of it."""
    seats = sit_down(drivers, tmp_path, LANGUAGES, keyed)
    dealer = HandDealer(mode, [] if mode is NONE else publics(seats), deck=deck)
    game = Game(dealer, *seats)
    game.give(game.until("end"))
    dealt = dealer.deck.cards
    cut = dealer.hand.cut()
    text = {str(p): naive.card_text(dealt[leaf]) for p, leaf in enumerate(cut[: len(RECIPIENTS)])}
    for seat in seats:
        saw = seat.look()
        places = {p for p, to in enumerate(RECIPIENTS) if to in {seat.seat, "board"}} | {*SHOWN}
        assert {str(place): text[str(place)] for place in places} == saw["cards"]
        steps = check_both(saw["file"])
        sealed = ["roll"] if mode is SEALED else []
        assert ["open", *sealed, "seal", "close"] == steps
        assert list(seat.secrets.glob("*")) == []
    assert (mode is NONE) == (cut == list(range(deck.size)))


def test_rules_of_every_kind(seats):
    """Two short decks without some cards, word-32, a plan, a reveal."""
    dealer = HandDealer(
        OPEN,
        publics(seats),
        deck=Deck("short36", 2, (4, 5)),
        plan=RECIPIENTS,
        reveal=Reveal.AFTER_CLOSE,
        sampler=Sampler.WORD32,
    )
    game = Game(dealer, *seats)
    game.give(game.until("end"))
    for seat in seats:
        assert check_both(seat.look()["file"]) == ["open", "seal", "close"]


def test_every_card_may_be_shown_after_the_close(seats):
    """Also burned and undealt ones, which were nobody's."""
    dealer = HandDealer(SEALED, publics(seats))
    game = Game(dealer, *seats)
    game.give(game.until("end"))
    game.give(dict.fromkeys(["seat-1", "seat-2"], dealer.shown(range(52))))
    for seat in seats:
        saw = seat.look()
        assert len(set(saw["cards"].values())) == 52
        check_both(saw["file"])


@pytest.mark.parametrize("step", ["accepted", "roll", "seal"])
def test_a_hand_that_is_void_ends_without_cards(seats, step):
    """At any step; the receipt that says why is kept."""
    dealer = HandDealer(SEALED, publics(seats))
    game = Game(dealer, *seats)
    game.until(step)
    void = dealer.void("power cut")
    for seat in seats:
        seat.take(void)
        saw = seat.look()
        assert ({}, "void") == (saw["cards"], list(saw["file"]["receipts"])[-1])
        check_both(saw["file"])


def test_a_player_who_comes_back_says_the_same_again(seats):
    """The value outlives the player, for a seat contributes once; another hand has another."""
    said = []
    for number in (1, 2):
        dealer = HandDealer(SEALED, publics(seats), hand=f"hand-{number}")
        opening = dealer.open()
        for seat in seats:
            seat.sit(dealer)
            first = seat.take(opening)
            seat.sit(dealer)
            assert [first, first] == [seat.take(opening), seat.take(opening)]
            assert {"type", "O", "seat", "leaf_hash", "signature"} == set(first)
            said.append(first["leaf_hash"])
    assert len(set(said)) == 4


def test_the_value_is_kept_from_other_users(seats):
    """In a file that its owner alone reads."""
    dealer = HandDealer(SEALED, publics(seats))
    python = seats[0]
    python.sit(dealer)
    python.take(dealer.open())
    (file,) = python.secrets.iterdir()
    assert (0o600, 32) == (file.stat().st_mode & 0o777, file.stat().st_size)


# --- lies --------------------------------------------------------------------------


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
@pytest.mark.parametrize("lie", LIES, ids=lambda lie: f"{lie.step}, {lie.name}")
def test_a_lie_is_found_and_named(seats, lie, victim):
    """By the one who is lied to; nothing is answered to it, then or later."""
    dealer = HandDealer(SEALED, publics(seats))
    game = Game(dealer, *seats)
    truth = game.until(lie.step)[seats[victim].seat]
    told = lie.told(game, seats[victim], truth)
    assert told != truth
    found = (lie.step, lie.check)
    assert found == seats[victim].refuses(told)
    # The truth comes too late.
    assert found == seats[victim].refuses(truth)


@pytest.mark.parametrize("step", ["open", "accepted", "roll", "seal", "cards", "shown", "end"])
def test_what_lies_are_made_of_is_taken_where_it_is_true(seats, step):
    """The message of each step, by both: the lies above change nothing else."""
    dealer = HandDealer(SEALED, publics(seats))
    game = Game(dealer, *seats)
    game.give(game.until(step))


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
@pytest.mark.parametrize(("first", "check"), [("cards", "item"), ("shown", "item")])
def test_a_deck_that_holds_a_card_twice(seats, victim, first, check):
    """It shows as soon as two of them are seen."""
    dealer = HandDealer(SEALED, publics(seats), items=[7] * 52)
    game = Game(dealer, *seats)
    told = game.until("cards")[seats[victim].seat]
    if first == "shown":
        seats[victim].take({**told, "cards": told["cards"][:1]})
        told = dealer.shown(SHOWN)
    assert (first, check) == seats[victim].refuses(told)


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
def test_a_deck_that_holds_what_is_no_card(seats, victim):
    """Item 52 of a deck of 52."""
    dealer = HandDealer(SEALED, publics(seats), items=[52, *range(1, 52)])
    game = Game(dealer, *seats)
    game.until("cards")
    place = dealer.hand.cut().index(0)
    assert seats[victim].refuses(dealer.shown([place])) == ("shown", "item")


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
def test_a_card_that_goes_to_another_in_the_end(seats, victim):
    """A shown card is said to have been somebody else's than it was when it was dealt."""
    dealer = HandDealer(SEALED, publics(seats))
    game = Game(dealer, *seats)
    game.give(game.until("shown"))
    own = RECIPIENTS.index(seats[victim].seat)
    card = {**dealer.card(own), "recipient": "board"}
    assert seats[victim].refuses({"type": "shown", "cards": [card]}) == ("shown", "twice")


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
def test_a_hand_between_two_hands_is_missed(seats, victim):
    """The sequence of a table has no gap; who sees its first hand cannot tell."""
    dealer = HandDealer(SEALED, publics(seats), sequence=3)
    for previous, refused in ((2, False), (None, False), (1, True), (3, True)):
        seats[victim].sit(dealer, previous=previous)
        if refused:
            assert seats[victim].refuses(dealer.open()) == ("open", "sequence")
        else:
            seats[victim].take(dealer.open())


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
def test_a_hand_that_ends_against_its_plan(seats, victim):
    """The rules name whom the burned card goes to; the end says that the board had it."""
    dealer = HandDealer(SEALED, publics(seats), plan=RECIPIENTS)
    game = Game(dealer, *seats)
    truth = game.until("end")[seats[victim].seat]
    recipients = ["board" if to == "burn" else to for to in RECIPIENTS]
    root = deals_root(dealer.open_hash, recipients)
    told = resigned({**truth, "recipients": recipients}, deals_root=root)
    assert seats[victim].refuses(told) == ("end", "plan")


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
def test_a_value_that_was_cut_off_on_disk(seats, victim):
    """It is not replaced: what was said before cannot be said again."""
    dealer, seat = HandDealer(SEALED, publics(seats)), seats[victim]
    seat.sit(dealer)
    seat.take(dealer.open())
    (file,) = seat.secrets.iterdir()
    short = {"O": dealer.open_hash.hex(), "value": "00"}
    file.write_text(json.dumps(short) if seat.driver.language == "js" else "0")
    seat.sit(dealer)
    assert seat.refuses(dealer.open()) == ("open", "secret")


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
@pytest.mark.parametrize(
    ("at", "early"),
    [
        ("open", "accepted"), ("open", "roll"), ("open", "cards"),
        ("accepted", "roll"), ("accepted", "seal"), ("accepted", "cards"),
        ("roll", "seal"), ("roll", "cards"), ("roll", "shown"), ("roll", "open"),
        ("seal", "cards"), ("seal", "shown"), ("cards", "roll"), ("cards", "open"),
    ],
)  # fmt: skip
def test_the_order_of_steps_is_enforced(seats, victim, at, early):
    """No value before a checked roll, no card before a checked seal, no step again or skipped."""
    dealer = HandDealer(SEALED, publics(seats))
    Game(dealer, *seats).until(at)
    assert seats[victim].refuses({"type": early}) == (early, "order")


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
@pytest.mark.parametrize(("mode", "early"), [(NONE, "accepted"), (OPEN, "roll"), (NONE, "roll")])
def test_each_mode_has_its_own_steps(seats, victim, mode, early):
    """Nobody is told of a contribution under `none`, and nothing rolls under `open`."""
    dealer = HandDealer(mode, [] if mode is NONE else publics(seats))
    Game(dealer, *seats).until("seal")
    assert seats[victim].refuses({"type": early}) == (early, "order")


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
@pytest.mark.parametrize(
    ("lie", "check"),
    [
        (of_receipt(deadline_ms=OPENED_MS + 1000), "deadline"),
        (of_receipt(seats_root=made("A", 32)), "A"),
        (lambda game, victim, message: HandDealer(NONE, publics(game.seats)).open(), "A"),
    ],
)
def test_a_hand_without_contributions_has_neither_seats_nor_deadline(seats, victim, lie, check):
    """Whoever says otherwise lies about one of them."""
    game = Game(HandDealer(NONE), *seats)
    told = lie(game, seats[victim], game.until("open")[seats[victim].seat])
    assert seats[victim].refuses(told) == ("open", check)


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
def test_messages_of_any_other_form_are_refused_and_nothing_else_happens(seats, victim):
    """Whatever a member is replaced by, the player says at which step it stopped."""
    dealer = HandDealer(SEALED, publics(seats))
    opening = dealer.open()
    for member in ("type", "hand", "rules", "seats", "receipt"):
        for value in GARBAGE:
            seats[victim].sit(dealer)
            step, _ = seats[victim].refuses({**opening, member: value})
            assert member == "type" or step == "open"


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
@pytest.mark.parametrize(
    ("step", "member"),
    [
        ("accepted", "note"),
        ("roll", "leaf_hashes"),
        ("seal", "leaves"),
        ("cards", "cards"),
        ("end", "recipients"),
    ],
)
def test_later_messages_of_any_other_form(seats, victim, step, member):
    """As above, and a member that is missing."""
    for value in [*GARBAGE, [["x"]], [{"place": 0}], MISSING]:
        if (step, value) == ("cards", []):
            continue  # no cards are no lie
        game = Game(HandDealer(SEALED, publics(seats)), *seats)
        truth = game.until(step)[seats[victim].seat]
        rest = {name: told for name, told in truth.items() if name != member}
        told = rest if value is MISSING else {**rest, member: value}
        assert seats[victim].refuses(told)[0] == step


def test_the_javascript_player_runs_in_a_browser_too():
    """Its modules ask for each other, and for nothing that only Node has."""
    for name in ("bytes", "receipts", "player"):
        text = (EXAMPLES / "js" / f"{name}.mjs").read_text()
        assert set(re.findall(r"from '(.*)'", text)) <= {"./bytes.mjs", "./receipts.mjs"}
        assert re.findall(r"\b(require|process|Buffer|global)\b", text) == []


# --- programs ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [NONE, SEALED])
def test_two_programs_at_one_table(drivers, tmp_path, mode):
    """`play.py` and `play.mjs` as their readers would run them: by the wall clock, over pipes."""
    seats = sit_down(drivers, tmp_path, LANGUAGES)
    dealer = HandDealer(mode, [] if mode is NONE else publics(seats), at_ns=time.time_ns())
    programs = [Program(seat, dealer) for seat in seats]
    game = Game(dealer, *programs)
    game.give(game.until("end"))
    seen = {"seat-1": {"seat-1", "seat-2", "board"}, "seat-2": {"seat-2", "board"}}
    for program in programs:
        assert program.end() == 0
        trusting = ["--quiet", "--key", RECEIPTS.key.encode()]
        verified = subprocess.run([ENTROPYCTL, "verify", *trusting, program.hand_file], check=False)
        assert verified.returncode == 0
        file = json.loads(program.hand_file.read_bytes())
        assert check_both(file)[-1] == "close"
        assert seen[program.seat] == {card["recipient"] for card in file["cards"]}


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
def test_a_program_that_is_lied_to_ends(seats, victim):
    """With exit code 1, and a line that says why and what not to do."""
    dealer = HandDealer(SEALED, publics(seats), at_ns=time.time_ns())
    program = Program(seats[victim], dealer)
    out = program.say(resigned(dealer.open(), deck_root=made("D", 32)))
    assert ("open", "O") == (out["step"], out["check"])
    assert "Do not act on this hand" in out["refused"]
    assert program.end() == 1


@pytest.mark.parametrize("victim", [0, 1], ids=LANGUAGES)
def test_a_program_refuses_a_line_that_is_no_json(seats, victim):
    """As it refuses any other message: with exit code 1 and its step, and not by falling over."""
    program = Program(seats[victim], HandDealer(SEALED, publics(seats), at_ns=time.time_ns()))
    out = program.say_line("{")
    assert "order" == out["check"]
    assert program.end() == 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("config", [None, "{", '{"key_seed": ""}'])
def test_a_program_says_that_its_configuration_is_wrong(tmp_path, language, config):
    path = tmp_path / "config.json"
    if config is not None:
        path.write_text(config)
    command = [*PROGRAMS[language], str(path)]
    done = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, check=False)
    assert (2, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith(f"{path}: ")
    assert 1 == len(done.stderr.splitlines())
