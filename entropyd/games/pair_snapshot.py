"""A line of pairs as bytes, and back: the public part and the seeds apart.

Lines in the grammar of rules, so that a person can read what is kept.

Spec: docs/protocol.md, "Life of a line of pairs".
"""

from entropyd.draw.rule_lines import choice, decimal, encode_lines, parse_lines, sha256_digest
from entropyd.errors import EntropydError, InternalError
from entropyd.games.pair_line import MAX_OPEN_ROUNDS, PairLine, PairSeeds
from entropyd.games.seed_pair import SERVER_SEED_BYTES, Profile

_OPEN = tuple(f"open_{number:02d}" for number in range(1, MAX_OPEN_ROUNDS + 1))


def encode_line(line: PairLine) -> bytes:
    """Return the public part: everything but the seeds."""
    lines = {
        "next_hash": line.next_hash.hex(),
        "nonce": str(line.next_nonce),
        "pair": str(line.pair),
        "profile": line.profile.value,
        "server_hash": line.server_hash.hex(),
        "since_ns": str(line.since_ns),
    }
    if line.client_seed:
        lines["client_seed"] = line.client_seed
    lines |= zip(_OPEN, line.open_rounds, strict=False)
    return encode_lines(lines)


def decode_line(encoded: bytes) -> PairLine:
    """Return the line that `encode_line` wrote.

    Raises:
        InternalError: the bytes are no such line: nothing may be played on them.
    """
    try:
        return _decode(encoded)
    except (EntropydError, KeyError) as error:
        raise InternalError("the record of a line of pairs is damaged") from error


def encode_seeds(seeds: PairSeeds) -> bytes:
    """Return the 64 secret bytes of both seeds."""
    return seeds.present + seeds.following


def decode_seeds(encoded: bytes, line: PairLine) -> PairSeeds:
    """Return the seeds that `encode_seeds` wrote, checked against the hashes of their line.

    Raises:
        InternalError: they are not the line's.
    """
    seeds = PairSeeds(encoded[:SERVER_SEED_BYTES], encoded[SERVER_SEED_BYTES:])
    return seeds.check(line)


def _decode(encoded: bytes) -> PairLine:
    lines = parse_lines(encoded, "line")
    line = PairLine(
        profile=choice(Profile, "profile", lines, "line"),
        pair=decimal("pair", lines["pair"], "line"),
        server_hash=sha256_digest("server_hash", lines["server_hash"]),
        next_hash=sha256_digest("next_hash", lines["next_hash"]),
        since_ns=decimal("since_ns", lines["since_ns"], "line"),
        client_seed=lines.get("client_seed", ""),
        next_nonce=decimal("nonce", lines["nonce"], "line"),
        open_rounds=tuple(lines[name] for name in _OPEN if name in lines),
    )
    # The one spelling: no name besides, no hole among the open rounds.
    if encode_line(line) != encoded:
        raise InternalError("a line of pairs in another spelling")
    return line
