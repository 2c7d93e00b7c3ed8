"""A signed checkpoint in the anchor: a ledger that would sign another history does not start."""

from dataclasses import replace
from pathlib import Path

import pytest

from entropyd.config import Config, load
from entropyd.daemon.ledger import kept_anchor, open_ledger, set_anchor
from entropyd.daemon.ledger_care import adopt
from entropyd.errors import LedgerBehindAnchorError
from entropyd.ledger.anchor import Anchor, read_anchor, write_anchor
from entropyd.ledger.contract import EventKind
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.log.checkpoint import Checkpoint
from tests.fakes.entries import logged_draft, noted

LOG = "entropyd.example/log"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "entropyd.toml"
    path.write_text(
        f'[node]\nname = "n"\nstate_dir = "{tmp_path}/state"\n[mode]\nproduction = false\n'
        '[[source]]\nid = "m"\ndriver = "mock"\nclaim_bits_per_sample = 4.0\nclaim_note = "n"\n'
        f'[[listener]]\naddress = "unix:{tmp_path}/x.sock"\ntenant = "a"\nroles = ["deal_all"]\n'
        f'[ledger]\nmin_free = "16MiB"\nanchor = "{tmp_path}/elsewhere/anchor"\n'
        '[keys]\nat_rest = ""\n'
    )
    return load(path)


def signed(ledger: SqliteLedger, size: int) -> bytes:
    """Return a checkpoint of the ledger's log, with a signature that nobody looks at here."""
    tree = ledger.log_root(size)
    assert tree is not None
    return Checkpoint(LOG, size, tree).encode() + "\n\u2014 x AAAA\n".encode()


def anchored(config: Config) -> Anchor:
    assert config.ledger.anchor is not None
    anchor = read_anchor(config.ledger.anchor)
    assert anchor is not None
    return anchor


def recorded(config: Config, *, size: int = 3) -> bytes:
    """Make a ledger with three receipts; return the checkpoint of the first ones, now kept."""
    with open_ledger(config) as ledger:
        ledger.commit([logged_draft(f"h{number}") for number in range(3)])
        with kept_anchor(config, ledger) as anchor:
            anchor.keep_checkpoint(signed(ledger, size))
        return signed(ledger, size)


def put(config: Config, checkpoint: bytes) -> None:
    """Let the anchor hold another checkpoint, with all else as it is."""
    assert config.ledger.anchor is not None
    write_anchor(config.ledger.anchor, replace(anchored(config), checkpoint=checkpoint))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_checkpoint_stays_in_the_anchor_over_starts_and_commands(config, size):
    """And the ledger that it is of starts, however far it went on."""
    checkpoint = recorded(config, size=size)
    assert checkpoint == anchored(config).checkpoint
    with open_ledger(config) as ledger:
        ledger.commit([logged_draft("h9")], [noted()])
        set_anchor(config, ledger)
        with kept_anchor(config, ledger):
            pass
    assert (4, checkpoint) == (anchored(config).position.hands, anchored(config).checkpoint)
    with open_ledger(config):
        pass


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (Checkpoint(LOG, 4, bytes(range(32))), "fewer receipts in its log than the 4 that were"),
        (Checkpoint(LOG, 3, bytes(range(32))), "another log of 3 receipts than the one"),
        (Checkpoint(LOG, 1, bytes(range(32))), "another log of 1 receipts than the one"),
    ],
)
def test_a_log_that_was_cut_or_forked_does_not_start_until_it_is_adopted(config, head, found):
    """Though hands, steps and events are all there. After that the old checkpoint binds nobody."""
    recorded(config)
    put(config, head.encode() + "\n\u2014 x AAAA\n".encode())
    with (
        pytest.raises(LedgerBehindAnchorError, match=f"{found}.* ledger adopt"),
        open_ledger(config),
    ):
        pass
    assert f"has {found}" in adopt(config, "the disk is gone")
    assert b"" == anchored(config).checkpoint
    with open_ledger(config) as ledger:
        (event,) = ledger.events(EventKind.LEDGER_ADOPTED)
        assert found in event.detail
        assert 3 == ledger.log_size()


def test_without_an_anchor_a_checkpoint_is_kept_nowhere(config):
    """And nobody fails for it."""
    apart = config.ledger.model_copy(update={"anchor": None})
    bare = config.model_copy(update={"ledger": apart})
    with open_ledger(bare) as ledger, kept_anchor(bare, ledger) as anchor:
        ledger.commit([logged_draft()])
        anchor.keep_checkpoint(signed(ledger, 1))
        assert 0.0 == anchor.age_s
    assert not list((bare.node.state_dir.parent / "elsewhere").iterdir())
