"""Takes out of the image's Python environment what nothing there ever imports, and compiles it.

Run in the image's build by the environment's own Python, so it imports nothing but what Python
has. What it takes are tests, tools, what compilers read, generated sources beside their bytecode,
and extensions that we don't use; of 230 MiB that is 65. At the end every module of ours is
imported: should one need something that was taken, the build fails.
"""

from __future__ import annotations

import compileall
import importlib
import pkgutil
import py_compile
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

OURS = ("berthmaster", "scheduler_svc", "node_agent", "kubeio")
UNUSED_DIRECTORIES = (
    # cel-expr-python's wheel has the tree that it was built in.
    "bazel-project",
    "numpy/**/tests",
    "numpy/f2py",
    "numpy/_core/include",
)
UNUSED_FILES = (
    *("**/*.pyi", "**/*.pyx", "**/*.pxd", "**/*.pxi", "**/*.c", "**/*.h", "**/*.a"),
    # Each has an interpreter of its own; we load bindings, optional and strings.
    "cel_expr_python/ext/ext_encoders.*.so",
    "cel_expr_python/ext/ext_math.*.so",
    "cel_expr_python/ext/ext_proto.*.so",
)
# Of the environment's bin/: all others are tools of packages, for people.
KEPT_SCRIPTS = ("berthmaster", "python*")
# Generated, a thousand modules; only credentials of a kubeconfig are read through them.
SOURCELESS = ("kubernetes_asyncio/client/models", "kubernetes_asyncio/client/api")


def trim(packages: Path) -> None:
    """Remove from a ``site-packages`` what is never imported, and compile the rest."""
    for path in _matching(packages, UNUSED_DIRECTORIES):
        shutil.rmtree(path)
    for path in _matching(packages, UNUSED_FILES):
        path.unlink()
    _compile(packages, beside_sources=False)
    for name in SOURCELESS:
        _keep_bytecode_only(packages / name)


def remove_scripts(directory: Path) -> None:
    """Remove all programs but Python and ours from an environment's ``bin``."""
    for path in list(directory.iterdir()):
        if not any(path.match(pattern) for pattern in KEPT_SCRIPTS):
            path.unlink()


def import_all(names: tuple[str, ...] = OURS) -> None:
    """Import every module of some packages.

    Raises
    ------
    ImportError
        If one needs what isn't there.
    """
    for name in names:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith(".__main__"):
                importlib.import_module(module.name)


def _matching(packages: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        # A match may lie in an earlier one, and be gone.
        yield from (path for path in sorted(packages.glob(pattern)) if path.exists())


def _keep_bytecode_only(directory: Path) -> None:
    for cache in list(directory.rglob("__pycache__")):
        shutil.rmtree(cache)
    _compile(directory, beside_sources=True)
    for source in list(directory.rglob("*.py")):
        source.unlink()


def _compile(directory: Path, *, beside_sources: bool) -> None:
    done = compileall.compile_dir(
        directory,
        quiet=1,
        workers=0,
        legacy=beside_sources,
        # In an image no source changes, so none has to be looked at.
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    if not done:
        sys.exit(f"not all of {directory} could be compiled")


if __name__ == "__main__":
    trim(Path(sysconfig.get_path("purelib")))
    remove_scripts(Path(sysconfig.get_path("scripts")))
    import_all()
