"""Debian's Firefox, asked by Marionette, the WebDriver that it has inside.

A message is its length in digits, a colon, and JSON: a command
[0, number, name, parameters], an answer [1, number, error, value]. Source:
firefox-source-docs.mozilla.org/testing/marionette/Protocol.html.
"""

import itertools
import json
import socket
from pathlib import Path
from typing import Any

from tests.web.browser import PATIENCE_S
from tests.web.webdriver import Other, waited

BINARY = "/usr/bin/firefox-esr"
# A port of its own choice, which it writes down. It asks nobody for anything.
SETTINGS = """\
user_pref("marionette.port", 0);
user_pref("app.normandy.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "data:,");
"""


class Firefox(Other):
    """One Firefox without a window."""

    def __init__(self) -> None:
        assert Path(BINARY).exists(), "firefox-esr is missing; tests/setup installs it"
        super().__init__()
        (self.home / "user.js").write_text(SETTINGS)
        self.start(
            BINARY, "--headless", "--no-remote", "--profile", str(self.home),
            "--marionette", "--remote-allow-system-access",
        )  # fmt: skip
        port = self.home / "MarionetteActivePort"
        number = int(waited(lambda: port.exists() and port.read_text()))
        self._socket = socket.create_connection(("127.0.0.1", number), PATIENCE_S)
        self._answers = self._socket.makefile("rb")
        self._numbers = itertools.count(1)
        self._receive()  # who it is
        self.version = self.send("NewSession")["capabilities"]["browserVersion"]

    def send(self, command: str, **parameters: Any) -> Any:
        name = f"{'Marionette' if command == 'SetContext' else 'WebDriver'}:{command}"
        message = json.dumps([0, next(self._numbers), name, parameters]).encode()
        self._socket.sendall(b"%d:%b" % (len(message), message))
        _, _, error, value = self._receive()
        assert error is None, error
        return value["value"] if isinstance(value, dict) and "value" in value else value

    def _receive(self) -> Any:
        digits = b""
        while (byte := self._answers.read(1)) != b":":
            assert byte, "Firefox ended"
            digits += byte
        return json.loads(self._answers.read(int(digits)))

    def _inside(self, script: str) -> Any:
        """Run a script with the rights of the browser itself."""
        self.send("SetContext", value="chrome")
        try:
            return self.send("ExecuteScript", script=script, args=[])
        finally:
            self.send("SetContext", value="content")

    def prepare(self, language: str, *, width: int, height: int) -> None:
        # A window has a least width, which is that of its buttons; a page in it has none.
        self._inside(
            f"Services.prefs.setStringPref('intl.accept_languages', '{language}');"
            "Services.console.reset();"
            "const { style } = gBrowser.selectedBrowser;"
            f"style.minWidth = style.maxWidth = '{width}px';"
            f"style.minHeight = style.maxHeight = '{height}px';"
        )

    def complaints(self) -> list[str]:
        said = self._inside("return Services.console.getMessageArray().map(m => `${m.message}`)")
        # The rest of them are the browser's own affairs.
        return [text for text in said if "verify" in text or "Content-Security-Policy" in text]

    def close(self) -> None:
        self._answers.close()
        self._socket.close()
        super().close()
