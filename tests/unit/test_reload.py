"""A changed configuration is taken over in part, told in full, or not at all."""

import os

import pytest

from entropyd.config import check
from entropyd.daemon.reload import RELOADABLE, reread
from entropyd.errors import ConfigError

FILE = """\
[node]
name = "dc1-a"

[[source]]
id = "q1"
driver = "quantis-usb"

[gate]
max_hold = "5s"

[[listener]]
address = "unix:/run/entropyd/a.sock"
tenant = "acme"
roles = ["deal_all"]

[[listener]]
address = "127.0.0.1:7443"

[log]
level = "info"
format = "json"
"""

CLIENT = f"""\
[[client]]
token_sha256 = "{"0a" * 32}"
tenant = "acme"
roles = ["audit"]
"""


@pytest.fixture
def running():
    return check(FILE)


def changed(tmp_path, old, new):
    """Return a file that says `new` where the running one says `old`."""
    assert old in FILE
    path = tmp_path / "entropyd.toml"
    path.write_text(FILE.replace(old, new))
    return path


def test_a_file_that_says_the_same_changes_nothing(running, tmp_path):
    found = reread(changed(tmp_path, "[gate]", "# a comment\n[gate]"), running)
    assert ((), ()) == (found.taken, found.waiting)
    assert running == found.config


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("log.level", 'level = "info"', 'level = "debug"'),
        ("log.format", 'format = "json"', 'format = "text"'),
        ("gate.max_hold", 'max_hold = "5s"', 'max_hold = "7s"'),
        ("gate.answer_before_deadline", "[gate]", '[gate]\nanswer_before_deadline = "70ms"'),
        ("hands.per_table_open", "[gate]", "[hands]\nper_table_open = 3\n[gate]"),
        (
            "hands.per_table_dealing",
            "[gate]",
            "[hands]\nper_table_open = 2\nper_table_dealing = 2\n[gate]",
        ),
        ("hands.expire_after", "[gate]", '[hands]\nexpire_after = "2h"\n[gate]'),
        ("hands.max_contribute_for", "[gate]", '[hands]\nmax_contribute_for = "1m"\n[gate]'),
        ("client", "[log]", CLIENT + "[log]"),
    ],
)
def test_what_is_taken_over(running, tmp_path, key, old, new):
    """The key is told, and in effect; another fingerprint says so to the outside."""
    path = changed(tmp_path, old, new)
    found = reread(path, running)
    assert ((key,), ()) == (found.taken, found.waiting)
    assert check(path.read_text()) == found.config
    assert running.fingerprint() != found.config.fingerprint()


def test_every_reloadable_key_is_tried_above():
    """Whoever adds one adds its row."""
    tried = {
        "log.level", "log.format", "gate.max_hold", "gate.answer_before_deadline", "client",
        "hands.per_table_open", "hands.per_table_dealing", "hands.expire_after",
        "hands.max_contribute_for",
    }  # fmt: skip
    assert tried == RELOADABLE


def test_a_client_of_a_new_tenant_waits_and_one_that_is_revoked_does_not(tmp_path):
    """Whoever revokes a token and adds a tenant in one change has revoked the token."""
    running = check(FILE + CLIENT)
    newcomer = CLIENT.replace("0a", "0b").replace("acme", "globex")
    path = tmp_path / "entropyd.toml"
    path.write_text(FILE + newcomer)
    found = reread(path, running)
    assert (("client",), ("client",)) == (found.taken, found.waiting)
    assert () == found.config.clients
    started_with = reread(path, running, ["acme", "globex"])
    assert ((("client",), ())) == (started_with.taken, started_with.waiting)
    assert ["globex"] == [client.tenant for client in started_with.config.clients]


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("node.name", '"dc1-a"', '"dc1-b"'),
        ("source", 'id = "q1"', 'id = "q2"'),
        ("source", 'driver = "quantis-usb"', 'driver = "quantis-usb"\nrequired = false'),
        ("listener", 'tenant = "acme"', 'tenant = "globex"'),
        ("gate.user_shortfall", "[gate]", '[gate]\nuser_shortfall = "wait"'),
        ("gate.hardware_bits", "[gate]", "[gate]\nhardware_bits = 400"),
        ("gate.max_waiters", "[gate]", "[gate]\nmax_waiters = 7"),
        ("ledger.min_free", "[log]", '[ledger]\nmin_free = "1GiB"\n[log]'),
        ("mode.production", "[log]", "[mode]\nproduction = false\n[log]"),
    ],
)
def test_what_waits_for_a_restart(running, tmp_path, key, old, new):
    """The key is told, and nothing is in effect."""
    found = reread(changed(tmp_path, old, new), running)
    assert ((), (key,)) == (found.taken, found.waiting)
    assert running == found.config


def test_some_of_a_file_is_taken_over_and_some_waits(running, tmp_path):
    path = changed(tmp_path, 'max_hold = "5s"', 'max_hold = "7s"\nmax_waiters = 7')
    path.write_text(path.read_text().replace('"dc1-a"', '"dc1-b"'))
    found = reread(path, running)
    assert (("gate.max_hold",), ("gate.max_waiters", "node.name")) == (found.taken, found.waiting)
    assert 7_000_000_000 == found.config.gate.max_hold_ns
    assert ("dc1-a", 4096) == (found.config.node.name, found.config.gate.max_waiters)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('level = "info"', 'level = "loud"', "log.level"),
        ("[gate]", "[gaet]", "gaet"),
        ('max_hold = "5s"', 'max_hold = "40ms"', "max_hold"),
        ('driver = "quantis-usb"', 'driver = "quantis-ubs"\nclaim_bits_per_sample = 1\nclaim_note = "x"', "no driver"),  # noqa: E501
        ('driver = "quantis-usb"', 'driver = "quantis-usb"\noptions = { serail = "1" }', "serail"),
        ("[log]", "[log", "TOML"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_as_a_whole(running, tmp_path, old, new, said):
    """Also where only the driver knows that it is wrong."""
    path = changed(tmp_path, old, new)
    with pytest.raises(ConfigError, match=said):
        reread(path, running)


def test_a_file_that_is_gone_is_refused(running, tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        reread(tmp_path / "entropyd.toml", running)


def test_a_pipe_is_refused_and_not_waited_for(running, tmp_path):
    os.mkfifo(tmp_path / "entropyd.toml")
    with pytest.raises(ConfigError, match="no regular file"):
        reread(tmp_path / "entropyd.toml", running)
