"""Measures extraction by a language model at a known cost, and writes the table of docs/models.md.

The MuSiQue corpus goes through the whole service, a process of its own, with the fake endpoint (20 ms per call, answers
from the recordings) as its language model, limits on, and prices set. The figures are those of the service's usage
ledger, compared with the endpoint's own counts. Then one paragraph of one document is changed. The graph is compared
with one that was built from the same extractions published as facts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from graphtide.graph.digest import digest
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.sqlite import SqliteBackend
from graphtide.services.cli.commands.estimate import estimate_all
from graphtide.services.cli.sources import find_documents
from tests.support.bench_data import ROOT, Passage, bench_data, corpus
from tests.support.llm_server import LlmServer
from tests.support.processes import Service, service
from tests.support.recorded import Recordings

PAGE = ROOT / "docs" / "models.md"
GRAPH = "musique"
LATENCY_S = 0.02
PRICES = {"recorded": {"prompt": 0.15, "completion": 0.60}}
LIMITS = {"concurrency": 8, "requests_per_minute": 30_000, "tokens_per_minute": 60_000_000}
BATCH = 200
QUIET = {"GRAPHTIDE_LOG_LEVEL": "ERROR"}
_TABLE = re.compile(r"(<!-- bench-llm -->\n).*?(<!-- /bench-llm -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Run:
    """Result of one pass through the service."""

    seconds: float
    states: dict[str, int]
    spent: dict[str, Any]
    endpoint_calls: int
    endpoint_tokens: tuple[int, int]


def measure(passages: Sequence[Passage]) -> dict[str, str]:
    """Return the table's rows by their labels."""
    with tempfile.TemporaryDirectory() as folder, LlmServer(Recordings.of(passages), LATENCY_S) as server:
        data, brought = Path(folder) / "read", Path(folder) / "brought"
        settings = _settings(server)
        estimated = _estimated(passages, Path(folder), data, settings)
        with service(data, settings) as running:
            first = _pass(running, server, passages, brought=False)
            changed = _change(running, server, passages)
        with service(brought, QUIET) as running:
            _pass(running, server, passages, brought=True)
        same = asyncio.run(_digests(data, brought))
    return _rows(passages, first, estimated, changed, same)


def _settings(server: LlmServer) -> dict[str, str]:
    named = {"base_url": server.base_url, "model": "recorded", **LIMITS}
    settings = {f"GRAPHTIDE_LLM_{name.upper()}": str(value) for name, value in named.items()}
    return settings | {"GRAPHTIDE_PRICES": json.dumps(PRICES)} | QUIET


def _estimated(passages: Sequence[Passage], folder: Path, data: Path, settings: dict[str, str]) -> dict[str, Any]:
    """Return the figures of `graphtide estimate` before the first start, for a folder that does not exist yet."""
    file = folder / "corpus.jsonl"
    lines = (json.dumps({"id": one.doc_id, "title": one.title, "text": one.text}) for one in passages)
    file.write_text("\n".join(lines))
    given: dict[str, Any] = {name.removeprefix("GRAPHTIDE_").lower(): value for name, value in settings.items()}
    given |= {"data": data, "prices": PRICES}
    found = find_documents([str(file)], "x")
    return dict(estimate_all(GRAPH, found, given, None, lambda _: None).as_json())


def _pass(running: Service, server: LlmServer, passages: Sequence[Passage], *, brought: bool) -> Run:
    """Publish all documents, wait for the last, and read the usage ledger."""
    calls, before = len(server.seen), _tokens(server)
    with _client(running) as client:
        started = time.monotonic()
        for at in range(0, len(passages), BATCH):
            lines = "\n".join(json.dumps(_body(one, brought)) for one in passages[at : at + BATCH])
            kind = {"content-type": "application/x-ndjson"}
            client.post(f"/v1/graphs/{GRAPH}/documents", content=lines, headers=kind).raise_for_status()
        stats = _settled(client)
        seconds = time.monotonic() - started
    after = _tokens(server)
    tokens = (after[0] - before[0], after[1] - before[1])
    return Run(seconds, stats["revisions"], stats["spending"], len(server.seen) - calls, tokens)


def _body(one: Passage, brought: bool) -> dict[str, Any]:
    """Return the document alone, or with its recorded extraction: each fact once, names on one line."""
    whole = {"id": one.doc_id, **one.body()}
    stated = [{name: " ".join(text.split()) for name, text in fact.items()} for fact in whole["facts"]]
    facts = [dict(each) for each in {json.dumps(fact): fact for fact in stated}.values()]
    whole["entities"] = [{"name": " ".join(each["name"].split())} for each in whole["entities"]]
    return whole | {"facts": facts} if brought else {name: whole[name] for name in ("id", "title", "text")}


def _settled(client: httpx.Client) -> dict[str, Any]:
    while True:
        stats: dict[str, Any] = client.get(f"/v1/graphs/{GRAPH}/stats").json()
        if stats["lag"] == 0:
            return stats
        time.sleep(0.2)


def _change(running: Service, server: LlmServer, passages: Sequence[Passage]) -> dict[str, Any]:
    """Change one paragraph of the document with the most passages; return the requests for it, and their time."""
    chunker = SemanticChunker()
    one = max(passages, key=lambda passage: len(chunker.split(passage.text)))
    part = chunker.split(one.text)[0]
    text = one.text.replace(part.text, f"{part.text[:-1]}, as was found later.", 1)
    calls = len(server.seen)
    with _client(running) as client:
        started = time.monotonic()
        body = {"title": one.title, "text": text}
        client.put(f"/v1/graphs/{GRAPH}/documents/{one.doc_id}", json=body).raise_for_status()
        _settled(client)
        seconds = time.monotonic() - started
        changed: dict[str, Any] = {"doc_id": one.doc_id, "passages": len(chunker.split(one.text)), "seconds": seconds}
        changed["calls"] = len(server.seen) - calls
        client.put(f"/v1/graphs/{GRAPH}/documents/{one.doc_id}", json=body | {"text": one.text}).raise_for_status()
        _settled(client)
        return changed | {"calls_back": len(server.seen) - calls - changed["calls"]}


def _tokens(server: LlmServer) -> tuple[int, int]:
    return sum(one.prompt_tokens for one in server.seen), sum(one.completion_tokens for one in server.seen)


@contextmanager
def _client(running: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running.url, timeout=120) as client:
        yield client


async def _digests(read: Path, brought: Path) -> bool:
    """Return whether both folders hold the same graph, apart from evidence sentences that only the model quotes."""
    found = []
    for folder in (read, brought):
        backend = await SqliteBackend.open(folder)
        rows = await backend.store.snapshot(GRAPH)
        await backend.close()
        found.append(digest(replace(rows, evidence=tuple(replace(row, sentence="") for row in rows.evidence))))
    return found[0] == found[1]


def _rows(
    passages: Sequence[Passage], run: Run, estimated: dict[str, Any], changed: dict[str, Any], same: bool
) -> dict[str, str]:
    spent, count = run.spent["extract"], len(passages)
    books = (spent["calls"], spent["prompt_tokens"], spent["completion_tokens"])
    agree = books == (run.endpoint_calls, *run.endpoint_tokens)
    return {
        "documents": f"{count:,}: {', '.join(f'{n:,} {state}' for state, n in run.states.items() if n)}",
        "calls": f"{spent['calls']:,}, {spent['calls'] / count:.3f} a document",
        "prompt tokens a document": f"{spent['prompt_tokens'] / count:,.0f}",
        "completion tokens a document": f"{spent['completion_tokens'] / count:,.0f}",
        "cost, at 0.15 and 0.60 a million tokens": f"{spent['cost']:.4f}",
        "the books and the endpoint agree": "to the token" if agree else f"no: {books}, {run.endpoint_tokens}",
        "documents per second": f"{count / run.seconds:.0f}",
        "the graph is the one of the same facts brought along": "yes, one digest" if same else "NO",
        "the estimate before the run, against the books": ", ".join(
            f"{name.replace('_', ' ')} {_error(estimated[name], spent[name])}"
            for name in ("calls", "prompt_tokens", "completion_tokens", "cost")
        ),
        f"one paragraph of a document of {changed['passages']} passages changed": (
            f"{changed['calls']} call, {changed['seconds']:.2f} s; changed back: {changed['calls_back']} calls"
        ),
    }


def _error(guessed: float, real: float) -> str:
    return f"{(guessed - real) / real:+.1%}"


def _table(rows: dict[str, str]) -> str:
    return "| | |\n| --- | --- |\n" + "".join(f"| {name} | {value} |\n" for name, value in rows.items())


def main() -> None:
    """Measure, print, and, for the whole corpus, write the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=0, help="so many, and nothing is written; default: all")
    given = options.parse_args()
    if not bench_data().exists():
        raise SystemExit(f"{bench_data()} is missing: set GRAPHTIDE_BENCH_DATA")
    passages = corpus()
    table = _table(measure(passages[: given.documents] if given.documents else passages))
    print(table)
    if not given.documents:
        page = PAGE.read_text()
        PAGE.write_text(_TABLE.sub(lambda found: found[1] + table + found[2], page))


if __name__ == "__main__":
    main()
