"""Who calls: by listener, by token, by certificate; looked up again at every question."""

from datetime import UTC, datetime, timedelta

import pytest

from entropyd.config import Client, Role
from entropyd.errors import OverloadError, UnauthenticatedError
from entropyd.service.admission import RETRY_AFTER_S, Admission
from entropyd.service.authentication import ByCertificate, ByListener, ByToken
from entropyd.service.directory import Directory, token_digest
from entropyd.service.identity import Identity
from tests.fakes.certificates import Authority

TOKEN = "c0ffee.Token-_~+/=="
WHO = Identity("room", frozenset({Role.DEAL_ALL}), name="unix:/a")


def client(tenant="room", *, token=None, san=None, max_calls=7):
    digest = None if token is None else token_digest(token).hex()
    return Client(
        san=san, token_sha256=digest, tenant=tenant, roles=(Role.AUDIT,), max_calls=max_calls
    )


class Context:
    """What a call shows: metadata, and the certificate of its connection."""

    def __init__(self, *authorization: str, pem: bytes | None = None) -> None:
        self._metadata = [("user-agent", "test"), *(("authorization", a) for a in authorization)]
        self._shown = {"transport_security_type": [b"ssl"]}
        if pem is not None:
            self._shown["x509_pem_cert"] = [pem]

    def invocation_metadata(self):
        return tuple(self._metadata)

    def auth_context(self):
        return self._shown


def who(authenticator, context) -> Identity:
    identity: Identity = authenticator.caller(context).identity()
    return identity


# --- tokens -------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER   "])
def test_a_token_is_who_its_hash_names(scheme):
    directory = Directory([client("others", token="x" * 40), client(token=TOKEN)])
    found = who(ByToken(directory), Context(scheme + TOKEN))
    shown = token_digest(TOKEN).hex()[:8]
    assert Identity("room", frozenset({Role.AUDIT}), f"token {shown}", 7) == found


@pytest.mark.parametrize(
    "authorization",
    [
        [],
        [f"Bearer {TOKEN}", f"Bearer {TOKEN}"],
        [f"Basic {TOKEN}"],
        [TOKEN],
        [""],
        ["Bearer"],
        ["Bearer "],
        [f"Bearer {TOKEN} "],
        [f" Bearer {TOKEN}"],
        [f"Bearer {TOKEN}, Bearer {TOKEN}"],
        [f"Bearer {token_digest(TOKEN).hex()}"],
        ["Bearer " + "a" * 5000],
        [f"Bearer {TOKEN}\n"],
        ["Bearer ٣"],
    ],
)
def test_a_call_without_the_token_in_form_is_nobodys(authorization):
    """The hash of a token, which the configuration shows, opens nothing."""
    by_token = ByToken(Directory([client(token=TOKEN)]))
    with pytest.raises(UnauthenticatedError) as caught:
        who(by_token, Context(*authorization))
    assert TOKEN not in str(caught.value)


def test_a_token_that_is_revoked_is_nobodys_at_the_next_question():
    """Also of a caller who was let in before."""
    directory = Directory([client(token=TOKEN)])
    caller = ByToken(directory).caller(Context(f"Bearer {TOKEN}"))  # type: ignore[arg-type]
    assert "room" == caller.identity().tenant
    directory.replace([client("new", token="y" * 40)])
    with pytest.raises(UnauthenticatedError, match="not known, or not any more"):
        caller.identity()


def test_a_caller_shows_neither_token_nor_hash():
    """Whatever prints one prints nothing that opens a door."""
    caller = ByToken(Directory([client(token=TOKEN)])).caller(Context(f"Bearer {TOKEN}"))  # type: ignore[arg-type]
    for told in (TOKEN, token_digest(TOKEN).hex(), repr(token_digest(TOKEN))):
        assert told not in repr(caller)


def test_a_listener_that_is_an_identity_takes_no_token():
    """Ignored, a revoked one would seem to work, and another tenant's would deal here."""
    assert WHO == who(ByListener(WHO), Context())
    with pytest.raises(UnauthenticatedError, match="takes no token"):
        who(ByListener(WHO), Context(f"Bearer {TOKEN}"))


# --- certificates ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority():
    return Authority()


def by_certificate(*clients, now=None):
    directory = Directory(clients)
    return ByCertificate(directory) if now is None else ByCertificate(directory, now=now)


@pytest.mark.parametrize("san", ["poker-1.example", "spiffe://room/Poker"])
def test_a_certificate_is_who_one_of_its_names_names(authority, san):
    pem = authority.issue("other.example", san, "spiffe://else").cert
    found = who(by_certificate(client(san=san)), Context(pem=pem))
    assert ("room", san) == (found.tenant, found.name)


def test_dns_names_are_compared_without_regard_to_case_and_uris_with(authority):
    pem = authority.issue("Poker-1.EXAMPLE").cert
    assert "room" == who(by_certificate(client(san="poker-1.example")), Context(pem=pem)).tenant
    pem = authority.issue("spiffe://room/poker").cert
    with pytest.raises(UnauthenticatedError):
        who(by_certificate(client(san="spiffe://room/Poker")), Context(pem=pem))


@pytest.mark.parametrize(
    ("names", "common_name", "says"),
    [
        (["unknown.example"], "test", "no .*has a `san`"),
        (["poker.example", "spiffe://room/poker"], "test", "2 .*expected exactly one"),
        ([], "poker.example", "no subject alternative name"),
        (["mailto:poker.example"], "test", "no .*has a `san`"),
        (["sub.poker.example", "*.example"], "test", "no .*has a `san`"),
    ],
)
def test_a_certificate_that_names_nobody_or_two_is_nobodys(authority, names, common_name, says):
    """The common name is a label for people, and a mail address that looks like a host is none."""
    known = by_certificate(client(san="poker.example"), client("b", san="spiffe://room/poker"))
    pem = authority.issue(*names, common_name=common_name).cert
    with pytest.raises(UnauthenticatedError, match=says):
        who(known, Context(pem=pem))


@pytest.mark.parametrize("pem", [None, b"", b"-----BEGIN CERTIFICATE-----\n!\n"])
def test_a_connection_without_a_certificate_that_can_be_read_is_nobodys(pem):
    with pytest.raises(UnauthenticatedError):
        who(by_certificate(client(san="a")), Context(pem=pem))


def test_a_connection_that_outlives_its_certificate_is_nobodys(authority):
    """TLS looked when it was made; we look at every call."""
    pair = authority.issue("poker", ends=timedelta(hours=1))
    now = [datetime.now(UTC)]
    caller = by_certificate(client(san="poker"), now=lambda: now[0]).caller(Context(pem=pair.cert))
    assert "room" == caller.identity().tenant
    now[0] = pair.not_after + timedelta(seconds=1)
    with pytest.raises(UnauthenticatedError, match="has expired"):
        caller.identity()


def test_a_certificate_on_a_listener_of_certificates_is_all_that_counts(authority):
    pem = authority.issue("poker").cert
    with pytest.raises(UnauthenticatedError, match="takes no token"):
        who(by_certificate(client(san="poker")), Context(f"Bearer {TOKEN}", pem=pem))


# --- room ---------------------------------------------------------------------------------------


def test_an_identity_has_as_many_calls_as_it_may_on_all_listeners_together():
    """Room comes back with each call that ends, also with one that fails."""
    admission = Admission()
    poker = Identity("room", frozenset(), name="poker", max_calls=2)
    other = Identity("room", frozenset(), name="other", max_calls=1)
    with admission.one(poker), admission.one(other):
        with pytest.raises(KeyError), admission.one(poker):
            raise KeyError
        with admission.one(poker):
            with pytest.raises(OverloadError, match="2 calls are running for client poker") as told:
                admission.one(poker).__enter__()
            assert RETRY_AFTER_S == told.value.retry_after_s
    with admission.one(poker), admission.one(poker):
        pass
