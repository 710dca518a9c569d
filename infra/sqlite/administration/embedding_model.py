"""The embedding model of a data folder: its name and dimension, in the database and, for operators, in a file.

The row is part of the database file, so that vectors and model change in one step. The file `embedding-model` repeats
the name; a folder of an earlier version has the file alone.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from graphtide.infra.private_files import make_private_file
from graphtide.infra.sqlite.database import SqliteDatabase
from graphtide.streams.errors import Broken

MODEL_FILE = "embedding-model"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS embedding_model"
    " (only INTEGER PRIMARY KEY CHECK (only = 1), name TEXT NOT NULL, dimensions INTEGER NOT NULL)"
)


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model's name and the dimension of its vectors, 0 while no vector is stored and the model has not told it."""

    name: str
    dimensions: int


async def recorded_model(database: SqliteDatabase, folder: Path) -> EmbeddingModel | None:
    """Return the model that the folder records; None for a new folder. The dimension is that of the stored vectors."""
    return await database.read(lambda connection: _recorded(connection, folder))


async def record_model(database: SqliteDatabase, folder: Path, model: EmbeddingModel) -> None:
    """Record the model in the database, then in the file. Raises Broken when the file cannot be written."""

    write_file(folder, model.name)
    await database.write(lambda connection: write_row(connection, model))


def write_row(connection: sqlite3.Connection, model: EmbeddingModel) -> None:
    """Record the model in the database, in the caller's transaction."""
    connection.execute(_TABLE)
    connection.execute("INSERT OR REPLACE INTO embedding_model VALUES (1, ?, ?)", (model.name, model.dimensions))


def is_file_current(folder: Path, name: str) -> bool:
    """Return True if the file names this model."""
    file = folder / MODEL_FILE
    return file.exists() and file.read_text().strip() == name


def write_file(folder: Path, name: str) -> None:
    """Write the file that names the model. Raises Broken."""
    file = folder / MODEL_FILE
    fresh = file.with_suffix(".new")
    try:
        make_private_file(fresh)
        fresh.write_text(name + "\n")
        fresh.replace(file)  # a truncated name would denote another model
    except OSError as error:
        raise Broken(f"{file} cannot be written: {error.strerror}") from error


def _recorded(connection: sqlite3.Connection, folder: Path) -> EmbeddingModel | None:
    row = None
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'embedding_model'").fetchone():
        row = connection.execute("SELECT name, dimensions FROM embedding_model").fetchone()
    file = folder / MODEL_FILE
    name = row[0] if row else file.read_text().strip() if file.exists() else ""
    if not name:
        return None
    stored = connection.execute("SELECT length(vector) / 2 FROM chunks LIMIT 1").fetchone()
    return EmbeddingModel(name, stored[0] if stored else row[1] if row else 0)
