"""TLS towards an extender.

Source: pkg/scheduler/extender.go (`makeTransport`) and staging/src/k8s.io/client-go/transport/
transport.go (`TLSConfigFor`), v1.36.3: with `enableHTTPS` and no CA the server is not verified.
Difference: files are read at the start, so that what is wrong with them shows then.
"""

import os
import ssl
from typing import Final

from scheduler_svc.shell.config.schema import Extender, ExtenderTlsConfig

_NO_CONFIG: Final = ExtenderTlsConfig()


class ExtenderTlsError(ValueError):
    """TLS settings that cannot be used; the text says which."""


def make_context(extender: Extender) -> ssl.SSLContext:
    """Make the context for an extender's connections, used where its URL is HTTPS.

    Raises
    ------
    ExtenderTlsError
    """
    config = extender.tls_config or _NO_CONFIG
    has_ca = bool(config.ca_data or config.ca_file)
    if config.insecure and has_ca:
        raise ExtenderTlsError(
            "tlsConfig: specifying a root certificates file with the insecure flag is not allowed"
        )
    context = _with_ca(config) if has_ca else ssl.create_default_context()
    # Go accepts certificates without an authority key identifier; Python 3.13 on does not.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    if config.insecure or (extender.enable_https and not has_ca):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    has_certificate = bool(config.cert_data or config.cert_file)
    if has_certificate and (config.key_data or config.key_file):
        _load_certificate(context, config)
    return context


def _with_ca(config: ExtenderTlsConfig) -> ssl.SSLContext:
    try:
        if config.ca_data:
            return ssl.create_default_context(cadata=config.ca_data.decode("ascii"))
        return ssl.create_default_context(cafile=config.ca_file)
    except (OSError, ValueError) as error:
        where = "caData" if config.ca_data else f"caFile {config.ca_file}"
        raise ExtenderTlsError(f"tlsConfig: {where}: no PEM certificates: {error}") from error


def _load_certificate(context: ssl.SSLContext, config: ExtenderTlsConfig) -> None:
    descriptors: list[int] = []
    try:
        paths = []
        for data, path in (
            (config.cert_data, config.cert_file),
            (config.key_data, config.key_file),
        ):
            paths.append(_in_memory(data, descriptors) if data else path)
        context.load_cert_chain(*paths)
    except OSError as error:
        raise ExtenderTlsError(
            f"tlsConfig: not a PEM client certificate with its private key: {error}"
        ) from error
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _in_memory(data: bytes, descriptors: list[int]) -> str:
    """Give data a path, since OpenSSL reads files only; a private key never gets on a disk."""
    descriptor = os.memfd_create("extender-tls", os.MFD_CLOEXEC)
    descriptors.append(descriptor)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)
    return f"/proc/self/fd/{descriptor}"
