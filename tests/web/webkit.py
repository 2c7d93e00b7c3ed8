"""Debian's WebKitGTK in its own small browser, asked by WebKitWebDriver, on a screen in memory.

WebKit is what Safari is made of. Networks, cryptography and widgets are those of
the system, so that a page which works here may still not work there.
"""

import http.client
import json
import re
import socket
from pathlib import Path
from typing import Any

from tests.web.browser import PAGE_URL, PATIENCE_S
from tests.web.webdriver import ELEMENT, Other, OtherPage, waited

DRIVER = "/usr/bin/WebKitWebDriver"
XVFB = "/usr/bin/Xvfb"
LEAST_WIDTH = 460  # of a window with its buttons

PATHS = {
    "NewSession": "", "Navigate": "/url", "ExecuteScript": "/execute/sync",
    "FindElement": "/element", "ElementClick": "/element/{id}/click",
    "ElementSendKeys": "/element/{id}/value", "PerformActions": "/actions",
    "SetWindowRect": "/window/rect", "SwitchToFrame": "/frame",
}  # fmt: skip

# What a page did that it must not do. What its policy refused while it was being loaded, style or
# script, would be missing.
WATCH = """(() => {
  globalThis.violations = [];
  const note = (...said) => globalThis.violations.push(said.join(' '));
  document.addEventListener('securitypolicyviolation',
    ({ violatedDirective, blockedURI }) => note(violatedDirective, blockedURI));
  addEventListener('error', ({ message }) => note(message));
  addEventListener('unhandledrejection', ({ reason }) => note(reason));
  console.error = note;
})()"""


class WebKit(Other):
    """One MiniBrowser."""

    def __init__(self) -> None:
        browsers = sorted(Path("/usr/lib").glob("*/webkit*gtk-*/MiniBrowser"))
        assert Path(DRIVER).exists(), "webkit2gtk-driver is missing; tests/setup installs it"
        assert Path(XVFB).exists(), "xvfb is missing; tests/setup installs it"
        super().__init__()
        self._port, self._session, self._language = _free_port(), "", "en"
        self.start(
            DRIVER, f"--port={self._port}", DISPLAY=self._screen(), GDK_BACKEND="x11",
            LIBGL_ALWAYS_SOFTWARE="1",
            # Its sandbox cannot start as root, nor everywhere else. It shows this page alone.
            WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS="1",
        )  # fmt: skip
        options = {"binary": str(browsers[-1]), "args": ["--automation"]}
        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        session = waited(lambda: self._session_of(wanted))
        self._session = f"/{session['sessionId']}"
        self.version = session["capabilities"]["browserVersion"]

    def _screen(self) -> str:
        self.start(XVFB, "-displayfd", "1", "-screen", "0", "1400x1100x24", "-nolisten", "tcp")
        found = waited(lambda: re.search(r"^(\d+)\n", self.printed("Xvfb"), re.MULTILINE))
        return f":{found[1]}"

    def _session_of(self, wanted: Any) -> Any:
        try:
            return self.send("NewSession", capabilities=wanted)
        except ConnectionRefusedError:
            return None  # the driver does not listen yet

    def send(self, command: str, **parameters: Any) -> Any:
        path = f"/session{self._session}{PATHS[command].format(**parameters)}"
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_S)
        connection.request(
            "POST", path, json.dumps(parameters), {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        value = json.loads(answer.read())["value"]
        connection.close()
        assert answer.status == http.HTTPStatus.OK, value
        return value

    def prepare(self, language: str, *, width: int, height: int) -> None:
        self._language = language[:2]
        self.send("SetWindowRect", width=width + LEAST_WIDTH, height=height)

    def open(self, url: str = PAGE_URL, **options: Any) -> OtherPage:
        """Open a page and choose its language, which this browser takes from the machine's."""
        width = options.get("width", LEAST_WIDTH)
        page = self._framed(url, options) if width < LEAST_WIDTH else super().open(url, **options)
        self._evaluate(WATCH)
        page.do("select", selector="#language", value=self._language)
        return page

    def _framed(self, url: str, options: Any) -> OtherPage:
        """Open a page in a frame, which may be narrower than a window."""
        outer = self.home / "outer.html"
        size = f"width={options['width']} height=600 style='border: 0'"
        outer.write_text(f"<iframe src='{url}' {size}></iframe><p id=verdict>here</p>")
        page = super().open(outer.as_uri(), **options)
        self.send("SwitchToFrame", id={ELEMENT: self.element("iframe")})
        page.wait("document.querySelector('#verdict.verdict')?.textContent")
        return page

    def complaints(self) -> list[str]:
        return list(self._evaluate("globalThis.violations"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
