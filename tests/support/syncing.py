"""Passes of `sync` against an embedded service of the test's own process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import graphtide
from graphtide.services.cli.client import Client, Json
from graphtide.services.cli.exit_codes import NOT_FOUND, CommandError
from graphtide.services.cli.sync.run import sync_once
from graphtide.services.cli.sync.tree import FileTree, LocalTree
from graphtide.services.cli.sync.types import SyncOptions, SyncResult
from graphtide.services.sdk.blocking import Database


class EmbeddedClient(Client):
    """The calls of the command line, answered by an embedded service of this process."""

    def __init__(self, database: Database) -> None:
        self.url = "http://embedded"
        self.messages: list[str] = []
        self.tell = self.messages.append
        self.published: list[str] = []
        self.fail_after = -1
        self._database = database

    def get(self, path: str) -> Json:
        if path == "/v1/graphs":
            return {"graphs": [{"graph": name} for name in self._database.graphs()]}
        graph, doc_id = self._named(path)
        try:
            if path.endswith("/stats"):
                stats = self._database.graph(graph).stats()
                return {"counts": dict(stats.counts), "lag": stats.lag}
            if "/documents?" in path:
                asked = parse_qs(urlsplit(path).query)
                page = self._database.graph(graph).documents(
                    limit=int(asked["limit"][0]), cursor=asked.get("cursor", [""])[0]
                )
                return asdict(page)
            return asdict(self._database.graph(graph).document(doc_id))
        except graphtide.NotFound as error:
            raise CommandError(str(error), NOT_FOUND) from error

    def delete(self, path: str) -> Json:
        graph, doc_id = self._named(path)
        return {"token": self._database.graph(graph).delete(doc_id).token}

    def publish(self, graph: str, lines: bytes) -> Json:
        if self.fail_after == 0:
            raise KeyboardInterrupt
        self.fail_after -= 1
        documents = [json.loads(line) for line in lines.splitlines()]
        self.published.extend(each["id"] for each in documents)
        made = self._database.graph(graph).add_many(documents)
        rejected = [{"index": each.index, "field": each.field, "message": each.message} for each in made.rejected]
        return {"token": made.token, "accepted": made.accepted, "rejected": rejected}

    def _named(self, path: str) -> tuple[str, str]:
        _, _, _, graph, *rest = path.split("/")
        return unquote(graph), unquote(rest[-1])


@contextmanager
def embedded(data: Path) -> Iterator[tuple[EmbeddedClient, Database]]:
    with graphtide.sync.open(data) as database:
        yield EmbeddedClient(database), database


def run(client: Client, source: Path | FileTree, graph: str = "g", **options: bool) -> SyncResult:
    """Return the result of one pass over a folder or a tree."""
    done = SyncResult()
    tree = LocalTree(source) if isinstance(source, Path) else source
    sync_once(client, SyncOptions(tree, graph, **options), lambda _about, _total: lambda _count: None, done)
    return done
