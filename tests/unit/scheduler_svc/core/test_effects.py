"""Effects name the Pod they are about."""

from scheduler_svc.core.effects import PodReference


def test_a_reference_reads_as_people_write_it() -> None:
    assert PodReference("shop", "web-0", "u-1").key == "shop/web-0"
