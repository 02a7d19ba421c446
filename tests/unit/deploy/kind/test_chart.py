"""What helm is asked for."""

from __future__ import annotations

from pathlib import Path

from deploy.kind.chart import CHART, install_arguments


def test_the_very_image_is_installed_under_the_release_of_before() -> None:
    values = [Path("first.yaml"), Path("second.yaml")]
    arguments = install_arguments("host:5000/berthmaster:dev", "sha256:12", values)
    assert arguments[:4] == ["upgrade", "--install", "berthmaster", str(CHART)]
    assert (CHART / "Chart.yaml").is_file()
    settings = {text for text in arguments if "=" in text and not text.startswith("-")}
    assert settings == {
        "image.repository=host:5000/berthmaster",
        "image.tag=dev",
        "image.pullPolicy=IfNotPresent",
        # Another image of the same name rolls the Pods.
        "scheduler.podAnnotations.image-id=sha256:12",
        "controller.podAnnotations.image-id=sha256:12",
        "agent.podAnnotations.image-id=sha256:12",
    }
    assert arguments.index("first.yaml") < arguments.index("second.yaml")
    assert "--wait" in arguments
