"""The pairs of one player, one after the other, and what may happen to them.

A line is a value: every step returns the next one, or raises and leaves this
one as it was. It knows hashes and no seeds, so nothing that it says can reveal
one; `PairSeeds` goes with it where seeds are needed.

    open ── set_client_seed ── play ── close, void ── rotate ── set_client_seed ── ...

Spec: docs/protocol.md, "Life of a line of pairs".
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from entropyd.encoding import check_id
from entropyd.errors import InternalError, RequestError, WrongStateError
from entropyd.games.seed_pair import SERVER_SEED_BYTES, Profile, check_client_seed, server_hash

# A player has a game or two on the table. The bound keeps what is kept of a line small.
MAX_OPEN_ROUNDS = 16
_HASH_BYTES = 32


class LineState(StrEnum):
    """What a line waits for."""

    AWAITING_CLIENT_SEED = "AWAITING_CLIENT_SEED"
    READY = "READY"
    ROUND_OPEN = "ROUND_OPEN"


@dataclass(frozen=True, slots=True)
class PairLine:
    """A player's line of pairs.

    Attributes:
        profile: the scheme, the same for all pairs.
        pair: number of the present pair, from 1.
        server_hash: of the present pair, 32 bytes, public.
        next_hash: of the pair after it, 32 bytes, public.
        client_seed: of the present pair; empty until the player set one.
        next_nonce: what the next round gets, which is also how many the pair has had.
        open_rounds: ids of the rounds that have not ended, oldest first.
        since_ns: when the pair became present, nanoseconds since 1970.

    Raises:
        InternalError: on construction, if no steps lead to such a line.
    """

    profile: Profile
    pair: int
    server_hash: bytes
    next_hash: bytes
    since_ns: int
    client_seed: str = ""
    next_nonce: int = 0
    open_rounds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Hold nothing that cannot be."""
        possible = (
            self.pair >= 1
            and len(self.server_hash) == len(self.next_hash) == _HASH_BYTES
            and self.server_hash != self.next_hash
            and self.since_ns >= 0
            and len(self.open_rounds) == len(set(self.open_rounds))
            and len(self.open_rounds) <= min(MAX_OPEN_ROUNDS, self.next_nonce)
            and self.next_nonce >= 0
            and (self.client_seed != "" or self.next_nonce == 0)
        )
        if not possible:
            raise InternalError(f"a line of pairs that no steps lead to, at pair {self.pair}")

    @property
    def state(self) -> LineState:
        """What the line waits for."""
        if self.open_rounds:
            return LineState.ROUND_OPEN
        return LineState.READY if self.client_seed else LineState.AWAITING_CLIENT_SEED

    def set_client_seed(self, shown_hash: bytes, client_seed: str) -> "PairLine":
        """Return the line with the player's client seed; the nonce goes on.

        Args:
            shown_hash: the server hash that the player chose after.
            client_seed: 1 to 64 characters.

        Raises:
            WrongStateError: the hash is not the present pair's; or a round is open.
            RequestError: the client seed cannot stand; names `client_seed`.
        """
        check_client_seed("client_seed", client_seed)
        if shown_hash != self.server_hash:
            raise WrongStateError(
                f"the server hash is not that of pair {self.pair}, which is present; show the"
                " player the present one and let them choose again"
            )
        self._refuse_open_rounds("the client seed changes between rounds only")
        return replace(self, client_seed=client_seed)

    def play(
        self, round_id: str, *, stays_open: bool, expected_nonce: int | None, max_rounds: int
    ) -> "PairLine":
        """Return the line after a round took nonce `next_nonce` of this one.

        Args:
            round_id: an id that the line never had; the record sees to rounds that ended.
            stays_open: the game goes on until it is closed or voided.
            expected_nonce: what the caller thinks comes next; None if it does not say.
            max_rounds: how many rounds a pair may have, at least 1.

        Raises:
            WrongStateError: the present pair has no client seed yet, has had `max_rounds` rounds,
                does not come to this nonce next, or has too many rounds open.
            RequestError: the id cannot stand; names `round`.
        """
        check_id("round", round_id)
        self._refuse_unready(expected_nonce, max_rounds)
        if not stays_open:
            return replace(self, next_nonce=self.next_nonce + 1)
        if len(self.open_rounds) >= MAX_OPEN_ROUNDS:
            raise WrongStateError(
                f"{len(self.open_rounds)} rounds are open; close or void one before another is"
                " played"
            )
        if round_id in self.open_rounds:
            raise InternalError("a round was played that is open already")
        opened = (*self.open_rounds, round_id)
        return replace(self, next_nonce=self.next_nonce + 1, open_rounds=opened)

    def end(self, round_id: str) -> "PairLine":
        """Return the line after an open round was closed or voided. Its nonce stays spent.

        Raises:
            WrongStateError: no such round is open.
        """
        if round_id not in self.open_rounds:
            raise WrongStateError(f"the round is not open; pair {self.pair} is {self.state}")
        left = tuple(other for other in self.open_rounds if other != round_id)
        return replace(self, open_rounds=left)

    def rotate(self, hash_after: bytes, now_ns: int) -> "PairLine":
        """Return the line with the next pair present and one more hash published.

        What goes with it, in the same record: the seed of this line's present pair is revealed.

        Args:
            hash_after: server hash of the pair after the next, 32 bytes.
            now_ns: nanoseconds since 1970.

        Raises:
            WrongStateError: a round is open.
        """
        self._refuse_open_rounds("its pair cannot be revealed")
        return PairLine(
            profile=self.profile,
            pair=self.pair + 1,
            server_hash=self.next_hash,
            next_hash=hash_after,
            since_ns=now_ns,
        )

    def is_overdue(self, now_ns: int, *, reveal_after_ns: int, max_rounds: int) -> bool:
        """Tell whether the present pair has to be revealed without being asked."""
        return now_ns - self.since_ns >= reveal_after_ns or self.next_nonce >= max_rounds

    def _refuse_unready(self, expected_nonce: int | None, max_rounds: int) -> None:
        if not self.client_seed:
            raise WrongStateError(
                f"pair {self.pair} is {self.state}; set a client seed that the player chose after"
                " its server hash was shown"
            )
        if self.next_nonce >= max_rounds:
            raise WrongStateError(
                f"pair {self.pair} has had {self.next_nonce} rounds, as many as a pair may; rotate"
            )
        if expected_nonce not in {None, self.next_nonce}:
            raise WrongStateError(
                f"the next nonce of pair {self.pair} is {self.next_nonce}, not {expected_nonce};"
                " read the pair and look which rounds are missing"
            )

    def _refuse_open_rounds(self, why_not: str) -> None:
        if self.open_rounds:
            raise WrongStateError(
                f"pair {self.pair} is {self.state} ({len(self.open_rounds)} of them) and {why_not};"
                " close or void the round first"
            )


@dataclass(frozen=True, slots=True)
class PairSeeds:
    """The server seeds behind a line: the present pair's and the next one's.

    Attributes:
        present: 32 bytes. Secret until the pair is rotated.
        following: 32 bytes. Secret.

    Raises:
        InternalError: on construction, if a seed is not 32 bytes.
    """

    present: bytes = field(repr=False)
    following: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse seeds of another length."""
        if not len(self.present) == len(self.following) == SERVER_SEED_BYTES:
            raise InternalError("server seeds of a line; expected 32 bytes each")

    def rotate(self, seed_after: bytes) -> "PairSeeds":
        """Return the seeds after a rotation; who calls it reveals `present`."""
        return PairSeeds(self.following, seed_after)

    def open_line(self, profile: Profile, now_ns: int) -> PairLine:
        """Return a new line with pair 1 present."""
        return PairLine(
            profile=profile,
            pair=1,
            server_hash=server_hash(profile, self.present),
            next_hash=server_hash(profile, self.following),
            since_ns=now_ns,
        )

    def check(self, line: PairLine) -> "PairSeeds":
        """Return the seeds if they are those that the line's hashes were made of.

        Raises:
            InternalError: they are not. No round may be played with them.
        """
        hashes = (server_hash(line.profile, seed) for seed in (self.present, self.following))
        if tuple(hashes) != (line.server_hash, line.next_hash):
            raise InternalError(f"seeds that are not those of pair {line.pair} and the next")
        return self


def check_reason(reason: str) -> str:
    """Return the reason of a void: 1 to 128 bytes, an id.

    Raises:
        RequestError: it cannot stand; names `reason`.
    """
    if not reason:
        raise RequestError("reason", "is empty; a void says why")
    check_id("reason", reason)
    return reason
