"""Tables that read their rows from shards, in few rounds.

A mode reads rows one at a time, and a round trip for each would take seconds. So rows that are likely to be read are
announced: those that a walk or a search reached, and those that a row at hand names. The first row that is missing
fetches all announced rows of its kind, from all shards at once. What is announced affects the number of rounds and of
rows, never a result. Invariant: a table holds only rows of its shards, unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from graphtide.graph.partitioned.shards import Key, Kind, Read, ReadReply, Reply, Request, Rows, ShardPlacement
from graphtide.graph.view_state.tables import ViewChunk, ViewEntity, ViewLabel, ViewStatement

FEW = 32
"""The number of statements of a label, and of passages of a statement, that are announced."""


class ShardTransport(Protocol):
    """The way to the shards. It sends all requests before it waits for the first reply."""

    def ask(self, requests: Mapping[int, Request]) -> Mapping[int, Reply]:
        """Return the reply of each shard that is asked, by its number."""
        ...


@dataclass(slots=True)
class Traffic:
    """The cost of one question: rounds (each waits for its slowest shard), requests, and rows that came back."""

    rounds: int = 0
    requests: int = 0
    rows: int = 0


class Gatherer:
    """The rows that the shards have sent for one question, and those that were announced."""

    def __init__(self, transport: ShardTransport, placement: ShardPlacement) -> None:
        self._transport = transport
        self._placement = placement
        self._announced: dict[Kind, set[Key]] = {}
        self._followed: set[tuple[Kind, Key]] = set()
        self._tables: dict[Kind, GatheredTable] = {}
        self.traffic = Traffic()

    def table(self, kind: Kind) -> GatheredTable:
        """Return the table of one kind, which is the same at every call."""
        return self._tables.setdefault(kind, GatheredTable(kind, self._load))

    def forget(self) -> None:
        """Drop all rows: the next question begins with none."""
        self._announced.clear()
        self._followed.clear()
        for table in self._tables.values():
            table.forget()
        self.traffic = Traffic()

    def announce(self, kind: Kind, keys: Iterable[Key], *, follow: bool) -> None:
        """Note rows that are likely to be read; with `follow`, those that they name too."""
        table = self.table(kind)
        for key in keys:
            if follow and (kind, key) not in self._followed:
                self._followed.add((kind, key))
                if table.holds(key):
                    self._name(table[key])
            if not table.holds(key):
                self._announced.setdefault(kind, set()).add(key)

    def followed(self, kind: Kind) -> list[Any]:
        """Return the keys of the rows whose references were announced too: those that a mode reads closely."""
        return [key for each, key in self._followed if each == kind]

    def ask(self, requests: Mapping[int, Request]) -> Mapping[int, Reply]:
        """Return the replies of one round."""
        self.traffic.rounds += 1
        self.traffic.requests += len(requests)
        return self._transport.ask(requests)

    def take(self, rows: Rows) -> None:
        """Keep rows that a shard sent."""
        for kind, found in rows.items():
            self.traffic.rows += len(found)
            self.table(kind).keep(found)
            for key, row in found.items():
                self._know(kind, key, row)
                if (kind, key) in self._followed:
                    self._name(row)

    def _load(self, kind: Kind, key: Key) -> None:
        wanted = self._announced.pop(kind, set()) | {key}
        table = self.table(kind)
        by_shard: dict[int, list[Key]] = {}
        for each in wanted:
            if not table.holds(each):
                by_shard.setdefault(self._placement.shard(kind, each), []).append(each)
        for reply in self.ask({shard: Read({kind: tuple(keys)}) for shard, keys in by_shard.items()}).values():
            if isinstance(reply, ReadReply):
                self.take(reply.rows)
        table.miss(each for each in wanted if not table.holds(each))

    def _know(self, kind: Kind, key: Key, row: Any) -> None:
        """Keep what a row tells without a request: the number of a public id. Announce what is read next: the title of
        a passage, the labels of a name.
        """
        if kind == "names":
            self.announce("labels", row, follow=True)
        match row:
            case ViewChunk():
                self.table("chunk_numbers").keep({row.chunk_id: key})
                self.announce("documents", (row.doc_id,), follow=False)
            case ViewEntity():
                self.table("entity_nodes").keep({row.id: key})
            case _:
                pass

    def _name(self, row: Any) -> None:
        for other, keys in _named_by(row):
            self.announce(other, keys, follow=other != "chunks")


def _named_by(row: Any) -> Iterator[tuple[Kind, Iterable[Key]]]:
    """Yield the rows that a row names: of a common name or a hub's label only as many as `FEW`."""
    match row:
        case ViewChunk():
            yield "labels", row.mentions.labels
            yield "statements", row.evidence.statements
        case ViewStatement():
            yield "labels", (row.subject, row.object)
            yield "chunks", sorted(row.chunks)[:FEW]
        case ViewLabel():
            yield "entities", (row.node,)
            yield "statements", sorted(row.statements)[:FEW]
        case ViewEntity():
            yield "labels", row.labels
        case _:
            pass


class GatheredTable(dict[Any, Any]):
    """A table of a view whose rows are in shards. A missing row is fetched when it is read.

    It cannot be iterated or counted: no process has all rows.
    """

    def __init__(self, kind: Kind, load: Callable[[Kind, Key], None]) -> None:
        super().__init__()
        self._kind = kind
        self._load = load
        self._absent: set[Key] = set()

    def holds(self, key: Key) -> bool:
        """Return whether the row is here, or known to be in no shard."""
        return super().__contains__(key) or key in self._absent

    def keep(self, rows: Mapping[Any, Any]) -> None:
        """Add rows that a shard sent."""
        super().update(rows)

    def miss(self, keys: Iterable[Key]) -> None:
        """Note keys that no shard has."""
        self._absent.update(keys)

    def forget(self) -> None:
        """Drop all rows."""
        super().clear()
        self._absent.clear()

    def __missing__(self, key: Key) -> Any:
        if key not in self._absent:
            self._load(self._kind, key)
        if super().__contains__(key):
            return super().__getitem__(key)
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        try:
            self[key]
        except KeyError:
            return False
        return True

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the row, or the default when no shard has it."""
        try:
            return self[key]
        except KeyError:
            return default

    def _refuse(self) -> NoReturn:
        raise TypeError(f"the rows of {self._kind} are in shards and cannot be listed; read them by key")

    def __iter__(self) -> Iterator[Any]:
        self._refuse()

    def __len__(self) -> int:  # noqa: PLE0303 - it raises
        self._refuse()

    def keys(self) -> Any:
        """Raise TypeError."""
        self._refuse()

    def values(self) -> Any:
        """Raise TypeError."""
        self._refuse()

    def items(self) -> Any:
        """Raise TypeError."""
        self._refuse()
