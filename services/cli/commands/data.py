"""The commands on stored data: `graphtide migrate`, `reembed`, `backup`, `restore`, `purge`.

They use the storage in the settings, not the service: the graph database if one is set, else the data folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphtide.services.cli.exit_codes import FAILED, UNREACHABLE, USAGE, CommandError
from graphtide.services.cli.parameters import LONG_TIMEOUT_S, URL, AsJson, Config, Data, Url, client_of
from graphtide.services.cli.terminal import progress, result

if TYPE_CHECKING:
    from rich.console import Console

    from graphtide.infra.backup_folder import BackupManifest, Progress
    from graphtide.infra.bolt import BoltAddress
    from graphtide.infra.settings import Settings
    from graphtide.services.cli.client import Json
    from graphtide.services.cli.terminal import Advance

Target = Annotated[Path, typer.Argument(metavar="DIR", help="The backup: a folder that does not exist, or is empty.")]
Source = Annotated[Path, typer.Argument(metavar="DIR", help="The backup.")]


def add_data_commands(app: typer.Typer) -> None:
    """Register the commands."""
    for command in (migrate, reembed, backup, restore, purge):
        app.command()(command)


def migrate(
    check: Annotated[bool, typer.Option("--check", help="Print the planned changes without applying them.")] = False,
    data: Data = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Migrate stored data to the schema of this version, in one step. The service does the same at its start.

    Earlier versions cannot open the data afterwards: make a backup first.
    """
    with _failures():
        settings = _settings(data, config)
        body = _migrate_graph_database(settings, check) if settings.bolt else _migrate_folder(settings.data, check)
    result(body, as_json, _show_migration)


def _show_migration(console: Console, body: Json) -> None:
    from graphtide.services.cli import render as show

    if body["schema"] == body["wanted"]:
        console.print(f"nothing to migrate; schema {body['schema']}")
    else:
        show.fields(console, body)


def reembed(data: Data = None, config: Config = None, as_json: AsJson = False) -> None:
    """Embed all stored documents again with the model of the settings. The service must not be running.

    The folder keeps its vectors until the new ones are complete. Extractions stay: no language model is called.
    """
    from graphtide.services.administration.reembedding import reembed as embed_again
    from graphtide.services.cli import render as show

    with _failures(), _steps(as_json) as steps:
        settings = _settings(data, config)
        if settings.bolt:
            raise CommandError(
                "reembed works on a data folder: for another model, a cluster needs another graph database and topics",
                USAGE,
            )
        done = asyncio.run(embed_again(settings, steps))
    result({"data": str(settings.data), **asdict(done)}, as_json, show.fields)


def backup(directory: Target, data: Data = None, config: Config = None, as_json: AsJson = False) -> None:
    """Write a backup to a folder while the service runs: log, ledger and graphs in one consistent state."""
    from graphtide.services.cli import render as show

    with _failures(), _steps(as_json) as steps:
        settings = _settings(data, config)
        if settings.bolt:
            from graphtide.infra.bolt.administration.backup import backup as dump

            manifest = asyncio.run(dump(_address(settings), directory, steps))
        else:
            from graphtide.infra.sqlite.administration.backup import backup as write

            manifest = write(settings.data, directory, steps)
    result(_shown(directory, manifest), as_json, show.fields)


def restore(
    directory: Source,
    force: Annotated[bool, typer.Option("--force", help="Replace existing data.")] = False,
    data: Data = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Replace the data by a backup, after verifying its files. The service must not be running."""
    from graphtide.services.cli import render as show

    with _failures(), _steps(as_json) as steps:
        settings = _settings(data, config)
        if settings.bolt:
            from graphtide.infra.bolt.administration.backup import restore as load

            manifest = asyncio.run(load(_address(settings), directory, force=force, on_progress=steps))
        else:
            from graphtide.infra.sqlite.administration.backup import restore as put

            manifest = put(directory, settings.data, force=force, on_progress=steps)
    result(_shown(directory, manifest), as_json, show.fields)


def purge(
    check: Annotated[
        bool, typer.Option("--check", help="Cluster: count the records in the topics, and delete nothing.")
    ] = False,
    config: Config = None,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Delete the remains of deleted documents from the files: text, names, vectors, in all graphs.

    The running service rewrites its database file, and pauses writes meanwhile. With the settings of a cluster, the
    command purges the graph database, has the replicas forget earlier versions, and counts the records of deleted
    documents in the topics.
    """
    from graphtide.services.cli import render as show

    settings = _settings(None, config)
    if settings.bolt:
        with _failures():
            result(asyncio.run(_purge_cluster(settings, check)), as_json, show.fields)
        return
    if check:
        raise CommandError(
            "--check needs the settings of a cluster; run graphtide purge without it for a data folder", USAGE
        )
    with client_of(url, LONG_TIMEOUT_S) as client, progress(as_json) as bar:
        bar("Purging", 0)
        body = client.post("/v1/purge")
    result(body, as_json, show.fields)


async def _purge_cluster(settings: Settings, check: bool) -> Json:
    from graphtide.infra.bolt import BoltBackend
    from graphtide.infra.kafka.address import kafka_address
    from graphtide.infra.kafka.log import KafkaLog, KafkaTuning
    from graphtide.infra.kafka.topics import delete_before
    from graphtide.services.cluster.purging import purge_graphs, purge_letters, purge_reasons, topic_traces
    from graphtide.streams.changes.purge_marker import mark_purge

    if not settings.kafka:
        raise CommandError(
            "GRAPHTIDE_BOLT is set, GRAPHTIDE_KAFKA is not: set it too, because a purge reads the topics", USAGE
        )
    broker = KafkaLog(kafka_address(settings), KafkaTuning())
    try:
        backend = await BoltBackend.open(_address(settings), broker)
        try:
            removed: Json = {}
            if not check:
                removed = dict(await purge_graphs(backend))
                removed["reasons"] = await purge_reasons(backend, broker)
                address = kafka_address(settings)
                removed["dead_letters"] = await purge_letters(backend.store, broker, partial(delete_before, address))
                await mark_purge(broker)
            traces = await topic_traces(backend.store, broker)
        finally:
            await backend.close()
    finally:
        await broker.close()
    return {"removed": removed, "topics": {topic: asdict(trace) for topic, trace in traces.items()}}


def _migrate_folder(folder: Path, check: bool) -> Json:
    import sqlite3

    from graphtide.infra.sqlite.connection import SCHEMA_VERSION, open_writer, schema_version
    from graphtide.infra.sqlite.errors import failure
    from graphtide.infra.sqlite.folder_lock import DATABASE, FolderLock

    path = folder / DATABASE
    if not path.exists():
        raise CommandError(f"{folder} contains no {DATABASE}: set the data folder with --data or GRAPHTIDE_DATA", USAGE)
    lock = None if check else FolderLock(folder)
    try:
        found = schema_version(path)
        if lock is not None:
            open_writer(path).close()
    except sqlite3.Error as error:
        raise failure(error) from error
    finally:
        if lock is not None:
            lock.release()
    return {"data": str(folder), **_migration(found, SCHEMA_VERSION, check)}


def _migrate_graph_database(settings: Settings, check: bool) -> Json:
    from graphtide.infra.bolt.administration.schema import SCHEMA_VERSION, prepare, stored_schema
    from graphtide.infra.bolt.database import BoltDatabase

    address = _address(settings)

    async def dialect_of() -> Json:
        database = await BoltDatabase.connect(address)
        try:
            found = await asyncio.to_thread(stored_schema, address)
            if not check:
                await asyncio.to_thread(prepare, address, database.dialect)
        finally:
            await database.close()
        return {"bolt": settings.bolt, **_migration(found, SCHEMA_VERSION, check)}

    return asyncio.run(dialect_of())


def _migration(found: int, wanted: int, check: bool) -> Json:
    return {"schema": found, "wanted": wanted, "migrated": found != wanted and not check}


def _address(settings: Settings) -> BoltAddress:
    from graphtide.infra.bolt import BoltAddress

    secret = settings.bolt_password.get_secret_value()
    return BoltAddress(settings.bolt, settings.bolt_user, secret, settings.bolt_database, settings.bolt_ca_file)


def _settings(data: Path | None, config: Path | None) -> Settings:
    from graphtide.services.cli.commands.export import settings_of

    return settings_of(data, config)


def _shown(directory: Path, manifest: BackupManifest) -> Json:
    graphs = {name: asdict(state) for name, state in manifest.graphs.items()}
    size_bytes = sum(file.size_bytes for file in manifest.files.values())
    body: Json = {"backup": str(directory), "kind": manifest.kind, "schema": manifest.schema, "graphs": graphs}
    if manifest.watermarks:
        body["watermarks"] = dict(manifest.watermarks)
    return {**body, "size_bytes": size_bytes, "created_at": manifest.created_at, "graphtide": manifest.graphtide}


@contextmanager
def _failures() -> Iterator[None]:
    from graphtide.streams.errors import GraphtideError, Retryable

    try:
        yield
    except Retryable as error:
        raise CommandError(str(error), UNREACHABLE) from error
    except GraphtideError as error:
        raise CommandError(str(error), FAILED) from error


@contextmanager
def _steps(as_json: bool) -> Iterator[Progress]:
    """Yield a callback that shows one progress bar per counted kind."""
    with progress(as_json) as bar:
        bars: dict[str, tuple[Advance, list[int]]] = {}

        def step(about: str, done: int, total: int) -> None:
            if about not in bars:
                bars[about] = (bar(about, total), [0])
            advance, seen = bars[about]
            advance(done - seen[0])
            seen[0] = done

        yield step
