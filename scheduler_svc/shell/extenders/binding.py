"""Pods that an extender binds instead of us.

::

    guards ─▶ the extender is asked ─▶ the Pod is read until it shows the Node ─▶ bound
                    └─ error ─▶ read once: bound all the same? ─ no ─▶ ignorable: we bind it
                                                                  └──▶ failed, tried again later

Source: pkg/scheduler/schedule_one.go (`extendersBinding`), v1.36.3. Differences: an extender's
success counts once the API server shows it; after an error the Pod is looked at before anything
else is done.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from kubeio.client import KubeClient
from kubeio.errors import KubeError, NotFoundError
from scheduler_svc.core.effects import BindPod
from scheduler_svc.core.events import BindFailed, BindFailure, BindSucceeded
from scheduler_svc.shell.clock import read_monotonic_seconds
from scheduler_svc.shell.extenders.client import ExtenderClient
from scheduler_svc.shell.extenders.questions import ask_to_bind
from scheduler_svc.shell.extenders.wire import ExtenderError
from scheduler_svc.shell.writes.binder import BindGuards
from scheduler_svc.shell.writes.binding_activity import BindingActivity
from scheduler_svc.shell.writes.binding_outcome import Outcome, PodState, judge_pod
from scheduler_svc.shell.writes.binding_request import pod_path

CONFIRM_SECONDS: Final = 5.0
"""An extender that binds before it answers, as it should, is confirmed at the first look."""
LOOK_TIMEOUT_SECONDS: Final = 10.0
_LOOK_AGAIN_SECONDS: Final = 0.1


class ExtenderBinding:
    """Has Pods bound by extenders.

    Parameters
    ----------
    guards
        As for our own Bindings.
    bind_ourselves
        Takes Pods whose extender has failed, and may be ignored.
    """

    def __init__(
        self,
        client: KubeClient,
        guards: BindGuards,
        activity: BindingActivity,
        *,
        bind_ourselves: Callable[[BindPod], None],
        dry_run: bool = False,
    ) -> None:
        self._client = client
        self._guards = guards
        self._activity = activity
        self._bind_ourselves = bind_ourselves
        self._is_dry_run = dry_run
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def begin(self) -> None:
        """Note that a Pod is to be bound."""
        self._activity.begin()
        self._count += 1
        self._idle.clear()

    def end(self) -> None:
        """Note that it has been, or that somebody else is to do it."""
        self._activity.end()
        self._count -= 1
        if not self._count:
            self._idle.set()

    async def wait_idle(self) -> None:
        """Wait until no Binding is under way."""
        await self._idle.wait()

    async def bind(
        self, extender: ExtenderClient, effect: BindPod
    ) -> BindSucceeded | BindFailed | None:
        """Have a Pod bound; None if we bind it ourselves after all."""
        uid = effect.pod.uid
        if self._is_dry_run:
            return BindSucceeded(uid)
        patched = self._guards.withdraw_condition(uid)
        if patched is not None:
            await patched
        if not self._guards.may_bind():
            text = "the Lease may have another holder by now"
            return _by_extender(BindFailed(uid, BindFailure.NOT_LEADER, text))
        if not self._guards.node_exists(effect.node_name):
            text = f'node "{effect.node_name}" not found'
            return _by_extender(BindFailed(uid, BindFailure.NODE_GONE, text))
        try:
            await ask_to_bind(extender, effect)
        except ExtenderError as error:
            found = await self._look(effect, str(error))
            if found is not None:
                return _by_extender(found)
            if extender.config.ignorable:
                self._bind_ourselves(effect)
                return None
            return _by_extender(BindFailed(uid, BindFailure.REFUSED, str(error)))
        return _by_extender(await self._confirm(extender, effect))

    async def _confirm(self, extender: ExtenderClient, effect: BindPod) -> Outcome:
        text = f"the extender {extender.url} says that it has bound the Pod, which does not show"
        give_up_seconds = read_monotonic_seconds() + CONFIRM_SECONDS
        while True:
            found = await self._look(effect, text)
            if found is not None:
                return found
            if read_monotonic_seconds() >= give_up_seconds:
                return BindFailed(effect.pod.uid, BindFailure.REFUSED, text)
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def _look(self, effect: BindPod, why: str) -> Outcome | None:
        """Read the Pod; None: it is not bound, or cannot be read now."""
        try:
            state = await self._client.get_json(
                pod_path(effect.pod), PodState, timeout_seconds=LOOK_TIMEOUT_SECONDS
            )
        except NotFoundError as error:
            return BindFailed(effect.pod.uid, BindFailure.GONE, error.message)
        except KubeError:
            return None
        return judge_pod(state, effect, why)


def _by_extender(outcome: Outcome) -> Outcome:
    if isinstance(outcome, BindFailed):
        return msgspec.structs.replace(outcome, by_extender=True)
    return outcome
