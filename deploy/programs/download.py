"""Fetching files over HTTPS, with a deadline for the first answer and a checksum for all of it."""

from __future__ import annotations

import hashlib
import http.client
import queue
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import urlsplit

from deploy.programs.errors import SourceError
from deploy.programs.reporting import Reporter

ANSWER_TIMEOUT_SECONDS = 5.0
# Once a host was silent, the network most likely lets nothing through: others get less time.
LATER_ANSWER_TIMEOUT_SECONDS = 2.0
STALL_TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 20
TEXT_LIMIT_BYTES = 8 << 20
DOWNLOAD_LIMIT_BYTES = 1 << 30


class Fetcher(Protocol):
    """What the sources need of a network."""

    def fetch_text(self, url: str) -> str:
        """Return a small text, or raise SourceError."""

    def fetch_file(self, url: str, destination: Path, *, algorithm: str, digest: str) -> None:
        """Write a file whose checksum is right, or raise SourceError and write none."""


class Downloader:
    """Fetches over HTTPS, through the proxies that the environment names.

    A host that has not answered within 5 seconds is not asked again by this object, and after one
    such host the others have 2 seconds.
    """

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._unreachable: dict[str, str] = {}
        # Only these: an opener made by urllib's usual means would also read file: and ftp: URLs.
        self._opener = urllib.request.OpenerDirector()
        for handler in (
            urllib.request.ProxyHandler(),
            urllib.request.HTTPHandler(),
            urllib.request.HTTPSHandler(),
            urllib.request.HTTPRedirectHandler(),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPErrorProcessor(),
        ):
            self._opener.add_handler(handler)

    def fetch_text(self, url: str) -> str:
        """Return the text at ``url``, at most 8 MiB.

        Raises
        ------
        SourceError
            If it can't be fetched.
        """
        with self._open(url) as response:
            try:
                data = response.read(TEXT_LIMIT_BYTES)
            except (OSError, http.client.HTTPException) as error:
                raise SourceError(f"{url}: {error}") from error
        return data.decode(errors="replace")

    def fetch_file(self, url: str, destination: Path, *, algorithm: str, digest: str) -> None:
        """Write the file at ``url`` to ``destination`` and verify its checksum.

        Parameters
        ----------
        url, destination
            From where, to where; a partial or wrong file is removed.
        algorithm, digest
            ``sha256`` or ``sha512`` and the hexadecimal checksum that the file has to have.

        Raises
        ------
        SourceError
            If it can't be fetched or has another checksum.
        """
        try:
            with self._open(url) as response, destination.open("wb") as file:
                actual = self._copy(url, response, file, algorithm)
        except (OSError, http.client.HTTPException) as error:
            destination.unlink(missing_ok=True)
            raise SourceError(f"{url}: {error}") from error
        except BaseException:
            destination.unlink(missing_ok=True)
            raise
        if actual != digest.lower():
            destination.unlink()
            raise SourceError(f"{url}: its {algorithm} is {actual}, not {digest}: refused")

    def _copy(
        self, url: str, response: http.client.HTTPResponse, file: BinaryIO, algorithm: str
    ) -> str:
        checksum = hashlib.new(algorithm)
        total_bytes, name = response.length, url.rpartition("/")[2]
        done_bytes = 0
        while chunk := response.read(CHUNK_BYTES):
            checksum.update(chunk)
            file.write(chunk)
            done_bytes += len(chunk)
            if done_bytes > DOWNLOAD_LIMIT_BYTES:
                raise SourceError(f"{url}: larger than {DOWNLOAD_LIMIT_BYTES >> 20} MiB: refused")
            of = f" of {total_bytes >> 20}" if total_bytes else ""
            self._reporter.progress(f"downloading {name}: {done_bytes >> 20}{of} MiB")
        if total_bytes is not None and done_bytes < total_bytes:
            raise SourceError(f"{url}: the connection ended after {done_bytes} bytes")
        return checksum.hexdigest()

    def _open(self, url: str) -> http.client.HTTPResponse:
        host = urlsplit(url).netloc
        if host in self._unreachable:
            raise SourceError(self._unreachable[host])
        self._reporter.progress(f"asking {host}")
        # In a thread: a socket's timeout covers neither the look-up of the name nor several
        # addresses tried in turn. The thread is a daemon, and nothing waits for it.
        answers: queue.SimpleQueue[http.client.HTTPResponse | Exception] = queue.SimpleQueue()
        threading.Thread(target=self._answer, args=(url, answers), daemon=True).start()
        timeout_seconds = (
            LATER_ANSWER_TIMEOUT_SECONDS if self._unreachable else ANSWER_TIMEOUT_SECONDS
        )
        try:
            answer = answers.get(timeout=timeout_seconds)
        except queue.Empty:
            reason = f"{host}: no answer within {timeout_seconds:.0f} s"
            self._unreachable[host] = reason
            raise SourceError(reason) from None
        if isinstance(answer, urllib.error.HTTPError):
            answer.close()
            raise SourceError(f"{url}: {answer.code} {answer.reason}")
        if isinstance(answer, Exception):
            reason = f"{host}: {getattr(answer, 'reason', None) or answer}"
            self._unreachable[host] = reason
            raise SourceError(reason)
        return answer

    def _answer(
        self, url: str, answers: queue.SimpleQueue[http.client.HTTPResponse | Exception]
    ) -> None:
        try:
            response = self._opener.open(url, timeout=STALL_TIMEOUT_SECONDS)
        except (OSError, http.client.HTTPException, ValueError) as error:
            answers.put(error)
            return
        if isinstance(response, http.client.HTTPResponse):
            answers.put(response)
        else:
            answers.put(ValueError("neither http nor https"))
