"""Links in documents lead somewhere, and the index of docs/ has every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "benchmarks/*.md", "charts/**/*.md", "docs/**/*.md", "tests/**/*.md")
    for path in ROOT.glob(pattern)
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ELSEWHERE = ("https://", "http://", "mailto:")


def anchors(path: Path) -> set[str]:
    """Give what a page can be entered by, as GitHub names it."""
    headings = HEADING.findall(FENCE.sub("", path.read_text()))
    texts = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_there_are(path: Path) -> None:
    broken = []
    for link in LINK.findall(FENCE.sub("", path.read_text())):
        if link.startswith(ELSEWHERE):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_the_index_has_every_page_of_the_documentation() -> None:
    linked = {
        link.partition("#")[0] for link in LINK.findall((ROOT / "docs/README.md").read_text())
    }
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages <= linked
