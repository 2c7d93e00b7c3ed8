"""The page in Firefox and in WebKit, for players who do not have Chromium."""

import json
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from entropyd.config import TcpEndpoint
from entropyd.ops.http import OpsServer
from tests.web import hand_files, proofs
from tests.web.firefox import Firefox
from tests.web.hand_files import SMALL, keys_of, tampered
from tests.web.test_core import a_round
from tests.web.test_page import FILES, VERDICTS, text_file, typed
from tests.web.test_page_hands import TAMPERED, check, unfold
from tests.web.webdriver import OtherPage, waited
from tests.web.webkit import WebKit

AUDIT = Path(__file__).with_name("audit.js").read_text("utf-8")
LOG = hand_files.LOGS["after both keys changed"]
WRONG = (
    "a card of another place", "a leaf left out", "roll of another hand", "another blinding",
    "accepted, and left out", "inclusion under another root", "an entry left out", "a fork",
)  # fmt: skip


@pytest.fixture(scope="module", params=[Firefox, WebKit], ids=["firefox", "webkit"])
def other(request):
    browser = request.param()
    yield browser
    browser.close()


@pytest.fixture
def opened(other):
    """Open pages; one that broke its own rules fails the test."""
    pages: list[OtherPage] = []

    def open_page(*args, **options):
        assert not pages, "there is one page at a time"
        pages.append(other.open(*args, **options))
        return pages[0]

    yield open_page
    assert [] == pages[0].violations()


def test_draws_matches_raffles_and_rounds(opened):
    """From disk, where cryptography is there: right ones match with all steps, changed ones not."""
    page = opened()
    assert [True, True] == page.evaluate("[isSecureContext, crypto.subtle !== undefined]")
    for name, file in FILES.items():
        assert [name, "match"] == [name, page.check_text(json.dumps(file))]
    unfold(page)
    assert "accepted" in page.text("#report")
    for name, path, value in (
        ("dice", "result[0]", "9"), ("match", "draws[0].commitment", "11" * 32),
        ("raffle", "winners[0]", "somebody else"), ("roulette", "client_seed", "other"),
    ):  # fmt: skip
        changed = proofs.changed(FILES[name], path, value)
        assert [name, "mismatch"] == [name, page.check_text(json.dumps(changed))]


def test_hands_logs_and_receipts(opened):
    """Ed25519 too; a hand that was tampered with ends at the part that differs."""
    page = opened()
    for label, file in (("small", SMALL), ("after both keys changed", LOG)):
        assert "match" == check(page, json.dumps(file), keys=keys_of(label))
        assert "keys that you gave" in page.text("#verdict")
    assert "match" == check(page, SMALL["receipts"]["open"], keys=keys_of("small"))
    for reason in WRONG:
        vector = TAMPERED[reason]
        assert [reason, "mismatch"] == [reason, check(page, json.dumps(tampered(vector)))]
        assert vector["part"] in page.text("#report li.bad")


def test_it_works_from_the_daemon(opened):
    """On the loopback, under the header's policy and its own."""
    server = OpsServer(
        TcpEndpoint("127.0.0.1", 0), CollectorRegistry(), alive=lambda: None, ready=lambda: None
    )
    server.start()
    try:
        page = opened(f"http://127.0.0.1:{server.port}/verify")
        assert "match" == check(page, json.dumps(SMALL), keys=keys_of("small"))
        assert "mismatch" == check(page, json.dumps(SMALL), own="11" * 32)
    finally:
        server.stop()


def test_files_are_chosen_dropped_and_pasted(opened, tmp_path):
    """And refused in words: many at once, another kind, bytes that are no text, 50 MB."""
    page = opened()
    path = tmp_path / "evening.json"
    path.write_text(json.dumps(FILES["dice"]), "utf-8")
    page.do("choose", selector="#file", files=[str(path)])
    page.wait("document.querySelector('#verdict.match')")
    assert "evening.json" == page.text("#subject")
    for adds, verdict in (
        (text_file(json.dumps(FILES["raffle"])), "match"),
        (";".join([text_file("{}")] * 30), "refused"),
        (text_file('{"name": "other"}', "package.json"), "refused"),
        ("d.items.add(new File([new Uint8Array([255, 216, 255])], 'cards.jpg'))", "refused"),
    ):
        assert verdict == page.drop(adds)
        assert len(page.text("#verdict")) > 40
    assert "refused" == page.paste("'x'.repeat(50e6)")
    assert "match" == page.paste(json.dumps(json.dumps(FILES["raffle"]) + " " * 2**20))


def test_a_round_is_typed_and_a_slip_explained(opened):
    page = opened()
    fields = typed(a_round("roulette", "v2"))
    assert "match" == page.check_round(**fields)
    assert "mismatch" == page.check_round(**fields | {"nonce": str(int(fields["nonce"]) + 1)})
    assert "one too high" in page.text("#report .causes")


@pytest.mark.parametrize("language", VERDICTS)
def test_on_a_small_screen_in_each_language(opened, language):
    """360 pixels: nothing is nameless, faint or cut off; with reports unfolded."""
    page = opened(language=language, width=360)
    assert [360, language] == page.evaluate("[innerWidth, document.documentElement.lang]")
    for file in (SMALL, FILES["cascade"], tampered(TAMPERED["a card of another place"])):
        check(page, json.dumps(file))
        unfold(page)
        assert [] == page.evaluate(AUDIT)
    assert VERDICTS[language][1] in page.text("#verdict")


def test_a_refusal_of_the_policy_is_seen(other):
    """These tests can fail: what the page may not do is noticed."""
    page = other.open()
    page.evaluate(
        "(() => { const s = document.createElement('style'); s.textContent = '* {}';"
        " document.head.append(s); })()"
    )
    assert "style-src" in " ".join(waited(page.violations))
