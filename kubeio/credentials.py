"""The login in use: found once, read again whenever it may have changed.

Tokens of a Pod are replaced in place every hour, client certificates by whoever
rotates them, exec plugins give tokens that end. So nothing is read only once: the
files' stamps are looked at every few seconds, when somebody is about to use them,
and a 401 makes us read (and run plugins) at once. `generation` counts the TLS
contexts: a connection of an older generation is not used for new requests.

A reading that fails leaves the former login in use: a file may be half written.
"""

import asyncio
import datetime
import logging
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Self

from kubeio.login import KubeConfigError, Login, find_kubeconfig
from kubeio.logs import fields
from kubeio.stamps import FileStamps, file_stamps

SERVICE_ACCOUNT_DIRECTORY: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
CHECK_INTERVAL_SECONDS: Final = 10.0
EXPIRY_MARGIN_SECONDS: Final = 60.0
READ_TIMEOUT_SECONDS: Final = 30.0
"""For an exec plugin above all: requests wait for it."""
FIRST_LOGIN_NOTICE_SECONDS: Final = 10.0
"""The first login has all the time a person needs, but it is not waited for in silence."""
_RETRY_SAME_LOGIN_SECONDS: Final = 1.0

_logger = logging.getLogger(__name__)


class Credentials:
    """Gives address, TLS context and Authorization header, and keeps them fresh.

    Parameters
    ----------
    login
        The first reading.
    read_again
        Reads anew; may raise `KubeConfigError`.
    check_interval_seconds
        How often files' stamps are compared.
    clock
        Monotonic seconds.
    """

    def __init__(
        self,
        login: Login,
        read_again: Callable[[], Awaitable[Login]],
        *,
        check_interval_seconds: float = CHECK_INTERVAL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._login = login
        self._read_again = read_again
        self._interval = check_interval_seconds
        self._clock = clock
        self._next_check = clock() + check_interval_seconds
        self._last_read = clock()
        self._stamps = file_stamps(login.files)
        self._lock = asyncio.Lock()
        self._last_complaint = ""
        self.ssl_context = make_client_context(login)
        self.generation = 0

    @classmethod
    async def load(
        cls,
        kubeconfig: str | None = None,
        *,
        context: str | None = None,
        environ: Mapping[str, str] = os.environ,
        service_account_directory: str = SERVICE_ACCOUNT_DIRECTORY,
    ) -> Self:
        """Find the login: flag, ``KUBECONFIG``, ``~/.kube/config``, ServiceAccount.

        Raises
        ------
        KubeConfigError
            Where none of them gives a login that can be used.
        """
        paths = find_kubeconfig(kubeconfig, environ)

        async def read() -> Login:
            if paths is not None:
                from kubeio.kubeconfig import (  # noqa: PLC0415 - 38 MiB, for a kubeconfig only
                    load_kubeconfig,
                )

                return await load_kubeconfig(paths, context)
            return await asyncio.to_thread(read_service_account, environ, service_account_directory)

        notice = asyncio.get_running_loop().call_later(
            FIRST_LOGIN_NOTICE_SECONDS,
            _logger.warning,
            "Still waiting for the login of %s: its exec plugin may be waiting for somebody",
            paths or "the ServiceAccount",
        )
        try:
            login = await read()
        finally:
            notice.cancel()
        return cls(login, read)

    def derive(self, change: Callable[[Login], Login]) -> "Credentials":
        """Give credentials for another server, of the same login, kept fresh by themselves.

        Parameters
        ----------
        change
            Makes the other login of each reading.

        Raises
        ------
        KubeConfigError
            Where a file of the other login cannot be used.
        """

        async def read() -> Login:
            return change(await self._read_again())

        return Credentials(change(self._login), read)

    @property
    def server_url(self) -> str:
        """``https://host:port`` and a path prefix, if any."""
        return self._login.server_url

    @property
    def authorization(self) -> str | None:
        """Value of the Authorization header, or None."""
        return self._login.authorization

    @property
    def server_name(self) -> str | None:
        """Name to expect in the certificate, where it is not the host's."""
        return self._login.server_name

    @property
    def proxy_url(self) -> str | None:
        """Proxy to go through, or None."""
        return self._login.proxy_url

    def check_is_due(self) -> bool:
        """Tell whether `refresh_if_changed` would look now; cheap."""
        return self._clock() >= self._next_check

    async def refresh_if_changed(self) -> None:
        """Read again if a file changed or the token is about to end; never raises."""
        if not self.check_is_due():
            return
        self._next_check = self._clock() + self._interval
        if not self._expires_soon() and await asyncio.to_thread(self._files_are_unchanged):
            return
        async with self._lock:
            await self._read()

    async def refresh_after_unauthorized(self, used: str | None, generation: int) -> bool:
        """Read again after a 401; tell whether another try makes sense.

        Parameters
        ----------
        used, generation
            What the refused request was sent with. If either differs from what is in
            use now, somebody else has read meanwhile, and nothing is read.
        """
        async with self._lock:
            if (used, generation) != (self.authorization, self.generation):
                return True
            if self._clock() - self._last_read >= _RETRY_SAME_LOGIN_SECONDS:
                await self._read()
            return (used, generation) != (self.authorization, self.generation)

    def _files_are_unchanged(self) -> bool:
        return file_stamps(self._login.files) == self._stamps

    def _expires_soon(self) -> bool:
        end = self._login.expires_at
        if end is None:
            return False
        left = end - datetime.datetime.now(datetime.UTC)
        return left.total_seconds() < EXPIRY_MARGIN_SECONDS

    async def _read(self) -> None:
        # Stamps from before: a file that changes while it is read is read once more.
        before = await asyncio.to_thread(file_stamps, self._login.files)
        try:
            async with asyncio.timeout(READ_TIMEOUT_SECONDS):
                login = await self._read_again()
            stamps = await asyncio.to_thread(file_stamps, login.files) | before
            is_other_tls = _tls_part(login) != _tls_part(self._login)
            is_other_tls = is_other_tls or self._tls_files_differ(stamps)
            context = make_client_context(login) if is_other_tls else self.ssl_context
        except TimeoutError:
            self._complain(f"reading them took more than {READ_TIMEOUT_SECONDS:g} s")
        except KubeConfigError as error:
            self._complain(str(error))
        else:
            self._last_complaint = ""
            self._login, self._stamps, self.ssl_context = login, stamps, context
            self.generation += is_other_tls
        self._last_read = self._clock()

    def _complain(self, why: str) -> None:
        """Log why the former login stays in use, once for each reason."""
        if why != self._last_complaint:
            self._last_complaint = why
            _logger.warning("Keeping the former credentials", extra=fields(why=why))

    def _tls_files_differ(self, stamps: FileStamps) -> bool:
        login = self._login
        names = (login.ca_file, login.certificate_file, login.key_file)
        return any(stamps.get(name) != self._stamps.get(name) for name in names if name)


def read_service_account(environ: Mapping[str, str], directory: str) -> Login:
    """Log in as the Pod's ServiceAccount.

    Not by kubernetes_asyncio: its loader would cost every agent 38 MiB for two files
    and two variables, and it keeps a token for a minute after a 401.
    """
    host = environ.get("KUBERNETES_SERVICE_HOST")
    port = environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise KubeConfigError(
            "no way to the API server: no --kubeconfig, no KUBECONFIG, no ~/.kube/config, and "
            "this is no Pod (KUBERNETES_SERVICE_HOST is not set); pass --kubeconfig FILE"
        )
    token_file, ca_file = f"{directory}/token", f"{directory}/ca.crt"
    try:
        token = Path(token_file).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise KubeConfigError(
            f"{token_file}: cannot be read ({error}); does the Pod set "
            "automountServiceAccountToken: false?"
        ) from error
    if not token:
        raise KubeConfigError(f"{token_file}: is empty; a ServiceAccount token is expected")
    bracketed = f"[{host}]" if ":" in host else host
    return Login(
        server_url=f"https://{bracketed}:{port}",
        authorization=f"Bearer {token}",
        ca_file=ca_file,
        files=(token_file, ca_file),
    )


def make_client_context(login: Login) -> ssl.SSLContext | None:
    """Make the TLS context that a login means; None for plain HTTP.

    ``VERIFY_X509_STRICT``, which Python 3.13 sets by default, is taken off: it refuses
    certificates without an authority key identifier, which Go accepts and many
    clusters have.

    Raises
    ------
    KubeConfigError
        Where a file cannot be read or is not what it should be.
    """
    if not login.server_url.startswith("https://"):
        return None
    try:
        context = ssl.create_default_context(cafile=login.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise KubeConfigError(
            f"{login.ca_file}: not readable as PEM certificates of the cluster's CA: {error}"
        ) from error
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    if not login.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if login.certificate_file:
        try:
            context.load_cert_chain(login.certificate_file, login.key_file)
        except (OSError, ssl.SSLError) as error:
            raise KubeConfigError(
                f"{login.certificate_file}, {login.key_file}: not a PEM client certificate "
                f"with its private key: {error}"
            ) from error
    return context


def _tls_part(login: Login) -> tuple[object, ...]:
    return (
        login.server_url,
        login.ca_file,
        login.certificate_file,
        login.key_file,
        login.verify,
        login.server_name,
    )
