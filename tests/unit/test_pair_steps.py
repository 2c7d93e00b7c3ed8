"""Steps of a line and their records: what no test of the service comes to."""

import pytest

from entropyd.draw.keystream import Keystream
from entropyd.errors import InternalError
from entropyd.games import pair_steps
from entropyd.games.pair_line import PairSeeds
from entropyd.games.pair_records import (
    EXPIRED,
    EndRecord,
    RevealRecord,
    RoundRecord,
    decode_end,
    decode_opening,
    decode_reveal,
    decode_round,
    encode_opening,
)
from entropyd.games.pair_steps import Kept, LineOwner, RoundAsk, played, rotated, server_seed
from entropyd.games.round_rules import new_rules
from entropyd.games.seed_pair import Profile
from entropyd.games.tables import Game
from tests.reference import naive

OWNER = LineOwner("acme", "ann")


def kept(profile=Profile.V2):
    seeds = PairSeeds(b"1" * 32, b"2" * 32)
    line = seeds.open_line(profile, 0)
    return Kept(line.set_client_seed(line.server_hash, "mine"), seeds)


def test_a_draw_that_is_rejected_128_times_voids_the_round_and_spends_its_nonce(monkeypatch):
    """No seed is known that does this, so the draw is made to fail."""

    def rejected(*_):
        raise InternalError("128 tries of one draw below 20 were rejected")

    monkeypatch.setattr(pair_steps, "play", rejected)
    step = played(kept(), RoundAsk("r-1", Game.MINES, mines=3), 100)
    record = decode_round(step.public, step.secret)
    assert (record.outcome, record.void_reason, record.nonce) == (None, "rejected", 0)
    assert (step.after.line.next_nonce, step.after.line.open_rounds) == (1, ())


def test_the_server_seed_of_a_pair_is_the_draw_of_its_number():
    """As section 18.1 says: 256 bits of the keystream of segment 0, under X of `pair-K`."""
    rules = b"kind=server_seed\nprofile=v1\nsampler=masked\n"
    for pair in (1, 2, 77):
        X = naive.draw_X("acme", "ann", f"pair-{pair}", rules)
        expected = naive.Bits(b"s" * 64, X, 0).take(256)
        made = server_seed(b"s" * 64, Profile.V1, OWNER, pair)
        assert int(expected, 2) == int.from_bytes(made, "big")
        assert made == Keystream(b"s" * 64, X, 0).take(256).to_bytes(32, "big")


def test_pairs_players_and_tenants_have_seeds_of_their_own_from_one_output():
    """Each is bound by its X, so even one S would give each another seed."""
    made = {
        server_seed(b"s" * 64, profile, LineOwner(tenant, player), pair)
        for profile in Profile
        for tenant in ("acme", "globex")
        for player in ("ann", "bob")
        for pair in (1, 2)
    }
    assert len(made) == 16


def test_an_expired_pair_voids_what_is_open_and_a_rotated_one_has_nothing_open():
    """The record says which rounds, and reveals the seed of just this pair."""
    before = played(kept(), RoundAsk("r-1", Game.BLACKJACK), 100).after
    step = rotated(before, b"3" * 32, b"where from", 9, EXPIRED)
    record = decode_reveal(step.public)
    assert (record.voided, record.rounds, record.server_seed) == (("r-1",), 1, b"1" * 32)
    assert record.provenance == b"where from"
    assert step.after.seeds == PairSeeds(b"2" * 32, b"3" * 32)
    assert (step.after.line.pair, step.after.line.since_ns) == (2, 9)


ROUND = RoundRecord(
    round_id="r-1",
    pair=3,
    nonce=7,
    server_hash=b"h" * 32,
    client_seed="mine",
    rules=new_rules(Profile.V2, Game.ROULETTE).encode(),
    stays_open=False,
    outcome={"pocket": 0},
)
REVEAL = RevealRecord(
    profile=Profile.V1,
    pair=3,
    server_seed=b"s" * 32,
    server_hash=b"h" * 32,
    rounds=8,
    reason=EXPIRED,
    voided=("r-1",),
    provenance=b"\x00\xff",
)


def test_records_come_back_as_they_were():
    """Each kind, and the same bytes for the same record."""
    assert decode_round(*ROUND.encode()) == ROUND
    assert decode_reveal(REVEAL.encode()) == REVEAL
    for reason in ("", "player-left"):
        assert decode_end(EndRecord("r-1", reason).encode()) == EndRecord("r-1", reason)
    assert decode_opening(encode_opening(b"\x00\xff")) == b"\x00\xff"
    assert ROUND.encode() == decode_round(*ROUND.encode()).encode()


@pytest.mark.parametrize("damaged", [b"", b"{", b"{}", b'{"pair":1}'])
def test_damaged_records_are_refused(damaged):
    """Nothing is made up for what is missing."""
    for decode in (
        lambda: decode_round(damaged, b""),
        lambda: decode_reveal(damaged),
        lambda: decode_end(damaged),
        lambda: decode_opening(damaged),
    ):
        with pytest.raises(InternalError, match="damaged"):
            decode()


def test_no_outcome_and_no_seed_in_a_repr():
    """What is for the game server alone is in no log line."""
    step = played(kept(), RoundAsk("r-1", Game.MINES, mines=19), 100)
    assert "outcome" not in repr(decode_round(step.public, step.secret))
    assert repr(b"1" * 32) not in repr(step) + repr(kept())
