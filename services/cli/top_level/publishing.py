"""The commands that bring documents into a graph, show one, or delete it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphtide.services.cli.exit_codes import FAILED, CommandError
from graphtide.services.cli.parameters import GRAPH, URL, AsJson, Config, DocId, Graph, Url, client_of
from graphtide.services.cli.terminal import progress, result, tell

if TYPE_CHECKING:
    pass


def publish(
    files: Annotated[list[str], typer.Argument(help="Files, folders, or - for standard input.")],
    graph: Graph = GRAPH,
    doc_id: Annotated[str, typer.Option("--id", help="The id of a text from standard input.")] = "stdin",
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the graph contains all documents.")] = False,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Publish documents.

    Formats: text, Markdown, CSV, JSON lines, JSON lists, HTML, Word, Excel, PDF, mails, captions, calendars, contact
    cards, and with pandoc a dozen more.

    A file's id is its path relative to the working folder, or the absolute path of a file outside of it; its title is
    its own, or its name.
    """
    from graphtide.services.cli import render as show
    from graphtide.services.cli.publish import publish_all, wait_for_all
    from graphtide.services.cli.sources import count_documents, find_documents

    found = find_documents(files, doc_id)
    with client_of(url) as client, progress(as_json) as bar:
        outcome = publish_all(client, graph, found.read(), bar("published", sum(map(count_documents, found.files))))
        if wait:
            wait_for_all(client, graph, outcome, bar("in the graph", len(set(outcome.doc_ids))))
    for problem in outcome.problems:
        tell(f"graphtide: {problem.name}: {problem.reason}")
    result(outcome.as_json(), as_json, show.published)
    if outcome.problems:
        raise CommandError(f"{len(outcome.problems)} documents failed; each is named above with its reason", FAILED)


def sync_folder(  # noqa: PLR0913, PLR0917 -- the options of a command are its parameters
    folder: Annotated[str, typer.Argument(help="The folder, or a URL such as s3://bucket/notes.")],
    graph: Graph = GRAPH,
    watch: Annotated[bool, typer.Option("--watch", help="Continue, and follow every change until Ctrl-C.")] = False,
    interval: Annotated[
        float,
        typer.Option(
            min=0, help="With --watch: list every so many seconds.  [default: 60 for a URL; a folder reports changes]"
        ),
    ] = 0,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete also documents of this folder that only the graph knows.")
    ] = False,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Delete all documents of the folder if it contains no file.")
    ] = False,
    allow_other_folder: Annotated[
        bool,
        typer.Option("--allow-other-folder", help="With --prune: delete documents of another folder of this name."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the graph has processed all.")] = True,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Make a graph follow a folder or an object store: publish new and changed files, delete those that are gone.

    Formats: text, Markdown, CSV, JSON lines, JSON lists, HTML, Word, Excel, PDF, mails, captions, calendars, contact
    cards, and with pandoc a dozen more.

    URLs of s3://, gs://, github:// and other protocols of fsspec need graphtide[remote]. Their credentials come from
    the environment.

    A document's id is the path of its file relative to the folder; a record of JSON lines adds # and its id. Hidden and
    git-ignored files are left out. With --watch and --json every pass is one line.
    """
    from graphtide.services.cli.commands.sync import run_sync
    from graphtide.services.cli.sync.tree import open_tree
    from graphtide.services.cli.sync.types import SyncOptions

    options = SyncOptions(open_tree(folder), graph, prune, dry_run, wait, allow_empty, allow_other_folder)
    with client_of(url) as client:
        run_sync(client, options, watch, interval, as_json)


def import_index(
    path: Annotated[
        Path, typer.Argument(help="The output folder of Microsoft GraphRAG, or LightRAG's working folder.")
    ],
    graph: Graph = GRAPH,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what it contains and loses, and do nothing.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the graph has processed all.")] = True,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Import an index of Microsoft GraphRAG or LightRAG with its entities and relations; no model extracts again.

    Each passage becomes a document with the id that it has there. A repeated import changes nothing, and an interrupted
    one continues. Needs graphtide[import].
    """
    from graphtide.services.cli.importing.command import run_import
    from graphtide.services.cli.importing.run import ImportOptions

    with client_of(url) as client:
        run_import(client, ImportOptions(path, graph, dry_run, wait), as_json)


def estimate(
    files: Annotated[list[str], typer.Argument(help="Files, folders, or - for standard input.")],
    graph: Graph = GRAPH,
    data: Annotated[Path | None, typer.Option(help="The data folder, for cached answers of models.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the cost of publishing documents: calls, tokens, money, and the part that is cached. Calls no model."""
    from graphtide.services.cli.commands.estimate import estimate_all, shown
    from graphtide.services.cli.sources import count_documents, find_documents

    found = find_documents(files, "stdin")
    with progress(as_json) as bar:
        advance = bar("counted", sum(map(count_documents, found.files)))
        estimated = estimate_all(graph, found, {"data": data}, config, advance)
    result(estimated.as_json(), as_json, shown)


def document(doc_id: DocId, graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Show the state of a document, and its content in the graph."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import document_path

    with client_of(url) as client:
        result(client.get(document_path(graph, doc_id)), as_json, show.document)


def related(
    doc_id: DocId,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=100, help="The number of documents.")] = 10,
    graph: Graph = GRAPH,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Show the documents related to one, and the entities they share."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import document_path

    with client_of(url) as client:
        result(client.get(f"{document_path(graph, doc_id)}/related?count={count}"), as_json, show.related)


def delete(doc_id: DocId, graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Delete a document, and everything that only it supports."""
    from graphtide.services.cli import render as show
    from graphtide.services.cli.client import document_path

    with client_of(url) as client:
        result(client.delete(document_path(graph, doc_id)), as_json, show.fields)
