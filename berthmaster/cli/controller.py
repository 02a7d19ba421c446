"""``berthmaster controller``: flags in, a running controller out."""

import asyncio
from typing import Any

import click

from berthmaster import __version__
from berthmaster.cli.controller_flags import OPTIONS
from berthmaster.cli.daemon_flags import read_serving
from berthmaster.cli.election_flags import read_election
from berthmaster.cli.failing import fail
from berthmaster.cli.grouped import GroupedCommand
from kubeio.certificates import CertificateError
from kubeio.daemon import ExitCode, ServingError, UsageError
from kubeio.login import KubeConfigError
from kubeio.logs import LogFormat, configure_logging
from scheduler_svc.controller.app import run_controller
from scheduler_svc.controller.options import ControllerOptions
from scheduler_svc.shell.config import ConfigurationError
from scheduler_svc.shell.custom_plugins import PluginLoadError


@click.command(cls=GroupedCommand, params=list(OPTIONS))
def command(**flags: Any) -> None:
    """Tell in their status what becomes of PodGroups and SchedulerProfiles.

    The controller writes to nothing else, and schedules nothing: without it groups start
    together all the same, and their status says nothing.

    \b
    Examples:
      # with what kubectl uses
      berthmaster controller
      # one replica, each write in the log
      berthmaster controller --leader-elect=false -v 3
      # beside schedulers with a configuration file and a plugin of their own
      berthmaster controller --config scheduler.yaml --plugin my_package.filters:OneATeam

    \b
    Exit codes: 0 stopped in good order; 1 failed, or lost the Lease; 2 bad flags or files.
    """
    options = _read_options(flags)
    try:
        options.leader_election()
        rules = options.rules()
        configure_logging(verbosity=options.verbosity, format_=options.log_format)
        # asyncio's own loop: at a controller's pace uvloop saves no CPU, and it takes 1.5 MiB.
        with asyncio.Runner() as runner:
            code = runner.run(run_controller(options, rules))
    except (ConfigurationError, PluginLoadError, UsageError) as error:
        fail(error, ExitCode.BAD_USAGE)
    except (KubeConfigError, CertificateError) as error:
        fail(error, ExitCode.BAD_USAGE)
    except ServingError as error:
        fail(error, ExitCode.FAILED)
    raise SystemExit(code)


def _read_options(flags: dict[str, Any]) -> ControllerOptions:
    if not flags["scheduler_name"]:
        raise click.UsageError("--scheduler-name: a name is needed; no Pod has an empty one")
    return ControllerOptions(
        version=__version__,
        kubeconfig=flags["kubeconfig"],
        context=flags["context"],
        config_path=flags["config_path"],
        scheduler_name=flags["scheduler_name"],
        plugins=flags["plugins"],
        election=read_election(flags),
        serving=read_serving(flags, makes_certificate_apart=True),
        authorize=flags["authorization"] == "rbac",
        verbosity=flags["verbosity"],
        log_format=LogFormat(flags["log_format"]),
    )
