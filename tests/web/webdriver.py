"""Other browsers than Chromium, with the commands that driver.mjs has: what WebDriver is asked.

The commands are those of https://www.w3.org/TR/webdriver2/; how one is sent, and
how language, width and console are come by, is each browser's own
(`firefox.py`, `webkit.py`).
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.web.browser import PAGE_URL, PATIENCE_S, Page

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # section 12.2: the name of a reference
KEYS = {"Tab": "\ue004", "Enter": "\ue007"}  # section 15.4.2


class Other(ABC):
    """A browser with one page at a time. End it with `close`."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="entropyd-browser-"))
        self._started: list[subprocess.Popen[bytes]] = []

    @abstractmethod
    def send(self, command: str, **parameters: Any) -> Any:
        """Carry out a command of WebDriver; return its value."""

    @abstractmethod
    def prepare(self, language: str, *, width: int, height: int) -> None:
        """Make the next page be seen so, and forget what the console said."""

    @abstractmethod
    def complaints(self) -> list[str]:
        """Return what the console says of the page since it was opened."""

    def open(
        self, url: str = PAGE_URL, *, language: str = "en-GB", width: int = 900, height: int = 800
    ) -> "OtherPage":
        """Open a page in place of the one before."""
        self.prepare(language, width=width, height=height)
        self.send("Navigate", url=url)
        page = OtherPage(self)
        # Not every browser counts the page's own script as part of loading it.
        page.wait("document.querySelector('#verdict')?.textContent")
        return page

    def do(self, what: str, **arguments: Any) -> Any:
        """Carry out a command of driver.mjs; there is one page, whichever is named."""
        command: Callable[..., Any] = getattr(self, f"_{what}")
        return command(**{name: value for name, value in arguments.items() if name != "page"})

    def _evaluate(self, script: str) -> Any:
        return self.send("ExecuteScript", script=f"return ({script})", args=[])

    def element(self, selector: str) -> str:
        """Return WebDriver's name of the first element that a selector finds."""
        found = self.send("FindElement", using="css selector", value=selector)
        return str(found[ELEMENT])

    def _fill(self, selector: str, text: str) -> None:
        self._evaluate(f"void (document.querySelector('{selector}').value = {json.dumps(text)})")

    def _select(self, selector: str, value: str) -> None:
        self._evaluate(
            f"(s => {{ s.value = {json.dumps(value)}; s.dispatchEvent(new Event('change')); }})"
            f"(document.querySelector('{selector}'))"
        )

    def _click(self, selector: str) -> None:
        self.send("ElementClick", id=self.element(selector))

    def _choose(self, selector: str, files: list[str]) -> None:
        self.send("ElementSendKeys", id=self.element(selector), text="\n".join(files))

    def _press(self, key: str) -> None:
        actions = [{"type": name, "value": KEYS[key]} for name in ("keyDown", "keyUp")]
        self.send("PerformActions", actions=[{"type": "key", "id": "keyboard", "actions": actions}])

    def _seen(self) -> dict[str, list[str]]:
        return {"errors": self.complaints()}

    def start(self, *command: str, **variables: str) -> None:
        """Start a program that ends with this browser, in a home of its own."""
        with (self.home / f"{Path(command[0]).name}.out").open("wb") as out:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "HOME": str(self.home), **variables},
                start_new_session=True,
            )
        self._started.append(process)

    def printed(self, program: str) -> str:
        """Return what a program that was started has printed so far."""
        return (self.home / f"{program}.out").read_text("utf-8", "replace")

    def close(self) -> None:
        """End what was started, with all that it started itself."""
        for process in reversed(self._started):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


class OtherPage(Page):
    """The page in another browser than Chromium."""

    def __init__(self, browser: Other) -> None:
        super().__init__(browser, 0)

    def violations(self) -> list[str]:
        return list(self.do("seen")["errors"])


def waited(ask: Callable[[], Any]) -> Any:
    """Ask until there is an answer other than none or an empty one."""
    end_s = time.monotonic() + PATIENCE_S
    while not (answer := ask()):
        assert time.monotonic() < end_s, "a browser did not start"
        time.sleep(0.02)
    return answer
