"""Debian packages that tests install on first use, as root."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from typing import TypeVar

from tests.support.maven import Unavailable, cache_folder

INSTALL_TIMEOUT_S = 900
Found = TypeVar("Found")


def find_or_install(package: str, find: Callable[[], Found | None], remedy: str) -> Found:
    """Return what `find` finds; as root on Debian the package is installed if it finds nothing. Raises Unavailable."""
    found = find()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        cache_folder().mkdir(parents=True, exist_ok=True)
        with (cache_folder() / f"{package}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # concurrent processes wait for each other
            if find() is None:
                _install(package, remedy)
        found = find()
    if found is None:
        raise Unavailable(f"{package} is not on this machine: {remedy}")
    return found


def _install(package: str, remedy: str) -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", package]):
        command = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *arguments]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=INSTALL_TIMEOUT_S
        )
        if done.returncode:
            raise Unavailable(f"apt-get {arguments[0]} failed ({done.stderr.strip()[-300:]}): {remedy}")
