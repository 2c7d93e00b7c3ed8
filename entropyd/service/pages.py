"""Pages of lists: how many a page holds, and where the next one begins.

A token says after which number a page begins. It is no secret and opens
nothing: every page asks for the claim again.

Spec: AIP-158.
"""

import base64
import binascii

from entropyd.errors import RequestError

DEFAULT_PAGE = 100
MAX_PAGE = 1000
# The largest number that a ledger gives. SQLite takes none above it: looking for one is an error of
# ours, and an error of ours ends the daemon.
MAX_NUMBER = (1 << 63) - 1
# Of such a number: longer ones are not read.
_MAX_DIGITS = 19


def page_size(asked: int) -> int:
    """Return how many a page holds.

    Raises:
        RequestError: less than none is asked for; names `page_size`.
    """
    if asked < 0:
        raise RequestError("page_size", f"is {asked}; expected 0 to {MAX_PAGE}")
    return min(asked or DEFAULT_PAGE, MAX_PAGE)


def token_after(number: int) -> str:
    """Return the token of the page that begins after a number."""
    return base64.urlsafe_b64encode(str(number).encode()).decode("ascii")


def number_of(token: str) -> int:
    """Return the number that a page begins after.

    Raises:
        RequestError: the token is none of ours; names `page_token`.
    """
    if not token:
        return 0
    try:
        digits = base64.b64decode(token, altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        digits = ""
    return told_number(digits)


def told_number(digits: str) -> int:
    """Return the number that stands in a token.

    Raises:
        RequestError: no ledger gave it; names `page_token`.
    """
    number = int(digits) if digits.isdecimal() and len(digits) <= _MAX_DIGITS else -1
    if not 0 <= number <= MAX_NUMBER:
        raise RequestError(
            "page_token", "is none; expected next_page_token of the page before, or nothing"
        )
    return number
