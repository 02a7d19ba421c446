"""Attaches journeys and comparisons to the agent's process."""

from typing import Final

from kubeio.client import KubeClient
from node_agent.shell.attachments import Attachment, Surroundings
from node_agent.shell.kubelet.login import for_kubelet
from node_agent.shell.kubelet.observation import Observation

MAX_ANSWER_BYTES: Final = 2**26
"""Of a kubelet: 1,000 Pods are 10 MB, its metrics 2."""


def attach_observation(surroundings: Surroundings) -> Attachment:
    """Make the attachment.

    Raises
    ------
    KubeConfigError
        The kubelet's CA file cannot be used.
    """
    options = surroundings.options
    access = options.observation.kubelet
    kubelet = None
    if access is not None:
        credentials = surroundings.client.credentials.derive(
            lambda login: for_kubelet(login, access)
        )
        kubelet = KubeClient(
            credentials, user_agent=options.user_agent, max_body_bytes=MAX_ANSWER_BYTES
        )
    observation = Observation(
        options.observation,
        node_name=options.node_name,
        api=surroundings.client,
        kubelet=kubelet,
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
