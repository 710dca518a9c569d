"""Node's tools for tests of the page: a copy of its sources with the locked packages of npm, and its scripts."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from tests.support.maven import Unavailable, cache_folder

PAGE = Path(__file__).parents[2] / "services" / "page"
TIMEOUT_S = 900
_COPIED = shutil.ignore_patterns("node_modules", "dist", "*.py", "__pycache__", "openapi.json")


def page_copy(folder: Path) -> Path:
    """Return a copy of the page's sources in `folder`, with the packages that its lock file names. Raises
    Unavailable.
    """
    copy = folder / "page"
    shutil.copytree(PAGE, copy, ignore=_COPIED)
    npm(copy, "ci", "--prefer-offline", "--no-progress")
    return copy


def npm(folder: Path, *arguments: str) -> str:
    """Run npm in a folder; return its output. Raises Unavailable without Node, AssertionError when npm fails."""
    program = shutil.which("npm")
    if program is None:
        raise Unavailable("Node is not on this machine: install Node 20.19 or newer with npm to build the page")
    cache = cache_folder() / "npm"
    cache.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [program, *arguments],
        cwd=folder,
        env={**os.environ, "npm_config_cache": str(cache), "NODE_ENV": "", "CI": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, f"npm {' '.join(arguments)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def package_file(name: str, file: str) -> str:
    """Return the text of a file of a package, in the version of the page's lock file. Kept in the cache folder."""
    locked = json.loads((PAGE / "package-lock.json").read_text())["packages"][f"node_modules/{name}"]
    archive = cache_folder() / "npm-packages" / f"{name}-{locked['version']}.tgz"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=archive.parent) as made:
            npm(Path(made), "pack", f"{name}@{locked['version']}")
            next(Path(made).glob("*.tgz")).replace(archive)
    content = archive.read_bytes()
    algorithm, _, expected = locked["integrity"].partition("-")
    assert base64.b64encode(hashlib.new(algorithm, content).digest()).decode() == expected, f"{archive} is damaged"
    with tarfile.open(fileobj=io.BytesIO(content)) as opened:
        member = opened.extractfile(f"package/{file}")
        assert member is not None
        return member.read().decode()
