"""Attaches journeys and comparisons to the agent's process."""

from kubeio.client import KubeClient
from node_agent.shell.attachments import Attachment, Surroundings
from node_agent.shell.kubelet.login import kubelet_credentials
from node_agent.shell.kubelet.observation import Observation


def attach_observation(surroundings: Surroundings) -> Attachment:
    """Make the attachment; its work logs in to the kubelet when it begins."""
    options = surroundings.options
    access = options.observation.kubelet

    async def open_kubelet() -> KubeClient | None:
        if access is None:
            return None
        credentials = await kubelet_credentials(access, options.kubeconfig, context=options.context)
        return KubeClient(credentials, user_agent=options.user_agent)

    observation = Observation(
        options.observation,
        node_name=options.node_name,
        api=surroundings.client,
        open_kubelet=open_kubelet,
        sources=surroundings.agent.config.sources,
        refused=surroundings.refused,
        read_now=surroundings.read_now,
    )
    return Attachment(
        observers=observation.observers,
        routes=observation.routes(),
        metrics=(observation,),
        work={"observation": observation.run},
    )
