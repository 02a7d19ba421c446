"""Users' plugins are found, or it is said what is wrong with each."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

from berthmaster.plugin import Args, Node, NodePlugin, Pod, Reject
from scheduler_svc.core.custom_plugins.adapters import Adapter
from scheduler_svc.core.framework.interface import FilterPlugin, PreFilterPlugin
from scheduler_svc.core.registry import IN_TREE
from scheduler_svc.shell.config import ConfigurationError, load_configuration
from scheduler_svc.shell.custom_plugins import PluginLoadError, load_custom_plugins
from scheduler_svc.shell.profiles import make_profiles

MODULE = __name__


class DenyArgs(Args, frozen=True):
    """Arguments, one of them needed."""

    nodes: list[str]
    is_strict: bool = False


class Deny(NodePlugin[DenyArgs]):
    """Rejects the Nodes of its arguments."""

    args_type = DenyArgs
    pod_annotations = frozenset({"example.com/team"})

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        return "denied" if node.name in self.args.nodes else None


class NodeName(NodePlugin[Any]):
    """Has the name of one of kube-scheduler's."""

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        return None


class SameName(Deny):
    """Has the name of another."""

    name = "Deny"


class Idle(NodePlugin[Any]):
    """Does nothing."""


class Misspelt(NodePlugin[Any]):
    """Means to filter."""

    def filters(self, pod: Pod, node: Node) -> str | None:
        return "never"


class Short(NodePlugin[Any]):
    """Filters by the Pod alone, and says so."""

    filter: Any = lambda self, pod: None


class HalfMisspelt(Deny):
    """Filters, and means to score."""

    name = "HalfMisspelt"

    def scores(self, pod: Pod, node: Node) -> float:
        return 1.0


class Curious(NodeName):
    """Reads what there is not."""

    name = "Curious"
    pod_fields = frozenset({"mood"})


class Forgetful(NodeName):
    """Reads annotations, and does not say which."""

    name = "Forgetful"
    pod_fields = frozenset({"annotations"})


class WrongArgs(NodeName):
    """Has arguments that are none."""

    name = "WrongArgs"
    args_type: ClassVar[Any] = dict


class Broken(Deny):
    """Cannot be made."""

    name = "Broken"

    def __init__(self, args: DenyArgs | None = None) -> None:
        raise OSError("no licence")


class Exiting(Deny):
    """Ends the process where it is made."""

    name = "Exiting"

    def __init__(self, args: DenyArgs | None = None) -> None:
        raise SystemExit(3)


class Hasty(Deny):
    """Declares nonsense of its own where it is made."""

    name = "Hasty"

    def __init__(self, args: DenyArgs | None = None) -> None:
        super().__init__(args)
        self.__dict__["pre_bind_timeout_seconds"] = None


class Registering(Deny):
    """Names events that are none."""

    name = "Registering"

    def events_to_register(self) -> Any:
        return [1]


class ExitingArgs(DenyArgs, frozen=True):
    """Ends the process where it is read."""

    def __post_init__(self) -> None:
        raise SystemExit(3)


class Argued(Deny):
    """Has such arguments."""

    name = "Argued"
    args_type = ExitingArgs


class Many(NodePlugin[Any]):
    """Has several mistakes."""

    pod_fields: ClassVar[Any] = {"mood", "annotations"}
    scope: ClassVar[Any] = "cluster"
    normalize: ClassVar[Any] = "higher"

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        return None


class Bare(NodePlugin[Any]):
    """Takes no arguments, which a test would not notice."""

    def __init__(self) -> None:
        super().__init__()

    def filter(self, pod: Pod, node: Node) -> str | Reject | None:
        return None


def load(*names: str) -> Any:
    return load_custom_plugins([f"{MODULE}:{name}" for name in names], installed=())


CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: berthmaster
  plugins:
    multiPoint:
      enabled: [{name: NAME}]
  pluginConfig:
  - name: NAME
    args: ARGS
"""


def configured(name: str, arguments: str) -> Adapter:
    plugins = load(name)
    text = CONFIGURATION.replace("NAME", name).replace("ARGS", arguments)
    configuration = load_configuration(text, path="scheduler.yaml", known_plugins=plugins.known)
    profiles = make_profiles(configuration, {**IN_TREE, **plugins.factories()}).profiles
    [adapter] = [p for p in profiles[0].plugins if p.name == name]
    assert isinstance(adapter, Adapter)
    assert isinstance(adapter, FilterPlugin)
    assert adapter in profiles[0].filter
    assert isinstance(adapter, PreFilterPlugin)
    assert adapter in profiles[0].pre_filter
    return adapter


def test_a_plugin_is_configured_like_any_other() -> None:
    adapter = configured("Deny", "{nodes: [a, b], isStrict: true}")
    assert adapter.plugin.args == DenyArgs(nodes=["a", "b"], is_strict=True)
    assert load("Deny").annotations == {"example.com/team"}
    assert load("Deny").known["Deny"] == {"filter"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{nodes: a}", "args.nodes"),
        ("{nodes: [a], colour: red}", "args.colour"),
        ("{}", "nodes"),
    ],
)
def test_bad_arguments_are_mistakes_of_the_file(arguments: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        configured("Deny", arguments)
    assert "scheduler.yaml" in str(caught.value)
    assert said in str(caught.value)


def test_arguments_that_are_needed_have_to_be_given() -> None:
    factory = load("Deny").factories()["Deny"]
    with pytest.raises(
        PluginLoadError, match=r"plugin Deny needs arguments in pluginConfig: .*nodes"
    ):
        factory()


def test_a_constructor_that_fails_names_its_plugin() -> None:
    with pytest.raises(PluginLoadError, match="plugin Broken cannot be made: OSError: no licence"):
        configured("Broken", "{nodes: []}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Exiting", "plugin Exiting cannot be made: SystemExit: 3"),
        ("Hasty", "plugin Hasty: pre_bind_timeout_seconds is None; it must be a number"),
        (
            "Registering",
            (
                'plugin Registering cannot be made: plugin "Registering" failed in '
                "events_to_register: gave 1, not a list of EventRegistration"
            ),
        ),
        ("Argued", "plugin Argued cannot take arguments: SystemExit: 3"),
    ],
)
def test_what_cannot_be_made_ends_with_a_message(name: str, said: str) -> None:
    with pytest.raises(PluginLoadError) as caught:
        configured(name, "{nodes: []}")
    assert str(caught.value).startswith(said)


def test_each_mistake_of_a_plugin_has_its_line() -> None:
    with pytest.raises(PluginLoadError) as caught:
        load("Many")
    lines = str(caught.value).splitlines()
    assert [line.removeprefix(f"--plugin {MODULE}:Many: ").split()[0] for line in lines] == [
        "scope",
        "normalize",
        "pod_fields",
        "pod_fields",
    ]


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("nonsense", "write package.module:Class or path/to/file.py:Class"),
        (":X", "write package.module:Class"),
        (
            "no_such_module_at_all:X",
            "where Python looks for them; write path/to/file.py:Class for a file",
        ),
        ("json.no_such:X", "there is no module json.no_such where Python looks"),
        ("no/such/file.py:X", "there is no file no/such/file.py"),
        (f"{MODULE}:Missing", f"{MODULE} has no Missing; it has Deny, "),
        ("json:Missing", "json has no Missing; it has no plugin"),
        ("json:loads", "is no subclass of NodePlugin or VectorPlugin of berthmaster.plugin"),
        (f"{MODULE}:NodePlugin", "NodePlugin is a base for plugins, not one"),
        (f"{MODULE}:Idle", "Idle defines no method of an extension point; there are "),
        (f"{MODULE}:Misspelt", "Misspelt defines no method of an extension point; there are "),
        (
            f"{MODULE}:Misspelt",
            (
                f"--plugin {MODULE}:Misspelt: plugin Misspelt has a method 'filters', which no "
                "extension point calls; did you mean 'filter'?"
            ),
        ),
        (
            f"{MODULE}:Short",
            (
                "filter cannot be called with (pod, node): too many positional arguments; "
                "it must be filter(self, pod, node)"
            ),
        ),
        (
            f"{MODULE}:Bare",
            (
                "__init__ cannot be called with (args): too many positional arguments; "
                "it must be __init__(self, args=None), and call super().__init__(args)"
            ),
        ),
        (f"{MODULE}:Forgetful", "pod_fields names annotations, so pod_annotations must name which"),
        (f"{MODULE}:Curious", "pod_fields names mood; it may name annotations, labels, name, "),
        (
            f"{MODULE}:WrongArgs",
            "args_type is <class 'dict'>; it must be a subclass of berthmaster.plugin.Args",
        ),
        (f"{MODULE}:NodeName", "NodeName is one of kube-scheduler's own plugins"),
    ],
)
def test_what_cannot_be_loaded(flag: str, said: str) -> None:
    with pytest.raises(PluginLoadError) as caught:
        load_custom_plugins([flag], installed=())
    assert f"--plugin {flag}: " in str(caught.value)
    assert said in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(PluginLoadError) as caught:
        load("Idle", "Deny", "SameName", "Curious")
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert "another plugin is called Deny, too" in str(caught.value)


def test_the_same_plugin_may_be_named_twice() -> None:
    assert list(load("Deny", "Deny").classes) == ["Deny"]


def test_a_misspelt_method_is_a_surprise() -> None:
    assert load("Deny").surprises == ()
    assert load("Deny", "HalfMisspelt").surprises == (
        (
            "plugin HalfMisspelt has a method 'scores', which no extension point calls; "
            "did you mean 'score'?"
        ),
    )


def test_installed_packages_bring_plugins() -> None:
    entry_point = EntryPoint("any", f"{MODULE}:Deny", "berthmaster.plugins")
    assert load_custom_plugins(installed=[entry_point]).classes == {"Deny": Deny}


def test_an_installed_plugin_that_cannot_be_imported() -> None:
    entry_point = EntryPoint("any", "no_such_module_at_all:X", "berthmaster.plugins")
    with pytest.raises(PluginLoadError, match=r"^entry point no_such_module_at_all:X: "):
        load_custom_plugins(installed=[entry_point])


def test_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "my_filters.py"
    path.write_text(
        "from berthmaster.plugin import NodePlugin\n"
        "class Never(NodePlugin):\n"
        "    def filter(self, pod, node):\n"
        "        return 'never'\n"
    )
    monkeypatch.delitem(sys.modules, "my_filters", raising=False)
    assert list(load_custom_plugins([f"{path}:Never"], installed=()).classes) == ["Never"]
    monkeypatch.delitem(sys.modules, "my_filters")


@pytest.mark.parametrize(
    ("code", "said"), [("sys.exit(4)", "SystemExit: 4"), ("1 / 0", "ZeroDivisionError: division")]
)
def test_a_file_that_ends_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    path = tmp_path / "my_exit.py"
    path.write_text(f"import sys\n{code}\n")
    monkeypatch.delitem(sys.modules, "my_exit", raising=False)
    with pytest.raises(PluginLoadError, match=said):
        load_custom_plugins([f"{path}:X"], installed=())
    monkeypatch.delitem(sys.modules, "my_exit")


def test_the_operator_may_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "my_interrupt.py"
    path.write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_custom_plugins([f"{path}:X"], installed=())
    monkeypatch.delitem(sys.modules, "my_interrupt")


def test_without_plugins() -> None:
    none = load_custom_plugins(installed=())
    assert (none.classes, none.known, none.annotations, none.factories()) == (
        {},
        {},
        frozenset(),
        {},
    )


def test_a_file_that_was_meant_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "mine_of_this_test.py").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PluginLoadError, match=r"write \./ours/mine_of_this_test\.py:Mine$"):
        load_custom_plugins(["ours.mine_of_this_test:Mine"], installed=())


def test_a_module_that_another_one_lacks_is_told_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacks_something.py").write_text("import no_such_module_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginLoadError, match="ModuleNotFoundError: No module named 'no_such"):
        load_custom_plugins(["lacks_something:Mine"], installed=())
