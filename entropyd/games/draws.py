"""From rules, X and seeds to what was drawn, and to the hashes that fix it.

Spec: docs/protocol.md, "Bounds and results".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from entropyd.draw.keystream import Keystream
from entropyd.draw.shuffle import draw_values
from entropyd.encoding import lp
from entropyd.games.draw_kind import DrawRules
from entropyd.games.draw_rules import ServerSeedRules
from entropyd.games.seed_pair import SERVER_SEED_BYTES
from entropyd.hands.binding import draw_binding
from entropyd.hands.commitment import seed_commitment
from entropyd.hands.rules import rules_hash

RESULT_LABEL = lp(b"entropyd/result/v1")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a draw came to. Nothing of it is shown before it is recorded.

    Attributes:
        result: the numbers; empty for a server seed, which is bytes.
        encoded_result: the result as it is committed and recorded.
        commitment: C, 32 bytes.
        result_root: D, 32 bytes.
    """

    result: tuple[int, ...] = field(repr=False)
    encoded_result: bytes = field(repr=False)
    commitment: bytes
    result_root: bytes


def binding_of(rules: DrawRules, tenant: str, match: str, draw: str) -> bytes:
    """Return X of a draw of a match; RequestError names `tenant`, `key.match` or `key.draw`."""
    return draw_binding(tenant, match, draw, rules_hash(rules.encode()))


def draw(
    rules: DrawRules,
    binding: bytes,
    *,
    seeds: Sequence[bytes],
    blinding: bytes,
    salt_key: bytes,
) -> Outcome:
    """Draw what the rules ask for.

    Args:
        rules: of the draw.
        binding: X over these rules.
        seeds: S_0, S_1, ...: 64 bytes for each of `rules.seeds_needed()`. Secret.
        blinding: r, 32 bytes. Secret.
        salt_key: K, 32 bytes. Secret.

    Raises:
        InternalError: not one seed a segment, or one has another length; or a
            draw was rejected 128 times. Everything drawn is void.
    """
    values = draw_values(rules.segments(), seeds, binding, rules.sampler)
    result = tuple(rules.result(values))
    if isinstance(rules, ServerSeedRules):
        encoded = server_seed_of(seeds[0], binding)
    else:
        encoded = rules.encode_result(result)
    return Outcome(
        result=result,
        encoded_result=encoded,
        commitment=seed_commitment(binding, seeds, blinding),
        result_root=result_root(binding, salt_key, encoded),
    )


def result_root(binding: bytes, salt_key: bytes, encoded_result: bytes) -> bytes:
    """Return D, the 32 bytes that fix a result.

    K makes the input unguessable: without it D could be compared with the few
    results that a die has.
    """
    return sha256(RESULT_LABEL + lp(binding) + lp(salt_key) + lp(encoded_result)).digest()


def server_seed_of(seed: bytes, binding: bytes) -> bytes:
    """Return the 32 bytes that are drawn from a seed under rules of kind `server_seed`."""
    bits = Keystream(seed, binding, 0).take(8 * SERVER_SEED_BYTES)
    return bits.to_bytes(SERVER_SEED_BYTES, "big")
