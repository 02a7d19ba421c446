"""Selectors over Pods' labels, as a Pod's affinity and spread constraints have them."""

from typing import Annotated

import msgspec

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class LabelRequirement(msgspec.Struct, frozen=True, gc=False):
    """An expression over labels; `operator`: In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Labels and expressions that must all hold; an empty selector matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelRequirement, ...] = ()


class PodAffinityTerm(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Pods that the Pod wants to be near, or not, within a domain of `topology_key`.

    No `namespaces` and no `namespace_selector`: the Pod's own namespace.
    """

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A term with a weight of 1 to 100."""

    weight: Int32
    pod_affinity_term: PodAffinityTerm


class PodAffinity(msgspec.Struct, frozen=True, gc=False):
    """What a Pod demands and prefers of the Pods near it, or away from it."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class TopologySpreadConstraint(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How evenly Pods are to be spread over the domains of `topology_key`.

    `when_unsatisfiable`: DoNotSchedule or ScheduleAnyway. The policies: Honor or Ignore.
    """

    max_skew: Int32
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()
