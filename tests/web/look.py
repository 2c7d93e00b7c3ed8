"""`python -m tests.web.look KEYS FILE...`: what the page, from disk and in Chromium, says of files.

KEYS is a file of verifier keys, a line each, that are pasted into the page.
Prints a JSON object a file: its name, the class and the words of the verdict,
and the report as a reader sees it.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.web.browser import Browser


def main(keys_file: str, files: Sequence[str]) -> None:
    """Check each file in one page, as somebody with the file and the keys would."""
    keys = Path(keys_file).read_text("ascii")
    browser = Browser()
    try:
        page = browser.open()
        page.evaluate(f"document.querySelector('#keys').value = {json.dumps(keys)}")
        for file in files:
            verdict = page.check_text(Path(file).read_text("utf-8"))
            told = {
                "verdict": verdict,
                "said": page.text("#verdict"),
                "report": page.text("#report"),
            }
            print(json.dumps({"file": file, **told}), flush=True)
    finally:
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
