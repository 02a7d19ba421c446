"""Manifests of static Pods, as files."""

import os
from pathlib import Path

MANIFEST = """apiVersion: v1
kind: Pod
metadata:
  name: {name}
spec:
  containers:
  - name: c
    image: {image}
"""


def manifest(name: str = "a", image: str = "i:1") -> str:
    """Give the text of a manifest."""
    return MANIFEST.format(name=name, image=image)


def write(path: Path, text: str | bytes) -> Path:
    """Write a file in place."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def put(path: Path, text: str | bytes) -> Path:
    """Write a file as careful writers do: beside its place, under a name with a dot, then move."""
    hidden = write(path.with_name(f".{path.name}"), text)
    os.replace(hidden, path)
    return path
