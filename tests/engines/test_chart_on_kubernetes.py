"""The chart on a real API server: installed, upgraded between all values, its pods created, and uninstalled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.support.kubernetes_server import Cluster, cluster, wait_until

CHART = Path(__file__).parents[2] / "helm"
VALUES = sorted(file.stem.removesuffix("-values") for file in (CHART / "ci").glob("*-values.yaml"))
RELEASES = ("graphtide", "a-release-whose-name-is-as-long-as-helm-allows-it-abc")
APPS = ("deployments", "statefulsets")

pytestmark = pytest.mark.timeout(1800)  # the first build of the servers


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield one API server for all tests."""
    with cluster(tmp_path_factory.mktemp("kubernetes")) as one:
        yield one


@pytest.fixture
def namespace(running: Cluster, numbers: Iterator[int] = count()) -> str:  # noqa: B008
    """Create a namespace of this test's own, which admits restricted pods alone."""
    name = f"graphtide-{next(numbers)}"
    running.namespace(name)
    return name


def installed(running: Cluster, namespace: str, values: str, release: str = "graphtide") -> None:
    """Install or upgrade, and assert that the API server has no warning."""
    file = CHART / "ci" / f"{values}-values.yaml"
    output = running.helm("upgrade", "--install", release, str(CHART), "-n", namespace, "-f", str(file))
    assert [line for line in output.splitlines() if "symbolic link" not in line] == []


def pods_are_made(running: Cluster, namespace: str) -> bool:
    """Assert that every workload has as many pods as it requests."""
    for kind in APPS:
        for one in running.objects(f"/apis/apps/v1/namespaces/{namespace}/{kind}"):
            if one.get("status", {}).get("replicas", 0) < one["spec"]["replicas"]:
                return False
    jobs = running.objects(f"/apis/batch/v1/namespaces/{namespace}/jobs")
    return all(job.get("status", {}).get("active", 0) == 1 for job in jobs)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("values", VALUES)
def test_chart_is_installed_and_its_restricted_pods_are_made(
    running: Cluster, namespace: str, values: str, release: str
) -> None:
    """The server accepts every manifest without a warning, admission every pod, and the controllers report no error."""
    installed(running, namespace, values, release)
    try:
        wait_until(lambda: pods_are_made(running, namespace))
    finally:
        events = running.objects(f"/api/v1/namespaces/{namespace}/events")
        assert [one["message"] for one in events if one["reason"] == "FailedCreate"] == []
    assert running.objects(f"/api/v1/namespaces/{namespace}/pods")


def test_chart_is_upgraded_from_any_values_to_any(running: Cluster, namespace: str) -> None:
    """No immutable field changes, whatever is switched on or off in a release."""
    for values in [*VALUES, *reversed(VALUES)]:
        installed(running, namespace, values)


def test_chart_leaves_nothing_behind_when_it_is_uninstalled(running: Cluster, namespace: str) -> None:
    """Only the volume claims of the release's servers remain, which hold data."""
    installed(running, namespace, "everything")
    wait_until(lambda: pods_are_made(running, namespace))
    running.helm("uninstall", "graphtide", "-n", namespace, "--wait")
    for path in ("/api/v1/{}/services", "/api/v1/{}/secrets", "/apis/apps/v1/{}/deployments", "/apis/batch/v1/{}/jobs"):
        assert running.objects(path.format(f"namespaces/{namespace}")) == []
    wait_until(lambda: running.objects(f"/api/v1/namespaces/{namespace}/pods") == [])
    claims = running.objects(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims")
    assert {one["metadata"]["name"] for one in claims} == {"data-graphtide-kafka-0", "data-graphtide-memgraph-0"}


def test_namespace_refuses_a_pod_that_is_not_restricted(running: Cluster, namespace: str) -> None:
    """The checks above can fail: admission is active."""
    pod = {"metadata": {"name": "bare"}, "spec": {"containers": [{"name": "bare", "image": "bare"}]}}
    answer = running.client.post(f"/api/v1/namespaces/{namespace}/pods", json=pod)
    assert answer.status_code == 403
    assert "restricted" in answer.json()["message"]
