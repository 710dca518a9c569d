"""SIGKILL while the embedded storage appends and commits: acknowledged writes are stored, and every write is atomic."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from random import Random

import pytest

from graphtide.infra.sqlite import SqliteBackend
from graphtide.streams.messages import DELTAS, DOCUMENTS
from graphtide.streams.ports import RevisionState, StoredDocument
from tests.model.memory.rows import Rows
from tests.support.records import Walk, plain
from tests.support.storage_child import NOISE, commit_of

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = (
    "BEGIN",
    "INSERT INTO records",
    "INSERT OR IGNORE INTO revisions",
    "UPDATE watermarks",
    "INSERT OR REPLACE INTO entities",
    "INSERT OR REPLACE INTO community_members",
    "INSERT INTO standings",
    "UPDATE revisions",
    "COMMIT",
    "settle",
)


def run_until_killed(folder: Path, seed: int, *moment: str, lines: int = 0) -> dict[str, int]:
    """Start the child, kill it after that many lines (0: it kills itself); return the highest number of each kind."""
    command = [sys.executable, "-m", "tests.support.storage_child", str(folder), str(seed), *moment]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stderr is not None
        reported = []
        for line in child.stdout:
            reported.append(line.split())
            if len(reported) == lines:
                child.kill()
        complaint = child.stderr.read()
        assert child.wait() == -9, complaint
    promised: dict[str, int] = defaultdict(lambda: -1)
    for what, number in reported:
        promised[what] = max(promised[what], int(number))
    return promised


async def check(folder: Path, seed: int, promised: dict[str, int]) -> int:
    """Reopen the folder and compare its content with the state of its version; return the version."""
    backend = await SqliteBackend.open(folder)
    try:
        version = (await backend.store.graphs()).get("g", 0)
        end = (await backend.log.end(DOCUMENTS))[0]
        noise = (await backend.log.end(NOISE))[0]
        assert version >= promised["committed"] and end > promised["accepted"] and noise > promised["noise"]
        watermark = await backend.store.claim(0)
        assert watermark.next_offset == version and end in (version, version + 1) and noise % 2 == 0
        for topic, length in ((DOCUMENTS, end), (NOISE, noise), (DELTAS, version)):
            delivered = await backend.log.consumer(topic, "check").poll(1 << 20, 0)
            assert [one.position.offset for one in delivered] == list(range(length))
        counts = await backend.ledger.counts("g")
        assert (counts[RevisionState.APPLIED], counts[RevisionState.ACCEPTED]) == (version, end - version)
        assert await backend.ledger.pending("g") == end - version
        walk, fold = Walk(Random(seed)), Rows("g")
        standings: dict[str, StoredDocument] = {}
        for _ in range(version):
            [part] = commit_of(walk, watermark).graphs
            fold.apply(part.delta)
            standings |= part.standings
        assert await backend.store.standings("g", list(standings)) == standings
        if version:
            assert plain(await backend.store.snapshot("g")) == plain(fold.snapshot())
        problems = await backend.database.read(
            lambda connection: connection.execute("PRAGMA integrity_check").fetchall()
        )
        assert problems == [("ok",)]
        return version
    finally:
        await backend.close()


async def test_storage_keeps_its_promises_when_killed_at_random_moments(tmp_path: Path) -> None:
    """The child is killed and restarted on the same folder repeatedly, at moments drawn from a seed."""
    seed = 11
    print(f"seed {seed}")
    rng = Random(seed)
    versions = [0]
    for _ in range(6):
        promised = run_until_killed(tmp_path, seed, lines=rng.randint(1, 80))
        versions.append(await check(tmp_path, seed, promised))
    assert versions == sorted(versions) and versions[-1] > 5


@pytest.mark.parametrize("moment", MOMENTS)
async def test_storage_keeps_its_promises_when_killed_at_a_named_moment(tmp_path: Path, moment: str) -> None:
    """The child is killed between any two steps of a commit, before it is durable, and before its acknowledgement."""
    for count in (2, 9):
        promised = run_until_killed(tmp_path, 4, moment, str(count))
        await check(tmp_path, 4, promised)
