"""What kube-scheduler 1.36.3 answered for the files in tests/data/configurations."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[4] / "data" / "configurations"

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def read_file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _read_lines() -> dict[str, dict[str, Any]]:
    lines = map(json.loads, read_file("kube-scheduler-1.36.3.jsonl").splitlines())
    return {line["name"]: line for line in lines}


LINES = _read_lines()
CASES = {name: line for name, line in LINES.items() if "values" not in line}
ACCEPTED = tuple(name for name, line in CASES.items() if "errors" not in line)
REFUSED = tuple(name for name, line in CASES.items() if "errors" in line)


def text_of(name: str) -> str:
    text = CASES[name].get("text")
    return read_file(name) if text is None else str(text)


def values_of(name: str) -> dict[str, Any]:
    values: dict[str, Any] = LINES[name]["values"]
    return values


def args_of(plugin: str, args: str) -> str:
    """A file that gives one plugin these arguments, in flow style."""
    return f"{HEAD}profiles:\n- pluginConfig:\n  - name: {plugin}\n    args: {args}\n"


def plugins_of(plugins: str) -> str:
    """A file whose one profile has these plugin sets, in flow style."""
    return f"{HEAD}profiles:\n- plugins: {plugins}\n"
