"""Named formats: what texts lack of them, in Kubernetes' words."""

import pytest

from scheduler_svc.core.devices.cel.formats import KIND, faults, named


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dns1123Label", "a-1"),
        ("dns1123LabelPrefix", "ab-"),
        ("dns1123Subdomain", "a.b-c"),
        ("dns1035Label", "a1"),
        ("qualifiedName", "a.b/C_d"),
        ("labelValue", ""),
        ("uri", "/x"),
        ("uuid", "12345678123412341234123456789ABC"),
        ("byte", "YWI="),
        ("date", "2024-02-29"),
        ("date", "2000-02-29"),
        ("datetime", "2024-02-29t23:59:59.1+01:00"),
    ],
)
def test_what_a_format_takes(name: str, text: str) -> None:
    assert faults(KIND + name.encode(), text) == []


@pytest.mark.parametrize(
    ("name", "text", "starts"),
    [
        ("dns1123Label", "a.b", ["must not contain dots"]),
        ("dns1123Label", "a" * 64, ["must be no more than 63 characters"]),
        ("dns1123Label", "A", ["a lowercase RFC 1123 label must consist of lower case"]),
        ("dns1123LabelPrefix", "-", ["a lowercase RFC 1123 label must consist of lower case"]),
        ("dns1123Subdomain", "A", ["a lowercase RFC 1123 subdomain must consist of"]),
        ("dns1035Label", "1", ["a DNS-1035 label must consist of lower case"]),
        ("labelValue", "-" * 64, ["must be no more than 63 bytes", "a valid label must be"]),
        ("qualifiedName", "a/b/c", ["a valid label key must consist of alphanumeric"]),
        ("qualifiedName", "/", ["prefix part must be non-empty", "name part must be", "name part"]),
        ("qualifiedName", "A/b", ["prefix part a lowercase RFC 1123 subdomain"]),
        ("uri", "x", ['parse "x": invalid URI for request']),
        ("uuid", "x", ["does not match the UUID format"]),
        ("byte", "x", ["invalid base64"]),
        ("date", "2023-02-29", ["invalid date"]),
        ("date", "2024-13-01", ["invalid date"]),
        ("date", "1900-02-29", ["invalid date"]),
        ("datetime", "2024-02-29", ["invalid datetime"]),
        ("datetime", "2023-02-29T00:00:00Z", ["invalid datetime"]),
        ("datetime", "2024-02-29T24:00:00Z", ["invalid datetime"]),
    ],
)
def test_what_a_text_lacks(name: str, text: str, starts: list[str]) -> None:
    found = faults(KIND + name.encode(), text)
    assert len(found) == len(starts)
    assert all(fault.startswith(start) for fault, start in zip(found, starts, strict=True))


def test_formats_are_found_by_name() -> None:
    assert named("uuid") == [KIND + b"uuid"]
    assert named("email") == []
