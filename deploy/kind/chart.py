"""Berthmaster in the cluster: installed and brought up to date from its chart by helm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deploy.programs.private_files import STATE_ROOT

CHART = STATE_ROOT.parent / "charts" / "berthmaster"
RELEASE = "berthmaster"
NAMESPACE = "berthmaster"
TIMEOUT_SECONDS = 180
# On the Pods, so that another image under the same name rolls them.
_ANNOTATION = "image-id"


def install_arguments(image: str, image_id: str, values: Sequence[Path]) -> list[str]:
    """Give helm's arguments to install the chart, or to bring it up to date.

    Parameters
    ----------
    image
        Berthmaster's image, as ``repository:tag``.
    image_id
        What the engine calls it, e.g. ``sha256:…``.
    values
        Files of further values; later ones win.
    """
    repository, _, tag = image.rpartition(":")
    settings = {
        "image.repository": repository,
        "image.tag": tag,
        "image.pullPolicy": "IfNotPresent",
        f"scheduler.podAnnotations.{_ANNOTATION}": image_id,
        f"controller.podAnnotations.{_ANNOTATION}": image_id,
        f"agent.podAnnotations.{_ANNOTATION}": image_id,
    }
    return [
        *("upgrade", "--install", RELEASE, str(CHART)),
        *("--namespace", NAMESPACE, "--create-namespace"),
        *(text for item in settings.items() for text in ("--set-string", "=".join(item))),
        *(text for path in values for text in ("--values", str(path))),
        *("--wait", "--timeout", f"{TIMEOUT_SECONDS}s"),
    ]
