"""Proof files: what follows is reported, every lie is named, nothing hostile gets through."""

import copy
import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from hmac import digest
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import ProofError, ProofMalformedError, ProofMismatchError
from entropyd.games.draws import result_root
from entropyd.games.round_rules import new_rules
from entropyd.games.rounds import play, play_words
from entropyd.games.seed_pair import Profile, RoundStream
from entropyd.games.tables import Game
from entropyd.verify import Kind, Report, check_proof
from entropyd.verify.fields import Fields
from entropyd.verify.presented import read_draw, read_rules
from tests.fakes.proofs import (
    GAMES,
    SERVER_SEED,
    File,
    all_files,
    draw_files,
    match_file,
    raffle_file,
    round_file,
)

FILES = all_files()
DRAWS = draw_files()
DICE = DRAWS["dice"]
ROULETTE = new_rules(Profile.V1, Game.ROULETTE)


def check(file: File) -> Report:
    return check_proof(json.dumps(file).encode())


def refused(file: File) -> ProofError:
    with pytest.raises(ProofError) as caught:
        check(file)
    return caught.value


def changed(file: File, *path: str | int, to: object) -> File:
    """A copy of a file in which one place holds something else."""
    copied = copy.deepcopy(file)
    place: Any = copied
    for step in path[:-1]:
        place = place[step]
    assert place[path[-1]] != to
    place[path[-1]] = to
    return copied


# --- what follows ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_what_follows_is_reported_with_what_no_check_can_show(name):
    report = check(FILES[name])
    assert FILES[name]["entropyd"] == report.kind
    assert report.checked
    assert report.not_checked


def test_a_report_says_what_was_drawn():
    assert (Kind.DRAW, "draw throw-1, number 1, of match Ludo/4711", " ".join(DICE["result"])) == (
        check(DICE).kind,
        check(DICE).subject,
        check(DICE).result,
    )
    file = raffle_file()
    winners = ", ".join(file["winners"])
    assert f"{winners}; standing by: {file['alternates'][0]}" == check(file).result


def test_labels_and_tiles_are_told_instead_of_numbers():
    file = DRAWS["order of labels"]
    assert " ".join(file["labels"][int(item)] for item in file["result"]) == check(file).result
    assert check(DRAWS["bag with its tiles"]).result == check(DRAWS["bag"]).result


def test_a_long_result_is_cut_for_people():
    assert check(DRAWS["order"]).result.endswith(" ... (88 more)")


@pytest.mark.parametrize(("name", "told"), [("one seed", True), ("order", False)])
def test_a_draw_from_one_seed_says_so(name, told):
    limits = check(FILES[name]).not_checked
    assert told == any("seeds=computational" in limit for limit in limits)


@pytest.mark.parametrize(("profile", "told"), [(Profile.V1, True), (Profile.V2, False)])
def test_only_v1_leaves_the_game_to_the_records_word(profile, told):
    limits = check(round_file("roulette", profile)).not_checked
    assert told == any("binds no rules" in limit for limit in limits)


# --- every single lie ------------------------------------------------------------------------

# What says which draw of its match it is binds nothing; in a match it is checked.
UNBOUND = {"number"}


def leaves(value: Any, *path: str | int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every text and number of a file, and where it stands."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from leaves(member, *path, name)
    elif isinstance(value, list):
        # Of a long list the first ones and the last.
        for place in sorted({0, 1, 2, len(value) - 1} & set(range(len(value)))):
            yield from leaves(value[place], *path, place)
    else:
        yield path, value


def other(value: str | int) -> Iterator[str | int]:
    """Other values in the place of one: close to it, and of another kind."""
    if isinstance(value, int):
        yield from (value + 1, str(value), value == 1, None)  # type: ignore[misc]
        return
    yield from (value + " ", value + "\n", value.swapcase(), value[:-1], "", int("7"))
    for place in {0, len(value) // 2, len(value) - 1}:
        flipped = chr(ord(value[place]) ^ 1)
        yield value[:place] + flipped + value[place + 1 :]


@pytest.mark.parametrize("name", FILES)
def test_every_change_of_every_member_is_refused(name):
    """Text by text and number by number, each changed in several ways."""
    file = FILES[name]
    tried = 0
    for path, value in leaves(file):
        if path[-1] in UNBOUND and file["entropyd"] == "draw/v1":
            continue
        for lie in other(value):
            if lie == value and type(lie) is type(value):
                continue
            tried += 1
            refused(changed_anyhow(file, path, lie))
    assert tried > 20


def changed_anyhow(file: File, path: tuple[str | int, ...], to: object) -> File:
    copied = copy.deepcopy(file)
    place: Any = copied
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return copied


@pytest.mark.parametrize("name", ["dice", "raffle", "roulette v2"])
def test_every_single_bit_of_every_secret_and_hash_counts(name):
    file = FILES[name]
    for member in ("blinding", "salt_key", "commitment", "result_root", "server_seed"):
        if member not in file:
            continue
        number = int(file[member], 16)
        for bit in range(4 * len(file[member])):
            text = f"{number ^ 1 << bit:0{len(file[member])}x}"
            refused({**file, member: text})


@pytest.mark.parametrize("name", FILES)
def test_every_member_is_needed_and_no_other_is_taken(name):
    file = FILES[name]
    for member in set(file) - {"tiles"}:
        assert "is missing" in str(refused({k: v for k, v in file.items() if k != member}))
    assert "more: is no member" in str(refused({**file, "more": 1}))


# --- how the parts of a draw explain each other ------------------------------------------------


def causes(file: File) -> tuple[str, tuple[str, ...]]:
    error = refused(file)
    assert isinstance(error, ProofMismatchError)
    return error.field, error.causes


def flip(text: str) -> str:
    return ("1" if text[0] != "1" else "2") + text[1:]


def swapped(file: File, one: str, two: str) -> File:
    return {**file, one: file[two], two: file[one]}


@pytest.mark.parametrize(
    ("lie", "field", "cause"),
    [
        (lambda f: swapped(f, "blinding", "salt_key"), "commitment", "were exchanged"),
        (lambda f: swapped(f, "commitment", "result_root"), "commitment", "were exchanged"),
        (lambda f: swapped(f, "match", "draw"), "commitment", "match and draw were exchanged"),
        (
            lambda f: {**f, "rules": f["rules"].replace("masked", "word32")},
            "commitment",
            "it was drawn under sampler=masked",
        ),
        (lambda f: {**f, "blinding": flip(f["blinding"])}, "commitment", "all else fits"),
        (lambda f: {**f, "commitment": flip(f["commitment"])}, "commitment", "all else fits"),
        (lambda f: {**f, "seeds": [flip(f["seeds"][0])]}, "commitment", "seeds or blinding"),
        (lambda f: {**f, "tenant": "acne"}, "commitment", "ids or rules are not those"),
        (lambda f: {**f, "salt_key": flip(f["salt_key"])}, "result_root", "all else fits"),
        (lambda f: {**f, "salt_key": f["blinding"]}, "result_root", "all else fits"),
    ],
)
def test_what_fits_tells_what_was_changed(lie, field, cause):
    found, told = causes(lie(DICE))
    assert field == found
    assert any(cause in one for one in told)


def test_an_id_in_another_case_is_named():
    file = {**DICE, "tenant": "ACME"}
    assert ("commitment", ("tenant is in lower case in the draw",)) == causes(file)


def test_seeds_in_the_opposite_order_are_named():
    file = DRAWS["order"]
    lie = {**file, "seeds": file["seeds"][::-1]}
    assert ("commitment", ("the seeds stand in the opposite order",)) == causes(lie)


def test_a_changed_result_is_named_by_its_place():
    shown = str(1 + int(DICE["result"][1]) % 6)
    error = refused(changed(DICE, "result", 1, to=shown))
    assert "result[1]" == error.field
    assert f"is {shown}; the seeds draw {DICE['result'][1]} there" in str(error)


def test_a_result_that_was_recorded_without_being_drawn_is_told_apart():
    """Who made the file computed D over a result that the seeds do not draw."""
    lie = changed(DICE, "result", 0, to=str(1 + int(DICE["result"][0]) % 6))
    fields = Fields(lie)
    rules = read_rules(fields)
    shown = read_draw(fields, rules, tenant="acme", match="Ludo/4711", draw_id="throw-1")
    root = result_root(shown.binding, shown.salt_key, rules.encode_result(shown.result))
    field, told = causes({**lie, "result_root": root.hex()})
    assert "result[0]" == field
    assert "a result was recorded that its seeds do not draw" in told[0]


# --- matches ----------------------------------------------------------------------------------


def without(file: File, place: int) -> File:
    copied = copy.deepcopy(file)
    del copied["draws"][place]
    return copied


def test_a_draw_that_is_left_out_of_a_match_shows_by_its_number():
    error = refused(without(match_file(), 1))
    assert "draws[1].number" == error.field


def test_a_draw_that_is_left_out_shows_by_the_bag_also_if_the_others_are_numbered_anew():
    file = without(match_file(), 1)
    for number, one in enumerate(file["draws"], 1):
        one["number"] = number
    # The first draw from the bag that is left says what it held; the next follows from it.
    file["draws"][1], file["draws"][2] = file["draws"][2], file["draws"][1]
    for number, one in enumerate(file["draws"], 1):
        one["number"] = number
    error = refused(file)
    assert "draws[2].rules" == error.field
    assert "counts" in str(error)


def test_draws_after_the_last_one_can_be_left_out_and_the_report_says_so():
    report = check(without(match_file(), -1))
    assert any("draws after the last one" in limit for limit in report.not_checked)


def test_a_draw_stands_once_in_its_match():
    file = match_file()
    file["draws"].append({**file["draws"][0], "number": 5})
    assert "draws[4].draw" == refused(file).field


def test_a_match_without_draws_is_refused():
    assert "nothing to check" in str(refused({**match_file(), "draws": []}))


# --- raffles ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        (["Ann", "Bob", "Dan", "Eva", "Ćma"], "differs from byte"),
        (["Bob", "Ann", "Dan", "Eve", "Ćma"], "line 1"),
        (["Ann ", "Bob", "Dan", "Eve", "Ćma"], "line 1"),
        (["Ann", "Bob", "Dan", "Eve", "C\u0301ma"], "line 5"),
        (["Ann", "Ann", "Dan", "Eve", "Ćma"], "equal"),
        (["Ann", "Bob", "Dan", "Eve"], "are 4; the rules say 5"),
        (["Ann", "Bob", "Dan", "Eve", "e" + "\u0301" * 300], "longer than 256"),
    ],
    ids=["other", "order", "space", "NFC", "equal", "fewer", "long"],
)
def test_a_list_that_is_not_the_sealed_one_is_refused(entries, says):
    assert says in str(refused({**raffle_file(), "entries": entries}))


def test_other_winners_than_the_drawn_are_refused():
    file = raffle_file()
    assert "winners[0]" == refused({**file, "winners": file["winners"][::-1]}).field
    assert "alternates" == refused({**file, "alternates": []}).field


# --- rounds -----------------------------------------------------------------------------------

TEXT = SERVER_SEED.hex()


@pytest.mark.parametrize(
    ("hashed", "cause"),
    [
        (sha256(SERVER_SEED).digest(), "the 32 bytes that the hex stands for"),
        (sha256(TEXT.upper().encode()).digest(), "upper case"),
        (sha256(f"{TEXT}\n".encode()).digest(), "an end of line behind it"),
        (sha256(f"{TEXT} ".encode()).digest(), "a space behind it"),
        (sha256(f"0x{TEXT}".encode()).digest(), "0x before it"),
        (SERVER_SEED, "one was pasted for the other"),
    ],
)
def test_a_hash_of_something_else_is_named(hashed, cause):
    field, told = causes({**round_file("roulette"), "server_hash": hashed.hex()})
    assert "server_hash" == field
    assert cause in told[0]


@pytest.mark.parametrize("profile", Profile)
def test_a_hash_of_the_other_profile_is_named(profile):
    [other_profile] = set(Profile) - {profile}
    theirs = round_file("blackjack", other_profile)["server_hash"]
    _, told = causes({**round_file("blackjack", profile), "server_hash": theirs})
    assert f"it is the server hash of profile {other_profile}; the rules say {profile}" == told[0]


def outcome_of(client_seed: str = "Lucky7", nonce: int = 4, profile: Profile = Profile.V1) -> Any:
    return round_file("blackjack", profile, client_seed=client_seed, nonce=nonce)["outcome"]


def of_stream(block_of: Callable[[int], bytes]) -> Any:
    rules = new_rules(Profile.V1, Game.BLACKJACK)
    return play_words(rules, RoundStream(block_of)).outcome.as_json()


def keyed(key: bytes, message: bytes, first: int = 0) -> Any:
    return of_stream(lambda c: digest(key, message + str(c + first).encode(), "sha256"))


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        (outcome_of(nonce=3), "nonce 3"),
        (outcome_of(nonce=5), "nonce 5"),
        (outcome_of(client_seed="lucky7"), "lower case"),
        (outcome_of(client_seed="LUCKY7"), "upper case"),
        (outcome_of(profile=Profile.V2), "profile v2"),
        (keyed(SERVER_SEED, b"Lucky7:4:"), "its key is the 32 bytes"),
        (keyed(TEXT.upper().encode(), b"Lucky7:4:"), "hex in upper case"),
        (
            keyed(sha256(TEXT.encode()).hexdigest().encode(), b"Lucky7:4:"),
            "a hash was pasted for the seed",
        ),
        (keyed(TEXT.encode(), b"Lucky7 :4:"), "a space behind it"),
        (keyed(TEXT.encode(), b"Lucky7\n:4:"), "an end of line behind it"),
        (keyed(TEXT.encode(), b"Lucky7:4:", first=1), "blocks count from 0"),
    ],
)
def test_an_outcome_of_something_else_is_named(outcome, cause):
    field, told = causes({**round_file("blackjack"), "outcome": outcome})
    assert field.startswith("outcome.")
    assert 1 == len(told)
    assert cause in told[0]


def test_tiles_counted_from_one_are_named():
    file = round_file("mines")
    moved = {"mines": [tile + 1 for tile in file["outcome"]["mines"]]}
    _, told = causes({**file, "outcome": moved})
    assert "counted from 1" in told[-1]


def test_an_outcome_that_nothing_explains_has_no_cause():
    outcome = outcome_of()
    outcome["player"] = ["14c", "14c"]
    assert ("outcome.player[0]", ()) == causes({**round_file("blackjack"), "outcome": outcome})


@pytest.mark.parametrize("lie", [True, "17", None, [17], {"n": 17}])
def test_an_outcome_of_another_kind_is_no_number(lie):
    """Python takes true for 1."""
    nonce = next(n for n in range(2000) if play(ROULETTE, SERVER_SEED, "a", n).outcome.pocket == 1)  # type: ignore[union-attr]
    file = round_file("roulette", client_seed="a", nonce=nonce)
    assert "outcome.pocket" == refused({**file, "outcome": {"pocket": lie}}).field


@pytest.mark.parametrize(
    ("member", "value", "says"),
    [
        ("client_seed", "Lucky7 ", "U+0020 at position 6"),
        ("client_seed", "a:b", "U+003A"),
        ("client_seed", "", "is empty"),
        ("client_seed", "x" * 65, "65 characters"),
        ("nonce", "04", "without sign or leading zeros"),
        ("nonce", "-1", "without sign"),
        ("nonce", str(2**64), "below 2^64"),
        ("nonce", 4, "text in quotation marks"),
        ("server_seed", TEXT.upper(), "upper-case digit A at place 21"),
        ("server_seed", f"{TEXT} ", "white space (U+0020) at place 64"),
        ("server_seed", f"0x{TEXT[2:]}", "begins with 0x"),
        ("server_seed", TEXT[:-2], "62 digits; expected 64"),
        ("rules", "game=roulette\n", "rules"),
        ("rules", "géme=roulette\n", "rules"),
    ],
)
def test_a_round_that_is_only_almost_right_is_refused_by_name(member, value, says):
    error = refused({**round_file("roulette"), member: value})
    assert isinstance(error, ProofMalformedError)
    assert says in str(error)


def test_every_game_has_both_profiles():
    """So that the list above leaves none out."""
    assert set(Game) == {GAMES[name]["game"] for name in GAMES}


# --- hostile files ------------------------------------------------------------------------------

HOSTILE = {
    "empty": (b"", "is empty"),
    "white space": (b" \r\n\t", "is empty"),
    "not UTF-8": (b'{"entropyd": "\xff"}', "is not UTF-8: byte 14"),
    "byte order mark": (b"\xef\xbb\xbf{}", "is not JSON"),
    "a list": (b"[]", "no object"),
    "twice": (b'{"a": 1, "a": 1}', "names 'a' twice"),
    "twice inside": (b'{"entropyd": {"\x1b": 1, "\\u001b": 2}}', "is not JSON"),
    "twice among many": (
        b"{" + b",".join(b'"%d":1' % name for name in range(200_000)) + b',"199999":2}',
        "names '199999' twice",
    ),
    "float": (b'{"a": 1.0}', "number 1.0; expected integers"),
    "exponent": (b'{"a": 1e3}', "number 1e3"),
    "NaN": (b'{"a": NaN}', "number NaN"),
    "infinite": (b'{"a": -Infinity}', "number -Infinity"),
    "minus zero": (b'{"a": -0}', "-0"),
    "long number": (b'{"a": 1' + b"0" * 100_000 + b"}", "100001 digits"),
    "deep": (b"[" * 100_000, "deeper than 5"),
    "deep after a string": (b'{"a": "\\"]]]]]]", "b": [[[[[[]]]]]]}', "deeper than 5"),
    "cut": (b'{"a": "', "is not JSON"),
    "some list": (b"Ann\nBob\n", "nor a signed note: a proof begins with {"),
    "unterminated": (b'{"' + b'\\"' * 200_000, "is not JSON"),
    "large": (b" " * ((32 << 20) + 1), "more than 33554432 bytes"),
    "half a surrogate": (b'{"entropyd": "\\ud800"}', "half of a surrogate pair"),
    "unknown kind": (b'{"entropyd": "draw/v2"}', "expected one of draw/v1"),
    "unknown name": (
        json.dumps({**DICE, "\x1b[31m": 1}).encode(),
        "\\x1b[31m: is no member",
    ),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_by_name(name):
    data, says = HOSTILE[name]
    with pytest.raises(ProofMalformedError) as caught:
        check_proof(data)
    assert says in str(caught.value)


TEXTS = [json.dumps(FILES[name]).encode() for name in ("dice", "match", "raffle", "mines v1")]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=6), children, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_crash_or_verify(data):
    with pytest.raises(ProofError):
        check_proof(data)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(TEXTS), st.data())
def test_no_changed_byte_crashes_or_verifies_as_something_else(text, data):
    """Either it is refused, or the file still says the same."""
    place = data.draw(st.integers(0, len(text) - 1))
    mutated = text[:place] + bytes([data.draw(st.integers(0, 255))]) + text[place + 1 :]
    try:
        report = check_proof(mutated)
    except ProofError:
        return
    # `number` of a lone draw is bound by nothing; white space says nothing.
    said, meant = json.loads(mutated), json.loads(text)
    said.pop("number", None), meant.pop("number", None)
    assert meant == said
    assert report.checked


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_no_value_of_another_kind_crashes_or_verifies(name, data):
    file = FILES[name]
    path, value = data.draw(st.sampled_from(list(leaves(file))))
    lie = data.draw(JSON_VALUES)
    if (lie == value and type(lie) is type(value)) or path[-1] in UNBOUND:
        return
    with pytest.raises(ProofError):
        check_proof(json.dumps(changed_anyhow(file, path, lie)).encode())
