"""Requests that schemathesis makes from the OpenAPI description, to a running service: `python -m tests.fuzz.http`.

What must hold: no 500, no status, header or body that the description does not have, nothing accepted that it forbids,
nothing refused that it allows (but for the conditions in `schemathesis_hooks.py`), and created documents can be read.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

from tests.support.processes import service

CONFIG = Path(__file__).with_name("schemathesis.toml")
"""Checks that do not fit single operations."""
STREAMS = "/(events|changes)$"
"""Paths whose responses do not end: the tests of event streams read them."""


def fuzz(folder: Path, seed: int, seconds: int) -> tuple[int, str]:
    """Run schemathesis for `seconds` against a service with its data in `folder`; return its exit code and report."""
    with service(folder / "data", {"GRAPHTIDE_LOG_LEVEL": "ERROR"}, folder / "log") as running:
        given = {"text": "Marie Curie discovered polonium in 1898."}
        httpx.put(f"{running.url}/v1/graphs/notes/documents/curie", json=given, timeout=120).raise_for_status()
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG)]
        command += ["run", f"{running.url}/openapi.json"]
        command += ["--seed", str(seed), "--max-time", str(seconds), "--no-color", "--continue-on-failure"]
        command += ["--generation-database", "none", "--suppress-health-check", "all", "--request-timeout", "60"]
        command += ["-n", "1000" if seconds > 120 else "30"]
        command += ["--exclude-path-regex", STREAMS]
        hooks = {"SCHEMATHESIS_HOOKS": "tests.fuzz.schemathesis_hooks"}
        ended = subprocess.run(
            command, env={**os.environ, **hooks}, capture_output=True, text=True, timeout=seconds + 240, check=False
        )
        alive = httpx.get(f"{running.url}/healthz", timeout=60).status_code == 200
    return ended.returncode if alive else 70, ended.stdout + ended.stderr


def main() -> None:
    """Fuzz for as long as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args()
    sys.stdout.write(f"seed {given.seed}\n")
    with tempfile.TemporaryDirectory() as folder:
        code, report = fuzz(Path(folder), given.seed, round(given.minutes * 60))
    sys.stdout.write(report)
    sys.exit(code)


if __name__ == "__main__":
    main()
