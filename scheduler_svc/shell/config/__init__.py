"""The configuration file: upstream's KubeSchedulerConfiguration v1, read strictly.

A file that runs kube-scheduler runs Berthmaster. The way of a file: `reading` makes a
tree that knows its lines, `decode` brings it into the types of `schema` and
`arguments`, `defaults` fills in, `plugin_sets` merges and expands the plugins,
`validation`, `validate_arguments` and `profiles` judge, `meaning` says what a mistake
was meant to be. All mistakes are told at once.

Where this differs from kube-scheduler: the Lease is called `berthmaster` and requests
have no rate limit unless the file says so; NodeResourcesFit's arguments are judged with
the file; refused are also a second document, a negative weight, arguments for a plugin
that does not exist, a `renewDeadline` that the election would refuse, a lease under 1 s;
a key merged with `<<` may be overridden.

What belongs here: what a file may say and what follows from it. What does not: reading
files, command-line flags, building plugins.
"""

from scheduler_svc.shell.config.configuration import Configuration, Profile, RawArguments
from scheduler_svc.shell.config.effects import fields_without_effect
from scheduler_svc.shell.config.extension_points import ExtensionPoint
from scheduler_svc.shell.config.live import rename_for_live
from scheduler_svc.shell.config.load import default_configuration, load_configuration, load_profile
from scheduler_svc.shell.config.mistakes import ConfigurationError, Mistake
from scheduler_svc.shell.config.plugin_sets import EnabledPlugin
from scheduler_svc.shell.config.publish import to_document
from scheduler_svc.shell.config.reading import MAX_FILE_BYTES
from scheduler_svc.shell.config.schema import LEASE_NAME
from scheduler_svc.shell.config.validation import leader_election_mistakes

__all__ = [
    "LEASE_NAME",
    "MAX_FILE_BYTES",
    "Configuration",
    "ConfigurationError",
    "EnabledPlugin",
    "ExtensionPoint",
    "Mistake",
    "Profile",
    "RawArguments",
    "default_configuration",
    "fields_without_effect",
    "leader_election_mistakes",
    "load_configuration",
    "load_profile",
    "rename_for_live",
    "to_document",
]
