"""Fetching: checksums, limits, and hosts that don't answer."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deploy.programs import download
from deploy.programs.download import Downloader
from deploy.programs.errors import SourceError
from deploy.programs.reporting import SilentReporter

CONTENT = b"a program" * 1000


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT at /file, a part of it at /short, a redirect to it at /moved."""

    def do_GET(self) -> None:
        if self.path in ("/file", "/short"):
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT if self.path == "/file" else CONTENT[:100])
        elif self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/file")
            self.end_headers()
        elif self.path == "/escape":
            self.send_response(302)
            self.send_header("Location", "file:///etc/hostname")
            self.end_headers()
        else:
            self.send_error(404)

    def log_message(self, *args: object) -> None:
        del args


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


@pytest.fixture
def downloader(monkeypatch: pytest.MonkeyPatch) -> Downloader:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return Downloader(SilentReporter())


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
@pytest.mark.parametrize("path", ["/file", "/moved"])
def test_a_file_with_the_right_checksum(
    path: str, algorithm: str, server: str, downloader: Downloader, tmp_path: Path
) -> None:
    digest = hashlib.new(algorithm, CONTENT).hexdigest().upper()
    target = tmp_path / "file"
    downloader.fetch_file(f"{server}{path}", target, algorithm=algorithm, digest=digest)
    assert target.read_bytes() == CONTENT


def test_a_file_with_another_checksum_is_refused(
    server: str, downloader: Downloader, tmp_path: Path
) -> None:
    digest = hashlib.sha256(b"another program").hexdigest()
    with pytest.raises(SourceError, match=f"not {digest}: refused"):
        downloader.fetch_file(
            f"{server}/file", tmp_path / "file", algorithm="sha256", digest=digest
        )
    assert list(tmp_path.iterdir()) == []


def test_half_a_file_is_refused(server: str, downloader: Downloader, tmp_path: Path) -> None:
    digest = hashlib.sha256(CONTENT[:100]).hexdigest()
    with pytest.raises(SourceError, match="/short"):
        downloader.fetch_file(
            f"{server}/short", tmp_path / "file", algorithm="sha256", digest=digest
        )
    assert list(tmp_path.iterdir()) == []


def test_too_large_a_file_is_refused(
    server: str, downloader: Downloader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "DOWNLOAD_LIMIT_BYTES", 1000)
    with pytest.raises(SourceError, match="larger than"):
        downloader.fetch_file(
            f"{server}/file", tmp_path / "file", algorithm="sha256", digest="0" * 64
        )
    assert list(tmp_path.iterdir()) == []


def test_a_text(server: str, downloader: Downloader) -> None:
    assert downloader.fetch_text(f"{server}/file") == CONTENT.decode()


def test_a_missing_file_says_so_and_the_host_is_asked_again(
    server: str, downloader: Downloader
) -> None:
    with pytest.raises(SourceError, match="/missing: 404 Not Found"):
        downloader.fetch_text(f"{server}/missing")
    assert downloader.fetch_text(f"{server}/file") == CONTENT.decode()


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/file"])
def test_other_schemes_are_refused(url: str, downloader: Downloader) -> None:
    with pytest.raises(SourceError, match="neither http nor https"):
        downloader.fetch_text(url)


def test_a_redirect_to_another_scheme_is_refused(server: str, downloader: Downloader) -> None:
    with pytest.raises(SourceError, match="file:///etc/hostname"):
        downloader.fetch_text(f"{server}/escape")


def test_a_refused_connection_says_so(downloader: Downloader) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        port = unused.getsockname()[1]
        with pytest.raises(SourceError, match=f"127.0.0.1:{port}: .*refused"):
            downloader.fetch_text(f"http://127.0.0.1:{port}/file")


def test_a_silent_host_is_given_up_and_not_asked_again(
    downloader: Downloader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "ANSWER_TIMEOUT_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(SourceError, match=f"{host}: no answer within"):
            downloader.fetch_text(f"http://{host}/file")
        silent.settimeout(5)
        silent.accept()[0].close()
        silent.setblocking(False)
        with pytest.raises(SourceError, match=f"{host}: no answer within"):
            downloader.fetch_text(f"http://{host}/other")
        with pytest.raises(BlockingIOError):
            silent.accept()
