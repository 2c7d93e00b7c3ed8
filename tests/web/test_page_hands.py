"""Hands, logs and notes on the page, in a real Chromium: what people see, hear and give."""

import json
import time
from pathlib import Path

import pytest

from tests.web import hand_files
from tests.web.browser import PAGE_URL
from tests.web.hand_files import BASES, FILES, HANDS, SMALL, keys_of, tampered
from tests.web.test_page import VERDICTS

AUDIT = Path(__file__).with_name("audit.js").read_text("utf-8")
NAMED = {
    "en": ("that this file itself names", "keys that you gave"),
    "pl": ("który podaje sam ten plik", "podanymi przez Ciebie kluczami"),
    "uk": ("який називає сам цей файл", "ключами, які ви дали"),
}
TAMPERED = {vector["reason"]: vector for vector in hand_files.VECTORS["tampered"]}


def check(page, text, *, keys="", own=""):
    """Fill in all that stands beside a file, paste it and return the verdict."""
    for name, value in (("keys", keys), ("own", own)):
        page.evaluate(f"document.querySelector('#{name}').value = {json.dumps(value)}")
    return page.check_text(text)


def unfold(page):
    """Open every folded part, and those within them."""
    for _ in range(2):
        page.unfold()


def test_every_file_matches_and_shows_its_cards(opened):
    """Hands of every stage and ranges of a log, one after the other; nothing is sent."""
    page = opened()
    for label, file in FILES.items():
        assert [label, "match"] == [label, check(page, json.dumps(file), keys=keys_of(label))]
        report = page.text("#report")
        assert "differs" not in report
        assert "What this check cannot show" in report
        assert [label, len(file.get("cards", []))] == [
            label,
            page.evaluate("document.querySelectorAll('#report > ol.cards > li').length"),
        ]
    assert [PAGE_URL] == page.requests()


def test_a_file_with_a_byte_order_mark_is_refused_as_every_verifier_does(opened, tmp_path):
    """Of bytes that a browser would leave out: what is checked is the file as it is."""
    page, whole = opened(), tmp_path / "hand.json"
    for start, verdict in ((b"", "match"), (b"\xef\xbb\xbf", "refused")):
        whole.write_bytes(start + json.dumps(SMALL).encode())
        page.do("choose", selector="#file", files=[str(whole)])
        assert verdict == page.verdict()


def test_steps_of_a_hand_are_all_there(opened):
    """Receipts line by line, A, O, contributions, the cut try by try, paths, deals, the reveal."""
    page = opened()
    check(page, json.dumps(SMALL), keys=keys_of("small"))
    unfold(page)
    report = page.text("#report")
    base = BASES["small"]
    values = [one["value"] for one in base["contributions"]]
    hashes = [base[name] for name in ("X", "C", "D", "A", "O", "R", "deals")]
    card = SMALL["cards"][5]
    for shown in (*values, *hashes, card["salt"], *card["path"], *base["seeds"], base["salt_key"]):
        assert shown in report
    for words in (
        "Lines of “seal”", "the operator's word", "The cut, step by step", "accepted",
        "From the seeds to the order", "left:", "right:", "The last hash is the root: D.",
        f"cut[5] = {card['leaf_index']}", "refused: unknown-seat", "seen by witness.example/w1",
    ):  # fmt: skip
        assert words in report


def test_cards_are_seen_and_heard(opened):
    """Rank and sign for the eyes, the card's name for the ears, in the language of the page."""
    page = opened()
    check(page, json.dumps(HANDS["jokers, two of three seats, word-32, revealed"]))
    faces = "[...document.querySelectorAll('ol.cards li')].map(e => e.firstChild.textContent)"
    spoken = "[...document.querySelectorAll('ol.cards .spoken')].map(e => e.textContent)"
    hidden = "[...document.querySelectorAll('ol.cards .face')].every(e => e.ariaHidden === 'true')"
    assert page.evaluate(hidden)
    cards = dict(zip(page.evaluate(faces), page.evaluate(spoken), strict=True))
    assert 54 == len(cards)
    assert ["ace of spades", "ten of diamonds", "joker number 1"] == [
        cards[face] for face in ("A♠", "10♦", "1★")
    ]
    page.do("select", selector="#language", value="pl")
    cards = dict(zip(page.evaluate(faces), page.evaluate(spoken), strict=True))
    assert ["as pik", "dama kier"] == [cards[face] for face in ("A♠", "Q♥")]


@pytest.mark.parametrize("language", VERDICTS)
def test_who_signed_is_said_with_the_verdict_in_each_language(opened, language):
    """Keys of the file are nobody's word, keys that were given are the reader's own."""
    page = opened(language=language)
    text = json.dumps(SMALL)
    for keys, said in zip(("", keys_of("small")), NAMED[language], strict=True):
        assert "match" == check(page, text, keys=keys)
        assert VERDICTS[language][0] in page.text("#verdict")
        assert said in page.text("#verdict")
        assert len(page.text("#verdict")) < 200


@pytest.mark.parametrize("language", VERDICTS)
def test_tampered_files_of_each_kind_differ_in_each_language(opened, language):
    """A card, a leaf, a receipt, a promise, a reveal, a proof, a log: why, and where it ends."""
    page = opened(language=language)
    for reason in (
        "a card of another place", "a leaf left out", "roll of another hand",
        "accepted, and left out", "another blinding", "inclusion under another root",
        "two cards with one item", "an entry left out", "a fork",
    ):  # fmt: skip
        vector = TAMPERED[reason]
        assert [reason, "mismatch"] == [reason, check(page, json.dumps(tampered(vector)))]
        assert VERDICTS[language][1] in page.text("#verdict")
        assert vector["part"] in page.text("#report li.bad")
        assert page.evaluate("document.querySelectorAll('#report .causes li').length") > 0
        assert 1 == page.evaluate("document.querySelectorAll('#report li.bad').length")


def test_own_contribution_and_notes(opened):
    """Typed in capitals it is found, another is not; a receipt is taken under its key alone."""
    page = opened()
    value = BASES["small"]["contributions"][0]
    assert "match" == check(page, json.dumps(SMALL), own=value["value"].upper())
    assert f"{value['seat']}: yours" in page.text("#report")
    assert "mismatch" == check(page, json.dumps(SMALL), own="11" * 32)
    note = SMALL["receipts"]["open"]
    assert "refused" == check(page, note)
    assert "needs the key of its log" in page.text("#verdict")
    assert "match" == check(page, note, keys=keys_of("small"))
    assert "A receipt." in page.text("#verdict")


def test_a_browser_without_ed25519_says_so_and_takes_nothing(opened):
    """Hashes alone are not what the file is said to show; draws are checked as before."""
    page = opened()
    page.evaluate(
        "(() => { const { subtle } = crypto; const take = subtle.importKey.bind(subtle);"
        " subtle.importKey = (format, key, algorithm, ...rest) => (algorithm === 'Ed25519'"
        " ? Promise.reject(new DOMException('no', 'NotSupportedError'))"
        " : take(format, key, algorithm, ...rest)); })()"
    )
    assert "refused" == check(page, json.dumps(SMALL))
    assert "cannot verify Ed25519" in page.text("#verdict")


def test_a_hand_of_432_cards_ends_and_the_page_stays_alive(opened):
    """All cards shown and the whole deck revealed: within seconds, a hundred at a time."""
    page = opened()
    begin = time.monotonic()
    assert "match" == check(page, json.dumps(hand_files.large_hand()))
    assert time.monotonic() - begin < 30
    assert page.evaluate("document.querySelectorAll('#report *').length") < 1_500
    assert "100 of 432 shown" in page.text("#report")


def test_markup_in_a_hand_is_text(opened):
    """Recipients and ids may be any printable ASCII."""
    page = opened()
    file = json.loads(json.dumps(SMALL))
    markup = "<img/src=x/onerror=alert(1)>"
    file["cards"][0]["recipient"] = file["hand"] = markup
    assert "mismatch" == check(page, json.dumps(file))
    assert markup in page.text("#report")
    assert 0 == page.evaluate("document.querySelectorAll('#result img').length")


@pytest.mark.parametrize(
    ("language", "width", "dark"),
    [("en", 900, False), ("en", 360, True), ("pl", 360, False), ("uk", 320, False)],
)
def test_nothing_is_nameless_faint_or_cut_off(opened, language, width, dark):
    """Every part unfolded; a hand that differs. 320 pixels are 1,280 at 400 % (WCAG 1.4.10)."""
    page = opened(language=language, width=width, dark=dark)
    page.evaluate("document.querySelector('#signed').open = true")
    for text, keys in (
        (json.dumps(SMALL), keys_of("small")),
        (json.dumps(hand_files.LOGS["after both keys changed"]), ""),
        (json.dumps(tampered(TAMPERED["a card of another place"])), ""),
        (SMALL["receipts"]["open"], keys_of("small")),
    ):
        check(page, text, keys=keys)
        unfold(page)
        assert [] == page.evaluate(AUDIT)
