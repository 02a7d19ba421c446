"""Which wheels are fetched for the image's Python, whatever Python fetches them."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.image import wheelhouse
from deploy.image.base import PythonTarget
from deploy.image.wheelhouse import STAMP, fetch_wheels, pip_download, platform_tags
from deploy.programs.errors import DeployError
from deploy.programs.reporting import SilentReporter

LOCKS = Path(__file__).parents[4] / "locks"
# As uv writes them.
LOCK = """\
certifi==2026.10.19 \\
    --hash=sha256:aaaa \\
    --hash=sha256:bbbb
    # via
    #   aiohttp
cffi==2.1.1 ; platform_python_implementation != 'PyPy' \\
    --hash=sha256:cccc
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:dddd
numpy==2.5.5 ; python_full_version >= '3.12' \\
    --hash=sha256:eeee
"""


def target(version: str = "3.13.5", machine: str = "x86_64") -> PythonTarget:
    markers = {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "python_full_version": version,
        "python_version": ".".join(version.split(".")[:2]),
        "sys_platform": "linux",
    }
    return PythonTarget(markers, ("glibc", "2.41"))


@pytest.mark.parametrize(
    ("version", "numpy"),
    [
        ("3.13.5", "numpy==2.5.5 --hash=sha256:eeee\n"),
        ("3.11.7", "numpy==2.4.6 --hash=sha256:dddd\n"),
    ],
)
def test_conditions_are_judged_for_the_target(version: str, numpy: str) -> None:
    assert list(wheelhouse.requirements_for(LOCK, target(version), name="run.txt")) == [
        "certifi==2026.10.19 --hash=sha256:aaaa --hash=sha256:bbbb\n",
        "cffi==2.1.1 --hash=sha256:cccc\n",
        numpy,
    ]


@pytest.mark.parametrize("name", ["run.txt", "build.txt"])
def test_the_project_s_locks_can_be_read(name: str) -> None:
    wanted = list(wheelhouse.requirements_for((LOCKS / name).read_text(), target(), name=name))
    names = [line.partition("==")[0] for line in wanted]
    assert len(set(names)) == len(names) > 0
    assert all("==" in line and "--hash=sha256:" in line for line in wanted)


def test_what_is_no_lock_is_refused() -> None:
    with pytest.raises(DeployError, match=r"^run\.txt: '-r other\.txt'"):
        list(wheelhouse.requirements_for("-r other.txt\n", target(), name="run.txt"))


def test_platforms_are_those_of_the_c_library_and_older() -> None:
    tags = platform_tags(target(machine="aarch64"))
    assert tags[0] == "manylinux_2_41_aarch64"
    assert "manylinux_2_17_aarch64" in tags
    assert "manylinux2014_aarch64" in tags
    assert not any("x86" in tag for tag in tags)


def test_another_c_library_is_refused() -> None:
    musl = PythonTarget(target().markers, ("", ""))
    with pytest.raises(DeployError, match="not glibc"):
        platform_tags(musl)


def test_pip_is_asked_for_another_python_s_wheels() -> None:
    command = [str(word) for word in pip_download(Path("/r.txt"), target(), Path("/d"))]
    text = " ".join(command)
    assert "--python-version 3.13 --implementation cp --abi cp313 --abi abi3 --abi none" in text
    assert "--platform manylinux_2_28_x86_64" in text
    assert text.endswith("--require-hashes --requirement /r.txt --dest /d")
    assert command[1:4] == ["-m", "pip", "download"]


class FakePip:
    """Stands for `pip download`: writes a wheel for each line, or fails."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls, self.fails = 0, False
        self.locks = [directory / "run.txt", directory / "build.txt"]
        for lock in self.locks:
            lock.write_text(LOCK)
        self.wheels, self._log = directory / "image" / "wheels", directory / "log"
        monkeypatch.setattr(wheelhouse, "pip_download", self._download)

    def _download(
        self, requirements: Path, target: PythonTarget, directory: Path
    ) -> list[str | Path]:
        del target
        self.calls += 1
        write = f"mkdir -p {directory}; touch {directory}/{requirements.stem}.whl"
        return ["sh", "-c", f"{write}; exit {int(self.fails)}"]

    def fetch(self, python: PythonTarget) -> None:
        fetch_wheels(self.locks, python, self.wheels, log=self._log, reporter=SilentReporter())


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePip:
    return FakePip(tmp_path, monkeypatch)


def test_wheels_are_fetched_once(pip: FakePip) -> None:
    pip.fetch(target())
    assert {path.name for path in pip.wheels.iterdir()} == {"0.whl", "1.whl", STAMP}
    pip.fetch(target())
    assert pip.calls == len(pip.locks)
    assert [path.name for path in pip.wheels.parent.iterdir()] == ["wheels"]


@pytest.mark.parametrize("change", ["lock", "python"])
def test_wheels_are_fetched_anew_for_another_lock_or_python(change: str, pip: FakePip) -> None:
    pip.fetch(target())
    (pip.wheels / "old.whl").touch()
    if change == "lock":
        pip.locks[0].write_text(LOCK.replace("2026.10.19", "2026.11.1"))
    pip.fetch(target("3.14.1" if change == "python" else "3.13.5"))
    assert pip.calls == 2 * len(pip.locks)
    assert not (pip.wheels / "old.whl").exists()


def test_a_failure_leaves_what_was_there(pip: FakePip) -> None:
    pip.fails = True
    with pytest.raises(DeployError, match="fetching the locked wheels failed"):
        pip.fetch(target())
    assert list(pip.wheels.parent.iterdir()) == []
