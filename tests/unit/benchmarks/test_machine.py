import pytest

from benchmarks.machine import (
    MachineCpu,
    Quietness,
    describe_machine,
    describe_quietness,
    look_around,
    others_share,
    read_machine_cpu,
)


def test_a_quiet_machine_gives_no_warning() -> None:
    assert Quietness(load_average=3.0, busy_share=0.1).warning == ""


def test_a_busy_machine_gives_a_warning_with_its_load() -> None:
    warning = Quietness(load_average=3.0, busy_share=0.25).warning
    assert "25%" in warning
    assert "load average 3.00" in warning


def test_looking_around_tells_what_others_use(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([MachineCpu(100, 1000), MachineCpu(150, 1200)])
    monkeypatch.setattr("benchmarks.machine.read_machine_cpu", lambda: next(readings))
    monkeypatch.setattr("benchmarks.machine.time.sleep", lambda _: None)
    told: list[str] = []
    assert look_around(told.append).busy_share == 0.25
    assert len(told) == 1


def test_what_we_used_is_not_others() -> None:
    before, after = MachineCpu(100, 1000), MachineCpu(150, 1200)
    assert others_share(before, after, 40) == 0.05
    assert others_share(before, after, 50.1) == 0


def test_the_machine_has_done_something_since_boot() -> None:
    cpu = read_machine_cpu()
    assert 0 < cpu.busy_seconds <= cpu.all_seconds


def test_no_runs_have_no_quietness() -> None:
    assert describe_quietness([]) == "nothing was run"


def test_the_machine_is_described() -> None:
    machine = describe_machine()
    assert machine.used_cores
    assert machine.memory_bytes > 2**20
    assert machine.libraries["numpy"]
