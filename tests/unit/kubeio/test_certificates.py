"""Serving certificates: self-signed, from files, and files that change."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509

from kubeio.certificates import CertificateError, ServingCertificate, make_self_signed


def subject(name: str) -> bytes:
    return make_self_signed((name,))


def write(directory: Path, pem: bytes) -> tuple[str, str]:
    for name in ("tls.crt", "tls.key"):
        (directory / name).write_bytes(pem)
    return str(directory / "tls.crt"), str(directory / "tls.key")


def handshake(server: ssl.SSLContext, trusted: bytes | None = None) -> bytes:
    """Let a client shake hands in memory; give the certificate it was shown."""
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.check_hostname = False
    client_context.verify_mode = ssl.CERT_NONE
    if trusted is not None:
        client_context.load_verify_locations(cadata=trusted.decode())
        client_context.verify_mode = ssl.CERT_REQUIRED
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_side = client_context.wrap_bio(to_client, to_server)
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(10):
        for side in (client_side, server_side):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    shown = client_side.getpeercert(binary_form=True)
    assert shown is not None
    return shown


def test_self_signed_names_and_time() -> None:
    pem = make_self_signed(("host", "127.0.0.1", "::1", "host"))
    certificate = x509.load_pem_x509_certificate(pem)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["host"]
    assert names.get_values_for_type(x509.IPAddress) == [
        ip_address("127.0.0.1"),
        ip_address("::1"),
    ]
    now = datetime.now(UTC)
    assert certificate.not_valid_before_utc < now
    assert certificate.not_valid_after_utc > now + timedelta(days=365)
    assert b"PRIVATE KEY" in pem


@pytest.mark.parametrize("makes_apart", [False, True])
def test_self_signed_is_served(makes_apart: bool) -> None:
    made = ServingCertificate(None, None, names=("host",), makes_apart=makes_apart)
    certificate = x509.load_der_x509_certificate(handshake(made.context))
    assert certificate.subject.rfc4514_string() == "CN=host"
    assert not made.reload_if_changed()


def test_a_certificate_that_cannot_be_made_apart_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/does/not/exist")
    with pytest.raises(CertificateError) as caught:
        ServingCertificate(None, None, names=("host",), makes_apart=True)
    assert str(caught.value) == (
        "cannot make a self-signed certificate: [Errno 2] No such file or directory: "
        "'/does/not/exist'; give one with --tls-cert-file"
    )


def test_files_are_served_and_read_again(tmp_path: Path) -> None:
    first, second = subject("one"), subject("two")
    files = write(tmp_path, first)
    made = ServingCertificate(*files, names=("unused",))
    handshake(made.context, trusted=first)
    assert not made.reload_if_changed()
    write(tmp_path, second)
    assert made.reload_if_changed()
    handshake(made.context, trusted=second)
    assert not made.reload_if_changed()


def test_files_that_do_not_match_yet_are_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = subject("one"), subject("two")
    files = write(tmp_path, first)
    made = ServingCertificate(*files, names=("unused",))
    Path(files[0]).write_bytes(second)  # the key is still the first one's
    assert not made.reload_if_changed()
    assert "former certificate" in caplog.text
    handshake(made.context, trusted=first)
    Path(files[1]).write_bytes(second)
    assert made.reload_if_changed()
    handshake(made.context, trusted=second)


def test_files_that_went_away_are_left(tmp_path: Path) -> None:
    first = subject("one")
    files = write(tmp_path, first)
    made = ServingCertificate(*files, names=("unused",))
    Path(files[0]).unlink()
    assert not made.reload_if_changed()
    handshake(made.context, trusted=first)


def test_files_that_are_no_certificate(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match="--tls-cert-file needs --tls-private-key-file"):
        ServingCertificate("tls.crt", None, names=("n",))
    files = write(tmp_path, b"nonsense")
    with pytest.raises(CertificateError, match=r"tls.crt.*tls.key: not a PEM certificate"):
        ServingCertificate(*files, names=("n",))
    with pytest.raises(CertificateError, match="No such file"):
        ServingCertificate("/no/such", "/no/such", names=("n",))
