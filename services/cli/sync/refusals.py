"""The refusals before a pass: a folder that is not mounted, and one of the same name whose documents --prune would
delete.

The invariant: nothing was published or deleted when one of them is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set

from graphtide.services.cli.sync.other_folders import FolderRegister, refuse_other_folder
from graphtide.services.cli.sync.state import SyncState
from graphtide.services.cli.sync.tree import LocalTree, SourceUnavailableError
from graphtide.services.cli.sync.types import SyncOptions


def refuse_empty_folder(
    options: SyncOptions, state: SyncState, files: Set[str], published: Callable[[], Iterable[str]]
) -> None:
    """Raise SourceUnavailableError if every document of the folder would be deleted: a folder that is not mounted
    looks empty, and lacks the state, too. `published` lists the graph, and is called only where that decides.
    """
    if files or options.allow_empty:
        return
    if not state.documents and not (options.prune and any(True for _ in published())):
        return
    raise SourceUnavailableError(
        f"{options.tree.shown} contains no file, but documents of it are in the graph {options.graph!r}, and"
        " nothing was deleted; check that the folder is mounted, or name --allow-empty to delete them"
    )


def refuse_pruning_others(
    options: SyncOptions,
    state: SyncState,
    url: str,
    files: Set[str],
    published: Callable[[], Iterable[str]],
    is_gone: Callable[[str], bool],
) -> None:
    """Raise CommandError if --prune would delete the documents of another folder of the same name."""
    asked = options.allow_other_folder or (options.allow_empty and not files)
    if not options.prune or asked or not isinstance(options.tree, LocalTree):
        return
    owners = state.owners()
    missing, shared = set[str](), 0
    for doc_id in published():
        names = file_names(doc_id, owners)
        if not names.isdisjoint(files):
            shared += 1
        elif doc_id not in state.documents and all(map(is_gone, names)):
            missing.add(doc_id)
    refuse_other_folder(FolderRegister(url, options.graph), options.tree, missing, shared)


def file_names(doc_id: str, owners: Mapping[str, str]) -> set[str]:
    """Return the possible names of a document's file: the recorded one, else those that its id can mean."""
    return {owners[doc_id]} if doc_id in owners else {doc_id, doc_id.partition("#")[0]}
