"""What plugins have if they say nothing."""

import asyncio
from typing import Any

import numpy as np
import pytest

from scheduler_svc.core.custom_plugins.base import Args, BasePlugin, NodePlugin, VectorPlugin

ANY: Any = None


class Settings(Args, frozen=True):
    """Arguments with a default."""

    limit: int = 3


class WithSettings(NodePlugin[Settings]):
    """A plugin with arguments."""

    args_type = Settings


def test_arguments_have_their_defaults() -> None:
    assert WithSettings().args == Settings(limit=3)
    assert WithSettings(Settings(limit=5)).args.limit == 5


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("pre_enqueue", 1),
        ("sort_key", 2),
        ("pre_filter", 1),
        ("reserve", 2),
        ("unreserve", 2),
        ("permit", 2),
        ("post_bind", 2),
        ("feed", 1),
        ("on_feed", 1),
        ("events_to_register", 0),
    ],
)
def test_methods_are_for_plugins_to_define(method: str, arguments: int) -> None:
    plugin: BasePlugin[Any] = BasePlugin()
    with pytest.raises(NotImplementedError):
        getattr(plugin, method)(*[ANY] * arguments)


@pytest.mark.parametrize("method", ["pre_bind", "undo_pre_bind"])
def test_so_is_outside_work(method: str) -> None:
    plugin: BasePlugin[Any] = BasePlugin()
    with pytest.raises(NotImplementedError):
        asyncio.run(getattr(plugin, method)(ANY, ANY))


@pytest.mark.parametrize("base", [NodePlugin, VectorPlugin])
@pytest.mark.parametrize("method", ["filter", "score"])
def test_so_is_judging_nodes(base: type[Any], method: str) -> None:
    with pytest.raises(NotImplementedError):
        getattr(base(), method)(ANY, np.zeros(0))
