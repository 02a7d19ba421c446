"""Certificates: who signed what, for whom, for which use."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import PolicyBuilder, Store

from deploy.controlplane import pki


def test_the_serving_certificate_is_valid_for_loopback() -> None:
    authority = pki.create_authority()
    root = x509.load_pem_x509_certificate(authority.certificate)
    serving = x509.load_pem_x509_certificate(pki.create_serving(authority).certificate)
    verifier = (
        PolicyBuilder()
        .store(Store([root]))
        .time(datetime.now(UTC))
        .build_server_verifier(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    )
    assert verifier.verify(serving, [])[-1] == root


def test_a_client_certificate_names_user_and_groups() -> None:
    authority = pki.create_authority()
    pair = pki.create_client(authority, "jane", ("dev", "ops"))
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    names = [(each.oid, each.value) for each in certificate.subject]
    assert names == [
        (NameOID.ORGANIZATION_NAME, "dev"),
        (NameOID.ORGANIZATION_NAME, "ops"),
        (NameOID.COMMON_NAME, "jane"),
    ]
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate))
    key = serialization.load_pem_private_key(pair.key, password=None)
    assert key.public_key() == certificate.public_key()


def test_the_service_account_keys_belong_together() -> None:
    private, public = pki.create_service_account_key()
    key = serialization.load_pem_private_key(private, password=None)
    assert key.public_key() == serialization.load_pem_public_key(public)
