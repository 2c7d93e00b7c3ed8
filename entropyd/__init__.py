"""Tested hardware entropy, dealt as decks that are recorded before they are shown.

The folders are the stages of the way from a device to an answer:

    entropy   how bits come in: noise sources, health tests, reservoir, gate
    rbg       how seeds are made: HMAC_DRBG and the construction around it
    draw      how results are drawn: keystream, samplers, cards
    hands     how a hand is bound, committed and dealt
    log       the trees that commitments are made of
    verify    what anyone can recompute offline
    ledger    how results are kept
    runtime   everything with a thread
    service   how results are served
    ops       how the daemon is watched
    client    the typed client

Everything from `verify` down is sans-I/O: bytes, time and randomness come in
as arguments, and nothing there sleeps, opens, logs or reads a clock.
"""

__version__ = "0.1.0"
