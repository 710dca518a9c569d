"""Programs written in Go that tests call, built once from pinned sources into the cache folder.

Where Go is missing, `tool` says so in one line by skipping; nothing else is skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("GRAPHTIDE_TEST_CACHE", ROOT / ".cache")) / "go"
CHECKS = ROOT / "tests" / "support" / "gochecks"
HELM = "helm.sh/helm/v3/cmd/helm@v3.19.2"


def helm() -> Path:
    """Helm itself. The first build takes minutes; afterwards it is there."""
    return _built("helm", ["install", HELM], ROOT)


def kubecheck() -> Path:
    """What decodes manifests into Kubernetes' own types: see gochecks/kubecheck/main.go."""
    return _built("kubecheck", ["install", "./kubecheck"], CHECKS)


def composecheck() -> Path:
    """What loads a compose file as `docker compose` does: see gochecks/composecheck/main.go."""
    return _built("composecheck", ["install", "./composecheck"], CHECKS)


def _built(name: str, command: list[str], folder: Path) -> Path:
    program = CACHE / name
    stamp = CACHE / f"{name}.stamp"
    sources = [*folder.glob("*/*.go"), *folder.glob("go.*")] if folder == CHECKS else []
    said = " ".join(command) + "".join(file.read_text() for file in sorted(sources))
    if program.exists() and stamp.exists() and stamp.read_text() == said:
        return program
    go = shutil.which("go")
    if go is None:
        pytest.skip(f"{name} cannot be built: Go is not installed")
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run([go, *command], cwd=folder, check=True, env=os.environ | {"GOBIN": str(CACHE)})
    stamp.write_text(said)
    return program
