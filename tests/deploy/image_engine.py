"""`make image-check` with Docker or Podman: the image is built, and its processes run in containers.

They are confined as compose.yaml and the chart confine them: no root, no capability, nothing written but in volumes.
Kafka and the graph database are not part of it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

IMAGE = "graphtide-check"
CONFINED = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")  # noqa: S108
OPEN = ("-e", "GRAPHTIDE_HOST=0.0.0.0", "-e", "GRAPHTIDE_ALLOW_UNAUTHENTICATED=true", "-p", "127.0.0.1::8080")
GRACE_S = 35
START_S = 120.0
LARGEST_MB = 1_000
ROLES = ("extract", "consolidate", "summarize", "query", "gateway")
FACT = {"subject": "Ada Lovelace", "predicate": "wrote about", "object": "the Analytical Engine"}


@dataclass(frozen=True, slots=True)
class Engine:
    """The command line of a container engine."""

    program: str

    def run(self, *arguments: str) -> str:
        """Return standard output; raise CalledProcessError, with the output, on failure."""
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.stderr.write(done.stdout + done.stderr)
        done.check_returncode()
        return done.stdout.strip()

    def refuses(self, *arguments: str) -> str:
        """Return both outputs; raise AssertionError on success."""
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode, f"{' '.join(arguments)}: succeeded"
        return done.stdout + done.stderr


def engine() -> Engine | None:
    """Return the engine that answers on this machine, if any."""
    for program in ("docker", "podman"):
        if shutil.which(program) and not subprocess.run([program, "info"], capture_output=True, check=False).returncode:
            return Engine(program)
    return None


def check_image(engine: Engine, root: Path) -> None:
    """Build the image from the folder `root` and test it; raises AssertionError or CalledProcessError on failure."""
    subprocess.run([engine.program, "build", "-t", IMAGE, str(root)], check=True)
    size_mb = int(engine.run("image", "inspect", "--format", "{{.Size}}", IMAGE)) // 1_000_000
    assert size_mb < LARGEST_MB, f"the image takes {size_mb} MB"
    name = f"{IMAGE}-{uuid.uuid4().hex[:8]}"
    try:
        engine.run("run", "-d", "--name", name, *CONFINED, *OPEN, "-v", f"{name}:/var/lib/graphtide", IMAGE)
        _confined(engine, name)
        before = _published(_url(engine, name))
        ended_s = _ended(engine, name)
        engine.run("start", name)
        assert _digest(_url(engine, name)) == before, "the volume did not keep the graph"
        _ended(engine, name)
    finally:
        engine.run("rm", "-f", name)
        engine.run("volume", "rm", "-f", name)
    for role in ROLES:
        message = engine.refuses("run", "--rm", *CONFINED, IMAGE, "worker", role)
        assert "graphtide: a " in message, message
        assert "Traceback" not in message, message
    sys.stdout.write(f"{engine.program}: the image takes {size_mb} MB; `serve` ended {ended_s:.1f} s after SIGTERM\n")


def _confined(engine: Engine, name: str) -> None:
    """Check that the process is 10001, holds no capability, and that not even root could write to its image."""
    status = dict(line.split(":\t", 1) for line in engine.run("exec", name, "cat", "/proc/1/status").splitlines())
    assert status["Uid"].split() == ["10001"] * 4
    assert int(status["CapEff"], 16) == 0
    assert status["NoNewPrivs"].strip() == "1"
    assert "Read-only" in engine.refuses("exec", "--user", "0", name, "touch", "/opt/graphtide/written")


def _url(engine: Engine, name: str) -> str:
    """Return the URL of the service, once it is healthy and ready."""
    url = "http://" + engine.run("port", name, "8080").splitlines()[0]
    deadline = time.monotonic() + START_S
    for path in ("/healthz", "/readyz", "/metrics"):
        while not _answers(url + path):
            assert time.monotonic() < deadline, f"no answer to {path}: {engine.run('logs', name)}"
            time.sleep(0.2)
    return url


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=10) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (URLError, HTTPException, OSError):
        return False


def _published(url: str) -> str:
    """Return the digest of a graph with one document."""
    document = json.dumps({"text": "Ada Lovelace wrote about the Analytical Engine.", "facts": [FACT]}).encode()
    put = Request(f"{url}/v1/graphs/notes/documents/ada", document, {"Content-Type": "application/json"}, method="PUT")  # noqa: S310
    with urlopen(put, timeout=30) as answer:  # noqa: S310
        token = json.load(answer)["token"]
    ask = json.dumps({"question": "Who wrote about the engine?", "after": token}).encode()
    post = Request(f"{url}/v1/graphs/notes/query", ask, {"Content-Type": "application/json"})  # noqa: S310
    with urlopen(post, timeout=60) as answer:  # noqa: S310
        cited = [citation["doc_id"] for citation in json.load(answer)["citations"]]
    assert cited == ["ada"], cited
    return _digest(url)


def _digest(url: str) -> str:
    with urlopen(f"{url}/v1/graphs/notes/digest", timeout=30) as answer:  # noqa: S310
        return str(json.load(answer)["digest"])


def _ended(engine: Engine, name: str) -> float:
    """Return the seconds from SIGTERM to the end, which must be clean."""
    since = time.monotonic()
    engine.run("stop", "-t", str(GRACE_S), name)
    took_s = time.monotonic() - since
    assert engine.run("inspect", "--format", "{{.State.ExitCode}}", name) == "0", engine.run("logs", name)
    assert took_s < GRACE_S
    return took_s
