"""The vector indexes of a process at SIGTERM: saved at the version it showed, and read at its next start."""

from __future__ import annotations

import json
from pathlib import Path

import httpx

from tests.support.processes import service


def versions(folder: Path) -> set[int]:
    """Return the version of each saved index of the graph `g`."""
    manifests = (folder / "indexes" / "g").glob("*/manifest.json")
    return {json.loads(json.loads(file.read_text())["manifest"])["version"] for file in manifests}


def test_service_saves_its_indexes_at_sigterm(tmp_path: Path) -> None:
    """The save comes seconds after the start, long before the periodic one."""
    with service(tmp_path / "data") as one:
        for number in range(5):
            body = {"text": f"Ada Lovelace met Charles Babbage {number} in London.", "facts": []}
            put = httpx.put(f"{one.url}/v1/graphs/g/documents/d{number}", json=body, timeout=120)
        asked = {"question": "Who met Babbage?", "generate": False, "after": put.raise_for_status().json()["token"]}
        answer = httpx.post(f"{one.url}/v1/graphs/g/query", json=asked, timeout=60).raise_for_status().json()
        assert one.stop() == 0
    assert versions(tmp_path / "data") == {answer["version"]}
