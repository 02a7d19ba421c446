"""Makes a self-signed certificate; run as a program, prints one for the names it is given.

As a program it does so apart: cryptography stays in memory once it is imported, 8 MiB that
a small daemon need not carry for one certificate.
"""

import datetime
import ipaddress
import sys
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SELF_SIGNED_DAYS: Final = 3650
"""Nobody verifies it, so it need not be renewed while the process lives."""


def self_signed_pem(names: tuple[str, ...]) -> bytes:
    """Make a certificate for these names and addresses, and its key, in one PEM text."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=SELF_SIGNED_DAYS))
        .add_extension(
            x509.SubjectAlternativeName([_general_name(name) for name in dict.fromkeys(names)]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def main() -> None:
    """Print a certificate for the names on the command line."""
    sys.stdout.buffer.write(self_signed_pem(tuple(sys.argv[1:])))


if __name__ == "__main__":
    main()
