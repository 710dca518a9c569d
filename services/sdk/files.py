"""Documents of files for Python programs: the readers of `graphtide publish` and `graphtide sync`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphtide.infra.files.reader import read_bytes, read_path
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError
from graphtide.streams.errors import Invalid

if TYPE_CHECKING:
    from graphtide.services.cli.sync.tree import FileTree, FoundFile

Skipped = Callable[[str, str], object]


def documents_in(path: str | Path, *, on_skipped: Skipped | None = None) -> Iterator[dict[str, Any]]:
    """Yield the documents of a file, or of all files in a folder or at a URL, as mappings for `Graph.add_many`.

    A URL, such as s3://bucket/notes, needs graphtide[remote]. The ids are those of `graphtide sync`: the path relative
    to the folder, and for a record of JSON lines # and its id. A file that cannot be read is passed to `on_skipped`
    with its name and the reason; without that, Invalid is raised.
    """
    from graphtide.services.cli.exit_codes import CommandError
    from graphtide.services.cli.sync.scan import scan_tree
    from graphtide.services.cli.sync.tree import open_tree

    def skip(name: str, reason: str) -> None:
        if on_skipped is None:
            raise Invalid("path", f"{name}: {reason}")
        on_skipped(name, reason)

    if "://" not in str(path) and not Path(path).is_dir():
        yield from _read(lambda: read_path(Path(path)), Path(path).name, skip)
        return
    try:
        tree = open_tree(str(path))
        found = scan_tree(tree)
    except CommandError as error:
        raise Invalid("path", str(error)) from error
    for skipped in found.skipped:
        skip(skipped.name, skipped.reason)
    for file in found.files.values():
        yield from _read(partial(_documents, tree, file), file.name, skip)


def _documents(tree: FileTree, file: FoundFile) -> Iterator[FileDocument | RecordProblem]:
    return read_bytes(tree.read(file.name, file.size), file.name)


def _read(
    documents: Callable[[], Iterator[FileDocument | RecordProblem]], name: str, skip: Skipped
) -> Iterator[dict[str, Any]]:
    try:
        for record in documents():
            if isinstance(record, RecordProblem):
                skip(f"{name}:{record.line}", record.reason)
            else:
                yield _mapping(record, f"{name}#{record.key}" if record.key else name, name)
    except UnreadableFileError as error:
        skip(name, str(error))
    except OSError as error:
        skip(name, f"cannot be read: {error.strerror or error}")


def _mapping(document: FileDocument, doc_id: str, source: str) -> dict[str, Any]:
    if document.body is not None:
        return {"source": source, **document.body, "id": doc_id}
    fields = {"text": document.text, "media_type": document.media_type, "title": document.title, "source": source}
    fields |= {"occurred_at": document.occurred_at}
    return {"id": doc_id, **{name: value for name, value in fields.items() if value}}
