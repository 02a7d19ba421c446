"""DynamicResources: the claims of a Pod are given devices that its Node reaches."""

from scheduler_svc.core.plugins.dynamic_resources.plugin import DynamicResources

__all__ = ["DynamicResources"]
