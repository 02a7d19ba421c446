"""``berthmaster controller``: flags in, a running controller out."""

import asyncio
from typing import Any

import click

from berthmaster import __version__
from berthmaster.cli.daemon_flags import read_serving
from berthmaster.cli.election_reading import read_election
from berthmaster.cli.failing import fail
from kubeio.certificates import CertificateError
from kubeio.daemon import ExitCode, ServingError, UsageError
from kubeio.login import KubeConfigError
from kubeio.logs import LogFormat, configure_logging
from scheduler_svc.controller.app import run_controller
from scheduler_svc.controller.options import ControllerOptions
from scheduler_svc.shell.config import ConfigurationError
from scheduler_svc.shell.custom_plugins import PluginLoadError
from scheduler_svc.shell.profiles import ProfileError


def run(**flags: Any) -> None:
    """Do it; see the command's help."""
    options = _read_options(flags)
    try:
        options.leader_election()
        rules = options.rules()
        configure_logging(verbosity=options.verbosity, format_=options.log_format)
        # asyncio's own loop: at a controller's pace uvloop saves no CPU, and it takes 1.5 MiB.
        with asyncio.Runner() as runner:
            code = runner.run(run_controller(options, rules))
    except (ConfigurationError, PluginLoadError, ProfileError, UsageError) as error:
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
