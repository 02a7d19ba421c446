"""``berthmaster scheduler``: flags in, a running scheduler out."""

import asyncio
from pathlib import Path
from typing import Any

import click
import msgspec
import uvloop
import yaml

from berthmaster import __version__
from berthmaster.cli.daemon_flags import read_serving
from berthmaster.cli.election_reading import read_election
from berthmaster.cli.failing import fail
from kubeio.certificates import CertificateError
from kubeio.daemon import ExitCode, ServingError, UsageError, allow_open_files
from kubeio.login import KubeConfigError
from kubeio.logs import LogFormat, configure_logging
from scheduler_svc.core.pod_groups import GroupTiming
from scheduler_svc.shell.app import run_scheduler
from scheduler_svc.shell.config import ConfigurationError, to_document
from scheduler_svc.shell.custom_plugins import PluginLoadError
from scheduler_svc.shell.custom_plugins.watching import PluginWatch
from scheduler_svc.shell.options import SchedulerOptions
from scheduler_svc.shell.profiles import ProfileError, make_profiles
from scheduler_svc.shell.scheduler_profiles.validation import plugin_registry
from scheduler_svc.shell.startup import effective_configuration, load_plugins, plan_start, surprises


def run(write_config_to: str | None, **flags: Any) -> None:
    """Do it; see the command's help."""
    options = _read_options(flags)
    try:
        if write_config_to is not None:
            _write_configuration(options, write_config_to)
            return
        plan = plan_start(options)
        configure_logging(verbosity=options.verbosity, format_=options.log_format)
        allow_open_files()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            code = runner.run(run_scheduler(plan))
    except (ConfigurationError, PluginLoadError, ProfileError, UsageError) as error:
        fail(error, ExitCode.BAD_USAGE)
    except (KubeConfigError, CertificateError) as error:
        fail(error, ExitCode.BAD_USAGE)
    except ServingError as error:
        fail(error, ExitCode.FAILED)
    raise SystemExit(code)


def _read_options(flags: dict[str, Any]) -> SchedulerOptions:
    if not flags["scheduler_name"]:
        raise click.UsageError("--scheduler-name: a name is needed; no Pod has an empty one")
    return SchedulerOptions(
        version=__version__,
        config_path=flags["config_path"],
        kubeconfig=flags["kubeconfig"],
        context=flags["context"],
        scheduler_name=flags["scheduler_name"],
        election=read_election(flags),
        plugins=flags["plugins"],
        pod_groups=flags["pod_groups"],
        group_timing=GroupTiming(flags["pod_group_patience"], flags["pod_group_hold"]),
        scheduler_profiles=flags["scheduler_profiles"],
        dry_run=flags["dry_run"],
        bind_timeout_seconds=flags["bind_timeout"],
        bind_concurrency=flags["bind_concurrency"],
        serving=read_serving(flags),
        authorize=flags["authorization"] == "rbac",
        verbosity=flags["verbosity"],
        log_format=LogFormat(flags["log_format"]),
    )


def _write_configuration(options: SchedulerOptions, path: str) -> None:
    """Write it if a scheduler would start with it; files that it names need not be here."""
    custom = load_plugins(options)
    configuration = effective_configuration(options, custom)
    make_profiles(configuration, plugin_registry(custom, PluginWatch()).factories)
    for surprise in (*surprises(configuration), *custom.surprises):
        click.echo(f"Note: {surprise}", err=True)
    document = to_document(configuration)
    text = yaml.safe_dump(msgspec.to_builtins(document), sort_keys=False)
    if path == "-":
        click.echo(text, nl=False)
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--write-config-to {path}: {error.strerror or error}") from error
