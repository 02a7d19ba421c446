"""Reads the file that ``--config`` names: a KubeSchedulerConfiguration."""

from pathlib import Path

from kubeio.daemon import UsageError
from scheduler_svc.shell.config import (
    MAX_FILE_BYTES,
    Configuration,
    default_configuration,
    load_configuration,
)
from scheduler_svc.shell.custom_plugins import NO_PLUGINS, CustomPlugins


def read_configuration(path: str, custom: CustomPlugins = NO_PLUGINS) -> Configuration:
    """Read a file, the defaults without one. Raises `ConfigurationError`, `UsageError`."""
    if not path:
        return default_configuration(custom.known, custom.enabled)
    try:
        with Path(path).open("rb") as file:  # it may be a device or a pipe without an end
            text = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"--config {path}: {error.strerror or error}") from error
    return load_configuration(
        text, path=path, known_plugins=custom.known, enabled_plugins=custom.enabled
    )
