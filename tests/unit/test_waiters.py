"""The fair queue: properties over everything that can happen to it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.runtime.waiters import WaiterQueue

CAPACITY, SHARE = 12, 5
TENANTS = ("acme", "globex", "initech")

tenant = st.sampled_from(TENANTS)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), tenant),
        st.tuples(st.just("serve"), st.integers(0, len(TENANTS) - 1)),
        st.tuples(st.just("discard"), st.integers(0, CAPACITY)),
    ),
    max_size=80,
)


class Model:
    """What the queue should hold, as plainly as it can be written: one list for each tenant."""

    def __init__(self) -> None:
        self.queue: WaiterQueue[int] = WaiterQueue(capacity=CAPACITY, share=SHARE)
        self.waiting: dict[str, list[int]] = {name: [] for name in TENANTS}
        self.owners: dict[int, str] = {}
        self.served: list[int] = []
        self.arrivals = 0

    def length(self) -> int:
        return sum(map(len, self.waiting.values()))

    def add(self, name: str) -> bool:
        room = self.length() < CAPACITY and len(self.waiting[name]) < SHARE
        assert room == self.queue.has_room(name)
        if room:
            self.arrivals += 1
            self.owners[self.arrivals] = name
            self.waiting[name].append(self.arrivals)
            self.queue.add(name, self.arrivals)
        return room

    def serve(self, turn: int) -> int | None:
        """Serve the first waiter of the tenant whose turn is `turn` from now, if there is one."""
        firsts = self.queue.firsts()
        if turn >= len(firsts):
            return None
        waiter = firsts[turn]
        name = self.owners[waiter]
        assert waiter == self.waiting[name].pop(0), "overtaken within a tenant"
        self.queue.serve(name, waiter)
        self.served.append(waiter)
        return waiter

    def discard(self, which: int) -> None:
        everybody = [waiter for mine in self.waiting.values() for waiter in mine]
        if which < len(everybody):
            waiter = everybody[which]
            assert self.queue.discard(self.owners[waiter], waiter)
            self.waiting[self.owners[waiter]].remove(waiter)

    def play(self, script) -> "Model":
        for verb, argument in script:
            getattr(self, verb)(argument)
            assert self.length() == len(self.queue)
        return self


@given(steps)
@settings(max_examples=80, deadline=None)
def test_first_come_first_served_within_a_tenant(script):
    """Whatever joins, leaves or is served, a tenant's first is its earliest that still waits."""
    model = Model().play(script)
    firsts = {model.owners[waiter]: waiter for waiter in model.queue.firsts()}
    assert {name: mine[0] for name, mine in model.waiting.items() if mine} == firsts
    for name in TENANTS:
        served = [waiter for waiter in model.served if model.owners[waiter] == name]
        assert sorted(served) == served


@given(steps)
@settings(max_examples=80, deadline=None)
def test_tenants_are_served_in_turn(script):
    """From any state on, a tenant is served again only after every other that waits was."""
    model = Model().play(script)
    waits = {name for name in TENANTS if model.waiting[name]}
    while waits:
        turn = [model.serve(0) for _ in waits]
        assert waits == {model.owners[waiter] for waiter in turn if waiter is not None}
        waits = {name for name in TENANTS if model.waiting[name]}
    assert len(model.queue) == 0


@given(steps, st.data())
@settings(max_examples=60, deadline=None)
def test_nobody_starves(script, data):
    """However others flood and leave, a waiter is served after its tenant's own times the turns."""
    model = Model().play(script)
    if not model.add("acme"):
        return
    mine = model.waiting["acme"][-1]
    limit = len(model.waiting["acme"]) * len(TENANTS)
    for _ in range(limit):
        for name in data.draw(st.lists(tenant, max_size=4)):
            model.add(name)
        if model.serve(0) == mine:
            return
    raise AssertionError(f"not served within {limit} turns")


@given(steps)
@settings(max_examples=80, deadline=None)
def test_bounds_hold_and_a_flood_leaves_the_others_their_share(script):
    """Never more than the capacity nor than a share; shares that fit are never taken by others."""
    model = Model().play(script)
    assert model.length() <= CAPACITY
    assert all(len(mine) <= SHARE for mine in model.waiting.values())
    while model.add("acme") or model.add("globex"):
        pass
    assert (SHARE, SHARE) == (len(model.waiting["acme"]), len(model.waiting["globex"])) or (
        model.length() == CAPACITY
    )


@given(steps)
@settings(max_examples=50, deadline=None)
def test_whoever_left_is_gone_once(script):
    """Leaving twice, or after being served, is told by False and changes nothing."""
    model = Model().play(script)
    gone = set(model.owners) - {waiter for mine in model.waiting.values() for waiter in mine}
    before = model.queue.firsts()
    for waiter in gone:
        assert not model.queue.discard(model.owners[waiter], waiter)
    assert (before, model.length()) == (model.queue.firsts(), len(model.queue))


def test_the_first_stays_first_until_it_is_taken_out():
    """A draw of many seeds is not overtaken by later ones of the same or another tenant."""
    queue: WaiterQueue[str] = WaiterQueue(capacity=4, share=2)
    assert queue.first() is None
    queue.add("acme", "shoe")
    queue.add("globex", "other")
    queue.add("acme", "later")
    assert ("shoe", "shoe") == (queue.first(), queue.first())
    queue.serve("acme", "shoe")
    assert ["other", "later"] == queue.firsts()


def test_a_tenant_that_was_skipped_keeps_its_turn():
    """Serving somebody else first does not send the one who could not be served to the end."""
    queue: WaiterQueue[str] = WaiterQueue(capacity=4, share=2)
    for name, waiter in (("acme", "a1"), ("globex", "g1"), ("globex", "g2"), ("initech", "i1")):
        queue.add(name, waiter)
    queue.serve("globex", "g1")
    assert ["a1", "i1", "g2"] == queue.firsts()


@pytest.mark.parametrize(("capacity", "share"), [(0, 0), (4, 0), (4, 5), (0, 1)])
def test_a_share_outside_of_the_queue_is_refused(capacity, share):
    with pytest.raises(ValueError, match="outside"):
        WaiterQueue(capacity=capacity, share=share)
