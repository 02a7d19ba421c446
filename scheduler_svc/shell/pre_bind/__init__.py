"""What must be done outside before a Pod is bound: plugins' work, and who carries it out."""

from scheduler_svc.shell.pre_bind.claim_writer import ClaimWriter
from scheduler_svc.shell.pre_bind.dispatcher import PreBindDispatcher, PreBindHandler
from scheduler_svc.shell.pre_bind.volume_writer import VolumeWriter

__all__ = ["ClaimWriter", "PreBindDispatcher", "PreBindHandler", "VolumeWriter"]
