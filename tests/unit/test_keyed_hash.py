"""HMAC as the standard library computes it, in one turn of the interpreter."""

import hmac
import sys
import threading
import time

import pytest

from entropyd.keyed_hash import digest


@pytest.mark.parametrize("name", ["sha256", "sha512"])
@pytest.mark.parametrize("length", [0, 1, 64, 65, 300, 2047, 2048, 100_000])
def test_it_is_hmac(name, length):
    key, message = bytes(range(64)), bytes(length)
    assert hmac.digest(key, message, name) == digest(key, message, name)


def test_no_other_thread_runs_meanwhile():
    """Who waits for the interpreter asks for it after a minute here: it runs before if it is let.

    `hmac.digest` lets it, some hundred times in as many calls.
    """
    turns, over, interval = 0, threading.Event(), sys.getswitchinterval()

    def run():
        nonlocal turns
        while not over.is_set():
            turns += 1
            time.sleep(0)

    other = threading.Thread(target=run)
    other.start()
    try:
        sys.setswitchinterval(60.0)
        # What was asked for with the interval before is over then.
        time.sleep(0.05)
        before = turns
        for _ in range(2000):
            digest(b"key", bytes(300), "sha512")
        after = turns
    finally:
        sys.setswitchinterval(interval)
        over.set()
        other.join()
    assert before == after
    assert before > 0
