"""Proof files: what `entropyctl verify`, or anybody's own program, computes a draw again from.

Spec: docs/protocol.md, "Files that verifiers take".
"""

from entropyd.client.drawn import Match, OpenedRaffle, Opening, ReplayedDraw
from entropyd.client.rounds import OpenedRound
from entropyd.errors import RequestError

Proof = dict[str, object]


def draw_proof(match: Match, draw: str) -> Proof:
    """Return the file that proves one draw of a match.

    Raises:
        RequestError: the match has no such draw, or was read without openings.
    """
    for replayed in match.draws:
        if replayed.drawn.draw == draw:
            ids = {"entropyd": "draw/v1", "tenant": match.tenant, "match": match.match}
            return {**ids, **_draw(replayed)}
    raise RequestError("draw", f"match {match.match} has no draw {draw[:40]!a}")


def match_proof(match: Match) -> Proof:
    """Return the file that proves all draws of a match.

    Raises:
        RequestError: the match was read without openings.
    """
    return {
        "entropyd": "match/v1",
        "tenant": match.tenant,
        "match": match.match,
        "draws": [_draw(replayed) for replayed in match.draws],
    }


def raffle_proof(opened: OpenedRaffle) -> Proof:
    """Return the file that proves a raffle.

    Raises:
        RequestError: it was not drawn, or was read without its opening.
    """
    raffle = opened.raffle
    return {
        "entropyd": "raffle/v1",
        "tenant": opened.tenant,
        "raffle": raffle.raffle,
        "entries": list(opened.entries),
        "entries_hash": raffle.entries_hash.hex(),
        "rules": raffle.rules,
        **_opening(opened.opening),
        "commitment": raffle.commitment.hex(),
        "result_root": raffle.result_root.hex(),
        "result": [str(item) for item in raffle.result],
        "winners": list(raffle.winners),
        "alternates": list(raffle.alternates),
    }


def round_proof(opened: OpenedRound) -> Proof:
    """Return the file that proves a round.

    Raises:
        RequestError: its pair was not rotated yet, so its server seed is a secret; or it was voided
            as it was played and has no outcome.
    """
    played, revealed = opened.round, opened.revealed
    if revealed is None or not played.outcome:
        raise RequestError("round", "has no proof: its pair is not revealed yet, or it is void")
    return {
        "entropyd": "round/v1",
        "rules": played.rules,
        "server_seed": revealed.server_seed,
        "server_hash": played.server_hash.hex(),
        "client_seed": played.client_seed,
        "nonce": str(played.nonce),
        "outcome": played.outcome,
    }


def _draw(replayed: ReplayedDraw) -> Proof:
    drawn = replayed.drawn
    proof: Proof = {
        "draw": drawn.draw,
        "number": drawn.number,
        "rules": drawn.rules,
        **_opening(replayed.opening),
        "commitment": drawn.commitment.hex(),
        "result_root": drawn.result_root.hex(),
        "result": [str(value) for value in drawn.result],
    }
    if drawn.labels:
        # Of a bag the labels are those of its kinds.
        name = "tiles" if "kind=bag\n" in drawn.rules else "labels"
        proof[name] = list(drawn.labels)
    return proof


def _opening(opening: Opening | None) -> Proof:
    if opening is None:
        raise RequestError("opening", "was not asked for, or nothing was drawn yet")
    return {
        "seeds": [seed.hex() for seed in opening.seeds],
        "blinding": opening.blinding.hex(),
        "salt_key": opening.salt_key.hex(),
    }
