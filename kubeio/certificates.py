"""The certificate a daemon serves with: given files, read again on change, or self-signed.

A self-signed one lives in memory only. OpenSSL reads chains from files alone, so it is
shown one that has no name in any directory.
"""

import logging
import os
import socket
import ssl
import subprocess
import sys
from typing import Final

from kubeio.logs import fields
from kubeio.stamps import file_stamps

APART_SECONDS: Final = 60.0
"""For a process that makes a certificate; it takes 0.2 s on an idle machine."""

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
    makes_apart
        Make that one in a process of its own, to save memory.

    Raises
    ------
    CertificateError
        Where the files are no certificate with its key, or one of them is missing.
    """

    def __init__(
        self,
        certificate_file: str | None,
        key_file: str | None,
        *,
        names: tuple[str, ...],
        makes_apart: bool = False,
    ) -> None:
        if (certificate_file is None) != (key_file is None):
            raise CertificateError(
                "--tls-cert-file needs --tls-private-key-file, and the other way round"
            )
        self.context = _new_context()
        self._files = tuple(name for name in (certificate_file, key_file) if name)
        self._stamps = file_stamps(self._files)
        if certificate_file is None:
            make = make_self_signed_apart if makes_apart else make_self_signed
            _load_from_memory(self.context, make(names))
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
            _logger.warning("Serving with the former certificate", extra=fields(error=error))
            return False
        self._stamps = stamps
        _logger.info("Loaded the serving certificate again", extra=fields(file=self._files[0]))
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
    from kubeio.self_signed import self_signed_pem  # noqa: PLC0415 - 8 MiB, for who needs it

    return self_signed_pem(names)


def make_self_signed_apart(names: tuple[str, ...]) -> bytes:
    """Do as `make_self_signed`, in a process of its own: 0.2 s, and no memory that stays.

    Raises
    ------
    CertificateError
        Where that process fails.
    """
    command = [sys.executable, "-m", "kubeio.self_signed", *names]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=APART_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise CertificateError(
            f"cannot make a self-signed certificate: {error}; give one with --tls-cert-file"
        ) from error
    return done.stdout


def host_names(bind_address: str) -> tuple[str, ...]:
    """Names that a client on this host or elsewhere may know the server by."""
    return (socket.gethostname() or "localhost", "localhost", "127.0.0.1", "::1", bind_address)


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
