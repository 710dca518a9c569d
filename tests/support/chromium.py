"""Chromium for tests of the page: this machine's, or Debian's package, installed on first use; driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.support.debian import find_or_install

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


def chromium_path() -> Path:
    """Return the path of Chromium; as root on Debian it is installed when it is missing. Raises Unavailable."""
    return find_or_install("chromium", _found, REMEDY)


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
