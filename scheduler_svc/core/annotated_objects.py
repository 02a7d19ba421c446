"""Objects decoded with their annotations: only where somebody reads them, since they are large."""

from scheduler_svc.core.objects import ObjectMeta, Pod


class AnnotatedMeta(ObjectMeta, frozen=True):
    """Identity of an object, and what others wrote on it."""

    annotations: dict[str, str] | None = None


class AnnotatedPod(Pod, frozen=True):
    """A Pod with its annotations."""

    metadata: AnnotatedMeta
