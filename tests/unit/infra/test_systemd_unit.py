"""The unit of systemd: its command and settings exist, and systemd finds nothing wrong with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from graphtide.infra.settings import Settings

UNIT = Path(__file__).resolve().parents[3] / "infra" / "systemd" / "graphtide.service"


def _values(key: str) -> list[str]:
    lines = (line.partition("=") for line in UNIT.read_text().splitlines() if not line.startswith("#"))
    return [value for name, _, value in lines if name == key]


def test_unit_names_settings_that_exist_and_one_data_folder() -> None:
    """The folder that it may write is the one of the setting."""
    assignments = [each.partition("=") for line in _values("Environment") for each in line.split()]
    settings = {name.removeprefix("GRAPHTIDE_").lower(): value for name, _, value in assignments}
    assert settings.keys() <= Settings.model_fields.keys()
    assert settings["data"] == f"/var/lib/{_values('StateDirectory')[0]}" == _values("WorkingDirectory")[0]
    assert _values("ExecStart") == ["/opt/graphtide/bin/graphtide serve"]


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    """An unknown key or value is a warning of `systemd-analyze verify`; without systemd, keys are unique at least."""
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace(_values("ExecStart")[0], "/bin/true"))
    if analyze := shutil.which("systemd-analyze"):
        found = subprocess.run([analyze, "verify", str(copy)], capture_output=True, text=True, check=False)
        assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
    keys = [line.partition("=")[0] for line in UNIT.read_text().splitlines() if "=" in line and line[0] != "#"]
    assert {key for key in keys if keys.count(key) > 1} == {"SystemCallFilter"}
