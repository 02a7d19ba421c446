"""The ways to the API server: who we are, and the connections for reads and writes."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from kubeio.api_call_metrics import ApiCallMetrics
from kubeio.client import KubeClient
from kubeio.credentials import Credentials
from kubeio.writes import WritePool
from scheduler_svc.shell.rate_limit import LimitedWritePool, TokenBucket
from scheduler_svc.shell.startup import StartPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Clients of one API server, and the count of what goes over them.

    `events` is the pool for Events, so that a limit of requests is not used up by them.
    """

    client: KubeClient
    pool: WritePool
    events: WritePool
    calls: ApiCallMetrics


async def open_access(plan: StartPlan, stack: AsyncExitStack) -> Access:
    """Log in and make the clients; they are closed with `stack`.

    Raises
    ------
    KubeConfigError
        Where there is no usable login.
    """
    kubeconfig = plan.options.kubeconfig_for(plan.configuration)
    credentials = await Credentials.load(kubeconfig, context=plan.options.context)
    calls = ApiCallMetrics(urlsplit(credentials.server_url).netloc)
    client = KubeClient(credentials, user_agent=plan.user_agent, observe_call=calls.observe)
    await stack.enter_async_context(client)
    pools = [await stack.enter_async_context(pool) for pool in _pools(plan, credentials, calls)]
    return Access(client=client, pool=pools[0], events=pools[-1], calls=calls)


def _pools(plan: StartPlan, credentials: Credentials, calls: ApiCallMetrics) -> list[WritePool]:
    """Make one pool for all writes; where requests are limited, another for Events."""
    connection = plan.configuration.client_connection
    per_second = connection.requests_per_second
    if per_second is None:
        return [WritePool(credentials, user_agent=plan.user_agent, observe_call=calls.observe)]
    return [
        LimitedWritePool(
            credentials,
            user_agent=plan.user_agent,
            observe_call=calls.observe,
            bucket=TokenBucket(per_second, connection.burst),
        )
        for _ in range(2)
    ]
