"""What the API server itself counts: an account of Bindings that is not the scheduler's."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from kubeio.client import KubeClient

REQUESTS = "apiserver_request_total"


async def count_accepted_bindings(client: KubeClient) -> int:
    """Count the Bindings that the API server has accepted since it was started."""
    response = await client.call("GET", "/metrics")
    return accepted_bindings(response.body.decode())


def accepted_bindings(exposition: str) -> int:
    """Count the Bindings of Pods that an exposition says were answered with 201."""
    # Tens of thousands of lines: only those of one metric are worth parsing.
    lines = "\n".join(line for line in exposition.splitlines() if line.startswith(REQUESTS))
    wanted = {"resource": "pods", "subresource": "binding", "verb": "POST", "code": "201"}
    return sum(
        int(sample.value)
        for family in text_string_to_metric_families(lines + "\n")
        for sample in family.samples
        if wanted.items() <= sample.labels.items()
    )
