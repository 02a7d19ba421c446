"""What is written to the API server so that a Pod's volumes come to be, as data.

Each write is for one version of an object (`uid`, `resource_version`): where somebody else
has changed it meanwhile, it must fail.
"""

import msgspec


class ObjectVersion(msgspec.Struct, frozen=True, gc=False):
    """One version of an object; `namespace` is "" for a PersistentVolume."""

    namespace: str
    name: str
    uid: str
    resource_version: str


class KeepVolume(msgspec.Struct, frozen=True, gc=False):
    """Keep a volume for a claim; `by_controller`: and say that it was not the user's wish."""

    volume: ObjectVersion
    claim: ObjectVersion
    by_controller: bool


class SelectNode(msgspec.Struct, frozen=True, gc=False):
    """Have a claim's volume made, where a Node can reach it."""

    claim: ObjectVersion
    node_name: str


class VolumeWrites(msgspec.Struct, frozen=True, gc=False):
    """The writes for one Pod, in order."""

    keep: tuple[KeepVolume, ...] = ()
    select: tuple[SelectNode, ...] = ()
