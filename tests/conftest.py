"""Fixtures that several folders of tests share, and the two layers of the suite.

The tests of the fast layer (`-m "not servers"`) need only their own process; those that need a broker, a graph database
or processes of their own have the mark `servers`. pytest-xdist runs both in parallel: each worker has servers of its
own.
"""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import graphtide.infra.bolt  # noqa: F401 -- imports the driver without pandas, before a test does
from tests.support.environment import ANSWERS
from tests.support.kafka_server import kafka
from tests.support.neo4j_server import graph_server
from tests.support.scratch import prefer_memory
from tests.support.secured import secured_kafka, secured_neo4j, trusted

__all__ = ["graph_server", "kafka", "secured_kafka", "secured_neo4j", "trusted"]

TESTS = Path(__file__).parent
SLOW_FOLDERS = ("e2e", "recovery", "deploy", "secure", "engines")
FAST_FOLDERS = ("unit", "lint")
SERVERS = frozenset({"kafka", "graph_server"})
ADAPTERS = frozenset({"kafka", "bolt"})
"""Parameters that choose an adapter whose server is started on first use."""

prefer_memory()
os.environ.update(ANSWERS)
os.environ["XDG_STATE_HOME"] = str(Path(tempfile.gettempdir(), "graphtide-test-state"))
"""`sync` notes the folders of each graph there."""
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell ignores it in the jobs that it starts in the background, and so would every process that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Hypothesis would fail an example that takes 200 ms, and a slow strategy: on a busy machine any may be slow.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the folders of the other layer: every process of pytest-xdist would import them and drop their
    tests.
    """
    if not collection_path.is_relative_to(TESTS):
        return None
    layer = config.option.markexpr
    other = SLOW_FOLDERS if "not servers" in layer else FAST_FOLDERS if "servers" in layer else ()
    return True if collection_path.relative_to(TESTS).parts[:1] in [(folder,) for folder in other] else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Leave modules and tests out of garbage collection: they live as long as the process, and each full collection
    would traverse them, also those in tests that measure memory.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what needs servers. Their layer runs by file, so that the tests of a module share its costly fixtures."""
    if isinstance(item, pytest.Function) and _needs_servers(item):
        if _folder(item) in FAST_FOLDERS:
            raise pytest.UsageError(f"{item.nodeid} needs a server: move it to tests/contract")
        item.add_marker(pytest.mark.servers)


def _needs_servers(item: pytest.Function) -> bool:
    chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return _folder(item) in SLOW_FOLDERS or bool(
        SERVERS & set(item.fixturenames) or ADAPTERS & {value for value in chosen if isinstance(value, str)}
    )


def _folder(item: pytest.Function) -> str:
    return item.path.relative_to(TESTS).parts[0]
