"""Texts of the probes, as k8s.io/apiserver's healthz.go writes them."""

import pytest

from kubeio.health import Check, HealthChecks, Remark, Verdict


def saying(reason: str | None) -> Check:
    return lambda: reason


def checks(**reasons: str | None) -> HealthChecks:
    made = HealthChecks("readyz")
    for name, reason in reasons.items():
        made.add(name, saying(reason))
    return made


def test_all_well() -> None:
    made = checks(views=None)
    assert made.run_all() == Verdict(True, "ok")
    assert made.run_all(verbose=True) == Verdict(
        True, "[+]ping ok\n[+]views ok\nreadyz check passed\n"
    )


def test_remark_is_told_where_all_is_well() -> None:
    made = HealthChecks("readyz")
    made.add("views", lambda: Remark("counts as empty"))
    assert made.run_all() == Verdict(True, "ok")
    assert made.run_all(verbose=True) == Verdict(
        True, "[+]ping ok\n[+]views ok: counts as empty\nreadyz check passed\n"
    )
    assert made.run_one("views") == Verdict(True, "ok")


def test_failure_is_always_listed_and_the_reason_only_if_verbose() -> None:
    made = checks(views="pods not listed yet", lease=None)
    assert made.run_all() == Verdict(
        False, "[+]ping ok\n[-]views failed: reason withheld\n[+]lease ok\nreadyz check failed\n"
    )
    assert made.run_all(verbose=True) == Verdict(
        False,
        "[+]ping ok\n[-]views failed: pods not listed yet\n[+]lease ok\nreadyz check failed\n",
    )


def test_excluded_check_is_not_run() -> None:
    def explode() -> str | None:
        raise AssertionError

    made = HealthChecks("livez")
    made.add("bomb", explode)
    assert made.run_all(excluded=["bomb"]) == Verdict(True, "ok")
    assert made.run_all(excluded=["bomb"], verbose=True) == Verdict(
        True, "[+]ping ok\n[+]bomb excluded: ok\nlivez check passed\n"
    )


def test_exclusion_of_what_is_not_there_is_warned_of() -> None:
    verdict = checks().run_all(verbose=True, excluded=["b", "a"])
    assert verdict.text == (
        "[+]ping ok\n"
        'warn: some health checks cannot be excluded: no matches for "a", "b"\n'
        "readyz check passed\n"
    )


def test_one_check() -> None:
    made = checks(views="late", lease=None)
    assert made.run_one("lease") == Verdict(True, "ok")
    assert made.run_one("views") == Verdict(False, "internal server error: late\n")
    assert made.run_one("other") is None


def test_name_can_be_taken_once() -> None:
    with pytest.raises(ValueError, match="/readyz has a check named ping"):
        checks().add("ping", lambda: None)
