"""The options of a pass of `sync`, and its outcome: what it published and deleted, and what it could not read."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphtide.services.cli.client import Json
from graphtide.services.cli.sources import Unreadable
from graphtide.services.cli.sync.tree import FileTree


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """The options of a pass."""

    tree: FileTree
    graph: str
    prune: bool = False
    dry_run: bool = False
    wait: bool = True
    allow_empty: bool = False
    allow_other_folder: bool = False


@dataclass(slots=True)
class SyncResult:
    """The outcome of a pass, filled while it runs: document ids by what happened to them.

    `listed` has the names of the files and folders that the listing found.
    """

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[Unreadable] = field(default_factory=list)
    failed: list[Unreadable] = field(default_factory=list)
    token: str = ""
    dry_run: bool = False
    listed: frozenset[str] = frozenset()

    @property
    def did_something(self) -> bool:
        return bool(self.new or self.changed or self.renamed or self.deleted or self.failed)

    def summary(self) -> str:
        """Return the counts in one line."""
        renamed = {new for _, new in self.renamed}
        old = {old for old, _ in self.renamed}
        counts = [(len([each for each in self.new if each not in renamed]), "new"), (len(self.changed), "changed")]
        counts += [(len(self.renamed), "renamed")] if self.renamed else []
        counts += [(len([each for each in self.deleted if each not in old]), "deleted"), (self.unchanged, "unchanged")]
        counts += [(len(self.skipped), "skipped")] + ([(len(self.failed), "failed")] if self.failed else [])
        return ", ".join(f"{count} {name}" for count, name in counts)

    def as_json(self) -> Json:
        problems = {
            name: [{"name": each.name, "reason": each.reason} for each in found]
            for name, found in (("skipped", self.skipped), ("failed", self.failed))
        }
        renamed = [{"from": old, "to": new} for old, new in self.renamed]
        ids: Json = {"new": self.new, "changed": self.changed, "renamed": renamed, "deleted": self.deleted}
        return {**ids, "unchanged": self.unchanged, **problems, "token": self.token, "dry_run": self.dry_run}
