"""Chromium for tests of the page: this machine's, or Debian's package, installed on first use; driven by Playwright."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.support.maven import Unavailable, cache_folder

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REMEDY = "install Chromium (Debian: apt-get install chromium), or name one with GRAPHTIDE_TEST_CHROMIUM"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    # WebGL without a graphics card.
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)
INSTALL_TIMEOUT_S = 900


def chromium_path() -> Path:
    """Return the path of Chromium; as root on Debian it is installed when it is missing. Raises Unavailable."""
    found = _found()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
        found = _found()
    if found is None:
        raise Unavailable(f"no Chromium is on this machine: {REMEDY}")
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a running browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=list(ARGUMENTS), timeout=120_000)
        try:
            yield browser
        finally:
            browser.close()


def _found() -> Path | None:
    named = os.environ.get("GRAPHTIDE_TEST_CHROMIUM")
    candidates = (shutil.which(name) for name in ((named,) if named else NAMES))
    return next((Path(path) for path in candidates if path), None)


def _install() -> None:
    """Install Debian's package; concurrent processes wait for each other. Raises Unavailable."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / "chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _found() is not None:
            return
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            command = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *arguments]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=INSTALL_TIMEOUT_S
            )
            if done.returncode:
                raise Unavailable(f"apt-get {arguments[0]} failed ({done.stderr.strip()[-300:]}): {REMEDY}")
