import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from berthmaster.cli.explain import show
from berthmaster.cli.explain_flags import SAVED_KINDS
from berthmaster.cli.root import cli
from scheduler_svc.shell.explain.answer import Answer
from scheduler_svc.shell.explain.endpoint import Explanation
from scheduler_svc.shell.explain.memory import Decision
from scheduler_svc.shell.explain.question import Question, Source
from tests.parity.recorded import CASES

CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: packer}]
"""


def explain(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["explain", *arguments], input=stdin, prog_name="berthmaster")


def node(name: str, cpu: str) -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": allocatable},
    }


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], **spec},
    }


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """Give a cluster of a small and a large Node, and Pods that fit on one of them, and on none."""
    path = tmp_path / "cluster.yaml"
    objects = [node("small", "1"), node("large", "4"), pod("web", "2"), pod("big", "8")]
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def answers(result: Result) -> dict[str, dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return {a["pod"]: a for a in map(json.loads, result.stdout.splitlines())}


def test_one_json_object_a_line_for_each_pending_pod(snapshot: str) -> None:
    given = answers(explain("--snapshot", snapshot, "--output", "json"))
    assert list(given) == ["default/web", "default/big"]
    web = given["default/web"]
    assert web["best"] == ["large"]
    small = web["nodes"]["small"]
    # More than the Node has at all: no eviction helps (fit.go, v1.36.3).
    assert small["code"] == "UnschedulableAndUnresolvable"
    assert (small["plugin"], small["reasons"]) == ("NodeResourcesFit", ["Insufficient cpu"])
    assert sum(web["nodes"]["large"]["scores"].values()) == web["nodes"]["large"]["total"]
    assert given["default/big"]["fitError"] == "0/2 nodes are available: 2 Insufficient cpu."
    assert "best" not in given["default/big"]


def test_a_cluster_without_nodes_is_told_as_such(snapshot: str, tmp_path: Path) -> None:
    lone = tmp_path / "web.yaml"
    lone.write_text(yaml.safe_dump(pod("web", "2")))
    note = "Note: there is no Node in what was read, so nothing fits: save nodes as well"
    told = explain("--snapshot", str(lone))
    assert (told.exit_code, told.stderr) == (0, f"{note}\n")
    assert note not in explain("--snapshot", snapshot).stderr


def test_a_recorded_cluster_gets_the_recorded_answers(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_bytes(gzip.decompress((CASES / "images-1.snapshot.json.gz").read_bytes()))
    recorded = gzip.decompress((CASES / "images-1.answers.jsonl.gz").read_bytes()).decode()
    expected = [json.loads(line) for line in recorded.splitlines()]
    given = answers(explain("--snapshot", str(path), "-o", "json"))
    assert [a["pod"] for a in expected] == list(given)
    for answer in expected:
        assert given[answer["pod"]]["best"] == answer["best"]


def test_a_table_for_people(snapshot: str) -> None:
    result = explain("--snapshot", snapshot)
    assert result.exit_code == 0
    assert "default/web: fits on 1 of 2 Nodes; best: large" in result.stdout
    assert "default/big: fits on none of 2 Nodes" in result.stdout
    assert "\x1b[" not in result.stdout, "colours in a pipe"
    assert not any(line.endswith(" ") for line in result.stdout.splitlines())


def test_a_pod_that_fits_is_told_to_wait_for_its_scheduler(snapshot: str, tmp_path: Path) -> None:
    path = tmp_path / "typo.yaml"
    path.write_text(yaml.safe_dump(pod("typo", "2", schedulerName="berthmastr")))
    arguments = ("--snapshot", snapshot, "--snapshot", str(path))
    told = "Waits for the scheduler berthmastr; `berthmaster diagnose` tells whether"
    assert told in explain("pod", "typo", *arguments).stdout
    given = answers(explain(*arguments, "-o", "json"))
    assert given["default/typo"]["waitsForScheduler"] == "berthmastr"
    assert given["default/web"]["waitsForScheduler"] == "default-scheduler"
    assert "Waits" not in explain("pod", "big", *arguments).stdout
    path.write_text(yaml.safe_dump(pod("new", "2", schedulerName="berthmastr")))
    assert "Waits" not in explain("--pod", str(path), "--snapshot", snapshot).stdout


def test_one_pod(snapshot: str) -> None:
    assert list(answers(explain("pod", "web", "--snapshot", snapshot, "-o", "json"))) == [
        "default/web"
    ]
    result = explain("pod", "web", "-n", "team-a", "--snapshot", snapshot)
    assert result.exit_code == 2
    assert "there is no Pod team-a/web; is it in another namespace (-n)?" in result.stderr


def test_a_gated_pod_is_told_to_wait_for_its_gates(snapshot: str, tmp_path: Path) -> None:
    path = tmp_path / "gated.yaml"
    path.write_text(yaml.safe_dump(pod("gated", "2", schedulingGates=[{"name": "a/quota"}])))
    arguments = ("pod", "gated", "--snapshot", snapshot, "--snapshot", str(path))
    answer = answers(explain(*arguments, "-o", "json"))["default/gated"]
    assert (answer["preEnqueuePlugin"], answer["best"]) == ("SchedulingGates", ["large"])
    told = "not tried: SchedulingGates: waiting for scheduling gates: [a/quota]"
    assert told in explain(*arguments).stdout


def test_a_pod_whose_claim_is_missing_is_held_back(snapshot: str, tmp_path: Path) -> None:
    path = tmp_path / "claiming.yaml"
    claims = [{"name": "gpu", "resourceClaimName": "gpu-1"}]
    path.write_text(yaml.safe_dump(pod("claiming", "2", resourceClaims=claims)))
    result = explain("pod", "claiming", "--snapshot", snapshot, "--snapshot", str(path))
    # dynamicresources.go, v1.36.3: PreEnqueue looks the claims up; the text is assume_cache.go's.
    told = 'not tried: DynamicResources: could not find ResourceClaim "default/gpu-1"'
    assert told in result.stdout


def test_standard_input_and_several_files(snapshot: str, tmp_path: Path) -> None:
    more = tmp_path / "more.json"
    more.write_text(json.dumps(pod("more", "1")))
    given = answers(
        explain(
            "--snapshot",
            snapshot,
            str(more),
            "--snapshot",
            "-",
            "-o",
            "json",
            stdin=yaml.safe_dump(node("third", "16")),
        )
    )
    assert given["default/more"]["nodes"].keys() == {"small", "large", "third"}


def test_a_pod_that_does_not_exist_yet(snapshot: str, tmp_path: Path) -> None:
    manifest = pod("new", "3")
    del manifest["metadata"]["namespace"]
    result = explain(
        "--snapshot",
        snapshot,
        "--pod",
        "-",
        "-n",
        "team-a",
        "-o",
        "json",
        stdin=yaml.safe_dump(manifest),
    )
    given = answers(result)
    assert list(given) == ["team-a/new"]
    assert given["team-a/new"]["best"] == ["large"]
    path = tmp_path / "service.yaml"
    path.write_text("apiVersion: v1\nkind: Service\nmetadata: {name: s}\n")
    refused = explain("--snapshot", snapshot, "--pod", str(path))
    assert refused.exit_code == 2
    assert f"{path}:1: a Pod (apiVersion v1) is needed, not Service" in refused.stderr


def test_a_file_that_is_not_there_is_told_before_any_scheduler_is_looked_for(
    tmp_path: Path,
) -> None:
    missing = tmp_path / "no.yaml"
    result = explain("--pod", str(missing), "--kubeconfig", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert result.stderr == f"Error: {missing}: No such file or directory\n"


def test_with_a_configuration_the_schedulers_name_counts(snapshot: str, tmp_path: Path) -> None:
    config, more = tmp_path / "config.yaml", tmp_path / "more.yaml"
    config.write_text(CONFIG)
    more.write_text(yaml.safe_dump(pod("packed", "1", schedulerName="packer")))
    arguments = ("--snapshot", snapshot, "--snapshot", str(more), "-o", "json")
    given = answers(explain(*arguments, "--config", str(config)))
    assert given["default/web"] == {
        "pod": "default/web",
        "error": "no profile for scheduler name default-scheduler",
    }
    assert given["default/packed"]["best"]
    assert answers(explain(*arguments))["default/packed"]["best"], "the default judges every Pod"


@pytest.mark.parametrize("spec", [{}, {"schedulerName": ""}])
def test_a_pod_that_names_no_scheduler_is_the_default_schedulers(
    spec: dict[str, Any], snapshot: str, tmp_path: Path
) -> None:
    config, more = tmp_path / "config.yaml", tmp_path / "more.yaml"
    config.write_text(CONFIG.replace("packer", "default-scheduler"))
    more.write_text(yaml.safe_dump(pod("new", "1", **spec)))
    arguments = ("--snapshot", snapshot, "--snapshot", str(more), "-o", "json")
    assert answers(explain(*arguments, "--config", str(config)))["default/new"]["best"]
    config.write_text(CONFIG)
    assert answers(explain(*arguments, "--config", str(config)))["default/new"] == {
        "pod": "default/new",
        "error": "no profile for scheduler name default-scheduler",
    }


def test_what_is_skipped_is_told_beside_the_answer(snapshot: str, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\nreplicas: 3\n")
    result = explain("--snapshot", snapshot, "--snapshot", str(other), "-o", "json")
    assert len(answers(result)) == 2
    assert "skipped: 1 ConfigMap (v1): no decision depends on that kind" in result.stderr
    assert f"{other}:5: skipped: no Kubernetes object" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c", "cluster.yaml:1: not YAML: mapping values are not allowed"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: 3}\n",
            "cluster.yaml:1: Pod default/a: Expected `array`, got `int` - at `$.spec.containers`",
        ),
    ],
)
def test_broken_input_is_bad_usage_with_a_position(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    result = explain("--snapshot", str(path))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_question_without_an_object_is_bad_usage() -> None:
    result = explain()
    assert result.exit_code == 2
    assert "name what to explain" in result.stderr


def test_nothing_pending_is_told(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump(node("a", "1")))
    result = explain("--snapshot", str(path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no Pod is pending" in result.stderr


def test_help_has_examples_and_groups() -> None:
    output = explain("--help").output
    for words in ("berthmaster explain --snapshot cluster.yaml", "Exit codes:", "--preempt"):
        assert words in output


def test_that_extenders_are_not_asked_is_noted(snapshot: str, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"{CONFIG}extenders: [{{urlPrefix: 'http://127.0.0.1:1', filterVerb: f}}]\n")
    result = explain("--snapshot", snapshot, "--config", str(config))
    assert result.exit_code == 0
    assert f"Note: {config}: extenders are not asked" in result.stderr
    assert "extenders" not in explain("--snapshot", snapshot).stderr


TIERS = """\
from berthmaster.plugin import Args, NodePlugin


class Tier(Args):
    name: str = "gold"


class ByTier(NodePlugin):
    args_type = Tier
    pod_fields = frozenset({"annotations"})
    pod_annotations = frozenset({"example.com/tier"})

    def filter(self, pod, node):
        if pod.annotations.get("example.com/tier") != self.args.name:
            return "not of the tier"

    def score(self, pod, node):
        return 7


class Fed(NodePlugin):
    def score(self, pod, node):
        return 1

    async def feed(self, api):
        yield 1

    def on_feed(self, value):
        pass
"""
OF_TIERS = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: ByTier, weight: 3}]}}
  pluginConfig: [{name: ByTier, args: {name: silver}}]
extenders: [{urlPrefix: "http://127.0.0.1:1", filterVerb: filter}]
"""


@pytest.fixture
def tiers(tmp_path: Path) -> tuple[str, str]:
    """Give a cluster with a Pod of each tier, and the file of a plugin that tells them apart."""
    objects = [node("large", "4")]
    for tier in ("gold", "silver"):
        of_tier = pod(tier, "1", schedulerName="default-scheduler")
        of_tier["metadata"]["annotations"] = {"example.com/tier": tier}
        objects.append(of_tier)
    cluster, module = tmp_path / "cluster.yaml", tmp_path / "tiers.py"
    cluster.write_text(yaml.safe_dump_all(objects))
    module.write_text(TIERS)
    return str(cluster), str(module)


def test_a_plugin_of_ones_own_takes_part(tiers: tuple[str, str]) -> None:
    snapshot, module = tiers
    plugin = ("--plugin", f"{module}:ByTier")
    given = answers(explain("--snapshot", snapshot, *plugin, "-o", "json"))
    assert given["default/gold"]["nodes"]["large"]["scores"]["ByTier"] == 7
    rejected = given["default/silver"]["nodes"]["large"]
    assert (rejected["plugin"], rejected["reasons"]) == ("ByTier", ["not of the tier"])


def test_a_configuration_may_name_it(tiers: tuple[str, str], tmp_path: Path) -> None:
    snapshot, module = tiers
    config = tmp_path / "config.yaml"
    config.write_text(OF_TIERS)
    arguments = ("--snapshot", snapshot, "--config", str(config), "-o", "json")
    unknown = explain(*arguments)
    assert unknown.exit_code == 2
    assert "load it with --plugin" in unknown.stderr
    result = explain(*arguments, "--plugin", f"{module}:ByTier")
    given = answers(result)
    assert given["default/silver"]["nodes"]["large"]["scores"]["ByTier"] == 3 * 7
    assert given["default/gold"]["fitError"] == "0/1 nodes are available: 1 not of the tier."
    assert "extenders are not asked" in result.stderr


def test_a_pod_that_does_not_exist_yet_has_annotations_too(
    tiers: tuple[str, str], tmp_path: Path
) -> None:
    snapshot, module = tiers
    new = pod("new", "1")
    new["metadata"]["annotations"] = {"example.com/tier": "gold"}
    path = tmp_path / "new.yaml"
    path.write_text(yaml.safe_dump(new))
    arguments = ("--snapshot", snapshot, "--pod", str(path), "-o", "json")
    given = answers(explain(*arguments, "--plugin", f"{module}:ByTier"))
    assert given["default/new"]["best"] == ["large"]


def test_feeds_are_not_run_and_plugins_must_be_there(tiers: tuple[str, str]) -> None:
    snapshot, module = tiers
    fed = explain("--snapshot", snapshot, "--plugin", f"{module}:Fed")
    assert fed.exit_code == 0
    assert "plugin Fed: its feed is not run" in fed.stderr
    missing = explain("--snapshot", snapshot, "--plugin", f"{module}:Nope")
    assert missing.exit_code == 2
    assert "has no Nope; it has ByTier, Fed" in missing.stderr


def test_of_many_attempts_people_are_told_the_newest(capsys: pytest.CaptureFixture[str]) -> None:
    decisions = tuple(
        Decision(
            pod="default/web",
            uid="u",
            time="2026-06-01T12:00:00Z",
            scheduler_name="packer",
            attempt=attempt,
            result="unschedulable",
        )
        for attempt in range(200, 0, -1)
    )
    told = [Explanation(Answer(pod="default/web"), decisions=decisions)]
    show(told, Question(source=Source.SCHEDULER, pod_name="web"))
    text, notes = capsys.readouterr()
    assert [line for line in text.splitlines() if "attempt" in line] == [
        f"default/web: unschedulable at 2026-06-01T12:00:00Z, attempt {attempt}"
        for attempt in (200, 199, 198)
    ]
    assert notes == "Note: 197 earlier attempts are remembered; -o json has all\n"
    show(told, Question(source=Source.SCHEDULER, pod_name="web", output="json"))
    text, notes = capsys.readouterr()
    assert len(text.splitlines()) == 201
    assert notes == ""


def test_pending_pods_of_one_namespace(snapshot: str, tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    other = pod("other", "1")
    other["metadata"]["namespace"] = "shop"
    more.write_text(yaml.safe_dump(other))
    arguments = ("--snapshot", snapshot, "--snapshot", str(more), "-o", "json")
    assert list(answers(explain(*arguments, "-n", "shop"))) == ["shop/other"]
    assert list(answers(explain(*arguments, "--all-pending", "-n", "shop"))) == ["shop/other"]
    assert len(answers(explain(*arguments))) == 3
    assert len(answers(explain(*arguments, "-A"))) == 3
    nothing = explain(*arguments, "-n", "empty")
    assert (nothing.stdout, nothing.exit_code) == ("", 0)
    assert "no Pod is pending in namespace empty" in nothing.stderr


def test_the_help_and_the_document_save_the_same_kinds() -> None:
    document = Path(__file__).parents[3] / "docs" / "explain.md"
    saving = re.compile(r"kubectl get -A -o yaml (\S+) > cluster.yaml")
    told = saving.findall(document.read_text()), saving.findall(explain("--help").output)
    assert told == ([SAVED_KINDS], [SAVED_KINDS])


def test_the_first_word_is_completed() -> None:
    def completed(words: list[str], incomplete: str) -> list[str]:
        completion = ShellComplete(cli, {}, "berthmaster", "_BERTHMASTER_COMPLETE")
        return [item.value for item in completion.get_completions(words, incomplete)]

    assert completed(["explain"], "po") == ["pod"]
    assert completed(["explain", "--preempt"], "") == ["pod", "decision"]
    assert completed(["explain", "pod"], "d") == []


def test_tables_tell_pods_alike_once_and_json_tells_all(snapshot: str, tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text(yaml.safe_dump_all([pod(f"gang-{n}", "2") for n in range(20)]))
    arguments = ("--snapshot", snapshot, "--snapshot", str(more))
    text = explain(*arguments).stdout
    assert text.count("default/gang-") == 1
    assert "and 19 more Pods alike: gang-1, " in text
    assert "default/web: fits on" in text
    assert len(answers(explain(*arguments, "-o", "json"))) == 22


def test_of_a_pod_that_nobody_serves_people_are_told_who_is_served(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = [Explanation(served_names=("berthmaster", "gpu"))]
    show(told, Question(source=Source.SCHEDULER, pod_name="web"))
    assert "served are: berthmaster, gpu" in capsys.readouterr().err


def test_json_of_a_saved_cluster_has_what_kube_scheduler_says_and_no_more(
    tmp_path: Path,
) -> None:
    """It is compared, field by field; a table tells more."""
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    waiting = pod("web", "2") | {"status": {"conditions": [refused | {"message": "0/1 nodes: no"}]}}
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all([node("large", "4"), waiting, pod("other", "1")]))
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG.replace("packer", "default-scheduler"))
    flags = ("--snapshot", str(path), "--config", str(config))
    assert "0/1 nodes: no" in explain(*flags).output
    told = [json.loads(line) for line in explain(*flags, "-o", "json").output.splitlines()]
    assert [sorted(each) for each in told] == [["best", "nodes", "pod"]] * 2
