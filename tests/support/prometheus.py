"""A real Prometheus for tests, and promtool: Debian's package, unpacked into the cache folder and not installed.

GRAPHTIDE_TEST_PROMETHEUS may name a folder that holds both programs; otherwise they are looked up on the path, and then
fetched with apt-get. `programs` raises when all three fail.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.support.maven import Unavailable, cache_folder
from tests.support.ports import free_port

TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Programs:
    prometheus: Path
    promtool: Path


def programs() -> Programs:
    """Return the paths of Prometheus and promtool. Raises Unavailable."""
    named = os.environ.get("GRAPHTIDE_TEST_PROMETHEUS")
    if named:
        return Programs(Path(named) / "prometheus", Path(named) / "promtool")
    found = [shutil.which(name) for name in ("prometheus", "promtool")]
    if all(found):
        return Programs(*(Path(str(each)) for each in found))
    folder = cache_folder() / "prometheus"
    if not (folder / "usr" / "bin" / "promtool").exists():
        _fetch(folder)
    return Programs(folder / "usr" / "bin" / "prometheus", folder / "usr" / "bin" / "promtool")


def _fetch(folder: Path) -> None:
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg")
    if apt is None or dpkg is None:
        raise Unavailable("Prometheus is not on this machine, nor apt-get to fetch it with")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        download = [apt, "-q", "download", "prometheus"]
        done = subprocess.run(download, cwd=made, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode:  # the package lists may be old or missing
            subprocess.run([apt, "-q", "update"], capture_output=True, check=False, timeout=300)
            done = subprocess.run(download, cwd=made, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode:
            raise Unavailable(f"apt-get could not fetch Prometheus: {done.stderr.strip()[:200]}")
        (package,) = Path(made).glob("prometheus_*.deb")
        subprocess.run([dpkg, "-x", str(package), str(Path(made) / "x")], check=True, timeout=300)
        shutil.rmtree(folder, ignore_errors=True)
        (Path(made) / "x").rename(folder)


class Prometheus:
    """The HTTP API of a running Prometheus."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx.Client(base_url=url, timeout=120)

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the samples of an instant query. Raises ValueError with Prometheus's error message."""
        body = self._client.post("/api/v1/query", data={"query": expression}).json()
        if body["status"] != "success":
            raise ValueError(f"{body['error']}: {expression}")
        data = body["data"]
        found: list[dict[str, Any]] = data["result"] if data["resultType"] != "scalar" else [{"value": data["result"]}]
        return found

    def rules(self) -> list[dict[str, Any]]:
        """Return all rules as they were loaded."""
        groups = self._client.get("/api/v1/rules").json()["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def wait_for(self, expression: str) -> None:
        """Return when the query has a result."""
        deadline = time.monotonic() + TIMEOUT_S
        while not self.query(expression):
            assert time.monotonic() < deadline, f"nothing came of {expression}"
            time.sleep(0.2)

    def close(self) -> None:
        self._client.close()


@contextmanager
def running(folder: Path, targets: Sequence[tuple[str, str]], rules: Path) -> Iterator[Prometheus]:
    """Yield a Prometheus that scrapes the targets, (name of the process, host:port), every second."""
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules.absolute())],
        "scrape_configs": [
            {
                "job_name": "graphtide",
                "static_configs": [{"targets": [at], "labels": {"process": name}} for name, at in targets],
            }
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = [str(programs().prometheus), f"--config.file={folder / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}"]
    with open(folder / "prometheus.log", "wb") as log:  # noqa: PTH123 -- handed to the process
        process = subprocess.Popen(command, stdout=log, stderr=log)
    one = Prometheus(f"http://127.0.0.1:{port}")
    try:
        _wait_until_ready(port, process)
        yield one
    finally:
        one.close()
        process.terminate()
        process.wait(timeout=120)


def _wait_until_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        assert process.poll() is None, "Prometheus ended; see prometheus.log"
        try:
            if httpx.get(f"http://127.0.0.1:{port}/-/ready", timeout=5).status_code == httpx.codes.OK:
                return
        except httpx.HTTPError:
            assert time.monotonic() < deadline, "Prometheus is not ready"
        time.sleep(0.1)
