"""The Pods that a Pod is one of, by its Services and its controller: what default spreading counts.

Source: pkg/scheduler/framework/plugins/helper/spread.go (`DefaultSelector`), v1.36.3.
"""

from typing import Any, Final

from scheduler_svc.core.cluster_objects import ClusterObjects, ObjectKind
from scheduler_svc.core.label_selectors import EVERYTHING, Selector, compile_selector
from scheduler_svc.core.label_syntax import selector_fault
from scheduler_svc.core.objects import OwnerReference
from scheduler_svc.core.pods import Labels, PodInfo
from scheduler_svc.core.workload_objects import (
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

_CONTROLLERS: Final = {
    ("v1", "ReplicationController"): ObjectKind.REPLICATION_CONTROLLER,
    ("apps/v1", "ReplicaSet"): ObjectKind.REPLICA_SET,
    ("apps/v1", "StatefulSet"): ObjectKind.STATEFUL_SET,
}
_MAX_KNOWN: Final = 65536

_Controller = ReplicationController | ReplicaSet | StatefulSet
_PodKind = tuple[Labels, OwnerReference | None]
# By one label that a selector demands: the names of Services and all that each demands.
_ServicesOfLabel = dict[tuple[str, str], dict[str, dict[str, str]]]


class DefaultSelectors:
    """For each kind of Pod the conjunction of its Services' and its controller's selectors.

    Answers are kept until a selector of the Pod's namespace changes. Cost: one look-up; for
    a new kind O(its labels and the Services that share one).
    """

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._services: dict[str, _ServicesOfLabel] = {}
        # Namespaces that have any of the objects; the Pods of others are looked at no further.
        self._object_counts: dict[str, int] = {}
        self._known: dict[str, dict[_PodKind, Selector | None]] = {}
        self._known_count = 0
        objects[ObjectKind.SERVICE].listeners.append(self._service_changed)
        for kind in (ObjectKind.SERVICE, *_CONTROLLERS.values()):
            objects[kind].listeners.append(self._changed)

    def of(self, pod: PodInfo) -> Selector | None:
        """Give what selects the Pods that `pod` is one of; None where nothing does.

        A controller whose selector makes no sense adds nothing.
        """
        namespace = pod.namespace
        if namespace not in self._object_counts:
            return None
        known = self._known.get(namespace)
        if known is None:
            known = self._known[namespace] = {}
        kind = (pod.labels, pod.owner)
        if kind in known:
            return known[kind]
        if self._known_count == _MAX_KNOWN:
            self._known.clear()
            self._known_count = 0
            known = self._known[namespace] = {}
        self._known_count += 1
        known[kind] = selector = self._find(pod)
        return selector

    def _find(self, pod: PodInfo) -> Selector | None:
        labels = self._labels_of_services(pod)
        requirements = EVERYTHING
        controller = self._controller(pod)
        if isinstance(controller, ReplicationController):
            labels |= controller.spec.selector or {}
        elif controller is not None and not selector_fault(controller.spec.selector):
            requirements = compile_selector(controller.spec.selector) or EVERYTHING
        selector = requirements.also(labels)
        return selector if selector.requirements else None

    def _labels_of_services(self, pod: PodInfo) -> dict[str, str]:
        own, found = dict(pod.labels), dict[str, str]()
        services = self._services.get(pod.namespace, {})
        for label in pod.labels:
            for demanded in services.get(label, {}).values():
                if demanded.items() <= own.items():
                    found |= demanded
        return found

    def _controller(self, pod: PodInfo) -> _Controller | None:
        owner = pod.owner
        kind = _CONTROLLERS.get((owner.api_version, owner.kind)) if owner else None
        if owner is None or kind is None:
            return None
        found: _Controller | None = self._objects[kind].get(pod.namespace, owner.name)
        return found

    def _service_changed(self, old: Service | None, new: Service | None) -> None:
        if old is not None and old.spec.selector:
            services = self._services[old.metadata.namespace]
            label = min(old.spec.selector.items())
            del services[label][old.metadata.name]
            if not services[label]:
                del services[label]
            if not services:
                del self._services[old.metadata.namespace]
        if new is not None and new.spec.selector:
            services = self._services.setdefault(new.metadata.namespace, {})
            label = min(new.spec.selector.items())
            services.setdefault(label, {})[new.metadata.name] = new.spec.selector

    def _changed(self, old: Any, new: Any) -> None:
        namespace = (old if new is None else new).metadata.namespace
        if old is None or new is None:
            count = self._object_counts.get(namespace, 0) + (1 if old is None else -1)
            if count:
                self._object_counts[namespace] = count
            else:
                del self._object_counts[namespace]
        elif old.spec == new.spec:
            return
        self._forget(namespace)

    def _forget(self, namespace: str) -> None:
        self._known_count -= len(self._known.pop(namespace, ()))
