"""Node's tools for tests of the page: a copy of its sources with the locked packages of npm, and its scripts."""

from __future__ import annotations

import os
import shutil
import subprocess
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
