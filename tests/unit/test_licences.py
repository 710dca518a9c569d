"""Licences of the installed dependencies: compatible with Graphtide's own (Apache-2.0)."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

LOCK = Path(__file__).parents[2] / "requirements.lock"
STRONG_COPYLEFT = re.compile(r"\b(A?GPL|GNU (Affero )?General Public|SSPL|BUSL|Commons Clause|Proprietary)", re.I)


def licence(name: str) -> str:
    """Return a distribution's licence, from whichever metadata field holds it."""
    about = metadata.metadata(name)
    classifiers = [line for line in about.get_all("Classifier", []) if line.startswith("License")]
    named = [line[:200] for field in ("License-Expression", "License") for line in about.get_all(field, [])]
    return " ".join([*named, *classifiers])


def pins() -> list[str]:
    """Return the lines of the lock file that name a distribution and its version, without its hashes."""
    return [line.removesuffix(" \\") for line in LOCK.read_text().splitlines() if line and line[0] not in "# -"]


def locked() -> list[str]:
    """Return the distributions of the lock file that are installed on this platform."""
    names = [re.split(r"[=<>; \[]", line)[0] for line in pins()]
    installed = {re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower() for one in metadata.distributions()}
    return [name for name in names if re.sub(r"[-_.]+", "-", name).lower() in installed]


def test_licences_of_all_dependencies_allow_distribution_under_apache() -> None:
    """No dependency is under a licence that would bind Graphtide's own code."""
    names = locked()
    assert len(names) > 50
    assert [f"{name}: {licence(name)}" for name in names if STRONG_COPYLEFT.search(licence(name))] == []


def test_lock_pins_every_version_exactly() -> None:
    """Each line of the lock names one version, and gqlalchemy's is 1.8."""
    lines = pins()
    assert all(re.match(r"^[A-Za-z0-9_.\[\]-]+==[^ ;]+( ;.*)?$", line) for line in lines)
    assert any(line.startswith("gqlalchemy==1.8.") for line in lines)
