"""The output of Microsoft GraphRAG: Parquet tables of documents, text units, entities and relationships.

It reads the names of versions 0 to 3: `create_final_entities.parquet` and `entities.parquet`, `name` and `title`,
`raw_content` and `text`, `document_ids` and `document_id`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphtide.graph.text.storable import storable
from graphtide.infra.imports.types import (
    ImportedPassage,
    ImportLosses,
    PassageContents,
    StatedEntity,
    StatedRelation,
    UnreadableStoreError,
)

MARK = "text_units.parquet"
_PREFIXES = ("", "create_final_")
_DERIVED = ("communities", "community_reports", "covariates", "nodes")
_BATCH_ROWS = 512


def is_store(folder: Path) -> bool:
    """Return True if the folder contains GraphRAG's tables."""
    return any(
        (folder / f"{prefix}{table}.parquet").is_file() for prefix in _PREFIXES for table in ("text_units", "entities")
    )


def open_folder(folder: Path) -> GraphRagStore:
    """Return the store in the folder. Raises UnreadableStoreError, and ImportError without pyarrow."""
    return GraphRagStore(folder)


class GraphRagStore:
    """The tables of one index. Entities and relationships are in memory, texts are read in batches."""

    format = "Microsoft GraphRAG"

    def __init__(self, folder: Path) -> None:
        import pyarrow  # noqa: F401 -- a missing package is reported before anything is read

        self.losses = ImportLosses()
        self._units = _Table(folder, "text_units")
        entities, relationships = _Table(folder, "entities"), _Table(folder, "relationships")
        self._titles = self._read_titles(folder)
        ids = [str(row["id"]) for row in self._units.rows({"id": ("id",)})]
        self._contents = PassageContents(ids, self.losses)
        self._count = len(set(ids))
        for row in entities.rows({"name": ("title", "name"), "units": ("text_unit_ids",)}, _ENTITY):
            self._contents.add_entity(
                StatedEntity(_text(row["name"]), _text(row["type"]), _texts(row["description"]), _list(row["units"]))
            )
        for row in relationships.rows(
            {"source": ("source",), "target": ("target",), "units": ("text_unit_ids",)}, _EDGE
        ):
            self._contents.add_relation(
                StatedRelation(
                    _text(row["source"]), "", _text(row["target"]), _texts(row["description"]), _weight(row["weight"]),
                    _list(row["units"]),
                )
            )  # fmt: skip
        self._count_derived(folder)

    def count(self) -> int:
        return self._count

    def passages(self) -> Iterator[ImportedPassage]:
        seen: set[str] = set()
        wanted = {"id": ("id",), "text": ("text", "chunk")}
        for row in self._units.rows(
            wanted, {"documents": ("document_id", "document_ids"), "number": ("human_readable_id",)}
        ):
            unit, text = str(row["id"]), storable(_text(row["text"]))
            if unit in seen or not text.strip():
                self.losses.add("text units without text" if unit not in seen else "text units of a repeated id")
                continue
            seen.add(unit)
            document = next(iter(_list(row["documents"])), "")
            title = self._titles.get(document, "")
            number = row["number"] if isinstance(row["number"], int) else None
            yield ImportedPassage(unit, text, document, title, title, number, *self._contents.of(unit))

    def _read_titles(self, folder: Path) -> dict[str, str]:
        if not _path(folder, "documents"):
            self.losses.add("the table of documents is missing: passages have no title")
            return {}
        rows = _Table(folder, "documents").rows({"id": ("id",)}, {"title": ("title",)})
        return {str(row["id"]): storable(_text(row["title"])) for row in rows}

    def _count_derived(self, folder: Path) -> None:
        for table in _DERIVED:
            path = _path(folder, table)
            if path is not None:
                reason = "claims are not imported" if table == "covariates" else "computed anew from the graph"
                self.losses.add(f"rows of {path.name}: {reason}", _Table(folder, table).count())


_ENTITY = {"type": ("type",), "description": ("description",)}
_EDGE = {"description": ("description",), "weight": ("weight",)}


class _Table:
    """One Parquet file. Raises UnreadableStoreError for a file that is missing, damaged or lacks a column."""

    def __init__(self, folder: Path, table: str) -> None:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        path = _path(folder, table)
        if path is None:
            raise UnreadableStoreError(
                f"{folder} lacks {table}.parquet; run GraphRAG's index again with all tables, since passages, entities"
                " and relationships are imported together"
            )
        self._path, self._errors = path, (ArrowException, OSError, ValueError)
        try:
            self._file = ParquetFile(path)
        except self._errors as error:
            raise self._damaged(error) from error

    def count(self) -> int:
        return int(self._file.metadata.num_rows)

    def rows(
        self, wanted: Mapping[str, Sequence[str]], optional: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield rows with the first existing column of each name; an optional column that is missing is None."""
        columns = set(self._file.schema_arrow.names)
        chosen = {name: next((each for each in names if each in columns), "") for name, names in wanted.items()}
        for name, column in chosen.items():
            if not column:
                known = ", ".join(sorted(columns))
                raise UnreadableStoreError(
                    f"{self._path} has no column {' or '.join(wanted[name])} (it has {known}); write the index again"
                    " with GraphRAG 0.3 or later"
                )
        chosen |= {name: next((c for c in names if c in columns), "") for name, names in (optional or {}).items()}
        try:
            for batch in self._file.iter_batches(_BATCH_ROWS, columns=[each for each in chosen.values() if each]):
                for row in batch.to_pylist():
                    yield {name: row.get(column) if column else None for name, column in chosen.items()}
        except self._errors as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> UnreadableStoreError:
        return UnreadableStoreError(
            f"{self._path} is damaged or incomplete ({str(error)[:200]}); copy it again after GraphRAG has ended"
        )


def _path(folder: Path, table: str) -> Path | None:
    return next((path for prefix in _PREFIXES if (path := folder / f"{prefix}{table}.parquet").is_file()), None)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _texts(value: object) -> tuple[str, ...]:
    """Return descriptions: a list before GraphRAG has summarised them, else one summary of all passages."""
    return _list(value) if isinstance(value, list) else tuple(filter(None, [_text(value)]))


def _list(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(str(each) for each in value if each is not None)
    return tuple(part.strip() for part in _text(value).split(",") if part.strip())


def _weight(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 < value < float("inf") else 1.0
