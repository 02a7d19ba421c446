"""The configured extenders: their order, what the core knows of them, their TLS."""

import ssl
from pathlib import Path

import pytest
from msgspec import structs

from kubeio.daemon import UsageError
from scheduler_svc.core.extenders import Extender as CoreExtender
from scheduler_svc.shell.config import default_configuration
from scheduler_svc.shell.config.schema import (
    Extender,
    ExtenderManagedResource,
    ExtenderTlsConfig,
)
from scheduler_svc.shell.extenders.plan import core_extenders, plan_extenders
from scheduler_svc.shell.extenders.tls import ExtenderTlsError, make_context
from tests.extender_server import write_certificate


def test_those_that_may_be_ignored_are_asked_last() -> None:
    extenders = (
        Extender(url_prefix="http://a", filter_verb="f", ignorable=True),
        Extender(
            url_prefix="http://me:secret@b/x",
            prioritize_verb="p",
            managed_resources=(ExtenderManagedResource("example.com/a"),),
        ),
        Extender(url_prefix="http://c", preempt_verb="e", bind_verb="b"),
    )
    configuration = structs.replace(default_configuration(), extenders=extenders)
    plan = plan_extenders(configuration)
    assert [extender.url for extender in plan] == ["http://b/x", "http://c", "http://a"]
    assert [extender.core for extender in plan] == [
        CoreExtender(0, prioritizes=True, managed_resources=frozenset({"example.com/a"})),
        CoreExtender(1, preempts=True, binds=True),
        CoreExtender(2, filters=True, is_ignorable=True),
    ]
    assert [extender.needs_nodes for extender in plan] == [True, False, True]


@pytest.mark.parametrize(("own", "expected"), [(None, 3000), (50, 2500), (0, 500)])
def test_a_profiles_percentage_of_nodes_comes_before_that_of_all(
    own: int | None, expected: int
) -> None:
    configuration = default_configuration()
    [profile] = configuration.profiles
    configuration = structs.replace(
        configuration,
        percentage_of_nodes_to_score=60,
        profiles=(structs.replace(profile, percentage_of_nodes_to_score=own),),
    )
    extenders = core_extenders((), configuration)
    assert extenders.wanted_count(profile.scheduler_name, 5000) == expected


def test_a_client_certificate_may_come_as_data_and_leaves_no_file_open(tmp_path: Path) -> None:
    pem = write_certificate(tmp_path).read_bytes()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for config in (
        ExtenderTlsConfig(cert_data=pem, key_data=pem, ca_data=pem),
        ExtenderTlsConfig(cert_file=str(tmp_path / "127.0.0.1.pem"), key_data=pem),
    ):
        context = make_context(Extender(tls_config=config))
        assert context.verify_mode is ssl.CERT_REQUIRED
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_certificate_without_its_key_is_none(tmp_path: Path) -> None:
    config = ExtenderTlsConfig(cert_file=str(tmp_path / "not there"))
    assert make_context(Extender(tls_config=config)).verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (ExtenderTlsConfig(insecure=True, ca_data=b"x"), "insecure flag is not allowed"),
        (ExtenderTlsConfig(ca_data=b"x"), "caData: no PEM certificates"),
        (ExtenderTlsConfig(ca_file="/not/there"), "caFile /not/there: no PEM certificates"),
        (ExtenderTlsConfig(cert_data=b"x", key_data=b"x"), "not a PEM client certificate"),
    ],
)
def test_tls_that_cannot_be_used_is_told_at_the_start(config: ExtenderTlsConfig, text: str) -> None:
    extenders = (Extender(), Extender(tls_config=config))
    with pytest.raises(ExtenderTlsError, match=text):
        make_context(extenders[1])
    configuration = structs.replace(default_configuration(), extenders=extenders, path="f.yaml")
    with pytest.raises(UsageError, match=rf"f.yaml: extenders\[1\].tlsConfig: .*{text}"):
        plan_extenders(configuration)
