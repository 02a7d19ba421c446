"""The image's software bill of materials, in CycloneDX 1.6 (ECMA-424) as JSON."""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

from cyclonedx.model import ExternalReference, ExternalReferenceType, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from deploy.image.inventory import (
    Contents,
    DebianPackage,
    Image,
    PythonDistribution,
    inspect_image,
    read_contents,
)
from deploy.programs.reporting import Reporter

LABEL = "org.opencontainers.image"


def write(image: str, output: Path | None, reporter: Reporter) -> None:
    """Write the bill of materials of an image to a file, or to standard output.

    The same image gives the same text.

    Raises
    ------
    DeployError
        If the engine has no such image.
    """
    about = inspect_image(image)
    reporter.progress(f"reading what is in {image}")
    contents = read_contents(image)
    text = JsonV1Dot6(make_bom(about, contents)).output_as_string(indent=2) + "\n"
    reporter.end_progress()
    if output is None:
        sys.stdout.write(text)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text)
    reporter.step(
        f"{len(contents.distributions)} Python distributions and {len(contents.packages)} Debian "
        f"packages of {image}: {output}"
    )


def make_bom(image: Image, contents: Contents) -> Bom:
    """Describe an image and what is in it."""
    subject = Component(
        name=image.labels.get(f"{LABEL}.title", image.name),
        version=image.labels.get(f"{LABEL}.version"),
        type=ComponentType.CONTAINER,
        bom_ref=image.identifier,
        external_references=_references(image),
    )
    components = [*_components(image, contents)]
    bom = Bom(
        components=components,
        metadata=BomMetaData(component=subject, timestamp=image.created),
        # Of this very image and of no other.
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"docker-image:{image.identifier}"),
    )
    bom.register_dependency(subject, components)
    return bom


def _references(image: Image) -> Iterator[ExternalReference]:
    source = image.labels.get(f"{LABEL}.source")
    if source:
        yield ExternalReference(type=ExternalReferenceType.VCS, url=XsUri(source))


def _components(image: Image, contents: Contents) -> Iterator[Component]:
    system = contents.os_release.get("ID", "linux")
    release = contents.os_release.get("VERSION_ID", "")
    yield Component(
        name=system,
        version=release,
        type=ComponentType.OPERATING_SYSTEM,
        bom_ref="operating-system",
        description=contents.os_release.get("PRETTY_NAME"),
    )
    # Python's own images have it from its sources, not as a package.
    python = image.environment.get("PYTHON_VERSION")
    if python:
        yield _component("python", python, PackageURL("generic", None, "python", python))
    for package in contents.packages:
        yield _debian_component(package, system, release)
    yield from map(_python_component, contents.distributions)


def _python_component(distribution: PythonDistribution) -> Component:
    # PEP 503's form, which pkg:pypi has.
    name = re.sub(r"[-_.]+", "-", distribution.name).lower()
    licenses: Iterable[LicenseExpression | DisjunctiveLicense]
    if distribution.license_expression:
        licenses = [LicenseExpression(distribution.license_expression)]
    else:
        licenses = [DisjunctiveLicense(name=text) for text in distribution.license_names]
    purl = PackageURL("pypi", None, name, distribution.version)
    return _component(distribution.name, distribution.version, purl, licenses)


def _debian_component(package: DebianPackage, system: str, release: str) -> Component:
    qualifiers = {"arch": package.architecture, "distro": f"{system}-{release}"}
    purl = PackageURL("deb", system, package.name, package.version, qualifiers=qualifiers)
    return _component(package.name, package.version, purl)


def _component(
    name: str,
    version: str,
    purl: PackageURL,
    licenses: Iterable[LicenseExpression | DisjunctiveLicense] = (),
) -> Component:
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=purl.to_string(),
        purl=purl,
        licenses=licenses,
    )
