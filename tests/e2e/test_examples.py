"""The programs in examples/, run as their first lines say: each prints what it promises there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.examples import EXAMPLES, printed, promised
from tests.support.processes import service

IN_A_CLUSTER = {"kafka_documents.py"}
"""Run by tests/e2e/test_cluster.py, on its processes."""
PROGRAMS = sorted(file.name for file in EXAMPLES.glob("*.py"))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("examples")
    with service(folder / "data", log=folder / "service.log") as running:
        yield running.url


@pytest.mark.parametrize("program", [name for name in PROGRAMS if name not in IN_A_CLUSTER])
def test_example_prints_what_it_promises(program: str, url: str, tmp_path: Path) -> None:
    """Each uses a graph of its own, so the order does not matter."""
    assert printed(program, tmp_path, {"GRAPHTIDE_URL": url}) == promised(program) != ""


def test_every_example_is_listed() -> None:
    """The table of examples/README.md names every program, and none that is missing."""
    listed = re.findall(r"^\| \[(\w+\.py)\]", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == PROGRAMS
