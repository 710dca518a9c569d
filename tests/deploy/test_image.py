"""The Dockerfile, held against the repository without an engine. `make image-check` runs its steps."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text()


def test_image_copies_what_is_there_and_not_ignored() -> None:
    """Each source of a COPY exists, and .dockerignore, which shuts out everything, lets it in."""
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", TEXT, re.MULTILINE):
        for source in line.split():
            assert (ROOT / source).exists()
            assert source in let_in


def test_image_runs_as_nobody_special() -> None:
    """The last USER is a number, which Kubernetes can see is not root, and nothing is copied after it."""
    last = TEXT.rpartition("\nUSER ")[2]
    assert last.splitlines()[0] == "10001:10001"
    assert "\nCOPY" not in last
    assert "\nRUN" not in last


def test_image_is_of_the_version_the_project_has() -> None:
    """Project, chart, compose file and the Dockerfile's own hint name one version."""
    (version,) = re.findall(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert f"docker build -t graphtide:{version} ." in TEXT
    assert f"image: graphtide:{version}\n" in (ROOT / "compose.yaml").read_text()
    chart = (ROOT / "helm" / "Chart.yaml").read_text()
    assert f"version: {version}\n" in chart
    assert f'appVersion: "{version}"\n' in chart


def test_image_compiles_with_the_python_that_it_runs() -> None:
    """Both stages start from one image: the virtual environment of the first works in the second."""
    first, second = re.findall(r"^FROM (\S+)", TEXT, re.MULTILINE)
    assert first == second
