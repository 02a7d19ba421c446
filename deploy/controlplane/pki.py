"""The control plane's own certificate authority, serving certificate and service account key.

They are made before the API server starts, so that every client can verify it: no kubeconfig here
skips verification. The authority's key stays in the state directory (mode 0600) and also signs
client certificates for users other than the administrator.
"""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=3650)
CLOCK_SKEW = datetime.timedelta(minutes=5)
SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def create_authority() -> KeyPair:
    """Make a certificate authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("berthmaster-local-ca")
    builder = (
        _builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def create_serving(authority: KeyPair) -> KeyPair:
    """Make a certificate for servers on 127.0.0.1, signed by ``authority``."""
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in SERVER_NAMES]
    names += [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    extensions = [x509.SubjectAlternativeName(names)]
    return _issue(authority, _name("kube-apiserver"), ExtendedKeyUsageOID.SERVER_AUTH, extensions)


def create_client(authority: KeyPair, user: str, groups: tuple[str, ...] = ()) -> KeyPair:
    """Make a client certificate: common name is the user, each organization one of its groups."""
    return _issue(authority, _name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, [])


def create_service_account_key() -> tuple[bytes, bytes]:
    """Make the pair that signs and verifies service account tokens: private and public PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _private_pem(key), public


def _issue(
    authority: KeyPair,
    subject: x509.Name,
    purpose: x509.ObjectIdentifier,
    extensions: list[x509.SubjectAlternativeName],
) -> KeyPair:
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = serialization.load_pem_private_key(authority.key, password=None)
    if not isinstance(issuer_key, ec.EllipticCurvePrivateKey):
        raise TypeError("the certificate authority's key is not an elliptic curve key")
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = (
        _builder(subject, issuer.subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
            critical=False,
        )
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return _pair(builder.sign(issuer_key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + LIFETIME)
    )


def _name(common_name: str, organizations: tuple[str, ...] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), _private_pem(key))


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
