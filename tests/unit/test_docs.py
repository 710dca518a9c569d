"""The documentation's references: files, functions, folders and links exist."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_group

from graphtide.services.cli.top_level.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ("graph", "streams", "infra", "services")
SOURCE = re.compile(r"`((?:graph|streams|infra|services|src|tests|docs|helm)/[\w./-]*)`")
TEST = re.compile(r"`((?:unit|e2e|contract|recovery|deploy|secure|engines)/[\w./-]+\.py)`")
NAMED_TEST = re.compile(r"`((?:unit|e2e|contract|recovery|deploy|secure|engines)/[\w./-]+\.py)::(\w+)`")
FUNCTION = re.compile(r"`((?:graph|streams|infra|services)/[\w/]+\.py)`\s+`(\w+)`")
COMMAND = re.compile(r"(?:^|[`\s])graphtide ([a-z][\w-]*)")
TARGET = re.compile(r"(?:^|[`\s])make ([a-z][\w-]*)")
EXTRA = re.compile(r"graphtide\[([\w,-]+)\]")
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_names_files_that_exist(page: Path) -> None:
    """Paths of sources, and paths of tests as the tables of docs/faults.md shorten them."""
    text = page.read_text()
    missing = [name for name in SOURCE.findall(text) if not (ROOT / name).exists()]
    missing += [name for name in TEST.findall(text) if not (ROOT / "tests" / name).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_names_functions_that_their_files_define(page: Path) -> None:
    """A function or class is named behind its file."""
    named = FUNCTION.findall(page.read_text())
    missing = [
        (file, name) for file, name in named if not re.search(rf"(?:def|class) {name}\b", (ROOT / file).read_text())
    ]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_names_tests_that_exist(page: Path) -> None:
    """A test is named as pytest names it, below `tests`."""
    missing = [
        f"{file}::{name}"
        for file, name in NAMED_TEST.findall(page.read_text())
        if not (ROOT / "tests" / file).exists()
        or not re.search(rf"^(?:async )?def {name}\(", (ROOT / "tests" / file).read_text(), re.MULTILINE)
    ]
    assert not missing


def commands(page: Path) -> Iterator[str]:
    """Yield the commands of a page: quoted words, and lines of indented code without their comments."""
    text = page.read_text()
    yield from re.findall(r"`([^`\n]+)`", text)
    yield from (line.split(" #")[0] for line in re.findall(r"^    (.+)$", text, re.MULTILINE))


@cache
def known_commands() -> frozenset[str]:
    """Return the commands of graphtide. Making them takes 30 ms."""
    return frozenset(get_group(app).commands)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_names_commands_targets_and_extras_that_exist(page: Path) -> None:
    """Commands of graphtide, targets of make, and extras of the package."""
    shown = [part.strip() for line in commands(page) for part in line.split("&&")]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    missing = [name for part in shown for name in COMMAND.findall(part) if name not in known_commands()]
    missing += [name for part in shown for name in TARGET.findall(part) if name not in targets]
    named = [name for found in EXTRA.findall(page.read_text()) for name in found.split(",")]
    assert not missing + [name for name in named if name not in extras]


def test_every_attack_names_its_tests() -> None:
    """Each row of the table ends with tests, and with nothing else."""
    table = (ROOT / "docs" / "security.md").read_text().split("## Attacks and defects")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert rows
    assert not [row for row in rows if re.sub(NAMED_TEST, "", row.rsplit(" | ", 1)[1]).strip(" ,|")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_links_to_pages_and_headings_that_exist(page: Path) -> None:
    """Relative links and their anchors, as GitHub makes them of headings."""
    broken = []
    for target, anchor in LINK.findall(re.sub(r"`[^`\n]*`", "", page.read_text())):
        file = (page.parent / target) if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(f"{target}#{anchor}")
    assert not broken


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("package", FOLDERS)
def test_architecture_diagram_shows_the_folders_of_the_package(package: str) -> None:
    """Every folder of the package is in the diagram, and no other."""
    diagram = (ROOT / "docs" / "architecture.md").read_text().split("```mermaid")[1].split("```")[0]
    [box] = re.findall(rf"subgraph {package}_?\[.*?\n(.*?)\n  end", diagram, re.DOTALL)
    shown = {name for label in re.findall(r'\["([^"<]+)', box) for name in label.split(", ")}
    folders = {f.name for f in (ROOT / package).iterdir() if f.is_dir() and not f.name.startswith((".", "_"))}
    assert shown == folders
