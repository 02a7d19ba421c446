"""What helm makes of the chart: as recorded, without complaint, and as the values' page says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from berthmaster import __version__
from tests.chart.rendering import (
    CHART,
    GOLDEN,
    VALUES_PAGE,
    VARIANTS,
    Helm,
    HelmError,
    find,
    golden_text,
    values_of,
    values_page,
)

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("variant", VARIANTS)
def test_renders_as_recorded(helm: Helm, variant: str) -> None:
    """`python -m tests.chart` records anew."""
    assert golden_text(helm, variant) == (GOLDEN / f"{variant}.yaml").read_text()


@pytest.mark.parametrize("variant", VARIANTS)
def test_lint_has_no_complaint(helm: Helm, variant: str) -> None:
    helm.run("lint", "--strict", str(CHART), f"--values={values_of(variant)}")


def test_nothing_is_recorded_that_is_not_rendered() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(VARIANTS)


def test_values_page_is_up_to_date(helm_docs: Path) -> None:
    """`python -m tests.chart` writes it anew."""
    assert values_page(helm_docs) == VALUES_PAGE.read_text()


def test_suites_of_helm_unittest_pass(untt: Path) -> None:
    files = [path.relative_to(CHART) for path in (CHART / "unittests").rglob("*_test.yaml")]
    assert files
    done = subprocess.run(
        [str(untt), "--strict", *(f"--file={path}" for path in files), str(CHART)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__


def test_package_has_neither_tests_nor_what_they_need(helm: Helm, tmp_path: Path) -> None:
    helm.run("package", str(CHART), f"--destination={tmp_path}")
    [package] = tmp_path.iterdir()
    names = subprocess.run(
        ["tar", "-tf", str(package)],  # noqa: S607 - whichever tar there is
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    folders = {name.split("/")[1] for name in names if name.count("/") > 1}
    assert folders == {"templates", "crds", "dashboards", "rules"}


def test_change_of_configuration_rolls_the_pods(helm: Helm) -> None:
    def checksum(*arguments: str) -> str:
        deployment = find(helm.documents(*arguments), "Deployment", component="scheduler")
        text: str = deployment["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        return text

    assert checksum() == checksum("--set=scheduler.replicas=3")
    assert checksum() != checksum("--set=scheduler.config.podMaxBackoffSeconds=5")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set=scheduler.config.leaderElection.leaderElect=false"], "scheduler.replicas"),
        (["--set=certManager.enabled=true"], "certManager.issuerRef.name: name an issuer"),
        (
            [
                "--set=scheduler.plugins.existingConfigMap=ours",
                "--set-string=scheduler.plugins.files.a\\.py=x",
            ],
            "give files or existingConfigMap, not both",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(helm: Helm, arguments: list[str], message: str) -> None:
    with pytest.raises(HelmError, match=message):
        helm.template(*arguments)
