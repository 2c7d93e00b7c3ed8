"""The page on which players check draws, raffles, rounds, hands and logs on their own device.

`verify.html` is one file: it loads nothing, sends nothing, and works from disk.
It is made of `src/` by `python -m entropyd.web.build`, and checked in, so that
what people get has one hash that anyone can make again.
"""

from functools import cache
from hashlib import sha256
from importlib import resources

PAGE = "verify.html"


@cache
def page() -> bytes:
    """Return the page, to the byte as it is published."""
    return (resources.files(__name__) / PAGE).read_bytes()


@cache
def page_hash() -> str:
    """Return the SHA-256 of the page in lower-case hex: what a player compares it with."""
    return sha256(page()).hexdigest()


@cache
def page_policy() -> str:
    """Return the Content-Security-Policy that the page carries, for the header beside it.

    The page has it in a `meta` element, for those who open it from disk. Who
    serves it says the same again, and that no other site may frame it, which
    browsers take from the header alone.
    """
    _, _, rest = page().decode("utf-8").partition('http-equiv="Content-Security-Policy" content="')
    policy, _, _ = rest.partition('"')
    return f"{policy}; frame-ancestors 'none'"
