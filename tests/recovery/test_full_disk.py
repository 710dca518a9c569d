"""The embedded service on a full disk: a file system of 24 MB in a private mount namespace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from graphtide.infra.settings import Settings
from graphtide.services.wiring import open_application
from graphtide.streams.errors import Broken
from tests.recovery.full_disk import COURSES

ROOT = Path(__file__).parents[2]
NAMESPACES = (("unshare", "--mount"), ("unshare", "--map-root-user", "--mount"))
"""Ways to a namespace with the right to mount: as root, or with user namespaces where the kernel permits them."""


@pytest.fixture(scope="module")
def apart() -> Sequence[str]:
    """Return the prefix of a command that lets it mount a file system in a private namespace."""
    reason = ""
    for way in NAMESPACES:
        try:
            tried = [*way, "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]
            done = subprocess.run(tried, capture_output=True, text=True, timeout=60, check=False)
        except OSError as error:
            reason = str(error)
            continue
        if not done.returncode:
            return way
        reason = done.stderr.strip()
    pytest.skip(f"no small disk: nothing may be mounted here ({reason})")


@pytest.mark.thorough
@pytest.mark.parametrize("course", COURSES)
def test_service_keeps_or_refuses_documents_when_the_disk_is_full(
    course: str, apart: Sequence[str], tmp_path: Path
) -> None:
    """Every operation is atomic, the reason is reported, and with space again the graph is that of a clean build."""
    command = [*apart, sys.executable, "-m", "tests.recovery.full_disk", course, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    log = tmp_path / "service.log"
    assert not done.returncode, (done.stdout, done.stderr[-4000:], log.exists() and log.read_text()[-4000:])
    assert "Traceback" not in log.read_text()


async def test_data_folder_keeps_no_half_of_a_models_name(tmp_path: Path) -> None:
    """A name of the embedding model that cannot be written whole is not stored: the next start writes it."""
    in_the_way = tmp_path / "embedding-model.new"
    in_the_way.mkdir()
    with pytest.raises(Broken, match="cannot be written"):
        async with open_application(Settings(data=tmp_path)):
            pass
    assert not (tmp_path / "embedding-model").exists()
    in_the_way.rmdir()
    for _ in range(2):
        async with open_application(Settings(data=tmp_path)):
            pass
