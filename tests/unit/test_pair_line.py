"""The line of a player's pairs: every order of steps against a model, and what is kept of it."""

from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from entropyd.errors import InternalError, RequestError, WrongStateError
from entropyd.games.pair_line import (
    MAX_OPEN_ROUNDS,
    LineState,
    PairLine,
    PairSeeds,
    check_reason,
)
from entropyd.games.pair_snapshot import decode_line, decode_seeds, encode_line, encode_seeds
from entropyd.games.seed_pair import Profile, server_hash

NANOSECONDS = 10**9


def seed_of(number):
    return sha256(b"seed %d" % number).digest()


def new_line(profile=Profile.V2):
    return PairSeeds(seed_of(1), seed_of(2)).open_line(profile, 0)


def ready():
    line = new_line()
    return line.set_client_seed(line.server_hash, "chosen")


def played(line, name, *, stays_open=False, expected=None, max_rounds=100):
    return line.play(name, stays_open=stays_open, expected_nonce=expected, max_rounds=max_rounds)


class Line(RuleBasedStateMachine):
    """Steps in any order. The model is plain: which pair, how many rounds, which are open.

    A step that the model forbids must raise and change nothing; one that it allows must give
    what the model says.
    """

    MAX_ROUNDS = 20

    @initialize(profile=st.sampled_from([*Profile]))
    def open(self, profile):
        self.seeds = PairSeeds(seed_of(1), seed_of(2))
        self.line = self.seeds.open_line(profile, 0)
        self.profile, self.pair, self.nonce, self.open_now = profile, 1, 0, []
        self.client, self.rounds, self.revealed = None, 0, []

    def forbidden(self, step):
        before = self.line
        with pytest.raises(WrongStateError):
            step()
        assert self.line is before

    def published(self, number):
        return server_hash(self.profile, seed_of(number))

    @rule(client=st.sampled_from(["a", "b" * 64]), pair=st.integers(-1, 1))
    def set_client_seed(self, client, pair):
        def step():
            return self.line.set_client_seed(self.published(self.pair + pair), client)

        if pair or self.open_now:
            self.forbidden(step)
        else:
            self.line, self.client = step(), client

    @rule(stays_open=st.booleans(), expected=st.sampled_from([None, -1, 0, 1]))
    def play(self, stays_open, expected):
        self.rounds += 1
        name = f"round-{self.rounds}"
        asked = None if expected is None else self.nonce + expected

        def step():
            return played(
                self.line,
                name,
                stays_open=stays_open,
                expected=asked,
                max_rounds=self.MAX_ROUNDS,
            )

        full = stays_open and len(self.open_now) == 16
        if self.client is None or self.nonce == self.MAX_ROUNDS or expected in {-1, 1} or full:
            self.forbidden(step)
            return
        self.line, self.nonce = step(), self.nonce + 1
        if stays_open:
            self.open_now.append(name)

    @rule(data=st.data())
    def end(self, data):
        name = data.draw(st.sampled_from([*self.open_now, "never-played"]))
        if name == "never-played":
            self.forbidden(lambda: self.line.end(name))
        else:
            self.line = self.line.end(name)
            self.open_now.remove(name)

    @rule()
    def rotate(self):
        after = seed_of(self.pair + 2)

        def step():
            return self.line.rotate(server_hash(self.profile, after), self.pair * NANOSECONDS)

        if self.open_now:
            self.forbidden(step)
            return
        self.revealed.append(self.seeds.present)
        self.line, self.seeds = step(), self.seeds.rotate(after)
        self.pair, self.nonce, self.client = self.pair + 1, 0, None

    @invariant()
    def the_line_is_what_the_model_says(self):
        assert self.pair == self.line.pair
        assert self.nonce == self.line.next_nonce
        assert tuple(self.open_now) == self.line.open_rounds
        assert (self.client or "") == self.line.client_seed
        assert self.published(self.pair) == self.line.server_hash
        assert self.published(self.pair + 1) == self.line.next_hash
        assert [seed_of(number) for number in range(1, self.pair)] == self.revealed
        expected = "READY" if self.client else "AWAITING_CLIENT_SEED"
        assert ("ROUND_OPEN" if self.open_now else expected) == self.line.state

    @invariant()
    def what_is_kept_is_what_was(self):
        encoded = encode_line(self.line)
        assert self.line == decode_line(encoded)
        assert self.seeds == decode_seeds(encode_seeds(self.seeds), self.line)
        for seed in (self.seeds.present, self.seeds.following):
            assert seed not in encoded
            assert seed.hex().encode() not in encoded


TestLine = Line.TestCase
TestLine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_no_round_before_a_client_seed_and_none_kept_from_the_pair_before():
    """Each pair asks for its own, after its hash was shown."""
    with pytest.raises(WrongStateError, match="pair 1 is AWAITING_CLIENT_SEED; set a client seed"):
        played(new_line(), "r")
    rotated = ready().rotate(bytes(32), 1)
    with pytest.raises(WrongStateError, match="pair 2 is AWAITING_CLIENT_SEED"):
        played(rotated, "r")


def test_a_client_seed_is_set_only_against_the_present_hash():
    """Who saw the next hash only, or an old one, chooses again."""
    line = new_line()
    for other in (line.next_hash, bytes(32), b""):
        with pytest.raises(WrongStateError, match="not that of pair 1"):
            line.set_client_seed(other, "a")
    with pytest.raises(RequestError, match="client_seed"):
        line.set_client_seed(line.server_hash, "a:b")


def test_a_change_of_the_client_seed_never_resets_the_nonce():
    """A, B, A again: no two rounds of a pair share client seed and nonce."""
    line = played(played(ready(), "r0"), "r1")
    for client in ("other", "chosen"):
        line = line.set_client_seed(line.server_hash, client)
    assert line.next_nonce == 2


def test_the_expected_nonce_is_the_next_or_refused_by_name():
    """The text names both, so that a game server can find what it missed."""
    line = played(ready(), "r0")
    with pytest.raises(WrongStateError, match="next nonce of pair 1 is 1, not 0"):
        played(line, "r1", expected=0)
    assert played(line, "r1", expected=1).next_nonce == 2


def test_sixteen_rounds_are_open_at_most_and_instant_ones_still_go():
    """The bound is on what is open, not on what is played."""
    line = ready()
    for number in range(MAX_OPEN_ROUNDS):
        line = played(line, f"r{number}", stays_open=True)
    with pytest.raises(WrongStateError, match="16 rounds are open"):
        played(line, "more", stays_open=True)
    assert played(line, "instant").next_nonce == 17


def test_a_round_ends_once():
    """Closed is closed: neither a second close nor a void follows."""
    line = played(ready(), "r", stays_open=True).end("r")
    with pytest.raises(WrongStateError, match="not open; pair 1 is READY"):
        line.end("r")
    assert line.next_nonce == 1


def test_no_rotation_while_a_round_is_open():
    """The seed would show the rest of the shoe."""
    line = played(ready(), "r", stays_open=True)
    with pytest.raises(WrongStateError, match="ROUND_OPEN"):
        line.rotate(bytes(32), 1)


@pytest.mark.parametrize(
    ("now_ns", "rounds", "overdue"),
    [(0, 0, False), (99, 2, False), (100, 0, True), (0, 3, True), (-5, 0, False)],
)
def test_a_pair_is_overdue_after_its_time_or_its_rounds(now_ns, rounds, overdue):
    """Either suffices; a clock that went back reveals nothing early."""
    line = ready()
    for number in range(rounds):
        line = played(line, f"r{number}")
    assert overdue == line.is_overdue(now_ns, reveal_after_ns=100, max_rounds=3)


def test_a_full_pair_plays_no_more():
    """The limit that reveals it also ends it."""
    line = played(ready(), "r0", max_rounds=1)
    with pytest.raises(WrongStateError, match="has had 1 rounds, as many as a pair may; rotate"):
        played(line, "r1", max_rounds=1)


@pytest.mark.parametrize("name", ["", "a b", "x" * 129, "é"])
def test_a_round_has_an_id(name):
    """As every id."""
    with pytest.raises(RequestError, match="round"):
        played(ready(), name)
    with pytest.raises(RequestError, match="reason"):
        check_reason(name)


@pytest.mark.parametrize(
    "changed",
    [
        {"pair": 0},
        {"server_hash": bytes(31)},
        {"next_hash": bytes(33)},
        {"next_hash": new_line().server_hash},
        {"since_ns": -1},
        {"next_nonce": 1},
        {"next_nonce": -1},
        {"open_rounds": ("a",)},
        {"client_seed": "c", "next_nonce": 5, "open_rounds": ("a", "a")},
        {
            "client_seed": "c",
            "next_nonce": 99,
            "open_rounds": tuple(f"r{n}" for n in range(MAX_OPEN_ROUNDS + 1)),
        },
    ],
    ids=str,
)
def test_a_line_that_no_steps_lead_to_cannot_be_held(changed):
    """Not by construction, so not by a record either."""
    with pytest.raises(InternalError, match="no steps lead to"):
        replace(new_line(), **changed)


def test_damaged_bytes_are_no_line():
    """Each byte of a kept line matters or is refused; nothing is read past it."""
    line = played(played(ready(), "r0", stays_open=True), "r1", stays_open=True)
    encoded = encode_line(line)
    for damaged in (b"", encoded[:-1], encoded + b"x=1\n", encoded.replace(b"open_01", b"open_03")):
        with pytest.raises(InternalError, match="damaged"):
            decode_line(damaged)
    for name in (b"pair=1", b"nonce=2", b"profile=v2"):
        with pytest.raises(InternalError, match="damaged"):
            decode_line(encoded.replace(name + b"\n", b""))


def test_seeds_of_another_line_are_not_played_with():
    """Swapped, foreign or of another profile: the hashes tell."""
    line = new_line()
    right = PairSeeds(seed_of(1), seed_of(2))
    assert right == right.check(line)
    for seeds in (PairSeeds(seed_of(2), seed_of(1)), PairSeeds(seed_of(1), seed_of(3))):
        with pytest.raises(InternalError, match="not those of pair 1"):
            seeds.check(line)
    with pytest.raises(InternalError, match="not those of pair 1"):
        right.check(replace(line, profile=Profile.V1))
    with pytest.raises(InternalError, match="32 bytes each"):
        decode_seeds(bytes(63), line)


def test_no_seed_in_any_text():
    """Neither repr of the seeds nor of the line."""
    seeds = PairSeeds(seed_of(1), seed_of(2))
    text = repr(seeds) + repr(seeds.open_line(Profile.V1, 0))
    for seed in (seed_of(1), seed_of(2)):
        assert seed.hex() not in text
        assert repr(seed) not in text


def test_the_states_are_named_as_they_are_told():
    """An error text names one of these."""
    line = ready()
    assert [LineState.AWAITING_CLIENT_SEED, LineState.READY, LineState.ROUND_OPEN] == [
        new_line().state,
        line.state,
        played(line, "r", stays_open=True).state,
    ]
    assert isinstance(line, PairLine)
