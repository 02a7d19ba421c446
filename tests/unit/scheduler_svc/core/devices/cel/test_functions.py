"""Kubernetes' CEL functions: as its documentation has them, and as kube-scheduler answers."""

import gzip
import json
from pathlib import Path
from typing import Final

import pytest

from scheduler_svc.core.devices.selectors import SelectorFailure, Selectors
from tests.device_builders import as_device
from tests.unit.scheduler_svc.core.devices.cel_asking import ask

RECORDED: Final = Path(__file__).parents[5] / "data" / "cel" / "kube-scheduler-1.36.3.jsonl.gz"


def test_expressions_are_answered_as_kube_scheduler_answers_them() -> None:
    first, *lines = gzip.decompress(RECORDED.read_bytes()).decode().splitlines()
    selectors = Selectors()
    traits = selectors.traits("gpu.example", as_device(json.loads(first)))
    wrong = []
    for line in lines:
        expression, stage, text = json.loads(line)
        answer = selectors.matches(expression, traits)
        if isinstance(answer, SelectorFailure):
            given = (answer.stage, answer.text)
        else:
            given = ("", str(answer).lower())
        if given != (stage, text):
            wrong.append((expression, given, (stage, text)))
    assert wrong == []


@pytest.mark.parametrize(
    "expression",
    [
        'ip("127.0.0.1").family() == 4 && ip("::1").family() == 6 && ip("::1").isLoopback()',
        'ip("0.0.0.0").isUnspecified() && ip.isCanonical("2001:db8::abcd")',
        'ip("224.0.0.1").isLinkLocalMulticast() && ip("169.254.169.254").isLinkLocalUnicast()',
        'ip("192.168.0.1").isGlobalUnicast() && !ip("255.255.255.255").isGlobalUnicast()',
        'cidr("192.168.0.0/24").containsIP(ip("192.168.0.1"))',
        'cidr("192.168.0.0/16").containsCIDR("192.168.10.0/24")',
        'cidr("192.168.1.5/24").masked() == cidr("192.168.1.0/24")',
        'cidr("192.168.0.0/24").ip() == ip("192.168.0.0")',
        'cidr("192.168.0.0/16").prefixLength() == 16 && isCIDR("::/0") && !isIP("::/0")',
        'url("https://example.com:80/").getHost() == "example.com:80"',
        'url("https://example.com/path?k1=a&k2=b&k2=c").getQuery()["k2"] == ["b", "c"]',
        '!format.dns1123Label().validate("my-label-name").hasValue()',
        'format.named("dns1123Label").value().validate("BAD").hasValue()',
        '!format.named("nothing").hasValue()',
        "[1, 2, 3].all(i, v, i < v) && [1, 2].exists(i, v, i == 1 && v == 2)",
        "[1, 2].existsOne(i, v, v == 2) && [1, 2].exists_one(i, v, v == 2)",
        "[1, 2].transformList(i, v, i + v) == [1, 3]",
        '{"a": 1}.transformMap(k, v, v + 1) == {"a": 2}',
        '{"a": 1}.transformMapEntry(k, v, {v: k}) == {1: "a"}',
        '["bb", "a"].sortBy(text, size(text)) == ["a", "bb"] && [1, 2].reverse() == [2, 1]',
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2",
        '"tacocat".indexOf("c") == 2 && "tacocat".lastIndexOf("c", 3) == 2',
        "1 < 1.5 && 2u >= 2 && 1.0 < 2u",
        'string(ip("::1")) == "::1" && string(cidr("10.0.0.0/8")) == "10.0.0.0/8"',
        "[1, 3].sum() == 4 && [3, 1].min() == 1 && [3, 1].max() == 3 && [].sum() == 0",
        "sets.contains([1, 2], [1]) && sets.equivalent([1, 1], [1]) && sets.intersects([1], [1])",
        "[[1], [2]].flatten() == [1, 2] && [1, 2, 3].slice(1, 3) == [2, 3]",
    ],
)
def test_what_kubernetes_says_is_true(expression: str) -> None:
    assert ask(expression) is True
