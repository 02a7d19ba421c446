"""What the schedulers are told of an extender is the same for both."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.berthmaster_process import Berthmaster
from benchmarks.contestants import with_extender
from benchmarks.kube_scheduler import KubeScheduler
from benchmarks.scheduler_process import Contestant

ENTRY = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter"}


class Plane:
    """What a contestant asks of a control plane."""

    def __init__(self, folder: Path) -> None:
        self.kubeconfig_path = folder / "kubeconfig"
        self.directory = self
        self.component_kubeconfigs = folder

    def find_binaries(self, names: list[str]) -> Any:
        self.path = Path("program")
        return dict.fromkeys(names, self)


def configuration(contestant: Contestant, folder: Path) -> Any:
    """Give the configuration that a contestant's command line names; None without one."""
    plane: Any = Plane(folder)
    command = "\n".join(map(str, contestant.command(plane)))
    if "--config" not in command:
        return None
    path = command.replace("--config=", "--config\n").partition("--config\n")[2].split("\n")[0]
    return yaml.safe_load(Path(path).read_text())


@pytest.mark.parametrize("contestant", [KubeScheduler(), Berthmaster()])
def test_an_extender_is_in_the_configuration(contestant: Contestant, tmp_path: Path) -> None:
    told = configuration(with_extender(contestant, ENTRY), tmp_path)
    assert told["kind"] == "KubeSchedulerConfiguration"
    assert told["extenders"] == [ENTRY]


def test_without_an_extender_there_is_none(tmp_path: Path) -> None:
    assert configuration(Berthmaster(), tmp_path) is None
    assert configuration(KubeScheduler(), tmp_path)["extenders"] == []
