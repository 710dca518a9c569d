"""Latency from a row of PostgreSQL to an answer: Debezium, Kafka and the service, all on this machine.

Each measurement starts before an UPDATE is sent to PostgreSQL, and ends when a question's passages contain the new
value.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from tests.support.kafka_server import LocalKafka
from tests.support.maven import Unavailable
from tests.support.row_changes import GRAPH, RowWorld, row_world

ROWS = 300
POLL_S = 0.005
PATIENCE_S = 300.0


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=200)
    chosen = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        (folder / "kafka").mkdir()
        try:
            kafka = LocalKafka(folder / "kafka")
            stack.callback(kafka.kill)
            world = stack.enter_context(row_world(kafka, folder, model="wordllama"))
        except Unavailable as error:
            sys.exit(str(error))
        snapshot_s = load(world)
        latencies = [1000 * changed(world, number) for number in range(chosen.changes)]
    p50, p99 = np.percentile(latencies, (50, 99))
    print(f"{ROWS} rows were documents after {snapshot_s:.1f} s")
    print(f"from an UPDATE to the answer, {chosen.changes} changes: p50 {p50:.0f} ms, p99 {p99:.0f} ms")


def load(world: RowWorld) -> float:
    """Insert the rows; return the seconds until all are documents."""
    started = time.monotonic()
    columns = "n, 'Lot ' || n, 'Person ' || n, date '2025-01-01' + n, n"
    world.database.run(f"INSERT INTO contracts SELECT {columns} FROM generate_series(1, {ROWS}) n")  # noqa: S608
    while f'{{graph="contracts",state="applied"}} {float(ROWS)}' not in world.http.get("/metrics").text:
        check(started)
        time.sleep(0.2)
    return time.monotonic() - started


def changed(world: RowWorld, number: int) -> float:
    """Change the signer of a row; return the seconds until a question finds the new one."""
    lot, signer = 1 + number * 7 % ROWS, f"Signer{number}"
    asked = {"question": f"Who signed the contract Lot {lot}?", "generate": False, "mode": "local"}
    with world.database.session() as session:
        started = time.monotonic()
        session.send(f"UPDATE contracts SET signer = '{signer}' WHERE id = {lot}")  # noqa: S608 -- the bench's own
        while True:
            found = world.http.post(f"{GRAPH}/query", json=asked).raise_for_status().json()
            if any(f"{signer} signed" in passage["text"] for passage in found["passages"]):
                return time.monotonic() - started
            check(started)
            time.sleep(POLL_S)


def check(started: float) -> None:
    """Fail when a change takes too long."""
    if time.monotonic() - started > PATIENCE_S:
        sys.exit(f"a change did not arrive within {PATIENCE_S:g} s")


if __name__ == "__main__":
    main()
