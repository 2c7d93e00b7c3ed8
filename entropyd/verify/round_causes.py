"""Why a round does not fit, found by trying the mistakes that people make.

A cause is named only where trying it gives exactly what was presented. None of
them makes a round right: they tell where to look. Of a game with few outcomes
one can fit by chance, as one of 38 pockets does.
"""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from hmac import digest

from entropyd.games.round_rules import RoundRules
from entropyd.games.rounds import play, play_words
from entropyd.games.seed_pair import (
    MAX_NONCE,
    Profile,
    RoundStream,
    hash_of_seed_bytes,
    server_hash,
)
from entropyd.verify.compare import first_difference

_OTHER = {Profile.V1: Profile.V2, Profile.V2: Profile.V1}


def of_hash(profile: Profile, seed: bytes, presented: bytes) -> tuple[str, ...]:
    """Return what explains that `presented` is not the server hash of `seed`."""
    if presented == seed:
        return ("server_seed and server_hash are the same: one was pasted for the other",)
    text = seed.hex()
    tried = (
        (
            server_hash(_OTHER[profile], seed),
            f"it is the server hash of profile {_OTHER[profile]}; the rules say {profile}",
        ),
        (
            hash_of_seed_bytes(seed),
            "it is the hash of the 32 bytes that the hex stands for; v1 hashes the 64 characters",
        ),
        (_hash(text.upper()), "it is the hash of the seed in upper case"),
        (_hash(f"{text}\n"), "it is the hash of the seed with an end of line behind it"),
        (_hash(f"{text}\r\n"), "it is the hash of the seed with an end of line behind it"),
        (_hash(f"{text} "), "it is the hash of the seed with a space behind it"),
        (_hash(f" {text}"), "it is the hash of the seed with a space before it"),
        (_hash(f"0x{text}"), "it is the hash of the seed with 0x before it"),
        (_hash(_hash(text).hex()), "it is the hash of the hash: hashed once too often"),
    )
    return tuple(cause for hashed, cause in tried if hashed == presented)


def of_outcome(
    rules: RoundRules, seed: bytes, client_seed: str, nonce: int, presented: object
) -> tuple[str, ...]:
    """Return what explains that `presented` is not the outcome of these four."""
    found = [
        cause
        for outcome, cause in _tries(rules, seed, client_seed, nonce)
        if first_difference("outcome", outcome, presented) is None
    ]
    if _counts_from_one(rules, seed, client_seed, nonce, presented):
        found.append("its tiles are counted from 1, as boards show them; files count from 0")
    return tuple(found)


def _tries(
    rules: RoundRules, seed: bytes, client_seed: str, nonce: int
) -> Iterator[tuple[dict[str, object], str]]:
    """Yield the outcome of each mistake, and its name."""
    for other in (nonce - 1, nonce + 1):
        if 0 <= other <= MAX_NONCE:
            outcome = play(rules, seed, client_seed, other).outcome.as_json()
            yield outcome, f"it is the outcome of nonce {other}: nonces count from 0"
    for text, name in ((client_seed.lower(), "lower"), (client_seed.upper(), "upper")):
        if text != client_seed:
            outcome = play(rules, seed, text, nonce).outcome.as_json()
            yield outcome, f"it is the outcome of the client seed in {name} case"
    other_rules = replace(rules, profile=_OTHER[rules.profile])
    yield (
        play(other_rules, seed, client_seed, nonce).outcome.as_json(),
        f"it is the outcome of profile {other_rules.profile}; the rules say {rules.profile}",
    )
    if rules.profile is Profile.V1:
        yield from _tries_of_v1(rules, seed, client_seed, nonce)


def _tries_of_v1(
    rules: RoundRules, seed: bytes, client_seed: str, nonce: int
) -> Iterator[tuple[dict[str, object], str]]:
    """Yield what comes of other keys and messages than those of the published scheme."""
    hexadecimal, client = seed.hex().encode("ascii"), client_seed.encode("ascii")
    swapped = server_hash(Profile.V1, seed).hex().encode("ascii")
    yield (
        _with_key(rules, seed, b"%b:%d:" % (client, nonce)),
        "its key is the 32 bytes; the key is the 64 characters of the hex",
    )
    yield (
        _with_key(rules, hexadecimal.upper(), b"%b:%d:" % (client, nonce)),
        "its key is the hex in upper case; expected lower case",
    )
    yield (
        _with_key(rules, swapped, b"%b:%d:" % (client, nonce)),
        "its key is the server hash: a hash was pasted for the seed",
    )
    for end, name in ((b" ", "a space"), (b"\n", "an end of line"), (b"\r\n", "an end of line")):
        yield (
            _with_key(rules, hexadecimal, b"%b%b:%d:" % (client, end, nonce)),
            f"it is the outcome of the client seed with {name} behind it",
        )
    yield (
        _with_key(rules, hexadecimal, b"%b:%d:" % (client, nonce), first_block=1),
        "its first block is number 1; blocks count from 0",
    )


def _with_key(
    rules: RoundRules, key: bytes, prefix: bytes, *, first_block: int = 0
) -> dict[str, object]:
    stream = RoundStream(
        lambda number: digest(key, b"%b%d" % (prefix, number + first_block), "sha256")
    )
    return play_words(rules, stream).outcome.as_json()


def _counts_from_one(
    rules: RoundRules, seed: bytes, client_seed: str, nonce: int, presented: object
) -> bool:
    if rules.mines is None:
        return False
    mines = play(rules, seed, client_seed, nonce).outcome.as_json()["mines"]
    if not isinstance(mines, list):
        return False
    moved = {"mines": [tile + 1 for tile in mines]}
    return first_difference("outcome", moved, presented) is None


def _hash(text: str) -> bytes:
    return sha256(text.encode("ascii")).digest()
