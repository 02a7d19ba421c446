"""DefaultBinder: every Pod is bound by a Binding."""

from scheduler_svc.core.plugins.default_binder import DefaultBinder
from scheduler_svc.core.status import SUCCESS
from tests.builders import make_pod_info


def test_every_pod_is_taken() -> None:
    assert DefaultBinder().bind(make_pod_info(), "n") == SUCCESS
