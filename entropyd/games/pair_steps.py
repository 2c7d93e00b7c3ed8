"""What one step makes of a line: the line after it, and what is recorded. Pure.

A step is made of a snapshot and nothing else, so whoever finds that the
snapshot has moved on makes the step again.

Spec: docs/protocol.md, "Life of a line of pairs".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from entropyd.errors import InternalError
from entropyd.games.draw_rules import ServerSeedRules
from entropyd.games.draws import binding_of, server_seed_of
from entropyd.games.pair_line import PairLine, PairSeeds
from entropyd.games.pair_records import (
    EXPIRED,
    EndRecord,
    RevealRecord,
    RoundRecord,
    encode_opening,
)
from entropyd.games.round_rules import RoundRules, new_rules
from entropyd.games.rounds import play
from entropyd.games.seed_pair import Profile, server_hash
from entropyd.games.tables import Game, Machine

# Between the first and the last card somebody decides something.
STAYS_OPEN = frozenset({Game.BLACKJACK, Game.MINES})


class LineOwner(NamedTuple):
    """Whose line: a player of a tenant. Both are ids."""

    tenant: str
    player: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A line and its seeds, as they are kept.

    Attributes:
        line: the line.
        seeds: those of its hashes.
    """

    line: PairLine
    seeds: PairSeeds = field(repr=False)


@dataclass(frozen=True, slots=True)
class RoundAsk:
    """What a caller wants to play.

    Attributes:
        round_id: an id.
        game: what is played.
        machine: of slots; None for every other game.
        mines: of mines; None for every other game.
        expected_nonce: what the caller thinks comes next; None if it does not say.
    """

    round_id: str
    game: Game
    machine: Machine | None = None
    mines: int | None = None
    expected_nonce: int | None = None

    def is_of(self, record: RoundRecord) -> bool:
        """Tell whether a recorded round is what is asked for, by whatever data file."""
        rules = record.decoded_rules
        return (rules.game, rules.machine, rules.mines) == (self.game, self.machine, self.mines)


@dataclass(frozen=True, slots=True)
class Step:
    """A step that is not recorded yet.

    Attributes:
        kind: what kind of step it is.
        key: unique in the line; empty for none.
        public: what may be shown.
        after: the line after it.
        secret: what is kept encrypted.
    """

    kind: str
    key: str
    public: bytes
    after: Kept
    secret: bytes = field(default=b"", repr=False)


def round_key(round_id: str) -> str:
    """Return the key of the step that plays a round."""
    return f"round/{round_id}"


def end_key(round_id: str) -> str:
    """Return the key of the step that ends a round: closed or voided, once."""
    return f"end/{round_id}"


def pair_key(pair: int) -> str:
    """Return the key of the step that reveals a pair."""
    return f"pair/{pair}"


OPEN_KEY = "open"


def seed_key(pair: int) -> str:
    """Return the key of the step that made the server seed of a pair.

    The opening made two; each reveal makes the one for the pair two after that which it revealed.
    """
    return OPEN_KEY if pair <= 2 else pair_key(pair - 2)


def seed_binding(profile: Profile, owner: LineOwner, pair: int) -> bytes:
    """Return X of the draw that makes the server seed of a pair.

    Raises:
        RequestError: an id cannot stand.
    """
    rules = ServerSeedRules(profile=profile)
    return binding_of(rules, owner.tenant, owner.player, f"pair-{pair}")


def server_seed(seed: bytes, profile: Profile, owner: LineOwner, pair: int) -> bytes:
    """Return the server seed of a pair, from the 64 bytes that the gate released for it."""
    return server_seed_of(seed, seed_binding(profile, owner, pair))


def opened(profile: Profile, seeds: Sequence[bytes], provenance: bytes, at_ns: int) -> Step:
    """Return the step that begins a line with the server seeds of pairs 1 and 2."""
    pair_seeds = PairSeeds(*seeds)
    line = pair_seeds.open_line(profile, at_ns)
    return Step("open", OPEN_KEY, encode_opening(provenance), Kept(line, pair_seeds))


def client_seed_set(kept: Kept, shown_hash: bytes, text: str) -> Step:
    """Return the step that sets a client seed. Raises as `PairLine.set_client_seed`."""
    line = kept.line.set_client_seed(shown_hash, text)
    return Step("client-seed", "", b"", Kept(line, kept.seeds))


def played(kept: Kept, ask: RoundAsk, max_rounds: int) -> Step:
    """Return the step that plays a round: nonce, rules and outcome in one record.

    A draw that is rejected 128 times voids the round; its nonce stays spent.

    Raises:
        WrongStateError: as `PairLine.play`.
        RequestError: the id or the rules cannot stand.
    """
    line = kept.line
    rules = new_rules(line.profile, ask.game, machine=ask.machine, mines=ask.mines)

    def after(*, stays_open: bool) -> PairLine:
        return line.play(
            ask.round_id,
            stays_open=stays_open,
            expected_nonce=ask.expected_nonce,
            max_rounds=max_rounds,
        )

    line_after = after(stays_open=ask.game in STAYS_OPEN)
    outcome = None
    try:
        outcome = _outcome(rules, kept)
    except InternalError:
        # Seeds, client seed and nonce were checked: only a draw can have failed.
        line_after = after(stays_open=False)
    record = RoundRecord(
        round_id=ask.round_id,
        pair=line.pair,
        nonce=line.next_nonce,
        server_hash=line.server_hash,
        client_seed=line.client_seed,
        rules=rules.encode(),
        stays_open=ask.round_id in line_after.open_rounds,
        outcome=outcome,
    )
    public, secret = record.encode()
    return Step("round", round_key(ask.round_id), public, Kept(line_after, kept.seeds), secret)


def ended(kept: Kept, end: EndRecord) -> Step:
    """Return the step that closes or voids a round. Raises as `PairLine.end`."""
    line = kept.line.end(end.round_id)
    return Step("end", end_key(end.round_id), end.encode(), Kept(line, kept.seeds))


def rotated(kept: Kept, seed_after: bytes, provenance: bytes, at_ns: int, reason: str) -> Step:
    """Return the step that reveals the present pair.

    Args:
        kept: the line as it is.
        seed_after: server seed of the pair after the next, 32 bytes. Secret.
        provenance: where its bits came from.
        at_ns: nanoseconds since 1970.
        reason: ROTATED; or EXPIRED, which voids the rounds that are open.

    Raises:
        WrongStateError: as `PairLine.rotate`.
    """
    line, seeds = kept.line, kept.seeds
    voided = line.open_rounds if reason == EXPIRED else ()
    record = RevealRecord(
        profile=line.profile,
        pair=line.pair,
        server_seed=seeds.present,
        server_hash=line.server_hash,
        rounds=line.next_nonce,
        reason=reason,
        voided=voided,
        provenance=provenance,
    )
    for round_id in voided:
        line = line.end(round_id)
    after = line.rotate(server_hash(line.profile, seed_after), at_ns)
    return Step(
        "rotate", pair_key(record.pair), record.encode(), Kept(after, seeds.rotate(seed_after))
    )


def _outcome(rules: RoundRules, kept: Kept) -> dict[str, object]:
    line = kept.line
    return play(rules, kept.seeds.present, line.client_seed, line.next_nonce).outcome.as_json()
