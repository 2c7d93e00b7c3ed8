"""An authority that signs what a test asks for, also what no honest one would."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


class Pair:
    """A certificate and its key, in PEM."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.cert = certificate.public_bytes(serialization.Encoding.PEM)
        self.key = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        self.not_after = certificate.not_valid_after_utc

    def write(self, directory: Path, name: str) -> None:
        """Write NAME.pem and NAME.key, each of them whole or not at all."""
        for content, suffix in ((self.cert, "pem"), (self.key, "key")):
            scratch = directory / f".{name}.{suffix}"
            scratch.write_bytes(content)
            scratch.rename(directory / f"{name}.{suffix}")


class Authority:
    """A certificate authority of a test's own.

    Attributes:
        pem: its certificate.
    """

    def __init__(self, name: str = "test authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        now = datetime.now(UTC)
        certificate = (
            self._builder(self._name, now - DAY, now + 30 * DAY)
            .public_key(self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = certificate.public_bytes(serialization.Encoding.PEM)

    def issue(
        self,
        *names: str,
        common_name: str = "test",
        begins: timedelta = -DAY,
        ends: timedelta = DAY,
    ) -> Pair:
        """Return a certificate for DNS names and URIs, valid between two times from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        builder = self._builder(_name(common_name), now + begins, now + ends)
        if names:
            alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
            builder = builder.add_extension(alternatives, critical=False)
        certificate = builder.public_key(key.public_key()).sign(self._key, hashes.SHA256())
        return Pair(certificate, key)

    def _builder(
        self, subject: x509.Name, begins: datetime, ends: datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(ends)
        )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _alternative(name: str) -> x509.GeneralName:
    if name.startswith("mailto:"):
        return x509.RFC822Name(name.removeprefix("mailto:"))
    return x509.UniformResourceIdentifier(name) if "://" in name else x509.DNSName(name)
