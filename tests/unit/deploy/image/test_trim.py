"""What is taken out of the image's Python environment, and what stays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deploy.image.trim import import_all, remove_scripts, trim

GENERATED = "kubernetes_asyncio/client/models"
FILES = (
    "numpy/__init__.py",
    "numpy/testing/__init__.py",
    "numpy/linalg/tests/test_linalg.py",
    "numpy/_core/tests/data/x.csv",
    "numpy/f2py/src/fortranobject.c",
    "numpy/linalg/lapack_lite.pyi",
    "other/tests/__init__.py",
    "bazel-project/setup.py",
    "cel_expr_python/ext/ext_math.cpython-313-x86_64-linux-gnu.so",
    "cel_expr_python/ext/ext_strings.cpython-313-x86_64-linux-gnu.so",
    "kubernetes_asyncio/client/__init__.py",
    f"{GENERATED}/__init__.py",
    f"{GENERATED}/v1_pod.py",
    "kubernetes_asyncio/client/api/__init__.py",
    "numpy-2.5.5.dist-info/METADATA",
)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / GENERATED / "v1_pod.py").write_text("KIND = 'Pod'\n")
    trim(tmp_path)
    return tmp_path


def test_what_is_taken_and_what_stays(packages: Path) -> None:
    left = {str(path.relative_to(packages)) for path in packages.rglob("*") if path.is_file()}
    assert {name for name in left if "__pycache__" not in name} == {
        "numpy/__init__.py",
        "numpy/testing/__init__.py",
        "other/tests/__init__.py",
        "cel_expr_python/ext/ext_strings.cpython-313-x86_64-linux-gnu.so",
        "kubernetes_asyncio/client/__init__.py",
        f"{GENERATED}/__init__.pyc",
        f"{GENERATED}/v1_pod.pyc",
        "kubernetes_asyncio/client/api/__init__.pyc",
        "numpy-2.5.5.dist-info/METADATA",
    }
    sources = {name for name in left if name.endswith(".py")}
    assert len([name for name in left if "__pycache__" in name]) == len(sources)


def test_generated_modules_are_imported_from_bytecode(packages: Path) -> None:
    module = f"{GENERATED.replace('/', '.')}.v1_pod"
    program = (
        f"import sys; sys.path.insert(0, {str(packages)!r}); import {module} as m; print(m.KIND)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Pod\n"


def test_programs_of_other_packages_are_taken(tmp_path: Path) -> None:
    for name in ("berthmaster", "python", "python3", "python3.13", "f2py", "idna", "activate"):
        (tmp_path / name).touch()
    remove_scripts(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"berthmaster", "python", "python3", "python3.13"}


def test_a_module_that_cannot_be_imported_fails_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "imported_by_trim"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("raise SystemExit(1)\n")
    (package / "inner" / "__init__.py").touch()
    import_all(("imported_by_trim",))
    (package / "inner" / "needy.py").write_text("import no_such_module_anywhere\n")
    with pytest.raises(ImportError, match="no_such_module_anywhere"):
        import_all(("imported_by_trim",))
