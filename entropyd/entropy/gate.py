"""The gate: no seed without enough credited entropy of its own.

It owns the reservoir and the user pools, is told how each source stands, and
releases the samples of a draw's seeds: all of them, or none and a `Hold` that
says what is awaited. Each sample is released once. The gate counts; it never
hashes, draws, or waits.

A required source that does not count (see `standing`) shuts the gate, whatever
else there is.

Spec: DESIGN 5, "Gate"; SP 800-90C, section 5 (RBG2(P)).
"""

from collections.abc import Sequence
from itertools import chain, repeat, takewhile

from entropyd.entropy.credited import CreditedBlock
from entropyd.entropy.gated import (
    USER_KIND,
    USERS_SOURCE_ID,
    GatedBatch,
    GatedSeed,
    Hold,
    HoldReason,
    SourceFacts,
    SourceUse,
    Stirred,
)
from entropyd.entropy.policy import GatePolicy, UserShortfall
from entropyd.entropy.reservoir import Amount, FromEach, Plan, Reservoir, Taken
from entropyd.entropy.source import MILLIBITS_PER_BIT
from entropyd.entropy.standing import Standings
from entropyd.entropy.user import Added, UserPlan, UserPool, UserTake
from entropyd.entropy.user_data import UserEvent
from entropyd.errors import InternalError

__all__ = [
    "Gate",
    "GatedBatch",
    "GatedSeed",
    "Hold",
    "HoldReason",
    "SourceFacts",
    "SourceUse",
    "Stirred",
]


class Gate:
    """The one place where entropy is spent. Owned by the event-loop thread."""

    def __init__(self, policy: GatePolicy) -> None:
        self.policy = policy
        self._reservoir = Reservoir(policy.reservoir_bytes, policy.max_sample_age_ns)
        self._pools: dict[str, UserPool] = {}
        self._standings = Standings(allow_simulated=policy.allow_simulated)
        self._instantiated = False

    # --- what comes in -------------------------------------------------------

    def set_source(self, source_id: str, facts: SourceFacts) -> None:
        """Note how a source stands now; take the credit from its samples if it does not count.

        To be called before the first block of a source is delivered, and on
        every change of its state or credit.
        """
        if not self._standings.set(source_id, facts):
            self._reservoir.withdraw_credit(source_id)

    def deliver(self, block: CreditedBlock) -> None:
        """Take in samples; those of a source that does not count go to be stirred.

        Raises:
            InternalError: the block is malformed or out of order.
        """
        if block.source_id in self._standings.credit:
            self._reservoir.add(block)
        else:
            self._reservoir.spend(block.source_id, block.samples)

    def withdraw(self, source_id: str) -> None:
        """Take the credit from every waiting sample of a source: it alarmed or was lost."""
        self._reservoir.withdraw_credit(source_id)

    def add_user_blob(self, tenant: str, user: str, blob: bytes, now_ns: int) -> Added:
        """Take in a blob of a tenant's user; see `UserPool.add_blob`."""
        return self._pool(tenant).add_blob(user, blob, now_ns)

    def add_user_events(
        self, tenant: str, user: str, events: Sequence[UserEvent], now_ns: int
    ) -> Added:
        """Take in events of a tenant's user; see `UserPool.add_events`."""
        return self._pool(tenant).add_events(user, events, now_ns)

    # --- what is asked --------------------------------------------------------

    @property
    def instantiated(self) -> bool:
        """Whether samples to instantiate the DRBG were released."""
        return self._instantiated

    @property
    def degraded(self) -> bool:
        """Whether a known source does not count, or user entropy is waived."""
        return self._standings.faulty or self.policy.user_shortfall is UserShortfall.IGNORE

    def level_millibits(self, now_ns: int) -> int:
        """Return the credit that waits in the reservoir."""
        return self._reservoir.level_millibits(now_ns, self._standings.credit)

    def source_level_millibits(self, source_id: str, now_ns: int) -> int:
        """Return the credit that waits in the reservoir from one source."""
        credit = {source_id: self._standings.credit.get(source_id, 0)}
        return self._reservoir.level_millibits(now_ns, credit)

    def user_millibits(self, tenant: str, now_ns: int) -> int:
        """Return what a tenant's users have gathered for the next seed, capped for each user."""
        pool = self._pools.get(tenant)
        return pool.pooled_millibits(now_ns) if pool is not None else 0

    def check(self, tenant: str, seeds: int, now_ns: int) -> Hold | None:
        """Return why `try_release` would hold now, or None if it would not. Spends nothing."""
        prepared = self._prepare(tenant, seeds, now_ns)
        return prepared if isinstance(prepared, Hold) else None

    def check_batch(self, tenant: str, hands: int, now_ns: int) -> Hold | None:
        """Return why `try_release_batch` would hold now, or None. Spends nothing."""
        prepared = self._prepare(tenant, 1, now_ns, hands=hands)
        return prepared if isinstance(prepared, Hold) else None

    def fits_batch(self, hands: int) -> bool:
        """Return whether a batch of so many hands could ever be released.

        All of it must wait in the reservoir at the same time. Judged by the
        best credit that a source has now; where none has any, nobody can say.
        """
        policy = self.policy
        best = sorted(self._standings.credit.values(), reverse=True)[: policy.min_hardware_sources]
        if len(best) < policy.min_hardware_sources:
            return True
        covered = policy.user_shortfall is not UserShortfall.IGNORE
        samples = sum(-(-policy.hardware_millibits // credit) for credit in best)
        cover = -(-policy.user_millibits // best[0]) if covered else 0
        return (hands + 1) * (samples + cover) <= policy.reservoir_bytes

    # --- what goes out --------------------------------------------------------

    def try_instantiate(self, now_ns: int) -> GatedSeed | Hold:
        """Release the samples that instantiate the DRBG, once in the gate's life.

        Raises:
            InternalError: they were released before.
        """
        if self._instantiated:
            raise InternalError("the gate released an instantiation before; expected one")
        amounts = [self._hardware(self.policy.instantiate_millibits)]
        hold = self._required_hold(_total(amounts), now_ns)
        if hold is not None:
            return hold
        plan = self._reservoir.plan(amounts, now_ns, self._standings.credit)
        if plan is None:
            return self._hardware_hold(amounts, now_ns)
        self._reservoir.commit(plan)
        self._instantiated = True
        return self._seed(plan.takes[0], (), None, now_ns)

    def try_release(self, tenant: str, seeds: int, now_ns: int) -> tuple[GatedSeed, ...] | Hold:
        """Release the samples of every seed of a draw, or none of them.

        Once returned they are spent, whatever becomes of the draw.

        Args:
            tenant: whose users' data is mixed in.
            seeds: how many seeds the draw takes, at least 1.
            now_ns: monotonic time, in nanoseconds.

        Returns:
            One for each seed, in order; or why not, and nothing was spent.

        Raises:
            InternalError: `seeds` is below 1.
        """
        prepared = self._prepare(tenant, seeds, now_ns)
        if isinstance(prepared, Hold):
            return prepared
        return self._spend(tenant, *prepared, now_ns)

    def try_release_some(self, tenant: str, most: int, now_ns: int) -> tuple[GatedSeed, ...] | Hold:
        """Release the seeds of several draws of one seed each: as many as there are, at least one.

        They are those that as many calls of `try_release` would release, in a
        fraction of their time.

        Args:
            tenant: whose users' data is mixed in.
            most: how many draws, at least 1.
            now_ns: monotonic time, in nanoseconds.
        """
        hold = self.check(tenant, 1, now_ns)
        if hold is not None:
            return hold
        missing = self._missing(self._plan_users(tenant, most, now_ns))
        if self.policy.user_shortfall is UserShortfall.WAIT:
            missing = list(takewhile(lambda millibits: millibits == 0, missing))
        hardware = self._hardware(self.policy.hardware_millibits)
        groups = [(hardware, cover) for cover in missing]
        plan = self._reservoir.plan_most(groups, now_ns, self._standings.credit)
        users = self._plan_users(tenant, len(plan.takes) // 2, now_ns)
        return self._spend(tenant, plan, users, now_ns)

    def try_release_batch(self, tenant: str, hands: int, now_ns: int) -> GatedBatch | Hold:
        """Release the samples of hands that share a reseed, and of that reseed; or none of them.

        What users gave goes into the reseed, which asks for as much of it as
        any seed. A hand has none of its own: hardware covers all of it, unless
        the policy ignores what users owe.

        Args:
            tenant: whose users' data is mixed in.
            hands: how many, each of one seed, at least 1.
            now_ns: monotonic time, in nanoseconds.

        Raises:
            InternalError: `hands` is below 1.
        """
        if hands < 1:
            raise InternalError(f"a batch of {hands} hands was asked for; expected at least 1")
        prepared = self._prepare(tenant, 1, now_ns, hands=hands)
        if isinstance(prepared, Hold):
            return prepared
        shared, *own = self._spend(tenant, *prepared, now_ns)
        return GatedBatch(shared, tuple(own))

    def expire(self, now_ns: int) -> None:
        """Move what grew too old to where `take_stir` finds it."""
        self._reservoir.expire(now_ns)
        for pool in self._pools.values():
            pool.expire(now_ns)

    def take_stir(self) -> Stirred:
        """Hand over what left undealt since the last call, to be stirred into the DRBG."""
        # A space is in no id, so that no two pairs of ids look the same.
        user = [
            (f"{tenant} {name}", samples)
            for tenant, pool in self._pools.items()
            for name, samples in pool.take_spent()
        ]
        return Stirred(self._reservoir.take_spent(), tuple(user))

    # --- how it decides --------------------------------------------------------

    def _prepare(
        self, tenant: str, seeds: int, now_ns: int, *, hands: int = 0
    ) -> tuple[Plan, UserPlan] | Hold:
        """Plan what seeds take, and after them hands of a batch, to which users give nothing."""
        if seeds < 1:
            raise InternalError(f"{seeds} seeds were asked for; expected at least 1")
        policy = self.policy
        hold = self._required_hold((seeds + hands) * policy.seed_millibits, now_ns)
        if hold is not None:
            return hold
        if not self._instantiated:
            return Hold(
                HoldReason.NOT_INSTANTIATED,
                policy.min_hardware_sources * policy.instantiate_millibits,
                self.level_millibits(now_ns),
                "the generator is not instantiated yet; awaited: its first hardware entropy",
            )
        users = self._plan_users(tenant, seeds, now_ns)
        missing = self._missing(users)
        if policy.user_shortfall is UserShortfall.WAIT and any(missing):
            return _user_hold(tenant, seeds * policy.user_millibits, sum(missing))
        if policy.user_shortfall is not UserShortfall.IGNORE:
            missing += [policy.user_millibits] * hands
        else:
            missing += [0] * hands
        # Class hardware and class cover of each seed by turns, so that the
        # oldest samples go to the first seed.
        hardware = self._hardware(policy.hardware_millibits)
        amounts = [amount for cover in missing for amount in (hardware, cover)]
        plan = self._reservoir.plan(amounts, now_ns, self._standings.credit)
        if plan is None:
            return self._hardware_hold(amounts, now_ns)
        return plan, users

    def _spend(
        self, tenant: str, plan: Plan, users: UserPlan, now_ns: int
    ) -> tuple[GatedSeed, ...]:
        self._reservoir.commit(plan)
        if users.contributions:
            self._pools[tenant].commit(users)
        takes = zip(plan.takes[0::2], plan.takes[1::2], strict=True)
        return tuple(
            self._seed(hardware, cover, given, now_ns)
            for (hardware, cover), given in zip(
                takes, chain(users.takes, repeat(None)), strict=False
            )
        )

    def _missing(self, users: UserPlan) -> list[int]:
        """Return what the users of each seed owe; nothing where the policy asks for nothing."""
        if self.policy.user_shortfall is UserShortfall.IGNORE:
            return [0] * len(users.takes)
        asked = self.policy.user_millibits
        return [max(0, asked - take.estimated_millibits) for take in users.takes]

    def _plan_users(self, tenant: str, seeds: int, now_ns: int) -> UserPlan:
        pool = self._pools.get(tenant)
        if pool is None:
            return UserPlan((UserTake((), 0, None),) * seeds, 0)
        return pool.plan(seeds, self.policy.user_millibits, now_ns)

    def _pool(self, tenant: str) -> UserPool:
        """Return a tenant's pool. The caller vouches for the tenant: it is configured."""
        if tenant not in self._pools:
            self._pools[tenant] = UserPool(self.policy.user_limits)
        return self._pools[tenant]

    def _required_hold(self, needed: int, now_ns: int) -> Hold | None:
        """Return the gravest fault of a required source as a hold."""
        fault = self._standings.required_fault()
        if fault is None:
            return None
        why, text = fault
        level = self.level_millibits(now_ns)
        return Hold(why, max(needed, level + 1), level, text)

    def _hardware(self, millibits: int) -> Amount:
        """Return what class hardware takes: from one source, or the same from each of several."""
        several = self.policy.min_hardware_sources
        return millibits if several == 1 else FromEach(millibits, several)

    def _hardware_hold(self, amounts: Sequence[Amount], now_ns: int) -> Hold:
        """Say that too little hardware credit waits, or why there will be none."""
        level = self.level_millibits(now_ns)
        # The sum may be there and still not be enough, because only whole
        # samples are spent. Then at least one more sample is needed.
        needed = max(_total(amounts), level + 1)
        fault = self._standings.fault_of_too_few(self.policy.min_hardware_sources)
        why, text = fault or (HoldReason.HARDWARE_SHORT, self._shortage(needed, level, now_ns))
        return Hold(why, needed, level, text)

    def _shortage(self, needed: int, level: int, now_ns: int) -> str:
        counting = tuple(self._standings.credit)
        short = f"{_bits(level)} of {_bits(needed)} bits of hardware entropy are there"
        if self.policy.min_hardware_sources > 1:
            levels = ", ".join(
                f"{name!r} has {_bits(self.source_level_millibits(name, now_ns))}"
                for name in counting
            )
            short += f", from each of {self.policy.min_hardware_sources} sources; {levels}"
        names = ", ".join(map(repr, counting)) or "a hardware source"
        return f"{short}; awaited: more samples from {names}"

    def _seed(
        self,
        hardware: Sequence[Taken],
        cover: Sequence[Taken],
        users: UserTake | None,
        now_ns: int,
    ) -> GatedSeed:
        uses = [self._use("hardware", taken, now_ns) for taken in hardware]
        uses += [self._use("cover", taken, now_ns) for taken in cover]
        if users is not None and users.oldest_arrived_ns is not None:
            uses.append(_users_use(users, now_ns - users.oldest_arrived_ns))
        return GatedSeed(
            tuple((taken.source_id, taken.samples) for taken in hardware),
            tuple((taken.source_id, taken.samples) for taken in cover),
            users.sources if users is not None else (),
            tuple(uses),
        )

    def _use(self, entropy_class: str, taken: Taken, now_ns: int) -> SourceUse:
        facts = self._standings.facts[taken.source_id]
        return SourceUse(
            entropy_class,
            taken.source_id,
            facts.info.kind,
            facts.info.driver,
            facts.serial,
            len(taken.samples),
            taken.credited_millibits,
            now_ns - taken.oldest_arrived_ns,
            facts.state,
        )


def _users_use(users: UserTake, oldest_age_ns: int) -> SourceUse:
    """Return the provenance of user data: how many users, and none by name."""
    return SourceUse(
        entropy_class="user",
        source_id=USERS_SOURCE_ID,
        kind=USER_KIND,
        driver="",
        serial="",
        samples=sum(len(samples) for _, samples in users.sources),
        credited_millibits=users.estimated_millibits,
        oldest_age_ns=oldest_age_ns,
        health=None,
        users=len(users.sources),
    )


def _user_hold(tenant: str, needed: int, missing: int) -> Hold:
    available = needed - missing
    return Hold(
        HoldReason.USER_SHORT,
        needed,
        available,
        f"the users of {tenant!r} have given {_bits(available)} of {_bits(needed)} bits;"
        " awaited: more user entropy",
    )


def _total(amounts: Sequence[Amount]) -> int:
    """Return the credit of several amounts."""
    return sum(amount if isinstance(amount, int) else amount.total for amount in amounts)


def _bits(millibits: int) -> str:
    """Return millibits as whole bits, rounded down, for people."""
    return str(millibits // MILLIBITS_PER_BIT)
