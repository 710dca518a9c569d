"""A real Kubernetes API server for tests, with etcd, the controllers that create pods, and Helm.

There are no nodes: pods are created, admitted or refused, and stay pending. The definitions of KEDA and of the
Prometheus operator are installed, their controllers are not.
"""

from __future__ import annotations

import secrets
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.support import go_tools
from tests.support.ports import free_ports

START_S = 180.0
TIMEOUT_S = 120.0
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
KEDA = "github.com/kedacore/keda/v2@v2.18.1"
PROMETHEUS_OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"  # the newest with its definitions
DEFINITIONS = {
    KEDA: ("config/crd/bases/keda.sh_scaledobjects.yaml", "config/crd/bases/keda.sh_triggerauthentications.yaml"),
    PROMETHEUS_OPERATOR: (
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
}

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running API server. `client` speaks to it as an administrator; `kubeconfig` lets other programs do so."""

    client: httpx.Client
    kubeconfig: Path

    def namespace(self, name: str) -> None:
        """Create a namespace that admits restricted pods alone, and wait for its service account."""
        made = self.client.post("/api/v1/namespaces", json={"metadata": {"name": name, "labels": RESTRICTED}})
        made.raise_for_status()
        wait_until(lambda: self.client.get(f"/api/v1/namespaces/{name}/serviceaccounts/default").is_success)

    def objects(self, path: str) -> list[Object]:
        """Return the objects under a path, such as /api/v1/namespaces/default/pods."""
        answer = self.client.get(path)
        answer.raise_for_status()
        return list(answer.json()["items"])

    def helm(self, *arguments: str) -> str:
        """Run Helm and return its standard error, with the API server's warnings; raise AssertionError if it fails."""
        command = [str(go_tools.helm()), "--kubeconfig", str(self.kubeconfig), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Yield a cluster without nodes, its data in `folder`, for as long as the context is open."""
    store, peers, port = free_ports(3)
    token = secrets.token_hex(16)
    (folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
    key = folder / "accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    with ExitStack() as running:
        running.enter_context(_process(folder, go_tools.etcd(), _etcd(folder, store, peers)))
        running.enter_context(_process(folder, go_tools.kube("kube-apiserver"), _api_server(folder, store, port, key)))
        certificate = folder / "certificates" / "apiserver.crt"
        wait_until(certificate.exists, START_S)
        trusted = ssl.create_default_context(cafile=str(certificate))
        headers = {"Authorization": f"Bearer {token}"}
        client = running.enter_context(
            httpx.Client(base_url=f"https://127.0.0.1:{port}", headers=headers, verify=trusted, timeout=30)
        )
        wait_until(lambda: _ready(client), START_S)
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(_kubeconfig(port, certificate, token))
        controllers = {"kubeconfig": kubeconfig, "service-account-private-key-file": key, "leader-elect": "false"}
        running.enter_context(_process(folder, go_tools.kube("kube-controller-manager"), controllers))
        _define(client)
        yield Cluster(client, kubeconfig)


def wait_until(condition: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
    """Return once the condition holds; raise AssertionError at the time limit."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s"
        time.sleep(0.1)


def _etcd(folder: Path, port: int, peers: int) -> dict[str, object]:
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers}"
    return {
        "data-dir": folder / "etcd",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
        "unsafe-no-fsync": "true",
    }


def _api_server(folder: Path, store: int, port: int, key: Path) -> dict[str, object]:
    return {
        "etcd-servers": f"http://127.0.0.1:{store}",
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "cert-dir": folder / "certificates",
        "service-cluster-ip-range": "10.96.0.0/16",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": key,
        "service-account-signing-key-file": key,
        "token-auth-file": folder / "tokens.csv",
        "authorization-mode": "RBAC",
    }


@contextmanager
def _process(folder: Path, program: Path, flags: Mapping[str, object]) -> Iterator[None]:
    """Run a program during the block, its log in the folder."""
    command: Sequence[str] = [str(program), *(f"--{name}={value}" for name, value in flags.items())]
    with (
        (folder / f"{program.name}.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, cwd=folder) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


def _ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").is_success
    except httpx.TransportError:
        return False


def _kubeconfig(port: int, certificate: Path, token: str) -> str:
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(certificate)}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "test",
        }
    )


def _define(client: httpx.Client) -> None:
    """Install the definitions of foreign kinds, and wait until they are served."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for module, files in DEFINITIONS.items():
        for file in files:
            definition = yaml.safe_load((go_tools.module(module) / file).read_text())
            client.post(path, json=definition).raise_for_status()
            name = definition["metadata"]["name"]
            wait_until(lambda name=name: _established(client.get(f"{path}/{name}").json()))  # type: ignore[misc]


def _established(definition: Object) -> bool:
    conditions = definition.get("status", {}).get("conditions") or []
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)
