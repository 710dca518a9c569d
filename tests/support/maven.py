"""Jars for the servers that tests start: fetched with Maven once, kept in a cache folder, named by their versions.

The folder is `.cache` in the working folder, or what GRAPHTIDE_TEST_CACHE names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>graphtide.tests</groupId><artifactId>jars</artifactId><version>1</version>
  <packaging>pom</packaging><dependencies>{}</dependencies>
</project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


class Unavailable(Exception):  # noqa: N818 -- says what is the case, as the errors of the project do
    """The error raised when a test's requirement is missing on this machine; the message names it in one line."""


def cache_folder() -> Path:
    """Return the folder where fetched files are kept between runs."""
    return Path(os.environ.get("GRAPHTIDE_TEST_CACHE") or ".cache").absolute()


def fetch(coordinates: Sequence[str]) -> str:
    """Return the class path of `group:artifact:version` coordinates and their dependencies. Raises Unavailable.

    A cached class path neither fetches nor starts Maven; concurrent processes do not interfere.
    """
    tools = {tool: shutil.which(tool) for tool in ("java", "mvn")}
    if missing := [tool for tool, found in tools.items() if found is None]:
        raise Unavailable(f"{' and '.join(missing)} not on this machine")
    folder = cache_folder() / "jars" / sha256("\n".join(coordinates).encode()).hexdigest()[:16]
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            _copy_jars(coordinates, Path(made))
            _put(Path(made) / "lib", folder)
    return str(folder / "*")


def _copy_jars(coordinates: Sequence[str], folder: Path) -> None:
    pom = folder / "pom.xml"
    pom.write_text(_POM.format("".join(_DEPENDENCY.format(*coordinate.split(":")) for coordinate in coordinates)))
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    done = subprocess.run(
        [*command, f"-DoutputDirectory={folder / 'lib'}"], capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode:
        raise Unavailable(f"Maven could not fetch {', '.join(coordinates)}: {done.stdout.strip()[:200]}")


def _put(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:
        if not folder.exists():  # another process was first, otherwise
            raise
