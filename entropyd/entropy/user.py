"""The user pool: what the users of one tenant sent, waiting to be mixed into its draws.

Everything waiting is bounded: bytes, contributions, users, age, and how fast
one user may send. A contribution that was seen before, from whomever, is
thrown away and counts for nothing. Contributions leave whole, in the order of
their arrival, each once: for a seed, or spent for their age.

No user alone opens the gate: what one user counts for is capped for every seed.

Spec: DESIGN 5, "User entropy".
"""

import hashlib
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from entropyd.encoding import check_id
from entropyd.entropy.credited import SourceSamples
from entropyd.entropy.spent import SpentBucket
from entropyd.entropy.user_data import UserData, UserEvent, from_blob, from_events
from entropyd.errors import OverloadError

# What the users of one seed must add up to: 249 bits, the most that one
# segment's masked draw takes without a rejection.
USER_MILLIBITS = 249_000

# At least four users stand behind a seed that did not need cover, as many as a
# small poker table seats: a quarter of 249 bits each, rounded up.
MIN_USERS = 4
USER_CAP_MILLIBITS = -(-USER_MILLIBITS // MIN_USERS)


@dataclass(frozen=True, slots=True)
class UserLimits:
    """What users may occupy, for each tenant.

    Attributes:
        max_age_ns: age from which a contribution is not dealt from.
        pool_bytes: bytes that may wait in all. One seed may have to take them
            all, if none is believed: SHA-512 takes about 0.4 ms for this many.
        pool_contributions: contributions that may wait in all, however short.
        user_share: the fraction of both that one user may occupy, as a divisor.
        max_users: users remembered at a time.
        period_ns: a user may send one contribution every so many nanoseconds,
        burst: and so many at once after a pause.
        remembered: contributions that are recognised when they come again.
    """

    max_age_ns: int = 60 * 10**9
    pool_bytes: int = 1 << 18
    pool_contributions: int = 1024
    user_share: int = 16
    max_users: int = 4096
    period_ns: int = 250 * 10**6
    burst: int = 16
    remembered: int = 1 << 14


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a contribution.

    Attributes:
        estimated_millibits: what it counts for before the cap; 0 if repeated.
        replayed: True if it was seen before, and was therefore thrown away.
    """

    estimated_millibits: int
    replayed: bool


@dataclass(frozen=True, slots=True)
class UserTake:
    """What the users gave to one seed.

    Attributes:
        sources: samples by user id, each user once, in the order of arrival. Secret.
        estimated_millibits: what they count for, capped for each user.
        oldest_arrived_ns: monotonic time of the oldest contribution; None if there is none.
    """

    sources: tuple[SourceSamples, ...] = field(repr=False)
    estimated_millibits: int
    oldest_arrived_ns: int | None


@dataclass(frozen=True, slots=True)
class UserPlan:
    """What several seeds would take, and how many contributions that is."""

    takes: tuple[UserTake, ...]
    contributions: int


@dataclass(frozen=True, slots=True)
class _Contribution:
    user: str
    data: UserData
    arrived_ns: int


@dataclass(slots=True)
class _User:
    """What one user occupies. `full_ns` is when the user's burst is whole again."""

    full_ns: int
    contributions: int = 0
    waiting_bytes: int = 0
    millibits: int = 0

    def capped(self) -> int:
        return min(self.millibits, USER_CAP_MILLIBITS)


class UserPool:
    """The waiting contributions of one tenant. Owned by the event-loop thread."""

    def __init__(self, limits: UserLimits) -> None:
        self._limits = limits
        self._waiting: deque[_Contribution] = deque()
        # Least recently heard of first: the first to be forgotten.
        self._users: OrderedDict[str, _User] = OrderedDict()
        self._seen: OrderedDict[bytes, None] = OrderedDict()
        self._bytes = 0
        self._pooled_millibits = 0
        self._spent = SpentBucket()

    def add_blob(self, user: str, blob: bytes, now_ns: int) -> Added:
        """Take in 1 to 1,024 bytes from a user.

        Raises:
            RequestError: the blob or the user id is malformed. Nothing was taken.
            OverloadError: a limit is reached. Nothing was taken.
        """
        return self._add(user, from_blob(blob), now_ns)

    def add_events(self, user: str, events: Sequence[UserEvent], now_ns: int) -> Added:
        """Take in 1 to 256 events from a user.

        Raises:
            RequestError: an event or the user id is malformed. Nothing was taken.
            OverloadError: a limit is reached. Nothing was taken.
        """
        return self._add(user, from_events(events), now_ns)

    def pooled_millibits(self, now_ns: int) -> int:
        """Return what everything waiting would count for in one seed, capped for each user."""
        self.expire(now_ns)
        return self._pooled_millibits

    def expire(self, now_ns: int) -> None:
        """Spend, undealt, what is `max_age_ns` old or older."""
        oldest_ns = now_ns - self._limits.max_age_ns
        while self._waiting and self._waiting[0].arrived_ns <= oldest_ns:
            contribution = self._remove_first()
            self._spent.add(contribution.user, contribution.data.samples)

    def plan(self, seeds: int, millibits: int, now_ns: int) -> UserPlan:
        """Work out what so many seeds would take. Nothing changes until `commit`.

        Each seed takes whole contributions in the order of arrival until they
        count for `millibits`, or all that are left.

        Args:
            seeds: how many, at least 1.
            millibits: what each would like its users to count for.
            now_ns: monotonic time, in nanoseconds.
        """
        self.expire(now_ns)
        waiting = iter(self._waiting)
        takes = []
        used = 0
        for _ in range(seeds):
            chosen, counted = _choose(waiting, millibits)
            takes.append(_to_take(chosen, counted))
            used += len(chosen)
        return UserPlan(tuple(takes), used)

    def commit(self, plan: UserPlan) -> None:
        """Spend what was planned. The plan must be the pool's last, and nothing came between."""
        for _ in range(plan.contributions):
            self._remove_first()

    def take_spent(self) -> tuple[SourceSamples, ...]:
        """Hand over what grew too old since the last call, each user once, to be stirred."""
        return self._spent.take()

    def _add(self, user: str, data: UserData, now_ns: int) -> Added:
        check_id("user", user)
        self.expire(now_ns)
        record = self._record(user, now_ns)
        self._check_rate(record, now_ns)
        digest = hashlib.sha256(data.form.encode("ascii") + b":" + data.samples).digest()
        if digest in self._seen:
            return Added(0, replayed=True)
        self._check_room(record, len(data.samples), now_ns)
        self._seen[digest] = None
        if len(self._seen) > self._limits.remembered:
            self._seen.popitem(last=False)
        self._waiting.append(_Contribution(user, data, now_ns))
        self._occupy(record, data, 1)
        return Added(data.estimated_millibits, replayed=False)

    def _record(self, user: str, now_ns: int) -> _User:
        """Return what is known of a user, who is now the one most recently heard of."""
        record = self._users.get(user)
        if record is not None:
            self._users.move_to_end(user)
            return record
        if len(self._users) >= self._limits.max_users:
            # Contributions leave in order, so if anybody's are gone, those of the
            # user least recently heard of are.
            name, idle = next(iter(self._users.items()))
            if idle.contributions or idle.full_ns > now_ns:
                raise OverloadError(
                    f"user: {len(self._users)} users have entropy waiting; expected at most"
                    f" {self._limits.max_users}, forward fewer users or deal",
                    retry_after_s=self._age_out_s(now_ns),
                )
            del self._users[name]
        record = self._users[user] = _User(full_ns=now_ns)
        return record

    def _check_rate(self, record: _User, now_ns: int) -> None:
        """Allow a burst, then one contribution a period (a token bucket, kept as one time)."""
        full_ns = max(record.full_ns, now_ns) + self._limits.period_ns
        early_ns = full_ns - now_ns - self._limits.burst * self._limits.period_ns
        if early_ns > 0:
            raise OverloadError(
                f"user: sent more than {self._limits.burst} contributions at once; expected one"
                f" every {self._limits.period_ns // 10**6} ms after that, send less often",
                retry_after_s=early_ns / 1e9,
            )
        record.full_ns = full_ns

    def _check_room(self, record: _User, size: int, now_ns: int) -> None:
        limits = self._limits
        for owner, used_bytes, used, share in (
            ("user", record.waiting_bytes, record.contributions, limits.user_share),
            ("tenant", self._bytes, len(self._waiting), 1),
        ):
            room_bytes, room = limits.pool_bytes // share, limits.pool_contributions // share
            if used_bytes + size > room_bytes or used >= room:
                raise OverloadError(
                    f"{owner}: has {used} contributions of {used_bytes} bytes waiting; expected at"
                    f" most {room} of {room_bytes}, send again after the next draw",
                    retry_after_s=self._age_out_s(now_ns),
                )

    def _age_out_s(self, now_ns: int) -> float:
        """Return when the oldest contribution will be gone at the latest, in seconds."""
        if not self._waiting:
            return self._limits.period_ns / 1e9
        return (self._waiting[0].arrived_ns + self._limits.max_age_ns - now_ns) / 1e9

    def _occupy(self, record: _User, data: UserData, sign: int) -> None:
        """Count a contribution in (sign 1) or out (sign -1) of every sum."""
        self._pooled_millibits -= record.capped()
        record.contributions += sign
        record.waiting_bytes += sign * len(data.samples)
        record.millibits += sign * data.estimated_millibits
        self._pooled_millibits += record.capped()
        self._bytes += sign * len(data.samples)

    def _remove_first(self) -> _Contribution:
        contribution = self._waiting.popleft()
        self._occupy(self._users[contribution.user], contribution.data, -1)
        return contribution


def _choose(waiting: Iterator[_Contribution], millibits: int) -> tuple[list[_Contribution], int]:
    """Take contributions until they count for `millibits`; return them and what they count for."""
    chosen: list[_Contribution] = []
    by_user: dict[str, int] = {}
    counted = 0
    while counted < millibits:
        contribution = next(waiting, None)
        if contribution is None:
            break
        chosen.append(contribution)
        before = by_user.get(contribution.user, 0)
        after = min(before + contribution.data.estimated_millibits, USER_CAP_MILLIBITS)
        by_user[contribution.user] = after
        counted += after - before
    return chosen, counted


def _to_take(chosen: Sequence[_Contribution], counted: int) -> UserTake:
    by_user: dict[str, list[bytes]] = {}
    for contribution in chosen:
        by_user.setdefault(contribution.user, []).append(contribution.data.samples)
    sources = tuple((user, b"".join(parts)) for user, parts in by_user.items())
    return UserTake(sources, counted, chosen[0].arrived_ns if chosen else None)
