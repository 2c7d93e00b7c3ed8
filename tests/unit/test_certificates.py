"""Certificates on disk: read again when they change, and kept when the new ones are of no use."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from entropyd.errors import ConfigError
from entropyd.service.certificates import Certificates, Look, TlsFiles
from tests.fakes.certificates import DAY, Authority


@pytest.fixture(scope="module")
def authority():
    return Authority()


@pytest.fixture
def files(tmp_path, authority):
    authority.issue("localhost").write(tmp_path, "server")
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    return TlsFiles(tmp_path / "server.pem", tmp_path / "server.key", tmp_path / "ca.pem")


def read(files, **settings):
    return Certificates(files, listener="[::]:7443", **settings)


def write(path: Path, content: bytes) -> None:
    scratch = path.with_suffix(".new")
    scratch.write_bytes(content)
    scratch.rename(path)


# --- at the start ----------------------------------------------------------------------------


def test_a_pair_that_is_right_is_shown_until_it_expires(files, authority, tmp_path):
    pair = authority.issue("localhost", ends=3 * DAY)
    pair.write(tmp_path, "server")
    assert pair.not_after == read(files).not_after


def spoil(files: TlsFiles, how: str, authority: Authority) -> None:
    other = authority.issue("localhost")
    contents: dict[str, dict[Path | None, bytes]] = {
        "swapped": {files.cert: files.key.read_bytes(), files.key: files.cert.read_bytes()},
        "another key": {files.key: other.key},
        "another certificate": {files.cert: other.cert},
        "expired": {files.cert: authority.issue("localhost", begins=-2 * DAY, ends=-DAY).cert},
        "not yet valid": {files.cert: authority.issue("localhost", begins=DAY, ends=2 * DAY).cert},
        "empty certificate": {files.cert: b""},
        "empty key": {files.key: b""},
        "half a certificate": {files.cert: files.cert.read_bytes()[:200]},
        "no authorities": {files.client_ca: b"none"},
    }
    for path, new in contents[how].items():
        assert path is not None
        write(path, new)


SPOILT = {
    "swapped": "server.pem holds no certificate in PEM",
    "another key": "is not the one of the certificate in",
    "another certificate": "is not the one of the certificate in",
    "expired": "expected one that is valid now",
    "not yet valid": "expected one that is valid now",
    "empty certificate": "server.pem holds no certificate in PEM",
    "empty key": "server.key holds no private key in PEM",
    "half a certificate": "server.pem holds no certificate in PEM",
    "no authorities": "ca.pem holds no certificate in PEM",
}


@pytest.mark.parametrize(("how", "says"), SPOILT.items())
def test_a_daemon_does_not_start_with_what_no_client_would_take(files, authority, how, says):
    spoil(files, how, authority)
    with pytest.raises(ConfigError, match=r"^listener \[::\]:7443: ") as caught:
        read(files)
    assert says in str(caught.value)


def test_an_encrypted_key_is_refused_and_not_asked_for(files, tmp_path):
    write(
        files.key,
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----",
    )
    with pytest.raises(ConfigError, match="without a password"):
        read(files)


def test_a_file_that_is_not_there_is_named(files):
    files.key.unlink()
    with pytest.raises(ConfigError, match=r"server\.key cannot be read \(No such file"):
        read(files)


# --- while it runs ------------------------------------------------------------------------------


def test_a_look_at_files_that_nobody_touched_tells_nothing(files):
    certificates = read(files)
    assert [Look()] * 3 == [certificates.look() for _ in range(3)]
    assert certificates.fetch() is None


def test_the_same_bytes_written_again_are_no_change(files):
    certificates = read(files)
    write(files.cert, files.cert.read_bytes())
    assert Look() == certificates.look()


def test_another_pair_is_shown_from_the_next_look_on(files, authority, tmp_path):
    certificates = read(files)
    pair = authority.issue("localhost", ends=5 * DAY)
    pair.write(tmp_path, "server")
    assert certificates.fetch() is None
    assert [Look(changed=True), Look()] == [certificates.look(), certificates.look()]
    assert certificates.fetch() is not None
    assert pair.not_after == certificates.not_after


def test_a_pair_is_handed_to_grpc_once(files, authority, tmp_path):
    """Its core is not to be told the same again: it would replace what other threads use."""
    certificates = read(files)
    assert certificates.fetch() is None
    authority.issue("localhost").write(tmp_path, "server")
    certificates.look()
    authority.issue("localhost").write(tmp_path, "server")
    certificates.look()
    assert [True, False, False] == [certificates.fetch() is not None for _ in range(3)]


def test_other_authorities_alone_are_a_change(files):
    certificates = read(files)
    write(files.client_ca, Authority("another").pem)
    assert Look(changed=True) == certificates.look()


@pytest.mark.parametrize(("how", "says"), SPOILT.items())
def test_a_bad_pair_changes_nothing_and_is_told_once(files, authority, tmp_path, how, says):
    """And the good one after it is taken, whenever it comes."""
    certificates = read(files)
    spoil(files, how, authority)
    look = certificates.look()
    assert says in look.trouble
    assert not look.changed
    assert [Look()] * 3 == [certificates.look() for _ in range(3)]
    assert certificates.fetch() is None
    authority.issue("localhost", ends=5 * DAY).write(tmp_path, "server")
    write(files.client_ca, authority.pem)
    assert [Look(changed=True), Look()] == [certificates.look(), certificates.look()]
    assert certificates.fetch() is not None


def test_a_file_that_goes_away_and_comes_back(files):
    """The pair in memory stays, and a return of the same bytes is told, since the loss was."""
    certificates = read(files)
    content = files.key.read_bytes()
    files.key.unlink()
    assert "cannot be read" in certificates.look().trouble
    write(files.key, content)
    assert Look(changed=True) == certificates.look()


def test_what_becomes_valid_is_taken_without_another_write(files, authority, tmp_path):
    """Files that do not change are still read again while they are of no use."""
    now = [datetime.now(UTC)]
    certificates = read(files, now=lambda: now[0])
    early = authority.issue("localhost", begins=timedelta(hours=1), ends=2 * DAY)
    early.write(tmp_path, "server")
    assert "valid now" in certificates.look().trouble
    now[0] += timedelta(hours=2)
    assert Look(changed=True) == certificates.look()
    assert early.not_after == certificates.not_after


def test_nothing_that_prints_a_pair_prints_its_key(files):
    certificates = read(files)
    assert "PRIVATE" not in repr(certificates._pair)
