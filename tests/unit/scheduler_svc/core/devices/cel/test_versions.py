"""Semantic versions: read and refused in upstream's words, and in order."""

import pytest

from scheduler_svc.core.devices.cel.versions import version, version_value
from scheduler_svc.core.errors import InputError
from tests.unit.scheduler_svc.core.devices.cel_asking import ask


@pytest.mark.parametrize(
    "expression",
    [
        'semver("1.2.3").major() == 1 && semver("1.2.3").minor() == 2',
        'semver("1.2.3").patch() == 3 && semver("1.2.3").isLessThan(semver("1.10.0"))',
        'semver("1.0.0").isGreaterThan(semver("1.0.0-rc.1"))',
        'semver("1.0.0-alpha.2").isLessThan(semver("1.0.0-alpha.10"))',
        'semver("1.0.0-2").isLessThan(semver("1.0.0-alpha"))',
        'semver("v01.02", true) == semver("1.2.0") && semver("1.00.3", true).minor() == 0',
        '!isSemver("01.0.0") && isSemver("v01.0.0", true) && !isSemver("1.0-rc", true)',
        'semver("18446744073709551615.0.0").major() == -1',
    ],
)
def test_what_is_so_of_versions(expression: str) -> None:
    assert ask(expression) is True


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "Version string empty"),
        ("1.0", "No Major.Minor.Patch elements found"),
        ("1.x.0", 'Invalid character(s) found in minor number "x"'),
        ("1.0.x", 'Invalid character(s) found in patch number "x"'),
        ("01.0.0", 'Major number must not contain leading zeroes "01"'),
        (".0.0", 'strconv.ParseUint: parsing "": invalid syntax'),
        (
            "1.0.18446744073709551616",
            'strconv.ParseUint: parsing "18446744073709551616": value out of range',
        ),
        ("1.0.0-", "Prerelease is empty"),
        ("1.0.0-a_b", 'Invalid character(s) found in prerelease "a_b"'),
        ("1.0.0-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.0.0+", "Build meta data is empty"),
        ("1.0.0+a_b", 'Invalid character(s) found in build meta data "a_b"'),
    ],
)
def test_what_is_no_version(text: str, fault: str) -> None:
    with pytest.raises(InputError) as found:
        version_value(text)
    assert str(found.value) == fault


def test_a_version_is_of_numbers_and_parts() -> None:
    assert version(version_value("1.2.3-7.a+b.c")) == (
        (1, 2, 3),
        False,
        ((False, 7, ""), (True, 0, "a")),
    )
