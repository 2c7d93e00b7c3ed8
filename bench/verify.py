"""Verifications a second: `entropyd.verify` in this process, and the page in Chromium.

Files are of the published vectors: an order of 60 items, a round, a hand of nine
seats with nine cards shown and with none but the whole deck revealed, under keys
that are given. Python's time is the CPU time of its thread, from the bytes of the
file to its report. The page's is measured inside the page, from the press of the
button to the report that stands there, by the clock: other work counts against it.
"""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.report import Line, Report, middle
from entropyd.log.keys import VerifierKey
from entropyd.verify import check_proof
from tests.web.browser import Browser, Page

VECTORS = Path(__file__).parents[1] / "docs" / "vectors"
DRAW = "60 items, two seeds"
HAND = "nine sealed, a plan, revealed"
SHOWN = 9

# Checks a file so often; resolves with the milliseconds of it, or throws at another verdict.
_IN_PAGE = """(async ({ text, keys, turns }) => {
  const at = (id) => document.querySelector(id);
  at('#text').value = text;
  at('#keys').value = keys;
  const ended = () => new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (at('#result').getAttribute('aria-busy') !== 'false') return;
      observer.disconnect();
      resolve();
    });
    observer.observe(at('#result'), { attributes: true });
  });
  const begin = performance.now();
  for (let turn = 0; turn < turns; turn += 1) {
    const end = ended();
    at('#file-form').requestSubmit();
    await end;
    if (!at('#verdict').classList.contains('match')) throw new Error(at('#verdict').innerText);
  }
  return performance.now() - begin;
})"""

File = Mapping[str, Any]


def run(report: Report, *, quick: bool) -> None:
    """Measure both with each kind of file, in turns."""
    rounds, turns = (3, 5) if quick else (7, 40)
    keys, files = _files()
    browser = Browser()
    try:
        page = browser.open()
        lines: list[Line] = []
        for name, file in files.items():
            signed = keys if file["entropyd"] == "hand/v1" else ()
            here = _in_python(file, signed, turns)
            there = _in_page(page, file, signed, turns)
            pairs = [(here(), there()) for _ in range(rounds)]
            python, shown = (middle(rate) for rate in zip(*pairs, strict=True))
            lines.append({"file": name, "python a second": python, "page a second": shown})
    finally:
        browser.close()
    report.add("verify", lines, *map(_sentence, lines))


def _files() -> tuple[tuple[str, ...], dict[str, File]]:
    """Return the keys of the hands' log, and a file of each kind under its name."""
    draw = _labelled("match_draws", "match_draws", DRAW)
    rounds = _vectors("games")["rounds"]
    hand = _labelled("dealt_hands", "hands", HAND)
    whole = {name: value for name, value in hand["file"].items() if name != "notes"}
    shown = {name: value for name, value in whole.items() if name != "reveal"}
    return tuple(hand["trusted"]), {
        "draw of 60 items": _draw_file(draw),
        "round": next(one["file"] for one in rounds if "blackjack" in one["file"]["rules"]),
        f"hand, {SHOWN} cards shown": shown | {"cards": hand["file"]["cards"][:SHOWN]},
        "hand, revealed": whole | {"cards": []},
    }


def _vectors(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))


def _labelled(name: str, part: str, label: str) -> File:
    found: File = next(one for one in _vectors(name)[part] if one["label"] == label)
    return found


def _draw_file(case: File) -> File:
    names = ("tenant", "match", "draw", "rules", "seeds", "blinding", "salt_key", "result")
    roots = {"commitment": case["C"], "result_root": case["D"]}
    return {"entropyd": "draw/v1", "number": 1, **{n: case[n] for n in names}, **roots}


def _in_python(file: File, keys: tuple[str, ...], turns: int) -> Callable[[], float]:
    data, given = json.dumps(file).encode(), tuple(map(VerifierKey.decode, keys))
    check_proof(data, given)

    def rate() -> float:
        begin_s = time.thread_time()
        for _ in range(turns):
            check_proof(data, given)
        return turns / (time.thread_time() - begin_s)

    return rate


def _in_page(page: Page, file: File, keys: tuple[str, ...], turns: int) -> Callable[[], float]:
    given = {"text": json.dumps(file), "keys": "\n".join(keys), "turns": turns}
    script = f"{_IN_PAGE}({json.dumps(given)})"
    page.evaluate(script)
    return lambda: turns / (float(page.evaluate(script)) / 1000)


def _sentence(line: Line) -> str:
    python, shown = line["python a second"], line["page a second"]
    return f"{line['file']}: {python:.0f} a second in Python, {shown:.0f} in the page"
