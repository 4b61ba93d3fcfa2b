"""The certificates of a cluster: whoever holds them is a member, and nobody else is answered."""

# Dask is only partly typed.
# pyright: basic
from __future__ import annotations

import datetime
import os
from os import PathLike
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from distributed.security import Security

from manometer.errors import ClusterError

AUTHORITY, CERTIFICATE, KEY = "ca.pem", "cluster.pem", "cluster-key.pem"
VALID_DAYS = 365


def initialise(directory: str | PathLike[str]) -> Path:
    """Makes the certificates of a new cluster in `directory`, which must not hold any. They are valid for a year.

    Scheduler, hosts and clients use the same ones: copy the directory to each. The key of the authority is not kept, so
    nobody can sign others.

    Raises:
        ClusterError: the directory holds certificates, or cannot be written.
    """
    directory = Path(directory)
    if any((directory / name).exists() for name in (AUTHORITY, CERTIFICATE, KEY)):
        raise ClusterError(f"{directory} holds the certificates of a cluster: remove them, or name another directory")
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("manometer cluster authority", authority_key, None, authority_key)
    member = _certificate("manometer cluster member", key, authority, authority_key)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _write(directory / AUTHORITY, authority.public_bytes(serialization.Encoding.PEM))
        _write(directory / CERTIFICATE, member.public_bytes(serialization.Encoding.PEM))
        _write(
            directory / KEY,
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )
    except OSError as error:
        raise ClusterError(f"{error.filename or directory}: {error.strerror}") from error
    return directory


def load(directory: str | PathLike[str]) -> Security:
    """The certificates in `directory`, for Dask: encrypted and authenticated connections only.

    Raises:
        ClusterError: one is missing or has expired, or others may read the key.
    """
    directory = Path(directory)
    for name in (AUTHORITY, CERTIFICATE, KEY):
        if not (directory / name).is_file():
            raise ClusterError(f"{directory} has no {name}: `manometer cluster init {directory}` makes certificates")
    if (directory / KEY).stat().st_mode & 0o077:
        raise ClusterError(f"{directory / KEY} can be read by others: chmod 600 {directory / KEY}")
    try:
        ends = x509.load_pem_x509_certificate((directory / CERTIFICATE).read_bytes()).not_valid_after_utc
    except ValueError as error:
        raise ClusterError(f"{directory / CERTIFICATE} is not a certificate: {error}") from error
    if ends < _now():
        raise ClusterError(f"the certificates in {directory} expired on {ends:%Y-%m-%d}: make new ones")
    files = {
        f"tls_{role}_{what}": str(directory / name)
        for role in ("scheduler", "worker", "client")
        for what, name in (("cert", CERTIFICATE), ("key", KEY))
    }
    return Security(tls_ca_file=str(directory / AUTHORITY), require_encryption=True, **files)


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    issuer_key: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
    builder = builder.issuer_name(issuer.subject if issuer else subject).serial_number(x509.random_serial_number())
    # Clocks of hosts differ: valid from yesterday on.
    start = _now() - datetime.timedelta(days=1)
    builder = builder.not_valid_before(start).not_valid_after(start + datetime.timedelta(days=VALID_DAYS + 1))
    builder = builder.add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    builder = builder.add_extension(
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
    ).add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
        critical=False,
    )
    return builder.sign(issuer_key, hashes.SHA256())


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def _write(path: Path, content: bytes) -> None:
    # Refused where it exists: keys are never replaced.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
