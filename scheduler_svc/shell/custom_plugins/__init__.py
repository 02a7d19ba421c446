"""Users' plugins in a running scheduler: found, made, watched, fed."""

from scheduler_svc.shell.custom_plugins.loading import (
    NO_PLUGINS,
    CustomPlugins,
    PluginLoadError,
    load_custom_plugins,
)

__all__ = ["NO_PLUGINS", "CustomPlugins", "PluginLoadError", "load_custom_plugins"]
