from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import yaml

from kubeio.login import KubeConfigError
from scheduler_svc.shell.access import Access, open_access
from scheduler_svc.shell.options import SchedulerOptions
from scheduler_svc.shell.rate_limit import LimitedWritePool
from scheduler_svc.shell.startup import plan_start

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def write_kubeconfig(path: Path, server: str) -> str:
    document = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(yaml.safe_dump(document))
    return str(path)


async def opened(tmp_path: Path, connection: str, **options: str) -> Access:
    path = tmp_path / "scheduler.yaml"
    path.write_text(f"{HEAD}clientConnection: {connection}\n")
    plan = plan_start(SchedulerOptions(version="1.2.3", config_path=str(path), **options))  # type: ignore[arg-type]
    async with AsyncExitStack() as stack:
        return await open_access(plan, stack)


async def test_without_a_limit_all_writes_share_their_connections(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k", "http://127.0.0.1:1")
    access = await opened(tmp_path, f"{{kubeconfig: {kubeconfig}}}")
    assert access.client.credentials.server_url == "http://127.0.0.1:1"
    assert access.pool is access.events
    assert not isinstance(access.pool, LimitedWritePool)


async def test_limit_of_a_file_holds_for_writes_and_events_each(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k", "http://127.0.0.1:1")
    access = await opened(tmp_path, f"{{kubeconfig: {kubeconfig}, qps: 50, burst: 100}}")
    assert isinstance(access.pool, LimitedWritePool)
    assert isinstance(access.events, LimitedWritePool)
    assert access.pool is not access.events


async def test_flag_names_the_kubeconfig_before_the_file_does(tmp_path: Path) -> None:
    others = write_kubeconfig(tmp_path / "other", "http://127.0.0.1:2")
    ours = write_kubeconfig(tmp_path / "ours", "http://127.0.0.1:1")
    access = await opened(tmp_path, f"{{kubeconfig: {others}}}", kubeconfig=ours)
    assert access.client.credentials.server_url == "http://127.0.0.1:1"


async def test_context_that_is_not_there_is_told(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k", "http://127.0.0.1:1")
    with pytest.raises(KubeConfigError, match="no context named 'y'; there are: x"):
        await opened(tmp_path, f"{{kubeconfig: {kubeconfig}}}", context="y")
