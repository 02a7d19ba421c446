"""Addresses: read as Go reads them, refused in its words."""

import pytest

from scheduler_svc.core.devices.cel.addresses import (
    cidr_value,
    contains_cidr,
    contains_ip,
    ip_value,
    is_canonical,
    is_global_unicast,
    is_link_local_multicast,
    is_link_local_unicast,
    is_loopback,
    is_unspecified,
    masked,
    parsed_address,
)
from scheduler_svc.core.errors import InputError


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("::", "::"),
        ("1::", "1::"),
        ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("1:0:2:0:3:0:4:0", "1:0:2:0:3:0:4:0"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ("::1.2.3.4", "::102:304"),
    ],
)
def test_addresses_are_written_in_one_way(text: str, canonical: str) -> None:
    assert ip_value(text)[2:].decode() == canonical
    assert is_canonical(text) == (text == canonical)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("256.2.3.4", "IPv4 field has value >255"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.x", 'unexpected character (at "x")'),
        ("1.2.3", "IPv4 address too short"),
        ("::1%", "zone must be a non-empty string"),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2", "address string too short"),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
        ("1x", "unable to parse IP"),
        ("1::x", 'each colon-separated field must have at least one digit (at "x")'),
        ("::1x", 'unexpected character, want colon (at "x")'),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        (
            "1:1.2.3.4",
            'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")',
        ),
        (
            "::1:2:3:4:5:6:7:1.2.3.4",
            'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
        ),
    ],
)
def test_what_is_no_address(text: str, fault: str) -> None:
    with pytest.raises(InputError) as found:
        parsed_address(text)
    assert str(found.value) == f'ParseAddr("{text}"): {fault}'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("fe80::1%eth0", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("::ffff:1.2.3.4", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    ],
)
def test_addresses_that_kubernetes_does_not_take(text: str, fault: str) -> None:
    with pytest.raises(InputError) as found:
        ip_value(text)
    assert str(found.value) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1.2.3.4", "no '/'"),
        ("1.2.3/8", 'ParseAddr("1.2.3"): IPv4 address too short'),
        ("fe80::1%e/8", "IPv6 zones cannot be present in a prefix"),
        ("1.2.3.4/08", 'bad bits after slash: "08"'),
        ("1.2.3.4/33", "prefix length out of range"),
    ],
)
def test_what_is_no_network(text: str, fault: str) -> None:
    said = "network address parse error during conversion from string: "
    with pytest.raises(InputError) as found:
        cidr_value(text)
    assert str(found.value) == f'{said}{said}netip.ParsePrefix("{text}"): {fault}'


def test_a_network_of_a_mapped_address_is_refused() -> None:
    with pytest.raises(InputError, match="IPv4-mapped IPv6 address"):
        cidr_value("::ffff:1.2.3.4/120")


def test_networks_contain_what_begins_as_they_do() -> None:
    network = cidr_value("10.1.2.3/16")
    assert masked(network) == cidr_value("10.1.0.0/16")
    assert contains_ip(network, "10.1.255.255")
    assert not contains_ip(network, "10.2.0.0")
    assert not contains_ip(network, "::1")
    assert contains_cidr(network, cidr_value("10.1.0.0/24"))
    assert not contains_cidr(network, "10.0.0.0/8")
    assert not contains_cidr(network, "::/0")
    with pytest.raises(InputError, match="no such overload"):
        contains_ip(network, "x")


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("0.0.0.0", (True, False, False, False, False)),  # noqa: S104 - no socket
        ("127.9.9.9", (False, True, False, False, False)),
        ("224.0.0.9", (False, False, True, False, False)),
        ("224.0.1.1", (False, False, False, False, False)),
        ("169.254.0.1", (False, False, False, True, False)),
        ("10.0.0.1", (False, False, False, False, True)),
        ("::", (True, False, False, False, False)),
        ("::1", (False, True, False, False, False)),
        ("ff12::1", (False, False, True, False, False)),
        ("febf::1", (False, False, False, True, False)),
        ("fec0::1", (False, False, False, False, True)),
    ],
)
def test_what_an_address_is_for(text: str, answers: tuple[bool, ...]) -> None:
    address = parsed_address(text)
    assert answers == (
        is_unspecified(address),
        is_loopback(address),
        is_link_local_multicast(address),
        is_link_local_unicast(address),
        is_global_unicast(address),
    )
