"""A server certificate for this machine and its own CA, created on first start.

The CA's key is discarded after signing, so that trusting the CA trusts this one emulator only.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Collection
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mlctl.dataclasses import dataclass
from mlctl.emulator.http.host_check import ALL_INTERFACES
from mlctl.files import make_ignored_folder, write

_LIFE, _SPARE = timedelta(days=397), timedelta(days=7)  # clients refuse longer lives
_OTHERS = 0o077  # of a file's mode: what its group and everybody may do
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NO_USAGE = {
    "content_commitment": False,
    "data_encipherment": False,
    "key_agreement": False,
    "key_encipherment": False,
    "encipher_only": False,
    "decipher_only": False,
}


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Paths: the CA, a bundle of it and the system's CAs, the server certificate and its key."""

    authority: Path
    bundle: Path
    certificate: Path
    key: Path


def ensure(folder: Path, names: Collection[str], now: datetime) -> CertificateFiles:
    """The files in `folder`, created again where they are missing, expired, broken or for other
    hosts, or where others may read the key.

    The certificate is for loopback and for `names`.

    Raises:
        OSError: they cannot be read or written.
    """
    spelt = ("ca.pem", "bundle.pem", "server.pem", "server.key")
    files = CertificateFiles(*(folder / name for name in spelt))
    hosts = [*_LOOPBACK, *sorted({*names} - {*_LOOPBACK, *ALL_INTERFACES})]
    if not _are_usable(files, hosts, now):
        _make(files, hosts, now)
    return files


def _are_usable(files: CertificateFiles, hosts: Collection[str], now: datetime) -> bool:
    every = (files.authority, files.bundle, files.certificate, files.key)
    if not all(file.is_file() for file in every):
        return False
    if files.key.stat().st_mode & _OTHERS:
        return False  # somebody may have read it
    try:
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        key = serialization.load_pem_private_key(files.key.read_bytes(), None)
    except (ValueError, TypeError):
        return False
    if key.public_key() != certificate.public_key():
        return False
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    covered = {str(ip) for ip in names.get_values_for_type(x509.IPAddress)}
    covered |= set(names.get_values_for_type(x509.DNSName))
    return now < certificate.not_valid_after_utc - _SPARE and set(hosts) <= covered


def _make(files: CertificateFiles, hosts: Collection[str], now: datetime) -> None:
    top, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = (
        _builder("mlctl emulator CA", top.public_key(), top.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
    )
    purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    names = x509.SubjectAlternativeName([_name(host) for host in hosts])
    server = (
        _builder("mlctl emulator", server_key.public_key(), top.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(purpose, critical=False)
        .add_extension(names, critical=False)
    )
    trusted, ours = (
        builder.sign(top, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        for builder in (authority, server)
    )
    key = server_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    make_ignored_folder(files.key.parent)
    write(files.key, key, private=True)
    write(files.certificate, ours, private=True)
    write(files.bundle, trusted + _system(files.bundle), private=True)
    write(files.authority, trusted, private=True)


def _builder(
    name: str, key: ec.EllipticCurvePublicKey, signer: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    """What both certificates have; key identifiers, because strict verifiers require them."""
    issuer, subject = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
        for text in ("mlctl emulator CA", name)
    )
    number = x509.random_serial_number()
    key_id = x509.SubjectKeyIdentifier.from_public_key(key)
    above = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer)
    return (
        x509.CertificateBuilder(issuer, subject, key, number)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _LIFE)
        .add_extension(key_id, critical=False)
        .add_extension(above, critical=False)
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority, key_cert_sign=authority, crl_sign=authority, **_NO_USAGE
    )


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _system(ours: Path) -> bytes:
    """Return the CAs that the system trusts, so that programs still reach other servers."""
    file = ssl.get_default_verify_paths().cafile
    if not file or not Path(file).is_file() or Path(file).resolve() == ours.resolve():
        return b""
    return Path(file).read_bytes()
