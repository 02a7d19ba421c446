"""What is read from an image's files, and how the bill of materials says it."""

from __future__ import annotations

import io
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.model.bom import Bom
from cyclonedx.output.json import JsonV1Dot6

from deploy.image import sbom
from deploy.image.inventory import (
    Contents,
    DebianPackage,
    Image,
    PythonDistribution,
    parse_metadata,
    parse_status,
    read_archive,
    read_contents,
)
from deploy.programs.errors import DeployError
from deploy.programs.reporting import SilentReporter
from tests.unit.deploy.image.conftest import FakeDocker

# deb822(5), as dpkg writes it.
STATUS = """\
Package: libc6
Status: install ok installed
Architecture: amd64
Multi-Arch: same
Source: glibc
Version: 2.41-12
Description: GNU C Library: Shared libraries
 Contains the standard libraries.
 .
 Package: not-a-package

Package: python3-pip-whl
Status: deinstall ok config-files
Architecture: all
Version: 25.1.1

Package: tzdata
Status: install ok installed
Architecture: all
Version: 2026b-0+deb13u1
"""
NUMPY = (
    "Metadata-Version: 2.4\nName: numpy\nVersion: 2.5.5\nLicense-Expression: BSD-3-Clause\n\nX\n"
)
OS_RELEASE = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\n'
SITE = "opt/berthmaster/lib/python3.13/site-packages"


def archive(files: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        link = tarfile.TarInfo("etc/os-release")
        link.type, link.linkname = tarfile.SYMTYPE, "../usr/lib/os-release"
        tar.addfile(link)
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue()


FILES = {
    "usr/lib/os-release": OS_RELEASE,
    "var/lib/dpkg/status": STATUS,
    "var/lib/dpkg/status-old": "Package: old\nVersion: 1\nArchitecture: all\n",
    f"{SITE}/numpy-2.5.5.dist-info/METADATA": NUMPY,
    f"{SITE}/numpy-2.5.5.dist-info/RECORD": "numpy/__init__.py,,\n",
    f"{SITE}/aaa-1.0.dist-info/METADATA": "Name: aaa\nVersion: 1.0\n",
}
CONTENTS = Contents(
    distributions=[
        PythonDistribution("aaa", "1.0"),
        PythonDistribution("numpy", "2.5.5", "BSD-3-Clause"),
    ],
    packages=[
        DebianPackage("libc6", "2.41-12", "amd64"),
        DebianPackage("tzdata", "2026b-0+deb13u1", "all"),
    ],
    os_release={
        "PRETTY_NAME": "Debian GNU/Linux 13 (trixie)",
        "ID": "debian",
        "VERSION_ID": "13",
    },
)
IMAGE = Image(
    name="berthmaster:dev",
    identifier="sha256:0123",
    created=datetime(2026, 11, 30, 4, 0, tzinfo=UTC),
    labels={
        "org.opencontainers.image.title": "Berthmaster",
        "org.opencontainers.image.version": "0.1.0",
        "org.opencontainers.image.source": "https://git.example/berthmaster",
    },
    environment={"PYTHON_VERSION": "3.13.9"},
)


def test_installed_packages_and_distributions_are_read() -> None:
    assert read_archive(io.BytesIO(archive(FILES))) == CONTENTS


def test_images_without_dpkg_have_a_file_for_each_package() -> None:
    files = {
        "var/lib/dpkg/status.d/libc6": "Package: libc6\nVersion: 2.41-12\nArchitecture: arm64\n",
        "var/lib/dpkg/status.d/libc6.md5sums": "0123  lib/libc.so.6\n",
    }
    contents = read_archive(io.BytesIO(archive(files)))
    assert contents.packages == [DebianPackage("libc6", "2.41-12", "arm64")]


def test_removed_packages_are_not_there() -> None:
    assert [package.name for package in parse_status(STATUS)] == ["libc6", "tzdata"]


@pytest.mark.parametrize(
    ("headers", "expression", "names"),
    [
        ("License-Expression: MIT\nLicense: ignored", "MIT", ("ignored",)),
        ("Classifier: License :: OSI Approved :: MIT License", "", ("MIT License",)),
        ("License: Apache 2.0\nClassifier: License :: OSI Approved", "", ("Apache 2.0",)),
        ("License: Copyright (c) Someone\n        All rights …", "", ("Copyright (c) Someone",)),
        ("License: UNKNOWN", "", ()),
        ("Classifier: Typing :: Typed", "", ()),
    ],
)
def test_licenses(headers: str, expression: str, names: tuple[str, ...]) -> None:
    distribution = parse_metadata(f"Name: x\nVersion: 1\n{headers}\n\n")
    assert distribution == PythonDistribution("x", "1", expression, names)


def document(contents: Contents = CONTENTS) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(
        JsonV1Dot6(sbom.make_bom(IMAGE, contents)).output_as_string()
    )
    return answer


def test_what_the_bill_of_materials_says() -> None:
    made = document()
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert made["metadata"]["timestamp"] == "2026-11-30T04:00:00+00:00"
    subject = made["metadata"]["component"]
    assert (subject["name"], subject["version"], subject["type"]) == (
        "Berthmaster",
        "0.1.0",
        "container",
    )
    assert subject["externalReferences"] == [
        {"type": "vcs", "url": "https://git.example/berthmaster"}
    ]
    by_name = {component["name"]: component for component in made["components"]}
    assert by_name["debian"]["type"] == "operating-system"
    # The forms of https://github.com/package-url/purl-spec
    assert {name: each["purl"] for name, each in by_name.items() if "purl" in each} == {
        "aaa": "pkg:pypi/aaa@1.0",
        "numpy": "pkg:pypi/numpy@2.5.5",
        "libc6": "pkg:deb/debian/libc6@2.41-12?arch=amd64&distro=debian-13",
        "tzdata": "pkg:deb/debian/tzdata@2026b-0%2Bdeb13u1?arch=all&distro=debian-13",
        "python": "pkg:generic/python@3.13.9",
    }
    assert by_name["numpy"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    depends = {each["ref"]: each.get("dependsOn", []) for each in made["dependencies"]}
    assert len(depends[IMAGE.identifier]) == len(made["components"])


def test_names_have_the_index_s_form() -> None:
    contents = Contents(distributions=[PythonDistribution("Py_YAML.x", "1", "", ("MIT", "BSD"))])
    components = document(contents)["components"]
    [component] = [each for each in components if each["name"] == "Py_YAML.x"]
    assert component["purl"] == "pkg:pypi/py-yaml-x@1"
    assert component["licenses"] == [{"license": {"name": "BSD"}}, {"license": {"name": "MIT"}}]


def test_the_same_image_gives_the_same_text() -> None:
    assert document() == document()
    other = Image("x", "sha256:4567", IMAGE.created, {}, {})
    serials = {sbom.make_bom(image, CONTENTS).serial_number for image in (IMAGE, other)}
    assert len(serials) == 2


@pytest.fixture
def image(docker: FakeDocker, tmp_path: Path) -> Path:
    """Give the file in which the commands of a `docker` with one image are noted."""
    (tmp_path / "image.tar").write_bytes(archive(FILES))
    about = [
        {
            "Id": IMAGE.identifier,
            "Created": "2026-11-30T04:00:00.986551647Z",
            "Config": {"Labels": IMAGE.labels, "Env": ["PATH=/bin", "PYTHON_VERSION=3.13.9"]},
        }
    ]
    (tmp_path / "image.json").write_text(json.dumps(about))
    docker.does(
        f'echo "$@" >> {tmp_path}/log\n'
        'case "$1 $2" in\n'
        f'  "image inspect") cat {tmp_path}/image.json ;;\n'
        '  "container create") echo c0ffee ;;\n'
        f'  "export c0ffee") cat {tmp_path}/image.tar ;;\n'
        "esac"
    )
    return tmp_path / "log"


def test_a_file_is_written_and_no_container_left(image: Path, tmp_path: Path) -> None:
    output = tmp_path / "dist" / "image.cdx.json"
    sbom.write("berthmaster:dev", output, SilentReporter())
    bom = Bom.from_json(json.loads(output.read_text()))  # type: ignore[attr-defined]
    names = {component.name for component in bom.components}
    assert names == {"debian", "python", "libc6", "tzdata", "aaa", "numpy"}
    assert image.read_text().splitlines()[-1] == "container rm c0ffee"


def test_it_is_written_to_standard_output(image: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sbom.write("berthmaster:dev", None, SilentReporter())
    assert json.loads(capsys.readouterr().out)["bomFormat"] == "CycloneDX"


def test_an_export_that_is_none_is_told(image: Path, tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_text("no archive" * 200)
    with pytest.raises(DeployError, match="docker export berthmaster:dev: "):
        read_contents("berthmaster:dev")
    assert image.read_text().splitlines()[-1] == "container rm c0ffee"
