"""Make test certificates and their keys."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME = "captions.example.org"


def make(
    folder: Path,
    *,
    name: str = NAME,
    days: float = 90,
    begins_in_days: float = -1,
    password: bytes = b"",
    address: str = "127.0.0.1",
) -> tuple[Path, Path]:
    """Write `<name>.pem` and `<name>.key`; return both. `address` and localhost are valid too."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    hosts = [x509.DNSName(name), x509.DNSName("localhost")]
    addresses = [x509.IPAddress(ip_address(address))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=min(begins_in_days, days - 1)))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([*hosts, *addresses]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encryption = (
        serialization.BestAvailableEncryption(password)
        if password
        else serialization.NoEncryption()
    )
    cert_file, key_file = folder / f"{name}.pem", folder / f"{name}.key"
    cert_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    )
    key_file.chmod(0o600)
    return cert_file, key_file
