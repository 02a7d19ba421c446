"""What is watched, as long as it is served: our resources by kopf, Pods by a reflector."""

import asyncio
import logging

from kubeio.client import KubeClient
from kubeio.logs import fields
from scheduler_svc.controller.census import Census
from scheduler_svc.controller.custom_resources import (
    BUILT_IN_POD_GROUPS,
    POD_GROUPS,
    CustomResource,
)
from scheduler_svc.controller.following import Following
from scheduler_svc.controller.operator.thread import OperatorThread
from scheduler_svc.controller.pod_watch import PodWatch
from scheduler_svc.controller.reconciliation import Reconciliation

Served = frozenset[CustomResource]

_logger = logging.getLogger(__name__)


class Watching:
    """Follows what the census finds to be served."""

    def __init__(
        self,
        client: KubeClient,
        metadata: KubeClient,
        reconciliation: Reconciliation,
        operator: OperatorThread,
        pods: PodWatch,
        *,
        seed: int,
    ) -> None:
        self._client = client
        self._reconciliation = reconciliation
        self._operator: Following[Served] = Following(operator.run)
        self._pods: Following[bool] = Following(
            lambda with_built_in: pods.run(with_built_in=with_built_in)
        )
        self._schema: Following[CustomResource] = Following(
            lambda resource: reconciliation.follow_schemas(client, resource)
        )
        self.census = Census(
            metadata,
            reconciliation.holdings,
            on_served=self._follow,
            on_complete=reconciliation.note_objects,
            on_stalled=self._operator.begin_anew,
            seed=seed,
        )

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for work in (self._operator, self._pods, self._schema, self.census):
                group.create_task(work.run())

    def _follow(self, served: Served) -> None:
        names = ",".join(sorted(resource.name for resource in served))
        _logger.info("Serving the status of resources", extra=fields(resources=names or "none"))
        self._reconciliation.note_other_resources()
        self._operator.set(served or None)
        self._schema.set(POD_GROUPS if POD_GROUPS in served else None)
        if served & {POD_GROUPS, BUILT_IN_POD_GROUPS}:
            self._pods.set(BUILT_IN_POD_GROUPS in served)
        else:
            self._pods.set(None)
            self._reconciliation.need_no_members()
