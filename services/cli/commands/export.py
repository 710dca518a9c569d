"""The command `graphtide export`: writes a graph to a file, from the graph database or the data folder.

The file is written under a temporary name and renamed at the end, so the named file is always complete.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from graphtide.graph.records import GraphDelta
from graphtide.infra.export import (
    EDGE_KINDS,
    FORMATS,
    NODE_KINDS,
    ExportEdge,
    ExportNode,
    ExportSource,
    SqliteSource,
    edges,
    nodes,
    write,
)
from graphtide.infra.settings import Settings, SettingsError, load_settings
from graphtide.services.cli.exit_codes import FAILED, NOT_FOUND, UNREACHABLE, USAGE, CommandError
from graphtide.streams.errors import GraphtideError, NotFound, Retryable

if TYPE_CHECKING:
    from graphtide.services.cli.client import Json
    from graphtide.services.cli.terminal import Advance

STANDARD_OUTPUT = "-"


@dataclass(frozen=True, slots=True)
class Export:
    """The graph, format and target of an export."""

    graph: str
    format: str
    output: str


def settings_of(data: Path | None, config: Path | None) -> Settings:
    """Return the settings of the storage. Raises CommandError."""
    try:
        return load_settings({"data": data}, config)
    except SettingsError as error:
        raise CommandError(str(error), USAGE) from error


def export(chosen: Export, settings: Settings, bar: Callable[[str, int], Advance]) -> Json:
    """Write the file; return its counts. Raises CommandError."""
    try:
        with closing(_source(settings, chosen.graph)) as source, _file(chosen.output) as file:
            written = _Written(source, bar("rows read", source.count(NODE_KINDS) + source.count(EDGE_KINDS)))
            write(FORMATS[chosen.format](), file, written.nodes(), written.edges())
            source.check()
            counts = {"nodes": written.node_count, "relationships": written.edge_count}
            return {"graph": chosen.graph, "version": source.version, "file": chosen.output, **counts}
    except NotFound as error:
        raise CommandError(str(error), NOT_FOUND) from error
    except Retryable as error:
        raise CommandError(str(error), UNREACHABLE) from error
    except GraphtideError as error:
        raise CommandError(str(error), FAILED) from error
    except BrokenPipeError:  # the reader of the pipe has ended: `run` handles it
        raise
    except OSError as error:
        raise CommandError(f"{chosen.output} cannot be written: {error.strerror}", FAILED) from error


class _Written:
    """The elements of a source, counted while they are read."""

    def __init__(self, source: ExportSource, advance: Advance) -> None:
        self.node_count = 0
        self.edge_count = 0
        self._source = source
        self._advance = advance

    def nodes(self) -> Iterator[ExportNode]:
        for rows in self._rows(NODE_KINDS):
            for node in nodes(rows):
                self.node_count += 1
                yield node

    def edges(self) -> Iterator[ExportEdge]:
        for rows in self._rows(EDGE_KINDS):
            for edge in edges(rows):
                self.edge_count += 1
                yield edge

    def _rows(self, kinds: Collection[str]) -> Iterator[GraphDelta]:
        for rows in self._source.rows(kinds):
            yield rows
            self._advance(max(len(getattr(rows, kind) or ()) for kind in kinds if kind != "communities"))


def _source(settings: Settings, graph: str) -> ExportSource:
    if not settings.bolt:
        return SqliteSource(settings.data, graph)
    from graphtide.infra.bolt import BoltAddress
    from graphtide.infra.export.bolt_source import BoltSource

    secret = settings.bolt_password.get_secret_value()
    place = (settings.bolt_database, settings.bolt_ca_file)
    return BoltSource(BoltAddress(settings.bolt, settings.bolt_user, secret, *place), graph)


@contextmanager
def _file(output: str) -> Iterator[IO[str]]:
    if output == STANDARD_OUTPUT:
        yield sys.stdout
        return
    beside = Path(f"{output}.part")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        beside.replace(output)
    finally:
        beside.unlink(missing_ok=True)
