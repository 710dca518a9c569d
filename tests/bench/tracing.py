"""Cost of tracing per document: without a tracer and with spans sent to a collector, by turns on the same documents.

    python -m tests.bench.tracing [--documents 300] [--rounds 5]

The embedded service without models, in this process; process CPU time, because the machine may be busy. `silent` is the
time of the calls of streams/tracing.py on a document's path without a tracer, as a share of the document's.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median

from graphtide.infra.settings import Settings
from graphtide.services.application import QueryRequest
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.tracing import SpanRole, carried_on, continue_trace, inject, record_span, span
from tests.support.collector import Collector

CALLS = 20_000


async def cpu_s_each(documents: int, endpoint: str) -> float:
    """Return CPU seconds per document, from publishing to its being queryable, in a fresh data folder."""
    texts = [f"Ada number {n} met Ben number {n % 17} in town {n % 29}. Ben knows Cleo." for n in range(documents)]
    with tempfile.TemporaryDirectory() as folder:
        async with open_application(Settings(data=Path(folder), otlp_endpoint=endpoint)) as application:
            started = time.process_time()
            for number, text in enumerate(texts):
                receipt = await application.publish([DocumentMessage("g", f"d{number}", text)])
            await application.query(
                "g", QueryRequest("Who met Ada?", after=receipt.token, generate=False, timeout_s=300)
            )
            return (time.process_time() - started) / documents


def silent_s() -> float:
    """Return the seconds of one document's calls without a tracer."""
    started = time.process_time()
    for number in range(CALLS):
        with continue_trace("HTTP", [()], SpanRole.SERVER) as request:
            request.rename("PUT")
            with span("publish", SpanRole.PRODUCER, graph="g", doc_id="d", documents=1):
                inject()
        with continue_trace("extract", [()], graph="g", doc_id="d", revision=number):
            with span("embed", texts=3):
                pass
            carried_on(())
        with continue_trace("consolidate", [()], partition=0, records=1):
            with span("follow", graph="g", version=number):
                inject()
            record_span("apply", [()], 0, graph="g", doc_id="d", revision=number, state="applied")
    return (time.process_time() - started) / CALLS


def main() -> None:
    """Measure and print medians."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    with Collector() as collector:
        off, on = [], []
        for _ in range(chosen.rounds):
            off.append(asyncio.run(cpu_s_each(chosen.documents, "")))
            on.append(asyncio.run(cpu_s_each(chosen.documents, collector.endpoint)))
    silent, base = median(silent_s() for _ in range(5)), median(off)
    print(f"a document: {base * 1e3:.2f} ms of CPU without, {median(on) * 1e3:.2f} ms with tracing and its collector")
    print(f"ratio {median(on) / base:.3f}; silent calls {silent * 1e6:.1f} µs, {silent / base:.3%} of a document")


if __name__ == "__main__":
    main()
