"""The page in a real Chromium: what people do with it, what they see, and what it never does."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from entropyd.config import TcpEndpoint
from entropyd.ops.http import OpsServer
from entropyd.web import page as page_bytes
from tests.web import proofs
from tests.web.browser import PAGE_URL
from tests.web.test_core import SLIPS, a_round

AUDIT = Path(__file__).with_name("audit.js").read_text("utf-8")
GOOD = proofs.good_files()


def of_each_kind():
    """Return a short name and a right file of everything that looks different."""
    games = ("blackjack", "dice_poker", "mines", "roulette", "cascade", "high_roller", "classic")
    rounds = {
        game: next(
            file
            for name, file in GOOD.items()
            if name.startswith("round") and f"={game}\n" in file["rules"]
        )
        for game in games
    }
    draws = {
        "dice": proofs.draw_of("dice in groups, in the order asked"),
        "labels": proofs.draw_of("five items with labels"),
        "order": proofs.draw_of("60 items, two seeds"),
        "tiles": proofs.draw_of("ukrainian, the whole bag"),
        "numbers": proofs.draw_of("all 64 bits"),
        "one-seed": proofs.draw_of("60 items, one seed"),
        "match": proofs.match_file(),
        "raffle": proofs.raffle_file(proofs.vectors("raffles")["raffles"][0]),
    }
    return {**draws, **rounds}


FILES = of_each_kind()
VERDICTS = {
    "en": ("It matches.", "It does NOT match.", "Nothing was checked."),
    "pl": ("Zgadza się.", "NIE zgadza się.", "Niczego nie sprawdzono."),
    "uk": ("Збігається.", "НЕ збігається.", "Нічого не перевірено."),  # noqa: RUF001
}


# --- What it says --------------------------------------------------------------------------------


def test_every_kind_of_file_matches_and_shows_its_steps(opened):
    """Pasted one after another: verdict in words, comparisons, limits, every try."""
    page = opened()
    for name, file in FILES.items():
        assert [name, "match"] == [name, page.check_text(json.dumps(file))]
        page.unfold()
        report = page.text("#report")
        assert "What this check cannot show" in report
        assert "agrees" in report
        assert "differs" not in report
        assert "Every step" in report
        assert "accepted" in report
    assert [PAGE_URL] == page.requests()


@pytest.mark.parametrize("language", VERDICTS)
def test_good_changed_and_broken_files_in_each_language(opened, language):
    """The browser's language is the page's; no verdict can be taken for another."""
    page = opened(language=language)
    assert language == page.evaluate("document.documentElement.lang")
    good = FILES["raffle"]
    changed = proofs.changed(good, "winners[0]", "somebody else")
    broken = {**good, "seeds": 7}
    for file, kind, said in zip(
        (good, changed, broken), ("match", "mismatch", "refused"), VERDICTS[language], strict=True
    ):
        assert kind == page.check_text(json.dumps(file))
        assert said in page.text("#verdict")


def test_a_changed_file_of_every_kind_differs(opened):
    """What is shown beside the verdict is what follows from the seeds, and where it differs."""
    page = opened()
    for name, file in FILES.items():
        path = {"match": "draws[2].result[0]"}.get(name, "result[0]")
        if file["entropyd"] == "round/v1":
            path, value = "nonce", str(int(file["nonce"]) + 1)
        else:
            value = "2" if name in {"match", "tiles", "labels"} else "1"
            other = file["draws"][2]["result"][0] if name == "match" else file["result"][0]
            value = "0" if value == other else value
        assert [name, "mismatch"] == [
            name,
            page.check_text(json.dumps(proofs.changed(file, path, value))),
        ]
        assert "differs" in page.text("#report")
        assert page.evaluate("document.querySelectorAll('#report .causes li').length") > 0


@pytest.mark.parametrize("cause", SLIPS)
def test_each_slip_of_a_typed_round_is_explained(opened, cause):
    """The form takes fields as they are typed, and says what would have matched."""
    # An input of one line drops line ends itself.
    fields = {
        name: value.replace("\n", "") for name, value in typed(SLIPS[cause](a_round())).items()
    }
    if cause == "hash_space":
        fields["hash"] += " "
    page = opened(language="uk")
    assert page.check_round(**fields) in {"mismatch", "refused"}
    uk = page.evaluate("document.querySelector('#report .causes').innerText")
    page.do("select", selector="#language", value="en")
    en = page.evaluate("document.querySelector('#report .causes').innerText")
    assert uk != en
    assert _first_words(cause) in en


def typed(fields):
    words = {"outcome": " ".join(fields["words"])} if "words" in fields else {}
    return {k: v for k, v in fields.items() if k != "words"} | words


def _first_words(cause):
    return {
        "seed_space": "space or line end around the server seed",
        "seed_case": "server seed has capital letters",
        "hash_space": "space or line end around the hash",
        "hash_case": "hash has capital letters",
        "client_space": "space or line end around the client seed",
        "nonce_space": "space or line end around the nonce",
        "nonce_high": "nonce is one too high",
        "nonce_low": "nonce is one too low",
        "seed_and_hash": "Seed and hash stand in each other's fields",
        "seed_and_client": "Server seed and client seed stand in each other's fields",
        "seed_is_hash": "hash was pasted as the seed",
        "profile": "other scheme (v1 against v2)",
    }[cause]


@pytest.mark.parametrize(
    ("game", "machine"),
    [
        ("roulette", None), ("mines", None), ("dice_poker", None), ("blackjack", None),
        ("slots", "classic"), ("slots", "mini"), ("slots", "high_roller"), ("slots", "cascade"),
    ],
)  # fmt: skip
def test_a_round_of_every_game_can_be_typed(opened, game, machine):
    """With its parameters and its outcome as a person writes it."""
    page = opened()
    fields = typed(a_round(game, "v2", machine=machine))
    assert "match" == page.check_round(**fields)
    assert "match" == page.check_round(**fields | {"outcome": fields["outcome"].replace(" ", ", ")})
    assert "computed" == page.check_round(**fields | {"outcome": "", "hash": ""})


def test_another_language_changes_the_report_that_stands_there(opened):
    page = opened()
    page.check_text(json.dumps(FILES["dice"]))
    page.unfold()
    for language, (match, _, _) in VERDICTS.items():
        page.do("select", selector="#language", value=language)
        assert match in page.text("#verdict")
        assert language == page.evaluate("document.documentElement.lang")


# --- Ways in -------------------------------------------------------------------------------------


def test_a_file_is_chosen_twice(opened, tmp_path):
    """The second time it has changed on disk, under the same name."""
    page = opened()
    path = tmp_path / "draw.json"
    path.write_text(json.dumps(FILES["dice"]), "utf-8")
    page.do("choose", selector="#file", files=[str(path)])
    assert "match" == page.verdict()
    path.write_text(json.dumps(FILES["dice"] | {"tenant": "other"}), "utf-8")
    page.do("choose", selector="#file", files=[str(path)])
    page.wait("document.querySelector('#verdict.mismatch')")


def text_file(text, name="a.json"):
    """Return the expression of a file that is dropped."""
    return f"d.items.add(new File([{json.dumps(text)}], {json.dumps(name)}))"


PICTURE = "d.items.add(new File([new Uint8Array([255, 216, 255])], 'cards.jpg'))"
FOLDER = (
    "d.items.add(new File([], 'hands')); File.prototype.arrayBuffer ="
    " () => Promise.reject(new DOMException('a folder', 'NotFoundError'))"
)


def test_a_file_is_dropped(opened):
    """Anywhere on the page; thirty at once are refused, a picture and a folder, all in words."""
    page = opened()
    for adds, verdict, said in (
        (text_file(json.dumps(FILES["raffle"])), "match", "A raffle."),
        (";".join([text_file("{}")] * 30), "refused", "Only one file"),
        (text_file('{"name": "other"}', "package.json"), "refused", "does not say that it is a"),
        (PICTURE, "refused", "no picture, archive or office document"),
        (FOLDER, "refused", "it is a folder"),
    ):
        assert verdict == page.drop(adds)
        assert said in page.text("#verdict")


def test_text_is_dropped(opened):
    """Beside the fields it is checked: a browser would otherwise leave the page for it."""
    page = opened()
    text = json.dumps(FILES["raffle"])
    assert "match" == page.drop(f"d.setData('text/plain', {json.dumps(text)})")
    assert text == page.evaluate("document.querySelector('#text').value")


def test_what_was_given_is_checked_again_with_what_is_added(opened):
    """A file, then the hash that was kept; the result says which file, until a text is given."""
    page = opened()
    assert "match" == page.drop(text_file(json.dumps(FILES["dice"]), "evening.json"))
    for selector in ("#subject", "#given"):
        assert "evening.json" in page.text(selector)
    for kept, verdict in ((FILES["dice"]["commitment"], "match"), ("11" * 32, "mismatch")):
        page.do("fill", selector="#kept", text=kept)
        page.do("click", selector="#file-form button")
        assert verdict == page.verdict()
        assert "evening.json" == page.text("#subject")
    page.do("select", selector="#language", value="pl")
    assert "evening.json: wybrano" in page.text("#given")
    assert "match" == page.check_text(json.dumps(FILES["raffle"]))
    assert ["", ""] == [page.text("#subject"), page.text("#given")]


def test_a_file_that_is_refused_is_not_checked_in_place_of_the_one_before(opened):
    page = opened()
    assert "match" == page.drop(text_file(json.dumps(FILES["dice"])))
    assert "refused" == page.drop(PICTURE)
    page.do("click", selector="#file-form button")
    assert "refused" == page.verdict()
    assert "nothing to check" in page.text("#verdict")


def test_fifty_megabytes_are_pasted(opened):
    """They go past the field, which would hold the browser up for a minute, and are refused."""
    page = opened()
    begin = time.monotonic()
    assert "refused" == page.paste("'x'.repeat(50e6)")
    assert "32 MiB at most" in page.text("#verdict")
    assert "47 MiB" in page.text("#given")
    assert time.monotonic() - begin < 10
    assert "match" == page.paste(json.dumps(json.dumps(FILES["raffle"]) + " " * 2**20))


def test_the_page_stays_alive_while_a_long_text_is_read(opened):
    """2.5 million tokens: other work of the page has its turn between them."""
    page = opened()
    page.evaluate(
        "(() => { globalThis.turns = 0; const turn = () => { turns += 1; setTimeout(turn); };"
        " turn(); const reset = () => { turns = 0; };"
        " document.addEventListener('paste', reset); })()"
    )
    assert "refused" == page.paste("'{\"entropyd\":\"x\",\"rules\":[' + '1,'.repeat(12e5) + '1]}'")
    assert page.evaluate("turns") > 3


def test_with_the_keyboard_alone(opened):
    """From the top: skip link, language, file form, the round's form unfolded and sent."""
    page = opened()
    focused = "(e => e.id || e.className || e.tagName)(document.activeElement)"
    page.do("press", key="Tab")
    assert "skip" == page.evaluate(focused)
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    order = []
    for _ in range(5):
        page.do("press", key="Tab")
        order.append(page.evaluate(focused))
    page.do("press", key="Enter")  # unfolds what is for hands and logs
    for _ in range(3):
        page.do("press", key="Tab")
        order.append(page.evaluate(focused))
    fields = ["language", "file", "text", "kept", "SUMMARY", "keys", "own", "BUTTON"]
    assert fields == order
    page.do("press", key="Tab")
    page.do("press", key="Enter")
    fields = typed(a_round("roulette", "v2"))
    for name in ("seed", "hash", "client", "nonce", "profile", "game", "outcome"):
        page.do("press", key="Tab")
        assert name == page.evaluate(focused)
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert "solid" == outline
        if name == "nonce":
            page.do("press", key="Control+a")
        if name not in {"profile", "game"}:
            page.do("type", text=fields[name])
    page.do("press", key="Enter")
    assert "match" == page.verdict()
    # On through the send button to the report: its folded steps open by the keyboard too.
    page.do("press", key="Tab")
    page.do("press", key="Tab")
    assert "SUMMARY" == page.evaluate(focused)
    page.do("press", key="Enter")
    page.wait("document.querySelector('#report details table')")


# --- Where it is opened --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def daemon_pages():
    server = OpsServer(
        TcpEndpoint("127.0.0.1", 0), CollectorRegistry(), alive=lambda: None, ready=lambda: None
    )
    server.start()
    yield server.port
    server.stop()


def test_it_works_from_the_daemon(opened, daemon_pages):
    """Under the header's policy and its own; nothing but the page is asked for."""
    url = f"http://127.0.0.1:{daemon_pages}/verify"
    page = opened(url)
    assert "match" == page.check_text(json.dumps(FILES["raffle"]))
    assert [url] == page.requests()


def test_without_cryptography_it_says_so_and_checks_nothing(opened):
    """From a site without https: no verdict, and the way out."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page_bytes())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = opened(f"http://not-local.example:{server.server_port}/")
    assert "save this page and open the saved file" in page.text("#no-crypto")
    assert "iPad does not run saved pages" in page.text("#no-crypto")
    assert "refused" == page.check_text(json.dumps(FILES["raffle"]))
    server.shutdown()
    server.server_close()


def shown(page):
    """Return the ids of what is there to be seen, of those that say whether the page runs."""
    ids = ["no-script", "not-started", "file-form", "language", "result"]
    return [name for name in ids if page.evaluate(SEEN.format(name))]


SEEN = (
    "(e => e !== null && e.checkVisibility({{ visibilityProperty: true }}))"
    "(document.getElementById('{}'))"
)


def test_without_javascript_it_says_so_and_shows_no_dead_form(opened):
    """As a saved page is shown on an iPhone: in three languages, and what to do instead."""
    page = opened(script=False)
    assert ["no-script"] == shown(page)
    for words in ("from an address with https", "pod adresem z https", "за адресою з https"):
        assert words in page.text("#no-script")


def test_a_browser_that_is_too_old_is_told_so(browser):
    """The script ends as it begins: no form, but what to use instead; hidden where it starts."""
    page = browser.open(broken="delete Element.prototype.replaceChildren")
    page.wait(SEEN.format("not-started"))
    assert ["not-started"] == shown(page)
    assert "Safari 15.4" in page.text("#not-started")
    page.close()
    page = browser.open()
    assert ["file-form", "language", "result"] == shown(page)
    page.close()


# --- Bad input -----------------------------------------------------------------------------------

MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def test_markup_in_names_is_text(opened):
    """In labels, entries, ids of a refusal, and rules: shown as it is written, never taken."""
    page = opened()
    file = proofs.labelled(MARKUP, "b")
    assert "match" == page.check_text(json.dumps(file))
    assert MARKUP in page.text("#report")
    assert "refused" == page.check_text(json.dumps({"entropyd": MARKUP}))
    assert MARKUP[:30] in page.text("#verdict")
    assert 0 == page.evaluate("document.querySelectorAll('#result img, #result script').length")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 1_000_000, '{"a":1,"a":2}', '{"entropyd":"draw/v1"}', "\x00", "9" * 1_000_000],
    ids=["empty", "half", "deep", "twice", "bare", "nul", "digits"],
)
def test_broken_text_is_refused_in_words(opened, text):
    """No crash, no verdict; and the next file is checked as if nothing had been."""
    page = opened()
    assert "refused" == page.check_text(text)
    assert len(page.text("#verdict")) > 40
    assert "match" == page.check_text(json.dumps(FILES["dice"]))


def test_the_newest_check_is_the_one_that_is_shown(opened):
    """A long one that ends after a short one does not take its place."""
    page = opened()
    long = json.dumps(proofs.long_draw(20_000))
    page.evaluate(f"document.querySelector('#text').value = {json.dumps(long)}")
    page.evaluate("document.querySelector('#file-form').requestSubmit()")
    assert "refused" == page.check_text("{}")
    time.sleep(1)
    assert "refused" == page.verdict()


def test_a_report_that_cannot_be_shown_is_a_failure_and_no_verdict(browser):
    """A browser that lacks something half-way: the page does not leave its verdict standing."""
    page = browser.open()
    page.evaluate(
        "(() => { const make = document.createElement.bind(document);"
        " document.createElement = (name) => {"
        " if (name === 'details') throw new Error('broken'); return make(name); }; })()"
    )
    assert "failed" == page.check_text(json.dumps(FILES["dice"]))
    assert "" == page.text("#report")
    assert "Use a newer browser" in page.text("#verdict")
    page.close()


# --- Long draws ----------------------------------------------------------------------------------


def test_an_order_of_100000_items_ends_and_the_page_stays_alive(opened):
    """Some 130,000 tries from 6,750 seeds: checked within seconds, shown by the hundred."""
    page = opened()
    begin = time.monotonic()
    assert "match" == page.check_text(json.dumps(proofs.long_draw(100_000)))
    assert time.monotonic() - begin < 60
    page.unfold()
    assert page.evaluate("document.querySelectorAll('#report *').length") < 3_000
    assert "100 of 100000 shown" in page.text("#report")
    page.evaluate("document.querySelector('#report button.more').click()")
    assert "200 of 100000 shown" in page.text("#report")


def test_a_raffle_of_many_entries_ends(opened):
    """20,000 entries, ten winners."""
    page = opened()
    file = proofs.raffle_of(20_000)
    assert "match" == page.check_text(json.dumps(file))
    assert all(winner in page.text("#report") for winner in file["winners"])


# --- For everybody -------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 900])
@pytest.mark.parametrize("language", VERDICTS)
def test_nothing_is_nameless_faint_or_cut_off(opened, language, width, dark):
    """Labels, landmarks, headings, contrast of every text, and width; with reports unfolded."""
    page = opened(language=language, width=width, dark=dark)
    page.evaluate("document.querySelector('#round').open = true")
    assert [] == page.evaluate(AUDIT)
    wrong = proofs.changed(FILES["blackjack"], "nonce", str(int(FILES["blackjack"]["nonce"]) + 1))
    for file in (
        FILES["cascade"],
        FILES["mines"],
        FILES["numbers"],
        FILES["match"],
        FILES["raffle"],
        wrong,
        {},
    ):
        page.check_text(json.dumps(file))
        page.unfold()
        assert [] == page.evaluate(AUDIT)


def test_the_verdict_is_spoken(opened):
    """A live region that was there before, read whole; the report beside it is not in it."""
    page = opened()
    attributes = "(e => [e.role, e.ariaLive, e.ariaAtomic])(document.querySelector('#verdict'))"
    assert ["status", "polite", "true"] == page.evaluate(attributes)
    page.evaluate("globalThis.before = document.querySelector('#verdict')")
    page.check_text(json.dumps(FILES["dice"]))
    assert page.evaluate("globalThis.before === document.querySelector('#verdict')")
    assert len(page.text("#verdict")) < 200


def test_printed_are_the_result_and_not_the_forms(opened):
    page = opened()
    page.check_text(json.dumps(FILES["raffle"]))
    page.do("media", media="print")
    assert ["result"] == shown(page)


def test_the_audit_finds_what_is_wrong(opened):
    """It can fail: a faint text, a control without a name, a table that is too wide."""
    page = opened()
    page.evaluate(
        "(() => { const p = document.createElement('p'); p.textContent = 'faint';"
        " p.style.color = '#999999'; p.style.background = '#aaaaaa';"
        " const w = document.createElement('div'); w.textContent = 'wide';"
        " w.style.width = '2000px';"
        " document.querySelector('main').append(p, w, document.createElement('input')); })()"
    )
    complaints = " ".join(page.evaluate(AUDIT))
    for word in ("contrast", "no name", "sticks out"):
        assert word in complaints
