"""URLs: taken apart and refused as Go does."""

import pytest

from scheduler_svc.core.devices.cel import urls
from scheduler_svc.core.errors import InputError


def parsed(text: str) -> urls.Url:
    return urls.parsed(urls.url_value(text))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("HTTP://Host:80/a%2fb?q#f", ("http", "Host:80", "Host", "80", "/a%2fb")),
        ("http://[fe80::1%25eth%200]:8/", ("http", "[fe80::1%eth 0]:8", "fe80::1%eth 0", "8", "/")),
        ("http://u:p@h/a b", ("http", "h", "h", "", "/a%20b")),
        ("mailto:x@y", ("mailto", "", "", "", "")),
        ("/only/a path", ("", "", "", "", "/only/a%20path")),
        ("*", ("", "", "", "", "*")),
        ("http://h%C3%A9/[x]", ("http", "hé", "hé", "", "/[x]")),
        ("pg://a:1,b:2/x", ("pg", "a:1,b:2", "a:1,b", "2", "/x")),
        ("///x", ("", "", "", "", "///x")),
        ("//h/p", ("", "h", "h", "", "/p")),
    ],
)
def test_a_url_has_parts(text: str, parts: tuple[str, ...]) -> None:
    url = parsed(text)
    assert parts == (
        urls.scheme_of(url),
        urls.host_of(url),
        urls.hostname_of(url),
        urls.port_of(url),
        urls.escaped_path(url),
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty url"),
        ("a/b", "invalid URI for request"),
        (":x", "missing protocol scheme"),
        ("http://h/\x7f", "net/url: invalid control character in URL"),
        ("http://h/%zz", 'invalid URL escape "%zz"'),
        ("http://h%41/", 'invalid URL escape "%41"'),
        ("http://a|b/", 'invalid character "|" in host name'),
        ("http://h:x/", 'invalid port ":x" after host'),
        ("http://h:1:2/", 'invalid port ":1:2" after host'),
        ("http://a[::1]/", "invalid IP-literal"),
        ("http://[1.2.3.4]/", "invalid IP-literal"),
        ("http://[::1/", "missing ']' in host"),
        ("http://[x]/", 'invalid host: ParseAddr("x"): unable to parse IP'),
        ("http://[::1%25%41|]/", 'invalid character "|" in host name'),
        ("http://[::1%25%7c]/", 'invalid URL escape "%7c"'),
        ("http://u|@h/", "net/url: invalid userinfo"),
    ],
)
def test_what_is_no_url(text: str, fault: str) -> None:
    with pytest.raises(InputError) as found:
        urls.url_value(text)
    assert str(found.value).startswith("URL parse error during conversion from string: parse ")
    assert str(found.value).endswith(f": {fault}")


def test_a_fragment_is_looked_at_last() -> None:
    with pytest.raises(InputError, match=r'parse "/\?q#%zz": invalid URL escape "%zz"'):
        urls.url_value("/?q#%zz")
    with pytest.raises(InputError, match="first path segment in URL cannot contain colon"):
        urls.parsed(urls.KIND + b"a_b:c/#x")
    assert urls.parsed(urls.KIND + b"a_b/c").path == b"a_b/c"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("HTTP://h", "http://h"),
        ("http://u%20v:p@h/a b?#", "http://u%20v:p@h/a%20b?"),
        ("http:/p", "http:/p"),
        ("http:///p", "http:///p"),
        ("http://", "http:"),
        ("data:,x", "data:,x"),
        ("/a?b=c#d e", "/a?b=c#d%20e"),
        ("/a#%2f", "/a#%2f"),
        ("//u@/x", "//u@/x"),
    ],
)
def test_equal_urls_are_written_alike(text: str, written: str) -> None:
    assert urls.text_of(parsed(text)).decode() == written


def test_a_path_is_kept_from_being_a_scheme() -> None:
    assert urls.text_of(urls.Url(path=b"a:b")) == b"./a:b"


def test_parameters_are_given_by_name() -> None:
    url = parsed("http://h?a=1&a=2+3&%62=%zz&c;d=1&&e")
    assert urls.query_of(url) == {"a": ["1", "2 3"], "e": [""]}
    assert urls.query_of(parsed("/x?" + "&" * 10000)) == {}
