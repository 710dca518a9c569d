"""Programs written in Go that tests call, built once from pinned sources into the cache folder.

Where Go is missing, `tool` skips the test with one line; nothing else is skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("GRAPHTIDE_TEST_CACHE", ROOT / ".cache")) / "go"
CHECKS = ROOT / "tests" / "support" / "gochecks"
SERVERS = ROOT / "tests" / "support" / "goservers"
HELM = "helm.sh/helm/v3/cmd/helm@v3.19.2"
GRAFANA = "github.com/grafana/grafana@v1.9.2-0.20230609164553-81d85ce8028d"  # 10.0.0, the newest that is a module
WIRE = "github.com/google/wire/cmd/wire@v0.6.0"  # generates the sources that Grafana's own repository leaves out
GRAFANA_GO = "go1.21.13"  # newer ones do not compile what Grafana 10.0 needs
KUBERNETES = "v1.34.4"  # the version in goservers/go.mod; a server built without it reports 0.0


def helm() -> Path:
    """Return the path of Helm. The first build takes minutes; later calls find it in the cache."""
    return _built("helm", ["install", HELM], ROOT)


def kubecheck() -> Path:
    """Return the path of the program that decodes manifests into Kubernetes' own types: gochecks/kubecheck/main.go."""
    return _built("kubecheck", ["install", "./kubecheck"], CHECKS)


def composecheck() -> Path:
    """Return the path of the program that loads a compose file as `docker compose` does (gochecks/composecheck)."""
    return _built("composecheck", ["install", "./composecheck"], CHECKS)


def etcd() -> Path:
    """Return the path of etcd, the object store of the API server."""
    return _built("server", ["install", "go.etcd.io/etcd/server/v3"], SERVERS)


def kube(name: str) -> Path:
    """Return the path of a program of Kubernetes, such as kube-apiserver. The first build takes five CPU minutes."""
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    stamped = {"gitVersion": KUBERNETES, "gitMajor": major, "gitMinor": minor}
    flags = " ".join(f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamped.items())
    return _built(name, ["install", "-ldflags", f"-s -w {flags}", f"k8s.io/kubernetes/cmd/{name}"], SERVERS)


def module(name: str) -> Path:
    """Return the folder of a published module, "path@version", for files in it that are not programs."""
    go = shutil.which("go")
    if go is None:
        pytest.skip(f"{name} cannot be fetched: Go is not installed")
    done = subprocess.run([go, "mod", "download", "-json", name], cwd="/", check=True, capture_output=True)
    return Path(json.loads(done.stdout)["Dir"])


def grafana() -> Path:
    """Return the path of Grafana's server, without its pages. The first build takes seven CPU minutes."""
    program, stamp = CACHE / "grafana", CACHE / "grafana.stamp"
    stamped = f"{GRAFANA} {WIRE} {GRAFANA_GO}"
    if program.exists() and stamp.exists() and stamp.read_text() == stamped:
        return program
    home = module(GRAFANA)
    CACHE.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"GOTOOLCHAIN": GRAFANA_GO, "GOFLAGS": "-mod=mod"}
    with tempfile.TemporaryDirectory() as made:
        source = Path(made) / "grafana"
        shutil.copytree(home, source, ignore=shutil.ignore_patterns("docs", "e2e", "node_modules"))
        subprocess.run(["chmod", "-R", "u+w", str(source)], check=True)
        for command in (
            ["run", WIRE, "gen", "-tags", "oss", "./pkg/server"],
            ["build", "-trimpath", "-ldflags", "-s -w -X main.version=10.0.0", "-o", str(program), "./pkg/cmd/grafana"],
        ):
            subprocess.run(["go", *command], cwd=source, check=True, env=environment)
    stamp.write_text(stamped)
    return program


def _built(name: str, command: list[str], folder: Path) -> Path:
    program = CACHE / name
    stamp = CACHE / f"{name}.stamp"
    sources = [*folder.glob("*/*.go"), *folder.glob("go.*")] if folder != ROOT else []
    stamped = " ".join(command) + "".join(file.read_text() for file in sorted(sources))
    if program.exists() and stamp.exists() and stamp.read_text() == stamped:
        return program
    go = shutil.which("go")
    if go is None:
        pytest.skip(f"{name} cannot be built: Go is not installed")
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run([go, *command], cwd=folder, check=True, env=os.environ | {"GOBIN": str(CACHE)})
    stamp.write_text(stamped)
    return program
