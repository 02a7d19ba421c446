"""The certificate a daemon serves with: given files, read again on change, or self-signed.

A self-signed one lives in memory only. OpenSSL reads chains from files alone, so it is
shown one that has no name in any directory.
"""

import datetime
import ipaddress
import logging
import os
import socket
import ssl
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubeio.stamps import file_stamps

SELF_SIGNED_DAYS: Final = 3650
"""Nobody verifies it, so it need not be renewed while the process lives."""

_logger = logging.getLogger(__name__)


class CertificateError(ValueError):
    """Certificate files that cannot be served with; the text names them and says why."""


class ServingCertificate:
    """Owns the server's TLS context.

    Parameters
    ----------
    certificate_file, key_file
        PEM files, or None for both to make a self-signed certificate.
    names
        Host names and addresses for the self-signed certificate.

    Raises
    ------
    CertificateError
        Where the files are no certificate with its key, or one of them is missing.
    """

    def __init__(
        self, certificate_file: str | None, key_file: str | None, *, names: tuple[str, ...]
    ) -> None:
        if (certificate_file is None) != (key_file is None):
            raise CertificateError(
                "--tls-cert-file needs --tls-private-key-file, and the other way round"
            )
        self.context = _new_context()
        self._files = tuple(name for name in (certificate_file, key_file) if name)
        self._stamps = file_stamps(self._files)
        if certificate_file is None:
            _load_from_memory(self.context, make_self_signed(names))
        else:
            self._load_files(self.context)

    def reload_if_changed(self) -> bool:
        """Serve new connections with the files' new content, if it changed and is good.

        Returns
        -------
        bool
            Whether it was loaded. Files that do not match (yet) are left for the next
            call, and logged.
        """
        stamps = file_stamps(self._files)
        if stamps == self._stamps:
            return False
        try:
            # First into a context of its own: a failed load would leave the one in use
            # with a certificate that does not go with its key.
            self._load_files(_new_context())
            self._load_files(self.context)
        except CertificateError as error:
            _logger.warning("Serving with the former certificate: %s", error)
            return False
        self._stamps = stamps
        _logger.info("Loaded the serving certificate again: file=%s", self._files[0])
        return True

    def _load_files(self, context: ssl.SSLContext) -> None:
        try:
            context.load_cert_chain(*self._files)
        except (OSError, ssl.SSLError) as error:
            raise CertificateError(
                f"{', '.join(self._files)}: not a PEM certificate with its private key: {error}"
            ) from error


def make_self_signed(names: tuple[str, ...]) -> bytes:
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


def host_names(bind_address: str) -> tuple[str, ...]:
    """Names that a client on this host or elsewhere may know the server by."""
    return (socket.gethostname() or "localhost", "localhost", "127.0.0.1", "::1", bind_address)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _new_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _load_from_memory(context: ssl.SSLContext, pem: bytes) -> None:
    descriptor = os.memfd_create("serving-certificate", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
