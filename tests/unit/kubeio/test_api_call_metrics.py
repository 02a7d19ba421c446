from kubeio.api_call_metrics import ApiCallMetrics
from tests.unit.scheduler_svc.shell.registry import Samples

HOST = "10.0.0.1:6443"


async def test_calls_count_by_what_was_asked_and_answered() -> None:
    metrics = ApiCallMetrics(HOST)
    sample = Samples(metrics.collect)
    metrics.observe("POST", "pods/binding", "201", 0.0015)
    metrics.observe("POST", "pods/binding", "201", 0.0025)
    metrics.observe("POST", "pods/binding", "<error>", 30.0)
    labels = {"verb": "POST", "resource": "pods/binding"}
    assert sample("berthmaster_api_calls_total", code="201", **labels) == 2
    assert sample("berthmaster_api_calls_total", code="<error>", **labels) == 1
    assert sample("berthmaster_api_call_seconds_bucket", le="0.002", **labels) == 1
    assert sample("berthmaster_api_call_seconds_count", **labels) == 3


async def test_client_gos_metrics_add_up_over_resources() -> None:
    metrics = ApiCallMetrics(HOST)
    sample = Samples(metrics.collect)
    metrics.observe("POST", "pods/binding", "201", 0.004)
    metrics.observe("POST", "events", "201", 0.006)
    metrics.observe("GET", "pods", "200", 0.3)
    requests = "rest_client_requests_total"
    assert sample(requests, code="201", host=HOST, method="POST") == 2
    seconds = "rest_client_request_duration_seconds"
    assert sample(f"{seconds}_bucket", host=HOST, verb="POST", le="0.005") == 1
    assert sample(f"{seconds}_count", host=HOST, verb="POST") == 2
    assert sample(f"{seconds}_count", host=HOST, verb="GET") == 1


async def test_watch_is_a_get_to_client_go_and_no_latency() -> None:
    metrics = ApiCallMetrics(HOST)
    sample = Samples(metrics.collect)
    metrics.observe("WATCH", "pods", "200", 0.002)
    assert sample("rest_client_requests_total", code="200", host=HOST, method="GET") == 1
    assert sample("rest_client_request_duration_seconds_count", host=HOST, verb="GET") is None
    labels = {"verb": "WATCH", "resource": "pods"}
    assert sample("berthmaster_api_call_seconds_count", **labels) == 1
