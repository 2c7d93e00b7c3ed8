"""The main job, as its user sees it."""

from tests.system.harness import Daemon


def test_deals_a_recorded_deck(daemon: Daemon):
    """A deck comes, comes again unchanged after a restart, and names its sources."""
    daemon.start()
    with daemon.client() as client:
        first = client.shuffle("table-7", "hand-1")
    assert daemon.terminate() == 0
    daemon.start()
    with daemon.client() as client:
        again = client.shuffle("table-7", "hand-1")
        other = client.shuffle("table-7", "hand-2")
    assert sorted(first.card_ids) == list(range(52))
    assert again.replayed
    assert again.message == first.message
    assert (other.replayed, other.sequence) == (False, 2)
    assert {use.use for use in first.sources} == {"hardware", "cover", "os"}
    assert first.mock
