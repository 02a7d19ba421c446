"""Users' plugins in a running scheduler: found, made, watched, fed."""

from scheduler_svc.shell.custom_plugins.loading import (
    CustomPlugins,
    PluginLoadError,
    load_custom_plugins,
)

__all__ = ["CustomPlugins", "PluginLoadError", "load_custom_plugins"]
