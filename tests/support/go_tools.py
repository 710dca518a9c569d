"""Programs written in Go that tests call, built once from pinned sources into the cache folder.

Where Go is missing, `tool` says so in one line by skipping; nothing else is skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("GRAPHTIDE_TEST_CACHE", ROOT / ".cache")) / "go"
CHECKS = ROOT / "tests" / "support" / "gochecks"
SERVERS = ROOT / "tests" / "support" / "goservers"
HELM = "helm.sh/helm/v3/cmd/helm@v3.19.2"
KUBERNETES = "v1.34.4"  # as goservers/go.mod has it; a server built without it calls itself 0.0


def helm() -> Path:
    """Helm itself. The first build takes minutes; afterwards it is there."""
    return _built("helm", ["install", HELM], ROOT)


def kubecheck() -> Path:
    """What decodes manifests into Kubernetes' own types: see gochecks/kubecheck/main.go."""
    return _built("kubecheck", ["install", "./kubecheck"], CHECKS)


def composecheck() -> Path:
    """What loads a compose file as `docker compose` does: see gochecks/composecheck/main.go."""
    return _built("composecheck", ["install", "./composecheck"], CHECKS)


def etcd() -> Path:
    """What the API server keeps its objects in."""
    return _built("server", ["install", "go.etcd.io/etcd/server/v3"], SERVERS)


def kube(name: str) -> Path:
    """A program of Kubernetes itself, such as kube-apiserver. The first build takes five minutes of a processor."""
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    said = {"gitVersion": KUBERNETES, "gitMajor": major, "gitMinor": minor}
    flags = " ".join(f"-X k8s.io/component-base/version.{key}={value}" for key, value in said.items())
    return _built(name, ["install", "-ldflags", f"-s -w {flags}", f"k8s.io/kubernetes/cmd/{name}"], SERVERS)


def module(name: str) -> Path:
    """The folder of a published module, "path@version", for files in it that are not programs."""
    go = shutil.which("go")
    if go is None:
        pytest.skip(f"{name} cannot be fetched: Go is not installed")
    done = subprocess.run([go, "mod", "download", "-json", name], cwd="/", check=True, capture_output=True)
    return Path(json.loads(done.stdout)["Dir"])


def _built(name: str, command: list[str], folder: Path) -> Path:
    program = CACHE / name
    stamp = CACHE / f"{name}.stamp"
    sources = [*folder.glob("*/*.go"), *folder.glob("go.*")] if folder != ROOT else []
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
