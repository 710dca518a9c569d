"""The page's sources on a clean machine: locked packages, types of the present interface, unit tests, equal build."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from graphtide.services.api.http.app import create_app
from tests.support.application import InMemoryApplication
from tests.support.node import PAGE, npm, page_copy


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_copy(tmp_path_factory.mktemp("sources"))


@pytest.mark.thorough
def test_build_of_the_sources_equals_the_committed_one(sources: Path) -> None:
    """The files that an installation contains are those of `make page`, byte for byte."""
    npm(sources, "run", "build")
    built, committed = files_of(sources / "dist"), files_of(PAGE / "dist")
    assert sorted(built) == sorted(committed), "the build is out of date: run make page and commit services/page/dist"
    assert [name for name in built if built[name] != committed[name]] == []


@pytest.mark.thorough
def test_page_agrees_with_the_types_of_the_interface(sources: Path) -> None:
    """The page compiles with types that are generated from the present OpenAPI description."""
    (sources / "openapi.json").write_text(json.dumps(create_app(InMemoryApplication()).openapi()))
    npm(sources, "run", "types")
    npm(sources, "run", "check")


@pytest.mark.thorough
def test_unit_tests_of_the_page_pass(sources: Path) -> None:
    """The tests of parsers, formats and models, in Node."""
    assert re.search(r"[1-9]\d* passed", npm(sources, "test"))


def test_lock_file_pins_packages_by_hash_and_names_no_registry() -> None:
    """Any registry may serve the packages; the hash decides."""
    lock = json.loads((PAGE / "package-lock.json").read_text())
    packages = {name: each for name, each in lock["packages"].items() if name and not each.get("link")}
    assert len(packages) > 50
    assert [name for name, each in packages.items() if "integrity" not in each or "resolved" in each] == []
    manifest = json.loads((PAGE / "package.json").read_text())
    versions = [*manifest["dependencies"].values(), *manifest["devDependencies"].values()]
    assert [each for each in versions if not re.fullmatch(r"\d+\.\d+\.\d+", each)] == []


def files_of(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
