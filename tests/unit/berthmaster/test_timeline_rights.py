"""The roles in docs/agent.md are enough for ``berthmaster timeline``, and each right is needed.

The API server is a stub that judges each request by these roles, as RBAC does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml
from aiohttp import web

from berthmaster.cli.timeline_source import TimelineError
from tests.unit.berthmaster.test_timeline_events import NEW_KIND, agents_timeline
from tests.unit.berthmaster.test_timeline_source import (
    AGENT_POD,
    AGENTS,
    EVENTS,
    KUBELET,
    POD,
    PROXY,
    StubApi,
    pod_document,
    told_by,
)

ROOT: Final = Path(__file__).parents[3]
DOCUMENT: Final = ROOT / "docs/agent.md"
MANIFEST: Final = ROOT / "deploy/manifests/berthmaster.yaml"
ACCOUNT: Final = "berthmaster-agent"
TOKEN: Final = f"/api/v1/namespaces/berthmaster/serviceaccounts/{ACCOUNT}/token"
PATH: Final = re.compile(
    r"/api/v1(?:/namespaces/(?P<namespace>[^/]+))?/(?P<resource>[a-z]+)"
    r"(?:/(?P<name>[^/]+)(?:/(?P<subresource>[a-z]+))?)?(?:/.*)?"
)


class Right(NamedTuple):
    """One verb on one resource, in a namespace or (None) in all; `name` is None for every one."""

    verb: str
    resource: str
    name: str | None
    namespace: str | None

    def covers(self, asked: Right) -> bool:
        return (
            (self.verb, self.resource) == (asked.verb, asked.resource)
            and self.name in (None, asked.name)
            and self.namespace in (None, asked.namespace)
        )


def documents() -> list[dict[str, Any]]:
    section = DOCUMENT.read_text().partition("### Who may read timelines")[2]
    block = section.partition("```yaml\n")[2].partition("```")[0]
    return list(yaml.safe_load_all(block))


def rights() -> list[Right]:
    return [
        Right(verb, resource, name, role["metadata"].get("namespace"))
        for role in documents()
        if role["kind"] in ("ClusterRole", "Role")
        for rule in role["rules"]
        for verb, resource, name in product(
            rule["verbs"], rule["resources"], rule.get("resourceNames", [None])
        )
        if rule["apiGroups"] == [""]
    ]


def asked_by(request: web.Request) -> Right:
    """Give the right that a request takes."""
    match = PATH.fullmatch(request.raw_path.partition("?")[0])
    assert match is not None, request.raw_path
    verb = {"GET": "get" if match["name"] else "list", "POST": "create"}[request.method]
    subresource = f"/{match['subresource']}" if match["subresource"] else ""
    return Right(verb, match["resource"] + subresource, match["name"], match["namespace"])


@dataclass
class Judging(StubApi):
    """Refuses what its rights do not cover."""

    rights: list[Right] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        asked = asked_by(request)
        if any(right.covers(asked) for right in self.rights):
            return await super().answer(request)
        message = f"cannot {asked.verb} {asked.resource}"
        return web.json_response({"kind": "Status", "message": message}, status=403)


def api(granted: list[Right]) -> Judging:
    agent = {**AGENT_POD, "spec": {**AGENT_POD["spec"], "serviceAccountName": ACCOUNT}}
    answers = {
        POD: pod_document(),
        AGENTS: {"items": [agent]},
        TOKEN: {"status": {"token": "of-the-agent"}},
        PROXY: agents_timeline(),
        EVENTS: {"items": [NEW_KIND]},
        KUBELET: {"items": [pod_document()]},
    }
    return Judging(answers, rights=granted)


async def test_with_them_all_is_told(tmp_path: Path) -> None:
    told = await told_by(api(rights()), tmp_path)
    assert told.teller == "the agent berthmaster/agent-x"
    assert told.notes == []
    assert told.scheduling.failed is not None
    assert told.scheduling.failed.events
    told = await told_by(api(rights()), tmp_path, use_agent=False)
    assert told.notes == []


@pytest.mark.parametrize("missing", rights(), ids=lambda right: f"{right.verb}-{right.resource}")
async def test_what_is_missing_is_named(missing: Right, tmp_path: Path) -> None:
    stub = api([right for right in rights() if right != missing])
    try:
        said = (await told_by(stub, tmp_path)).notes
    except TimelineError as error:
        said = [str(error)]
    assert [text for text in said if f"cannot {missing.verb} {missing.resource}" in text]


async def test_the_kubelet_takes_a_right_that_readers_lack(tmp_path: Path) -> None:
    told = await told_by(api(rights()), tmp_path, use_agent=False, ask_kubelet=True)
    (note,) = told.notes
    assert "cannot get nodes/proxy" in note
    table = DOCUMENT.read_text().partition("### Who may read timelines")[2]
    assert "| `get nodes/proxy`, which is not above | `--ask-kubelet` |" in table
    granted = [*rights(), Right("get", "nodes/proxy", None, None)]
    told = await told_by(api(granted), tmp_path, use_agent=False, ask_kubelet=True)
    assert told.notes == []


def test_each_role_is_bound_to_the_same_readers() -> None:
    roles = {each["kind"]: each for each in documents() if "rules" in each}
    bindings = [each for each in documents() if "subjects" in each]
    for binding in bindings:
        role = roles.pop(binding["roleRef"]["kind"])
        assert binding["roleRef"]["name"] == role["metadata"]["name"]
        assert binding["metadata"].get("namespace") == role["metadata"].get("namespace")
        assert binding["subjects"] == bindings[0]["subjects"]
    assert roles == {}


def test_the_account_is_that_of_the_agents() -> None:
    installed = yaml.safe_load_all(MANIFEST.read_text())
    [agents] = [each for each in installed if each["kind"] == "DaemonSet"]
    assert agents["spec"]["template"]["spec"]["serviceAccountName"] == ACCOUNT
    [named] = [right for right in rights() if right.name is not None]
    assert named == Right(
        "create", "serviceaccounts/token", ACCOUNT, agents["metadata"]["namespace"]
    )
