"""Folders of this machine with the same last name that were followed by one graph: the sources of their documents are
equal, so `--prune` cannot tell them apart by these.

A file for each service and graph in the user's folder of records lists the folders. It may be lost at any time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from graphtide.services.cli.exit_codes import FAILED, CommandError
from graphtide.services.cli.sync.state import read_state, state_key
from graphtide.services.cli.sync.tree import LocalTree, state_folder


@dataclass(frozen=True, slots=True)
class FolderRegister:
    """The folders that one graph of one service follows."""

    url: str
    graph: str

    def note(self, tree: LocalTree) -> None:
        """Add a folder, and drop those that no longer exist. Raises OSError, and CommandError without a home folder."""
        folder, known = str(tree.folder.resolve()), self._folders()
        kept = [each for each in known if Path(each).is_dir()]
        if folder in known and kept == known:
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = self._path.with_suffix(".new")
        temporary.write_text(json.dumps(sorted({*kept, folder})))
        temporary.replace(self._path)

    def owner(self, tree: LocalTree, doc_ids: Set[str]) -> str:
        """Return another folder of the same last name whose record has one of the documents, "" without one."""
        own = tree.folder.resolve()
        for folder in map(Path, self._folders()):
            if folder != own and folder.name == own.name:
                state = read_state(LocalTree(folder).state_file(state_key(self.url, self.graph)))
                if not doc_ids.isdisjoint(state.documents):
                    return str(folder)
        return ""

    def _folders(self) -> Sequence[str]:
        """Return the folders that are noted; none if the file is damaged or there is no place for it."""
        with suppress(OSError, ValueError, TypeError, RecursionError, CommandError):
            return [str(Path(each).resolve()) for each in json.loads(self._path.read_text())]
        return []

    @property
    def _path(self) -> Path:
        return state_folder() / f"folders-{state_key(self.url, self.graph)}.json"


def refuse_other_folder(register: FolderRegister, tree: LocalTree, only_in_graph: Set[str], shared: int) -> None:
    """Raise CommandError if the documents that only the graph knows are probably of another folder of this name: the
    record of such a folder has one, or they outnumber those that this folder shares with the graph.
    """
    owner = register.owner(tree, only_in_graph)
    if not owner and len(only_in_graph) <= shared:
        return
    because = (
        f"which the folder {owner} published"
        if owner
        else f"but the graph has only {shared} that it contains, so another folder of this name may have published them"
    )
    raise CommandError(
        f"--prune would delete {len(only_in_graph)} documents of {tree.origin}/ in the graph {register.graph!r} that"
        f" {tree.shown} does not contain, {because}; nothing was published or deleted; give each folder a graph of its"
        " own, or name --allow-other-folder to delete them",
        FAILED,
    )
