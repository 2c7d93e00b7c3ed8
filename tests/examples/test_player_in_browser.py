"""The JavaScript player in Chromium, at one table with the Python one."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from entropyd.hands.rules import Contributions
from entropyd.verify import check_proof
from tests.examples.seats import EXAMPLES, Driver, Game, Sitting, publics
from tests.fakes.hand_dealer import RECEIPTS, HandDealer, Message, resigned
from tests.fakes.opened_hands import made
from tests.web.browser import Browser, Page


class Quiet(SimpleHTTPRequestHandler):
    """The files of the player, from a host that browsers trust with WebCrypto."""

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><link rel=icon href=data:,><title>table</title>")


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=EXAMPLES / "js"))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def page(site) -> Iterator[Page]:
    browser = Browser()
    yield browser.open(site)
    browser.close()


class InBrowser(Sitting):
    """A seat in a page."""

    page: Page

    def sit(self, dealer: HandDealer, **known: Any) -> None:
        table, clock = json.dumps(self.knows(dealer, **known)), dealer.ms + 500
        self.page.evaluate(
            f"""(async () => {{
              const {{ Player }} = await import('/player.mjs');
              const {{ unhex }} = await import('/bytes.mjs');
              const keySeed = unhex('{self.key_seed.hex()}');
              globalThis.player = await Player.sit({table}, {{ keySeed, nowMs: () => {clock} }});
            }})()"""
        )

    def ask(self, message: Message) -> Any:
        return self.page.evaluate(
            f"""globalThis.player.take({json.dumps(message)}).then(
              (answer) => ({{ answer }}), ({{ step, check }}) => ({{ refused: [step, check] }}))"""
        )

    def take(self, message: Message) -> Any:
        return self.ask(message)["answer"]


@pytest.fixture
def seats(page, tmp_path) -> Iterator[list[Sitting]]:
    python = Driver("python")
    in_browser = InBrowser(python, "seat-2", tmp_path)
    in_browser.page = page
    yield [Sitting(python, "seat-1", tmp_path), in_browser]
    assert python.end() == 0


def test_a_hand_in_a_browser(seats, page):
    """Sealed, with keys, to its end; the page holds a file that proves it."""
    game = Game(HandDealer(Contributions.SEALED, publics(seats)), *seats)
    game.give(game.until("end"))
    file = page.evaluate("globalThis.player.handFile")
    report = check_proof(json.dumps(file).encode(), [RECEIPTS.key])
    assert report.checked
    assert sorted(page.evaluate("globalThis.player.cards"), key=int) == ["1", "3", "5", "6"]


@pytest.mark.parametrize(
    ("lie", "check"),
    [({"deck_root": made("D", 32)}, "O"), ({"index": 9}, "signature")],
)
def test_a_lie_in_a_browser(seats, lie, check):
    """Found there, too: hashes and signatures are the browser's own."""
    game = Game(HandDealer(Contributions.SEALED, publics(seats)), *seats)
    truth = game.until("open")["seat-2"]
    told = resigned(truth, **lie)
    if check == "signature":
        # Its own signature under the text of the lie.
        text, _, _ = told["receipt"].partition("\n\n")
        told = {**told, "receipt": f"{text}\n\n{truth['receipt'].partition(chr(10) * 2)[2]}"}
    assert seats[1].ask(told) == {"refused": ["open", check]}
