"""The controller's benchmark: what is read of a scrape, and its table."""

from benchmarks.controller import ControllerResult, ControllerRun, Start, add_up
from benchmarks.controller_report import controller_table
from benchmarks.machine import Quietness
from benchmarks.processes import Memory
from benchmarks.workloads import load_workloads

MIB = 2**20
SCRAPE = """\
# TYPE berthmaster_pod_groups gauge
berthmaster_pod_groups{phase="Pending"} 3.0
berthmaster_pod_groups{phase="Running"} 4.0
berthmaster_pod_group_members{state="running"} 40.0
berthmaster_controller_queue_depth 2.0
"""


def test_the_samples_of_a_metric_are_added_up_and_no_others() -> None:
    assert add_up(SCRAPE, "berthmaster_pod_groups") == 7
    assert add_up(SCRAPE, "berthmaster_controller_queue_depth") == 2
    assert add_up(SCRAPE, "berthmaster_scheduler_profiles") == 0


def start(seconds: float, written: int, peak_mebibytes: int) -> Start:
    return Start(
        known_seconds=seconds,
        cpu_seconds=2.0,
        write_count=written,
        changed_count=written,
        memory=Memory(90 * MIB, 80 * MIB, peak_mebibytes * MIB),
    )


def test_the_table_says_what_is_reached() -> None:
    run = ControllerRun(
        quietness=Quietness(load_average=0.1, busy_share=0.0),
        first=start(12.0, 1000, 151),
        again=start(4.5, 0, 120),
    )
    table = controller_table(ControllerResult(load_workloads().controller, (run,)))
    rows = {row[0]: row[1:] for row in table.rows}
    assert table.title == "Controller: 1,000 groups of 8 Pods"
    assert rows["first start: statuses written"] == ("1,000", "")
    assert rows["first start: resident, most, MiB"] == ("151.0", "≤ 150: missed")
    assert rows["restart: all groups judged after, s"] == ("4.5", "≤ 30: reached")
    assert rows["restart: groups that changed"] == ("0", "≤ 0: reached")
