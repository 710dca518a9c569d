"""`graphtide migrate`, `backup` and `restore`, as an operator runs them on a data folder."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphtide.graph.digest import digest, has_digest
from graphtide.infra.sqlite.connection import SCHEMA_VERSION
from graphtide.infra.sqlite.folder_lock import DATABASE
from tests.support.environment import plain_environment
from tests.support.kafka_server import KafkaServer
from tests.support.neo4j_server import GraphServer, clear
from tests.support.old_data import RECORDINGS, stored_rows
from tests.support.processes import service

OLD = RECORDINGS[-1]


def run(*arguments: str, code: int = 0, settings: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = plain_environment()
    command = [sys.executable, "-c", "from graphtide.services.cli import main; main()", *arguments]
    done = subprocess.run(command, env={**environment, **(settings or {})}, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def _versions(made: dict[str, Any]) -> dict[str, int]:
    return {graph: each["version"] for graph, each in made["graphs"].items()}


def test_migrate_says_and_raises_the_schema(tmp_path: Path) -> None:
    """With --check nothing changes; otherwise the folder gets this version's schema; a newer one is refused."""
    folder = OLD.unpack(tmp_path / "data")
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        [old] = connection.execute("SELECT version FROM schema_version").fetchone()
    checked = json.loads(run("migrate", "--check", "--json", "--data", str(folder)).stdout)
    assert (checked["schema"], checked["wanted"], checked["migrated"]) == (old, SCHEMA_VERSION, False)
    assert json.loads(run("migrate", "--json", "--data", str(folder)).stdout)["migrated"]
    assert json.loads(run("migrate", "--check", "--json", "--data", str(folder)).stdout)["schema"] == SCHEMA_VERSION
    assert not json.loads(run("migrate", "--json", "--data", str(folder)).stdout)["migrated"]
    for options in ([], ["--check"]):
        shown = run("migrate", *options, "--data", str(folder)).stdout
        assert shown.strip() == f"nothing to migrate; schema {SCHEMA_VERSION}"
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        connection.execute("UPDATE schema_version SET version = ?", (SCHEMA_VERSION + 1,))
        connection.commit()
    assert "restore a backup" in run("migrate", "--data", str(folder), code=1).stderr
    assert "--data" in run("migrate", "--data", str(tmp_path / "nothing"), code=2).stderr


def test_purge_asks_the_running_service(tmp_path: Path) -> None:
    """It prints the counts of deleted items; without a service it names the command that starts one."""
    folder = OLD.unpack(tmp_path / "data")
    with service(folder, {"GRAPHTIDE_EMBEDDING_MODEL": "hashing"}) as running:
        purged = json.loads(run("purge", "--url", running.url, "--json").stdout)
        assert purged["removed"]["indexes"] == 2 and purged["size_after_bytes"] > 0
    assert "graphtide serve" in run("purge", "--url", running.url, code=4).stderr


@pytest.mark.thorough
def test_reembed_opens_an_old_folder_to_the_default_model(tmp_path: Path) -> None:
    """A service names the command, the command names both models and its work, and the service then starts."""
    folder = OLD.unpack(tmp_path / "data")
    refused = run("serve", "--data", str(folder), "--port", "0", "--grpc-port", "0", code=1).stderr
    assert f"graphtide reembed --data {folder}" in refused
    done = json.loads(run("reembed", "--data", str(folder), "--json").stdout)
    assert done["before"].startswith("offline-hashing") and done["after"] == "wordllama/l2-supercat-256"
    assert done["documents"] > 0
    with service(folder) as running:
        assert "in use" in run("reembed", "--data", str(folder), code=1).stderr
        found = httpx.post(f"{running.url}/v1/graphs/fixture/verify", timeout=120).json()
        assert found["differences"] == []
    assert "--data" in run("reembed", "--data", str(tmp_path / "nothing"), code=1).stderr


def test_backup_and_restore_say_what_they_hold(tmp_path: Path) -> None:
    """Both print the same graphs with the same digests; a second restore requires --force."""
    folder = OLD.unpack(tmp_path / "data")
    run("migrate", "--data", str(folder))
    made = json.loads(run("backup", str(tmp_path / "backup"), "--data", str(folder), "--json").stdout)
    assert _versions(made) == {graph: version for graph, (version, _) in OLD.expected["digests"].items()}
    for graph, (_, recorded) in OLD.expected["digests"].items():
        rows = stored_rows(folder, graph)
        assert made["graphs"][graph]["digest"] == digest(rows) and has_digest(rows, recorded)
    restored = json.loads(run("restore", str(tmp_path / "backup"), "--data", str(tmp_path / "new"), "--json").stdout)
    assert restored == made
    assert "--force" in run("restore", str(tmp_path / "backup"), "--data", str(tmp_path / "new"), code=1).stderr
    assert "digest" in run("restore", str(tmp_path / "backup"), "--data", str(tmp_path / "new"), "--force").stdout


@pytest.mark.thorough
def test_cluster_is_migrated_backed_up_purged_and_restored(
    kafka: KafkaServer, graph_server: GraphServer, tmp_path: Path
) -> None:
    """With the cluster's settings each command works on the graph database; the topics are counted."""
    address = graph_server.address
    login = {"GRAPHTIDE_BOLT_USER": address.user, "GRAPHTIDE_BOLT_PASSWORD": address.password}
    settings = {"GRAPHTIDE_KAFKA": kafka.address, "GRAPHTIDE_BOLT": address.uri, **login}
    run("topics", "apply", "--partitions", "1", settings={"GRAPHTIDE_KAFKA": kafka.address})
    OLD.load(address)
    assert json.loads(run("migrate", "--json", settings=settings).stdout)["migrated"]
    made = json.loads(run("backup", str(tmp_path / "backup"), "--json", settings=settings).stdout)
    assert _versions(made) == {graph: version for graph, (version, _) in OLD.expected["cluster"].items()}
    assert made["watermarks"]
    purged = json.loads(run("purge", "--json", settings=settings).stdout)
    assert set(purged["topics"]) == {"documents", "extractions", "deltas", "documents.dlq"}
    assert json.loads(run("purge", "--check", "--json", settings=settings).stdout)["removed"] == {}
    assert "--force" in run("restore", str(tmp_path / "backup"), code=1, settings=settings).stderr
    assert json.loads(run("restore", str(tmp_path / "backup"), "--force", "--json", settings=settings).stdout) == made
    clear(address)
