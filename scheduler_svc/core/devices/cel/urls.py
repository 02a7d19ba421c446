"""URLs as CEL values: bytes that begin with u, and the text, taken apart as Go does.

Source: staging/src/k8s.io/apiserver/pkg/cel/library/urls.go, v1.36.3, and net/url of Go 1.26.
"""

import functools
import re
from typing import Final, NamedTuple

from scheduler_svc.core.devices.cel.addresses import parsed_address
from scheduler_svc.core.devices.cel.text import quoted
from scheduler_svc.core.errors import InputError

KIND: Final = b"\x01u"
_CONVERSION: Final = "URL parse error during conversion from string: "
_ALPHANUMERIC: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# What stays as it is in each part of a URL.
_OF_PATH: Final = frozenset(_ALPHANUMERIC + b"$&+,-./:;=@_~")
_OF_HOST: Final = frozenset(_ALPHANUMERIC + b"!\"$&'()*+,-.:;<=>[]_~")
_OF_USER: Final = frozenset(_ALPHANUMERIC + b"$&+,-.;=_~")
_OF_FRAGMENT: Final = frozenset(_ALPHANUMERIC + b"!$&()*+,-./:;=?@_~")
_PLAIN_ANYWHERE: Final = frozenset(b"!$&'()*+,;=:@[]%")
_SCHEME: Final = re.compile(rb"([a-zA-Z][a-zA-Z0-9+.-]*):")
_PORT: Final = re.compile(rb"(?::[0-9]*)?")
_USER: Final = re.compile(rb"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_ESCAPE: Final = re.compile(rb"%([0-9a-fA-F]{2})")
_MAX_PARAMETERS: Final = 10000


class Url(NamedTuple):
    """The parts of a URL; `path` and `fragment` are decoded, the raw ones as they were written."""

    scheme: bytes = b""
    opaque: bytes = b""
    user: bytes | None = None
    host: bytes = b""
    path: bytes = b""
    raw_path: bytes = b""
    omits_host: bool = False
    forces_query: bool = False
    query: bytes = b""
    fragment: bytes = b""
    raw_fragment: bytes = b""


def url_value(text: str) -> bytes:
    """Give the CEL value of a URL. Raises `InputError` for what is none."""
    check_request_uri(text, before=_CONVERSION)
    value = KIND + text.encode()
    parsed(value)
    return value


def check_request_uri(text: str, before: str = "") -> None:
    """Raise `InputError` for what is no absolute URL and no absolute path."""
    data = text.encode()
    try:
        _parsed(data, is_request=True)
    except InputError as error:
        raise InputError(f"{before}parse {quoted(text)}: {error}") from error


@functools.lru_cache(maxsize=1024)
def parsed(value: bytes) -> Url:
    """Take a CEL value apart. Raises `InputError` for what is no URL."""
    data = value[2:]
    rest, _, fragment = data.partition(b"#")
    shown = rest
    try:
        url = _parsed(rest, is_request=False)
        shown = data
        plain = _unescaped(fragment, _OF_FRAGMENT)
    except InputError as error:
        raise InputError(f"{_CONVERSION}parse {quoted(_text(shown))}: {error}") from error
    raw = b"" if _escaped(plain, _OF_FRAGMENT) == fragment else fragment
    return url._replace(fragment=plain, raw_fragment=raw)


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _parsed(data: bytes, *, is_request: bool) -> Url:
    if any(byte < 0x20 or byte == 0x7F for byte in data):
        raise InputError("net/url: invalid control character in URL")
    if not data and is_request:
        raise InputError("empty url")
    if data == b"*":
        return Url(path=b"*")
    scheme, rest = _scheme(data)
    forces_query = rest.endswith(b"?") and rest.count(b"?") == 1
    rest, _, query = rest.partition(b"?")
    url = Url(scheme=scheme, forces_query=forces_query, query=query)
    if not rest.startswith(b"/"):
        if scheme:
            return url._replace(opaque=rest)
        if is_request:
            raise InputError("invalid URI for request")
        if b":" in rest.partition(b"/")[0]:
            raise InputError("first path segment in URL cannot contain colon")
    has_authority = scheme or (not is_request and not rest.startswith(b"///"))
    if has_authority and rest.startswith(b"//"):
        authority, slash, rest = rest[2:].partition(b"/")
        user, host = _authority(scheme, authority)
        url, rest = url._replace(user=user, host=host), slash + rest
    elif scheme and rest.startswith(b"/"):
        url = url._replace(omits_host=True)
    path = _unescaped(rest, _OF_PATH)
    raw = b"" if _escaped(path, _OF_PATH) == rest else rest
    return url._replace(path=path, raw_path=raw)


def _scheme(data: bytes) -> tuple[bytes, bytes]:
    match = _SCHEME.match(data)
    if match is not None:
        return match[1].lower(), data[match.end() :]
    if data.startswith(b":"):
        raise InputError("missing protocol scheme")
    return b"", data


def _authority(scheme: bytes, authority: bytes) -> tuple[bytes | None, bytes]:
    """Give the user, written as Go would, and the host."""
    user, at, place = authority.rpartition(b"@")
    host = _host(scheme, place)
    if not at:
        return None, host
    if not _USER.fullmatch(user):
        raise InputError("net/url: invalid userinfo")
    parts = [_escaped(_unescaped(part, _OF_USER), _OF_USER) for part in user.split(b":", 1)]
    return b":".join(parts), host


def _host(scheme: bytes, host: bytes) -> bytes:
    bracket = host.rfind(b"[")
    if bracket > 0:
        raise InputError("invalid IP-literal")
    if bracket == 0:
        return _literal(host)
    first, last = host.find(b":"), host.rfind(b":")
    if first >= 0:
        port = host[first if scheme in (b"http", b"https") else last :]
        _check_port(port)
    return _unescaped(host, _OF_HOST, is_host=True)


def _check_port(port: bytes) -> None:
    if not _PORT.fullmatch(port):
        raise InputError(f"invalid port {quoted(_text(port))} after host")


def _literal(host: bytes) -> bytes:
    end = host.rfind(b"]")
    if end < 0:
        raise InputError("missing ']' in host")
    port = host[end + 1 :]
    _check_port(port)
    name = host[1:end]
    zone = name.find(b"%25")
    start = name if zone < 0 else name[:zone]
    plain = _unescaped(start, _OF_HOST, is_host=True)
    if zone >= 0:
        plain += _unescaped(name[zone:], _OF_HOST, is_zone=True)
    try:
        address = parsed_address(_text(plain))
    except InputError as error:
        raise InputError(f"invalid host: {error}") from error
    if address.bits == 32:
        raise InputError("invalid IP-literal")
    return b"[" + plain + b"]" + port


def _unescaped(
    data: bytes,
    plain: frozenset[int],
    *,
    is_host: bool = False,
    is_zone: bool = False,
    space_by_plus: bool = False,
) -> bytes:
    made, place = bytearray(), 0
    while place < len(data):
        byte = data[place]
        if byte == ord("%"):
            match = _ESCAPE.match(data, place)
            if match is None:
                raise _bad_escape(data[place : place + 3])
            code = int(match[1], 16)
            is_bad = (is_host and code < 128 and code != ord("%")) or (
                is_zone and code not in (ord("%"), ord(" ")) and code not in plain
            )
            if is_bad:
                raise _bad_escape(match[0])
            made.append(code)
            place += 3
            continue
        if (is_host or is_zone) and byte < 128 and byte not in plain:
            raise InputError(f"invalid character {quoted(chr(byte))} in host name")
        made.append(ord(" ") if space_by_plus and byte == ord("+") else byte)
        place += 1
    return bytes(made)


def _bad_escape(data: bytes) -> InputError:
    return InputError(f"invalid URL escape {quoted(_text(data))}")


def _escaped(data: bytes, plain: frozenset[int]) -> bytes:
    return b"".join(bytes([byte]) if byte in plain else b"%%%02X" % byte for byte in data)


def _written(raw: bytes, decoded: bytes, plain: frozenset[int]) -> bytes:
    """Give a part as it was written, where that is sound; else as Go writes it."""
    if raw and all(byte in plain or byte in _PLAIN_ANYWHERE for byte in raw):
        return raw
    return _escaped(decoded, plain)


def escaped_path(url: Url) -> str:
    """Give the path as it is written."""
    if url.path == b"*" and not url.raw_path:
        return "*"
    return _given(_written(url.raw_path, url.path, _OF_PATH))


def _given(data: bytes) -> str:
    return data.decode(errors="replace")


def scheme_of(url: Url) -> str:
    """Give the scheme, in small letters."""
    return _given(url.scheme)


def host_of(url: Url) -> str:
    """Give the host and its port."""
    return _given(url.host)


def hostname_of(url: Url) -> str:
    """Give the host without its port and brackets."""
    name = _host_and_port(url)[0]
    return _given(name[1:-1] if name.startswith(b"[") and name.endswith(b"]") else name)


def port_of(url: Url) -> str:
    """Give the port, "" without one."""
    return _given(_host_and_port(url)[1])


def _host_and_port(url: Url) -> tuple[bytes, bytes]:
    name, colon, port = url.host.rpartition(b":")
    is_port = colon and _PORT.fullmatch(colon + port)
    return (name, port) if is_port else (url.host, b"")


def query_of(url: Url) -> dict[str, list[str]]:
    """Give the parameters by name; what makes no sense is left out."""
    found: dict[str, list[str]] = {}
    if url.query.count(b"&") >= _MAX_PARAMETERS:
        return found
    for pair in url.query.split(b"&"):
        if not pair or b";" in pair:
            continue
        name, _, value = pair.partition(b"=")
        try:
            key, given = (
                _given(_unescaped(part, frozenset(), space_by_plus=True)) for part in (name, value)
            )
        except InputError:
            continue
        found.setdefault(key, []).append(given)
    return found


def text_of(url: Url) -> bytes:
    """Give the URL as Go writes it, by which two are equal."""
    made = url.scheme + b":" if url.scheme else b""
    if url.opaque:
        made += url.opaque
    else:
        has_place = bool(url.host) or url.user is not None
        if has_place or (url.scheme and not url.omits_host and url.path):
            made += b"//"
        if url.user is not None:
            made += url.user + b"@"
        made += _escaped(url.host, _OF_HOST)
        path = escaped_path(url).encode()
        if not made and b":" in path.partition(b"/")[0]:
            made += b"./"
        made += path
    if url.forces_query or url.query:
        made += b"?" + url.query
    if url.fragment:
        made += b"#" + _written(url.raw_fragment, url.fragment, _OF_FRAGMENT)
    return made
