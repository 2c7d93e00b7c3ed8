"""What a round is computed from: server seed, client seed, nonce; and its stream.

Profile v1 is a published scheme and is reproduced to the byte, with all that is
odd about it. Profile v2 is ours: length prefixes, the raw seed as key, the
rules bound. The rest of this package does not know which one it draws from.

Spec: docs/protocol.md, "Seed pairs and games".
"""

from collections.abc import Callable
from enum import StrEnum
from hashlib import sha256
from hmac import digest

from entropyd.draw.samplers import WORD_BITS
from entropyd.encoding import lp, u32, u64
from entropyd.errors import InternalError, RequestError

SERVER_SEED_BYTES = 32
MAX_CLIENT_SEED = 64
# The nonce is a u64 in v2.
MAX_NONCE = 2**64 - 1

# One HMAC-SHA-256 is eight words, so no word runs across the end of a block.
WORDS_PER_BLOCK = 8
_WORD_BYTES = WORD_BITS // 8

_HASH_LABEL = lp(b"entropyd/server-seed/v2")
_ROUND_LABEL = lp(b"entropyd/round/v2")

Block = Callable[[int], bytes]


class Profile(StrEnum):
    """Which of the two schemes; a line of the rules."""

    V1 = "v1"
    V2 = "v2"


def server_hash(profile: Profile, server_seed: bytes) -> bytes:
    """Return the 32 bytes that are published before the seed is used.

    Spec: docs/protocol.md, "Server seed and its hash".

    Args:
        profile: v1 hashes the seed's 64 hexadecimal characters, v2 its bytes behind a label.
        server_seed: 32 bytes. Secret until revealed.

    Raises:
        InternalError: the seed is not 32 bytes.
    """
    _check_seed(server_seed)
    if profile is Profile.V1:
        return sha256(_key_text(server_seed)).digest()
    return sha256(_HASH_LABEL + lp(server_seed)).digest()


def hash_of_seed_bytes(server_seed: bytes) -> bytes:
    """Return SHA-256 of the 32 bytes, which tools that decode the hexadecimal text compute.

    It is never the server hash. It is here so that whoever meets it can be told what it is.

    Raises:
        InternalError: the seed is not 32 bytes.
    """
    _check_seed(server_seed)
    return sha256(server_seed).digest()


def check_client_seed(field: str, client_seed: str) -> bytes:
    """Return the bytes of a client seed; nothing is trimmed, folded or normalised.

    `:` separates the fields of a v1 message: with one in the client seed, two different
    rounds could have the same message.

    Spec: docs/protocol.md, "Stream of a round".

    Args:
        field: path of the field, for the error text.
        client_seed: as received.

    Raises:
        RequestError: it is not 1 to 64 characters, each 0x21 to 0x7E and none of them `:`.
    """
    if not client_seed:
        raise RequestError(field, f"is empty; expected 1 to {MAX_CLIENT_SEED} characters")
    if len(client_seed) > MAX_CLIENT_SEED:
        raise RequestError(
            field,
            f"has {len(client_seed)} characters; expected at most {MAX_CLIENT_SEED},"
            " hash a longer text and use the hexadecimal digits",
        )
    for position, character in enumerate(client_seed):
        if not "!" <= character <= "~" or character == ":":
            raise RequestError(
                field,
                f"has U+{ord(character):04X} at position {position}; expected printable ASCII"
                " without spaces (0x21 to 0x7E) and without `:`",
            )
    return client_seed.encode("ascii")


def check_nonce(field: str, nonce: int) -> int:
    """Return the nonce.

    Raises:
        RequestError: it is not 0 to 2^64 - 1.
    """
    if not 0 <= nonce <= MAX_NONCE:
        raise RequestError(field, f"is {nonce}; expected 0 to 2^64 - 1")
    return nonce


def block_v1(server_seed: bytes, client_seed: str, nonce: int) -> Block:
    """Return the function c -> block c of a round of the published scheme.

    Args:
        server_seed: 32 bytes. The key is their 64 lower-case hexadecimal characters.
        client_seed: 1 to 64 characters.
        nonce: 0 to 2^64 - 1.

    Raises:
        InternalError: the seed is not 32 bytes.
        RequestError: client seed or nonce cannot stand; names `client_seed` or `nonce`.
    """
    _check_seed(server_seed)
    key = _key_text(server_seed)
    client = check_client_seed("client_seed", client_seed)
    prefix = b"%b:%d:" % (client, check_nonce("nonce", nonce))
    return lambda number: digest(key, b"%b%d" % (prefix, number), "sha256")


def block_v2(server_seed: bytes, client_seed: str, nonce: int, rules_hash: bytes) -> Block:
    """Return the function c -> block c of a round of our scheme.

    Args:
        server_seed: 32 bytes, the key.
        client_seed: 1 to 64 characters.
        nonce: 0 to 2^64 - 1.
        rules_hash: 32 bytes, of the rules of the round.

    Raises:
        InternalError: the seed is not 32 bytes.
        RequestError: client seed or nonce cannot stand; names `client_seed` or `nonce`.
    """
    _check_seed(server_seed)
    client = lp(check_client_seed("client_seed", client_seed))
    counted = u64(check_nonce("nonce", nonce))
    prefix = _ROUND_LABEL + client + counted + lp(rules_hash)
    return lambda number: digest(server_seed, prefix + u32(number), "sha256")


class RoundStream:
    """The words of one round, from the first on: a bit source that is read by the word."""

    __slots__ = ("_block", "_block_of", "_taken")

    def __init__(self, block_of: Block) -> None:
        """Start at word 0 of block 0 of `block_v1` or `block_v2`."""
        self._block_of = block_of
        self._block = b""
        self._taken = 0

    def take(self, count: int) -> int:
        """Return the next word, first bit highest.

        Raises:
            InternalError: `count` is not 32. A round takes nothing but words.
        """
        if count != WORD_BITS:
            raise InternalError(f"a take of {count} bits of a round; expected {WORD_BITS}")
        block, word = divmod(self._taken, WORDS_PER_BLOCK)
        if word == 0:
            self._block = self._block_of(block)
        self._taken += 1
        start = word * _WORD_BYTES
        return int.from_bytes(self._block[start : start + _WORD_BYTES], "big")


def _key_text(server_seed: bytes) -> bytes:
    return server_seed.hex().encode("ascii")


def _check_seed(server_seed: bytes) -> None:
    # HMAC takes keys of every length and would draw another round from them.
    if len(server_seed) != SERVER_SEED_BYTES:
        raise InternalError(f"server seed of {len(server_seed)} bytes; expected 32")
