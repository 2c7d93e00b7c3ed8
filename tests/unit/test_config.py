"""A configuration is right, or refused with every problem, its place and its remedy."""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from entropyd import units
from entropyd.config import Asks, Config, Role, TcpEndpoint, UnixEndpoint, check, load
from entropyd.config.explain import known_keys, table_of
from entropyd.entropy.source import SourceKind
from entropyd.errors import ConfigError

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"

TABLES = {
    "node": 'name = "dc1-a"',
    "source": 'id = "q1"\ndriver = "quantis-usb"',
    "listener": 'address = "unix:/run/entropyd/a.sock"\ntenant = "acme"\nroles = ["deal_all"]',
}


def toml(production=True, **tables):
    """Return a whole file: the least that is right, with lines added or tables replaced.

    A value that begins with "+" is appended to the table's least lines.
    """
    texts = dict(TABLES)
    for name, lines in tables.items():
        texts[name] = texts.get(name, "") + "\n" + lines[1:] if lines[:1] == "+" else lines
    if not production:
        texts["mode"] = "production = false"
    parts = []
    for name, lines in texts.items():
        header = f"[[{name}]]" if name in {"source", "listener", "client"} else f"[{name}]"
        parts.append(f"{header}\n{lines}\n")
    return "\n".join(parts)


def refusal(text):
    with pytest.raises(ConfigError) as caught:
        check(text)
    return str(caught.value)


def all_keys(table: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Walk the schema: the path of every key that a file can hold."""
    for name, field in known_keys(table).items():
        inner = table_of(field)
        if inner is None:
            yield prefix + name
        else:
            yield from all_keys(inner, f"{prefix}{name}.")


# --- what is right ----------------------------------------------------------


def test_the_least_file_has_the_documented_defaults():
    config = check(toml())
    source, gate = config.sources[0], config.gate
    expected: tuple[object, ...] = (6000, True, -40, -60, 65_536, 1_000_000, {})
    assert expected == (
        source.claim_millibits,
        source.required,
        source.alpha_log2.intermittent,
        source.alpha_log2.permanent,
        source.first_assessment_samples,
        source.assess_window_samples,
        source.options,
    )
    expected_gate = (320, 249, "cover", 60 * 10**9, 5 * 10**9, 50 * 10**6, 4096, 262_144)
    assert expected_gate == (
        gate.hardware_bits,
        gate.user_bits,
        gate.user_shortfall,
        gate.max_sample_age_ns,
        gate.max_hold_ns,
        gate.answer_before_deadline_ns,
        gate.max_waiters,
        gate.reservoir_bytes,
    )
    assert Path("/var/lib/entropyd") == config.node.state_dir
    assert TcpEndpoint("127.0.0.1", 9464) == config.http.address
    assert config.ledger.min_free_bytes == 5 * units.GIB
    assert config.keys.at_rest == "credential:at-rest.key"
    assert (config.log.level, config.log.format) == ("info", "json")
    assert config.mode.production is True


def test_the_production_example_is_right():
    config = load(EXAMPLES / "entropyd.toml")
    assert config.mode.production is True
    expected = {"serial": "132245A410"}
    assert expected == config.sources[0].options


def test_every_default_that_the_production_example_shows_is_the_default():
    """Uncommenting the commented keys of the example changes nothing."""
    text = (EXAMPLES / "entropyd.toml").read_text()
    shown = re.sub(r"(?m)^# (?=(\[|[a-z_0-9]+ = ))", "", text)
    # These two have no default that can be written down.
    shown = re.sub(r"(?m)^(group|anchor) = .*$", "", shown)
    assert shown.count("=") > text.count("=") - 30
    assert len(re.findall(r"(?m)^[a-z_0-9]+ = ", shown)) > 25
    assert load(EXAMPLES / "entropyd.toml").fingerprint() == check(shown).fingerprint()


def test_the_development_example_is_right_and_nothing_for_production():
    config = load(EXAMPLES / "development.toml")
    assert config.mode.production is False
    assert Path(".dev") == config.node.state_dir
    assert UnixEndpoint(".dev/poker.sock") == config.listeners[0].address
    assert TcpEndpoint("127.0.0.1", 7443) == config.listeners[1].address
    text = (EXAMPLES / "development.toml").read_text()
    message = refusal(text.replace("production = false", "production = true"))
    for key in ("node.state_dir", "source[0].driver", "listener[0].address", "keys.at_rest"):
        assert f"\n  {key}: " in message


def test_a_configuration_cannot_be_changed():
    config = check(toml(source=TABLES["source"] + '\noptions = { serial = "1" }'))
    with pytest.raises(ValidationError):
        config.gate.hardware_bits = 1
    with pytest.raises(TypeError):
        config.sources[0].options["serial"] = "2"  # type: ignore[index]


def test_numbers_in_options_reach_the_driver_without_becoming_floats():
    config = check(toml(source="+options = { baud = 115200, rate = 0.1, dtr = true }"))
    expected = {"baud": 115200, "rate": Decimal("0.1"), "dtr": True}
    assert expected == config.sources[0].options
    assert isinstance(config.sources[0].options["rate"], Decimal)


def test_endpoints_are_written_as_grpc_writes_them():
    text = toml(listener='address = "[::1]:7443"\ntenant = "acme"\nroles = ["audit", "contribute"]')
    listener = check(text).listeners[0]
    assert listener.address.target == "[::1]:7443"
    expected = (Role.AUDIT, Role.CONTRIBUTE)
    assert expected == listener.roles


# --- one message, every problem ---------------------------------------------


def test_all_problems_come_in_one_message():
    message = refusal(
        toml(
            node='name = "a+b"',
            source='id = "q1"\ndriver = "serial"',
            gate='max_hold = 5\nmax_waitres = 3\nuser_shortfall = "maybe"',
            http='address = "192.0.2.1:9464"',
        )
    )
    places = re.findall(r"(?m)^  ([^ :]+): ", message)
    expected = [
        "node.name",
        "source[0].claim_bits_per_sample",
        "gate.user_shortfall",
        "gate.max_hold",
        "gate.max_waitres",
        "http.address",
    ]
    assert expected == places
    assert message.startswith("configuration: 6 errors\n")


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"gate": "hardware_bit = 320"}, "gate.hardware_bit: unknown key in [gate]; did you mean"),
        ({"gate": "hardware_bit = 320"}, 'did you mean "hardware_bits"?'),
        ({"gate": "max_hold_ns = 5"}, 'did you mean "max_hold"?'),
        ({"http": 'min_free = "5GiB"'}, '"min_free" belongs in [ledger]'),
        ({"log": "zzz = 1"}, "expected one of format, level"),
        ({"sources": "x = 1"}, 'sources: unknown key in the file; did you mean "source"?'),
        (
            {"source": "+alpha_log2 = { intermitent = -40 }"},
            'in [source[0].alpha_log2]; did you mean "intermittent"?',
        ),
    ],
)
def test_an_unknown_key_names_itself_its_table_and_the_nearest_known_one(tables, expected):
    assert expected in refusal(toml(**tables))


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"node": ""}, "node.name: is missing; expected the origin"),
        ({"node": 'name = "a b"'}, "node.name: has U+0020 at position 1"),
        ({"node": 'name = "a+b"'}, 'node.name: is "a+b"; expected a name without "+"'),
        ({"node": 'name = "a"\nstate_dir = "var"'}, "expected an absolute one in production"),
        ({"node": 'name = "a"\nstate_dir = 5'}, "node.state_dir: is no path"),
        ({"gate": "hardware_bits = 319"}, "gate.hardware_bits: is 319; expected a whole number"),
        ({"gate": "hardware_bits = 320.0"}, "gate.hardware_bits: is 320.0; expected a whole"),
        ({"gate": "hardware_bits = true"}, "gate.hardware_bits: is true; expected a whole"),
        ({"gate": "user_bits = 248"}, "gate.user_bits: is 248; expected at least 249"),
        ({"gate": "max_hold = 5"}, "gate.max_hold: has no unit"),
        ({"gate": 'max_hold = "61s"'}, "gate.max_hold: is 61s; expected 100ms to 1m"),
        (
            {"gate": 'max_hold = "1s"\nanswer_before_deadline = "1s"'},
            "gate: answer_before_deadline is 1s; expected less than max_hold, 1s",
        ),
        ({"gate": 'reservoir_bytes = "1KiB"'}, "gate.reservoir_bytes: is 1KiB; expected 128KiB"),
        ({"source": 'id = "q"\ndriver = "mock"'}, "source[0].driver: is mock, which is not a"),
        ({"source": 'id = "q"\ndriver = "quantis-emulator"'}, "source[0].driver: is quantis-emul"),
        ({"source": 'id = "q"\ndriver = "../x"'}, "source[0].driver: is"),
        ({"source": 'id = "q"\ndriver = "serial"'}, "source[0].claim_bits_per_sample: is missing"),
        ({"source": 'id = "q"\ndriver = "serial"'}, "No driver defaults to 8"),
        (
            {"source": 'id = "q"\ndriver = "serial"\nclaim_bits_per_sample = 4'},
            "source[0]: claim_note is missing",
        ),
        ({"source": "+claim_bits_per_sample = 7.5"}, "source[0]: claim_note is missing"),
        ({"source": "+claim_bits_per_sample = 8.5"}, "is 8.5; expected a number of bits"),
        ({"source": '+claim_bits_per_sample = "6"'}, "is not a number; expected a number of bits"),
        ({"source": "+first_assessment_samples = 65535"}, "expected at least 65536 in production"),
        (
            {"source": "+assess_window_samples = 65535"},
            "source[0]: assess_window_samples is 65535; expected at least",
        ),
        (
            {"source": "+alpha_log2 = { intermittent = -60, permanent = -60 }"},
            "source[0].alpha_log2: permanent is -60 and intermittent -60",
        ),
        ({"source": "+[[source]]\nid = 'q1'\ndriver = 'quantis-usb'"}, 'source: holds "q1" twice'),
        (
            {"source": "+[[source]]\nid = 'q2'\ndriver = 'quantis-usb'"},
            '"q1" and "q2" would read the same device; give each its own options',
        ),
        ({"listener": 'address = "unix:/a"\ntenant = "t"\nroles = []'}, "expected at least one"),
        ({"listener": 'address = "unix:/a"\ntenant = "t"\nroles = ["x"]'}, 'roles[0]: is "x"'),
        (
            {"listener": 'address = "unix:/a"\ntenant = "t"\nroles = ["audit", "audit"]'},
            'listener[0].roles: holds "audit" twice',
        ),
        ({"listener": '+mode = "0666"'}, 'listener[0].mode: is "0666"; expected "0660" or "0600"'),
        ({"listener": "+mode = 432"}, "listener[0].mode: is 432"),
        (
            {"listener": f"+[[listener]]\n{TABLES['listener']}"},
            'listener: holds "unix:/run/entropyd/a.sock" twice',
        ),
        (
            {"listener": 'address = "127.0.0.1:9464"\ntenant = "t"\nroles = ["audit"]'},
            "http.address is 127.0.0.1:9464, which a listener has too",
        ),
        (
            {"listener": 'address = "[::1]:1"\ntenant = "t"\nroles = ["audit"]\ngroup = "g"'},
            "listener[0]: group: only a unix socket has one",
        ),
        ({"http": 'address = "unix:/run/http"'}, "http.address: is no address"),
        ({"http": 'address = "127.0.0.1:0"'}, "http.address: has port 0; expected 1 to 65535"),
        ({"ledger": 'min_free = "5GB"'}, "ledger.min_free: has the unit"),
        ({"keys": 'at_rest = ""'}, 'keys.at_rest: is ""; expected "credential:NAME" or a path'),
        ({"keys": 'at_rest = "credential:../x"'}, "keys.at_rest: names no credential"),
        ({"keys": 'at_rest = "key"'}, "keys.at_rest: is no absolute path"),
        ({"log": 'level = "loud"'}, 'log.level: is "loud"; expected "debug", "info"'),
        ({"mode": 'production = "no"'}, 'mode.production: is "no"; expected true or false'),
        ({"mode": "production = 0"}, "mode.production: is 0; expected true or false"),
    ],
)
def test_a_wrong_value_is_refused_at_its_place_with_the_remedy(tables, expected):
    assert expected in refusal(toml(**tables))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[[source]]", "[source]", "source: is a table; expected at least one table [[source]]"),
        ("[[listener]]", "[listener]", "listener: is a table; expected at least one table"),
        ("[node]", "[[node]]", "node: is an array; expected a table [node]"),
    ],
)
def test_a_table_in_the_wrong_shape_is_refused(old, new, expected):
    assert expected in refusal(toml().replace(old, new))


@pytest.mark.parametrize("missing", ["node", "source", "listener"])
def test_a_file_without_a_needed_table_is_refused(missing):
    text = "\n".join(part for part in toml().split("\n\n") if f"[{missing}]" not in part)
    assert f"\n  {missing}: is missing; expected " in refusal(text)


@pytest.mark.parametrize("name", ["source", "listener"])
def test_an_empty_array_is_refused(name):
    text = toml().replace(f"[[{name}]]", "[other]")
    assert f"{name}: is empty; expected at least one" in refusal(f"{name} = []\n{text}")


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0:7443",
        "[::]:7443",
        "192.168.1.2:7443",
        "[2001:db8::1]:7443",
        "169.254.1.1:7443",
    ],
)
def test_an_address_off_the_loopback_is_refused_with_the_word_tls(address):
    message = refusal(toml(listener=f'address = "{address}"\ntenant = "t"\nroles = ["audit"]'))
    assert f"listener[0]: address is {address}, not on the loopback" in message
    assert "TLS is required" in message
    tls = 'tls = { cert = "/c", key = "/k" }'
    assert check(toml(listener=f'address = "{address}"\n{tls}')).listeners[0].tls is not None


@pytest.mark.parametrize("address", ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464"])
def test_pages_are_for_this_machine(address):
    message = refusal(toml(http=f'address = "{address}"'))
    assert f"http.address: is {address}, not on the loopback; expected 127.0.0.1" in message


@pytest.mark.parametrize(
    "address",
    ["localhost:7443", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:7443", "7443", "unix:",
     "unix:relative.sock", "unix:/" + "a" * 107, "127.0.0.01:7443", "unix:/a\\u0000b", ""],
)  # fmt: skip
def test_an_address_that_cannot_be_listened_on_is_refused(address):
    message = refusal(toml(listener=f'address = "{address}"\ntenant = "t"\nroles = ["audit"]'))
    assert "\n  listener[0].address: " in message


def test_the_longest_socket_path_fits():
    path = "/" + "a" * 106
    text = toml(listener=f'address = "unix:{path}"\ntenant = "t"\nroles = ["audit"]')
    assert UnixEndpoint(path) == check(text).listeners[0].address


# --- who may call -----------------------------------------------------------

TLS = """\
address = "[::]:7443"
tls = { cert = "/c.pem", key = "credential:tls.key", client_ca = "/ca.pem" }
"""
BY_TOKEN = 'address = "127.0.0.1:7443"'
TOKEN = f'token_sha256 = "{"0a" * 32}"'
WHO = 'tenant = "acme"\nroles = ["deal_all"]'


@pytest.mark.parametrize(
    ("listener", "asks"),
    [
        (TABLES["listener"], Asks.NOTHING),
        (f"{BY_TOKEN}\n{WHO}", Asks.NOTHING),
        (BY_TOKEN, Asks.TOKEN),
        ('address = "unix:/a"', Asks.TOKEN),
        (TLS.replace(', client_ca = "/ca.pem"', ""), Asks.TOKEN),
        (TLS, Asks.CERTIFICATE),
    ],
)
def test_a_listener_tells_its_callers_apart_in_one_way(listener, asks):
    assert asks is check(toml(listener=listener)).listeners[0].asks


def test_tenants_are_those_of_listeners_and_clients():
    client = f'{TOKEN}\ntenant = "globex"\nroles = ["admin"]'
    config = check(toml(listener=f"+[[listener]]\n{BY_TOKEN}", client=client))
    assert ("acme", "globex") == config.tenants
    assert 16_384 == config.clients[0].max_calls


@pytest.mark.parametrize("san", ["poker-1.example", "poker", "spiffe://room/poker?x=1", "a_b.c-d"])
def test_a_name_of_a_certificate_is_a_dns_name_or_a_uri(san):
    config = check(toml(listener=TLS, client=f'san = "{san}"\n{WHO}'))
    assert san == config.clients[0].san


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"listener": f"{BY_TOKEN}\ntenant = 't'"}, "listener[0]: has tenant alone; expected"),
        ({"listener": f"{BY_TOKEN}\nroles = ['audit']"}, "listener[0]: has roles alone"),
        ({"listener": f"{TLS}\n{WHO}"}, "tenant and roles: whoever can connect would have them"),
        ({"listener": f"{TLS}\nmode = '0600'"}, "listener[0]: mode: only a unix socket has one"),
        (
            {"listener": TLS.replace("[::]:7443", "unix:/a")},
            "listener[0]: tls: a unix socket is no network",
        ),
        ({"listener": TLS.replace("/c.pem", "c.pem")}, "listener[0].tls.cert: is no absolute path"),
        ({"listener": TLS.replace("tls.key", "../k")}, "listener[0].tls.key: names no credential"),
        ({"listener": TLS.replace('cert = "/c.pem", ', "")}, "listener[0].tls.cert: is missing"),
        ({"listener": f"{BY_TOKEN}\nmax_calls = 0"}, "listener[0].max_calls: is 0; expected"),
        ({"listener": BY_TOKEN, "client": WHO}, "exactly one of san and token_sha256"),
        (
            {"listener": TLS, "client": f'{TOKEN}\nsan = "a"\n{WHO}'},
            "client[0]: expected exactly one of san and token_sha256",
        ),
        ({"client": f"{TOKEN}\n{WHO}"}, "client: one has a token_sha256, and no [[listener]]"),
        ({"client": f'san = "a"\n{WHO}'}, "client: one has a san, and no [[listener]] asks"),
        (
            {"listener": BY_TOKEN, "client": f"{TOKEN}\n{WHO}\n[[client]]\n{TOKEN}\n{WHO}"},
            "twice; expected each once",
        ),
        (
            {"listener": BY_TOKEN, "client": f'{TOKEN}\ntenant = "t"\nroles = ["dealer"]'},
            'client[0].roles[0]: is "dealer"; expected a list of at least one of "deal_all"',
        ),
        (
            {"listener": BY_TOKEN, "client": f'{TOKEN}\ntenant = "t"\nroles = []'},
            "client[0].roles: is empty; expected at least one role",
        ),
        ({"listener": BY_TOKEN, "client": f"{TOKEN}\nroles = ['audit']"}, "tenant: is missing"),
        *(
            ({"listener": TLS, "client": f'san = "{san}"\n{WHO}'}, "client[0].san: is no name")
            for san in ("", "*.example", "Poker.example", "a..b", "127.0.0.1", "a b", "x://")
        ),
    ],
)
def test_a_door_that_would_stand_open_or_lead_nowhere_is_refused(tables, expected):
    assert expected in refusal(toml(**tables))


def test_a_token_where_its_hash_belongs_is_never_shown():
    """The file is read by more people than may know a token, and so is the log."""
    for value in ('"c0ffee-and-more"', f'"{"C0FFEE" * 11}"', "[1]", '"' + "c0ffee" * 11 + '"'):
        message = refusal(toml(listener=BY_TOKEN, client=f"token_sha256 = {value}\n{WHO}"))
        assert "client[0].token_sha256: is no SHA-256; expected 64 digits" in message
        assert "c0ffee" not in message.lower()


def test_text_that_is_no_toml_names_the_line():
    assert re.search(r"is not TOML: .*line 2", refusal("[node]\nname = \n"))


def test_a_value_of_keys_is_never_shown():
    """Somebody pastes the key itself where its place belongs."""
    secret = "c0ffee" * 10
    message = refusal(toml(keys=f'at_rest = ["{secret}"]'))
    assert "keys.at_rest: is a value that is not shown here" in message
    assert "c0ffee" not in message
    for place in (f'"{secret}"', f'"credential:{secret}/"'):
        assert "c0ffee" not in refusal(toml(keys=f"at_rest = {place}"))
    assert "c0ffee" not in refusal(toml(keys=f'at_rset = "{secret}"'))


def test_a_long_value_is_shortened():
    assert "... (302 characters)" in refusal(toml(log=f'level = "{"x" * 300}"'))


# --- files ------------------------------------------------------------------


def test_a_file_that_is_not_there_is_a_configuration_error(tmp_path):
    with pytest.raises(ConfigError, match=r"nothing\.toml: cannot be read \(No such file"):
        load(tmp_path / "nothing.toml")


def test_a_directory_is_a_configuration_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)


def test_a_file_that_is_not_utf_8_is_a_configuration_error(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b'[node]\nname = "\xff"\n')
    with pytest.raises(ConfigError, match=r"x\.toml: byte 15 is not UTF-8"):
        load(path)


def test_a_huge_file_is_not_parsed(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(ConfigError, match="is larger than 1048576 bytes"):
        load(path)


def test_an_error_in_a_file_names_the_file(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(toml(node=""))
    with pytest.raises(ConfigError, match=r"x\.toml: 1 error\n  node\.name: "):
        load(path)


# --- modes, kinds and keys --------------------------------------------------


def test_development_allows_what_production_refuses():
    config = check(
        toml(
            production=False,
            node='name = "a"\nstate_dir = "state"',
            source='id = "m"\ndriver = "mock"\nclaim_bits_per_sample = 6\nclaim_note = "none"\n'
            "first_assessment_samples = 1024",
            gate="user_bits = 1",
            keys='at_rest = ""',
            http='address = "127.0.0.1:0"',
        )
    )
    assert config.keys.at_rest_path(None) is None
    assert config.gate.user_bits == 1


def test_development_lowers_no_hardware_gate():
    assert "gate.hardware_bits: is 319" in refusal(
        toml(production=False, gate="hardware_bits = 319")
    )


@pytest.mark.parametrize("kind", [SourceKind.MOCK, SourceKind.REPLAY])
def test_a_driver_that_turns_out_to_be_simulated_is_refused_in_production(kind):
    production = check(toml())
    with pytest.raises(ConfigError, match=f"source q1: quantis-usb is a {kind} source"):
        production.refuse_unfit(production.sources[0], kind)
    production.refuse_unfit(production.sources[0], SourceKind.HARDWARE)
    development = check(toml(production=False))
    development.refuse_unfit(development.sources[0], kind)


@pytest.mark.parametrize("production", [True, False])
def test_the_operating_system_is_never_a_credited_source(production):
    config = check(toml(production=production))
    with pytest.raises(ConfigError, match="never credited"):
        config.refuse_unfit(config.sources[0], SourceKind.OS)


def test_a_credential_is_found_in_the_directory_of_the_service_manager():
    keys = check(toml()).keys
    assert Path("/run/credentials/x/at-rest.key") == keys.at_rest_path("/run/credentials/x")
    for directory in (None, ""):
        with pytest.raises(ConfigError, match=r"LoadCredential=at-rest\.key:FILE"):
            keys.at_rest_path(directory)


def test_a_key_may_be_a_file():
    keys = check(toml(keys='at_rest = "/etc/entropyd/key"')).keys
    assert Path("/etc/entropyd/key") == keys.at_rest_path(None)


def test_the_fingerprint_is_of_the_settings_and_not_of_the_text():
    plain = check(toml()).fingerprint()
    assert plain == check("# a comment\n" + toml(gate="hardware_bits = 320")).fingerprint()
    assert plain != check(toml(gate="hardware_bits = 321")).fingerprint()


@pytest.mark.parametrize("tables", [["*"], ["dc1/*", "main"], ["a"]])
def test_tables_are_ids_or_beginnings_of_ids(tables):
    config = check(toml(node=f"+serves_tables = {tables}"))
    assert tuple(tables) == config.node.serves_tables


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ("[]", "is empty"),
        ('["a", "a"]', 'holds "a" twice'),
        ('["a*b"]', 'holds "a*b"; expected an id, or the beginning'),
        ('["**"]', 'holds "**"'),
        ('["a b"]', "U+0020"),
        ('[""]', 'holds ""'),
        ('"*"', "expected a list of tables"),
    ],
)
def test_what_names_no_tables_is_refused(tables, says):
    assert says in refusal(toml(node=f"+serves_tables = {tables}"))


def test_an_anchor_lies_outside_of_what_it_guards():
    """In the state directory a restored backup would bring its own anchor."""
    anchor = 'anchor = "/var/lib/entropyd/sub/anchor"'
    assert "ledger.anchor" in refusal(toml(ledger=anchor))
    assert "another disk" in refusal(toml(ledger=anchor))
    beside = 'anchor = "/var/lib/entropyd-anchor"'
    assert Path("/var/lib/entropyd-anchor") == check(toml(ledger=beside)).ledger.anchor
    assert "absolute" in refusal(toml(ledger='anchor = "anchor"'))


def test_hands_of_a_table_have_limits():
    """Defaults for a table of people; pools raise both; no more are dealt than are open."""
    hands = check(toml()).hands
    assert (2, 1) == (hands.per_table_open, hands.per_table_dealing)
    assert (3600 * 10**9, 600 * 10**9) == (hands.expire_after_ns, hands.max_contribute_for_ns)
    pool = check(toml(hands="per_table_open = 100_000\nper_table_dealing = 100_000")).hands
    assert (100_000, 100_000) == (pool.per_table_open, pool.per_table_dealing)
    assert "at most per_table_open, 2" in refusal(toml(hands="per_table_dealing = 3"))
    for wrong in ("per_table_open = 0", "per_table_open = 100_001", 'expire_after = "59s"'):
        assert wrong.partition(" ")[0] in refusal(toml(hands=wrong))
    for wrong in ('expire_after = "31d"', 'max_contribute_for = "999ms"'):
        assert wrong.partition(" ")[0] in refusal(toml(hands=wrong))
    assert "max_contribute_for" in refusal(toml(hands='max_contribute_for = "11m"'))


# --- what no key may do -----------------------------------------------------

EVERY_KEY = {
    "client.max_calls", "client.roles", "client.san", "client.tenant", "client.token_sha256",
    "draws.large_seeds", "fair.max_rounds", "fair.profile", "fair.reveal_after",
    "gate.answer_before_deadline", "gate.hardware_bits", "gate.max_hold", "gate.max_sample_age",
    "gate.max_waiters", "gate.min_hardware_sources", "gate.reservoir_bytes", "gate.user_bits",
    "gate.user_shortfall", "hands.expire_after", "hands.max_contribute_for",
    "hands.per_table_dealing", "hands.per_table_open", "http.address", "keys.at_rest",
    "keys.checkpoints",
    "keys.receipts", "ledger.anchor", "ledger.hot_for",
    "ledger.min_free", "ledger.secrets_for",
    "listener.address", "listener.group", "listener.max_calls", "listener.tls.cert",
    "listener.tls.client_ca", "listener.tls.key",
    "listener.mode", "listener.owner", "listener.roles", "listener.tenant", "log.format",
    "log.level", "mode.production", "node.name", "node.origin", "node.serves_tables",
    "node.state_dir", "source.alpha_log2.intermittent",
    "source.alpha_log2.permanent", "source.assess_window_samples", "source.claim_bits_per_sample",
    "source.claim_note", "source.driver", "source.first_assessment_samples", "source.id",
    "source.options", "source.required",
}  # fmt: skip


def test_no_key_chooses_a_deck_a_seed_or_a_position():
    """Walk the schema. A key that is added must be judged by a person and added to the list."""
    keys = set(all_keys(Config))
    assert keys == EVERY_KEY
    choosing = re.compile(
        r"deck|card|seed|salt|nonce|personal|position|order|shuffle|cut|rig|fix|next|sequence|replay"
    )
    # It counts seeds. What is drawn otherwise for it, its caller asked for, and the rules say so.
    # And the name of the log has `rig` in it.
    keys -= {"draws.large_seeds", "node.origin"}
    assert [key for key in keys if choosing.search(key)] == []


def test_every_key_says_what_is_expected():
    """The description is what error texts quote."""

    def fields(table):
        for name, field in known_keys(table).items():
            yield name, field
            inner = table_of(field)
            if inner is not None:
                yield from fields(inner)

    assert [name for name, field in fields(Config) if not field.description] == []
