"""Further releases of the chart beside the one that all tests share."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from deploy.image.build import DEFAULT_TAG
from deploy.kind.chart import CHART
from tests.kind.cluster import KindCluster

INSTALL_SECONDS = 120


@contextmanager
def second_release(cluster: KindCluster, prefix: str = "second") -> Iterator[str]:
    """Give the name of a release, and of its namespace; neither is there afterwards."""
    name = f"{prefix}-{secrets.token_hex(2)}"
    try:
        yield name
    finally:
        cluster.helm("uninstall", name, f"--namespace={name}", "--ignore-not-found", "--wait")
        cluster.kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")


def install(cluster: KindCluster, release: str, *settings: str) -> str:
    """Install a release and wait until it is ready; give what helm says."""
    repository, _, tag = DEFAULT_TAG.partition(":")
    return cluster.helm(
        *("install", release, str(CHART), f"--namespace={release}", "--create-namespace"),
        *("--set", f"image.repository={repository},image.tag={tag}"),
        # The first release has the cluster's controller, and follows its profiles.
        *("--set", "controller.enabled=false,schedulerProfiles.enabled=false"),
        *(text for setting in settings for text in ("--set", setting)),
        *("--wait", f"--timeout={INSTALL_SECONDS}s"),
    )
