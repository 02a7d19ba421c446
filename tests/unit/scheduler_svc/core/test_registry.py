"""The plugins there are, under upstream's names and in its order of evaluation."""

from scheduler_svc.core.registry import IN_TREE

# pkg/scheduler/apis/config/v1/default_plugins.go, v1.36.3.
UPSTREAM = (
    "SchedulingGates",
    "PrioritySort",
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "DefaultPreemption",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "DefaultBinder",
    "NodeDeclaredFeatures",
    # With alpha gates, after the default ones.
    "GangScheduling",
)


def test_plugins_are_in_upstreams_order() -> None:
    assert list(IN_TREE) == [name for name in UPSTREAM if name in IN_TREE]


def test_each_plugin_is_made_without_arguments_and_knows_its_name() -> None:
    assert {name: factory().name for name, factory in IN_TREE.items()} == {n: n for n in IN_TREE}
