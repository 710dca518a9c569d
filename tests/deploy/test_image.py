"""The Dockerfile, compared with the repository without an engine. `make image-check` runs its steps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from graphtide.infra.settings import Settings
from graphtide.services.access.bind_policy import gate_of
from tests.deploy.image_digests import known, named, write

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text()


def test_image_copies_what_is_there_and_not_ignored() -> None:
    """Each source of a COPY exists, and .dockerignore, which excludes everything by default, includes it."""
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", TEXT, re.MULTILINE):
        for source in line.split():
            assert (ROOT / source).exists()
            assert source in let_in


def test_image_runs_as_nobody_special() -> None:
    """The last USER is a number, which Kubernetes can recognise as not root, and nothing is copied after it."""
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


def test_image_serves_its_ports_outside_of_the_container() -> None:
    """`docker run -p` forwards to the container's own address; metrics stay inside unless their host is set."""
    environment = " ".join(re.findall(r"^ENV ((?:.*\\\n)*.*)$", TEXT, re.MULTILINE))
    assert "GRAPHTIDE_HOST=0.0.0.0" in environment and "METRICS_HOST" not in environment


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "Dockerfile"])
def test_documented_container_may_listen(page: str) -> None:
    """With the image's settings and those of the command the service does not refuse its address."""
    text = re.sub(r"\\\n *", "", (ROOT / page).read_text())
    (command,) = re.findall(r"docker run (.*?) graphtide:\d", text)
    environment = TEXT[TEXT.index("\nENV ") : TEXT.index("\nUSER ")]
    settings: dict[str, Any] = {
        name.lower(): value for name, value in re.findall(r"GRAPHTIDE_(\w+)=(\S+)", f"{environment} {command}")
    }
    assert settings["host"] == "0.0.0.0"  # noqa: S104 -- inside of the container
    gate_of(Settings(**settings))


def test_image_compiles_with_the_python_that_it_runs() -> None:
    """Both stages start from one image: the virtual environment of the first works in the second."""
    first, second = re.findall(r"^FROM (\S+)", TEXT, re.MULTILINE)
    assert first == second


def test_images_of_others_are_the_listed_ones_by_version_and_by_digest_where_it_is_known() -> None:
    """Dockerfile, compose file and chart name the images of infra/images.toml, each by its digest or all by none."""
    digests = known()
    assert named() == {image: {digest} for image, digest in digests.items()}
    for image in digests:
        assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*", image), image


def test_digests_are_written_behind_the_names_and_replace_older_ones() -> None:
    """The digest comes once after the name; one that is no longer known is removed."""
    first, second = "sha256:" + "a" * 64, "sha256:" + "b" * 64
    text = "FROM python:3.1.4-slim AS build\n  image: apache/kafka:4.1.0\n"
    once = write({"python:3.1.4-slim": first, "apache/kafka:4.1.0": first}, text)
    assert once == f"FROM python:3.1.4-slim@{first} AS build\n  image: apache/kafka:4.1.0@{first}\n"
    assert write({"python:3.1.4-slim": second}, once).startswith(f"FROM python:3.1.4-slim@{second} AS build\n")
    assert write({"python:3.1.4-slim": "", "apache/kafka:4.1.0": ""}, once) == text


def test_locks_hold_hashes_and_name_no_index() -> None:
    """Every package is pinned, with the hashes of its files; the image's pins equal the environment's."""
    names = ("requirements.lock", "requirements-image.lock", "requirements-run.lock", "requirements-build.lock")
    locks = [(ROOT / name).read_text() for name in names]
    pinned = []
    for lock in locks:
        assert not re.search(r"https?://|--index|--extra-index|--find-links", lock)
        entries = re.split(r"\n(?=\S)", lock.strip())
        assert all(re.match(r"[\w.\[\],-]+==\S+", entry) and "--hash=sha256:" in entry for entry in entries)
        pinned.append({entry.split()[0] for entry in entries})
    assert pinned[1] < pinned[0] and pinned[2] < pinned[0]
    assert "--require-hashes -r requirements-image.lock" in TEXT
    makefile = (ROOT / "Makefile").read_text()
    assert makefile.count("--require-hashes -r $(1)") == 2 and "--require-hashes -r requirements-build.lock" in makefile
    assert "install,requirements.lock)" in makefile and "install,requirements-run.lock)" in makefile
