"""Options: what cannot be is told in one line, and what is secret is never shown."""

import msgspec
import pytest

from kubeio.daemon import UsageError
from node_agent.shell.options import AgentOptions, read_headers

SECRET = "Bearer secret"


def make(**fields: object) -> AgentOptions:
    """Give options that are right but for `fields`."""
    return msgspec.structs.replace(AgentOptions(version="1.2.3", node_name="worker-1"), **fields)


def refusal(options: AgentOptions) -> str:
    """Give what options are refused with."""
    with pytest.raises(UsageError) as caught:
        options.check()
    return str(caught.value)


@pytest.mark.parametrize("name", ["a", "worker-1", "10.0.0.1", "ip-10-0-0-1.eu.internal"])
def test_nodes_have_such_names(name: str) -> None:
    make(node_name=name).check()


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("", "a name is needed"),
        ("Worker", "'Worker' is no Node's name"),
        ("a,spec.nodeName!=a", "'a,spec.nodeName!=a' is no Node's name"),
        ("-a", "'-a' is no Node's name"),
        (254 * "a", f"'{254 * 'a'}' is no Node's name"),
    ],
)
def test_what_is_no_nodes_name_is_refused(name: str, given: str) -> None:
    assert refusal(make(node_name=name)) == (
        f"--node-name: {given}; in a Pod, set NODE_NAME from the field spec.nodeName"
    )


@pytest.mark.parametrize(
    "url", ["http://host", "https://user:pw@host:8443/pods?x=1", "http://[::1]:80/pods"]
)
def test_urls_are_http(url: str) -> None:
    make(static_pod_url=url).check()


@pytest.mark.parametrize(
    "url", ["host/pods", "ftp://host", "http://", "http://host:0", "http://host:99999", "http://["]
)
def test_other_urls_are_refused(url: str) -> None:
    assert refusal(make(static_pod_url=url)) == (
        "--static-pod-url: a URL that begins with http:// or https:// is needed"
    )


def test_headers_need_a_url() -> None:
    options = make(static_pod_url_headers={"A": ("1",)})
    assert refusal(options) == "--static-pod-url-header needs --static-pod-url"


def test_headers_are_read() -> None:
    assert read_headers(["Authorization: Bearer x", "X-Two:1", "X-Two: 2:3", "Empty:"]) == {
        "Authorization": ("Bearer x",),
        "X-Two": ("1", "2:3"),
        "Empty": ("",),
    }


@pytest.mark.parametrize(
    "text", ["secret", ": secret", "A B: secret", "A: secret\r\nB: c", "Ä: secret"]
)
def test_a_bad_header_is_refused_without_its_value(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_headers([text])
    assert str(caught.value) == "--static-pod-url-header: a header is written as 'NAME: VALUE'"


def test_what_is_in_effect_is_shown_without_secrets() -> None:
    options = make(
        static_pod_path="/etc/kubernetes/manifests",
        static_pod_url="https://user:secret@host/pods?token=secret",
        static_pod_url_headers={"Authorization": (SECRET,)},
        file_check_seconds=1.5,
    )
    shown = options.configz()["agent"]
    assert shown["version"] == "1.2.3"
    assert shown["nodeName"] == "worker-1"
    assert shown["staticPodPath"] == "/etc/kubernetes/manifests"
    assert shown["staticPodURL"] == "https://host/pods"
    assert shown["staticPodURLHeader"] == {"Authorization": ["--- masked ---"]}
    assert shown["fileCheckFrequency"] == "1.5s"
    assert shown["httpCheckFrequency"] == "20s"
    assert b"secret" not in msgspec.json.encode(shown)


def test_the_api_server_sees_who_asks() -> None:
    assert make().user_agent.startswith("berthmaster/1.2.3 (")
    assert make().user_agent.endswith(") agent")
