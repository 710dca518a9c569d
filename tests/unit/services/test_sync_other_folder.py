"""`sync --prune` and another folder of the same last name, whose documents have equal sources in the graph."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphtide.services.cli.client import Client, Json, listed_documents
from graphtide.services.cli.exit_codes import CommandError
from graphtide.services.cli.sync import run as sync_run
from graphtide.services.cli.sync.tree import state_folder
from graphtide.services.sdk.blocking import Database
from tests.support.syncing import embedded, run

COUNTS = [(1, 1, 0), (2, 9, 0), (9, 2, 1), (3, 3, 3)]
"""Files of the first folder alone, of the second one alone, and of both."""


@pytest.fixture(autouse=True)
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which the machine's folders are noted."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def filled(path: Path, *names: str) -> Path:
    path.mkdir(parents=True)
    for name in names:
        (path / name).write_text(f"Ana Ruiz wrote {name} in {path.parent.name}.")
    return path


def two_folders(tmp_path: Path, counts: tuple[int, int, int]) -> tuple[Path, Path]:
    first, second, both = ([f"{kind}{n}.md" for n in range(count)] for kind, count in zip("abc", counts, strict=True))
    return filled(tmp_path / "work" / "notes", *first, *both), filled(tmp_path / "home" / "notes", *second, *both)


def texts(database: Database) -> dict[str, str]:
    return {each.id: database.graph("g").document(each.id).text for each in database.graph("g").documents().documents}


@pytest.mark.parametrize("counts", COUNTS)
def test_prune_deletes_nothing_that_another_folder_of_this_name_published(
    tmp_path: Path, counts: tuple[int, int, int]
) -> None:
    """It is refused before anything is published, and names the other folder; the option deletes."""
    first, second = two_folders(tmp_path, counts)
    with embedded(tmp_path / "data") as (client, database):
        run(client, first)
        before = texts(database)
        with pytest.raises(CommandError, match="name --allow-other-folder") as refused:
            run(client, second, prune=True)
        assert str(first) in str(refused.value) and texts(database) == before
        run(client, second)
        with pytest.raises(CommandError, match="name --allow-other-folder"):
            run(client, second, prune=True)
        assert before.keys() <= texts(database).keys()
        deleted = run(client, second, prune=True, allow_other_folder=True).deleted
        assert sorted(deleted) == [f"a{n}.md" for n in range(counts[0])]


def test_prune_of_a_folder_that_lacks_most_documents_is_refused_without_any_record(
    tmp_path: Path, register: Path
) -> None:
    """Neither record exists, as on another machine: the counts decide."""
    first, second = two_folders(tmp_path, (9, 2, 1))
    with embedded(tmp_path / "data") as (client, database):
        run(client, first)
        shutil.rmtree(register)
        before = texts(database)
        with pytest.raises(CommandError, match="another folder of this name may have"):
            run(client, second, prune=True)
        assert texts(database) == before


@pytest.mark.parametrize("keeps_record", [False, True])
def test_prune_of_a_folder_that_was_moved_deletes_what_is_gone(
    tmp_path: Path, register: Path, keeps_record: bool
) -> None:
    """A folder in another place with the same files is the same one, with or without its record."""
    first, _ = two_folders(tmp_path, (3, 1, 0))
    with embedded(tmp_path / "data") as (client, database):
        run(client, first)
        moved = tmp_path / "new" / "notes"
        moved.parent.mkdir()
        shutil.move(first, moved)
        if not keeps_record:
            shutil.rmtree(moved / ".graphtide")
        (moved / "a0.md").unlink()
        assert run(client, moved, prune=True).deleted == ["a0.md"]
        assert sorted(texts(database)) == ["a1.md", "a2.md"]
        assert str(first) not in "".join(path.read_text() for path in register.rglob("folders-*"))


def test_first_pass_with_prune_creates_the_graph(tmp_path: Path) -> None:
    """No document is in a graph that does not exist: neither a preview nor an empty folder is refused."""
    folder, empty = filled(tmp_path / "notes", "a.md"), filled(tmp_path / "empty")
    with embedded(tmp_path / "data") as (client, database):
        assert run(client, folder, prune=True, dry_run=True).new == ["a.md"]
        assert not run(client, empty, prune=True).did_something
        assert run(client, folder, prune=True).new == ["a.md"]
        assert sorted(texts(database)) == ["a.md"]


@pytest.mark.parametrize(
    "content", ["[" * 100_000, r'["\u0000/notes"]', r'["\ud800/notes"]', "[[1]]", '{"a": 1}', "\0"]
)
def test_damaged_register_is_as_a_missing_one(tmp_path: Path, register: Path, content: str) -> None:
    """It is read and replaced, whatever it contains."""
    folder = filled(tmp_path / "notes", "a.md", "b.md")
    with embedded(tmp_path / "data") as (client, _):
        run(client, folder)
        [file] = register.rglob("folders-*")
        file.write_text(content)
        shutil.rmtree(folder / ".graphtide")
        (folder / "a.md").unlink()
        assert run(client, folder, prune=True).deleted == ["a.md"]
        assert str(folder) in file.read_text()


def test_prune_needs_no_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user has no entry in its list of users; a URL needs a folder for its record."""

    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", unknown)
    folder = filled(tmp_path / "notes", "a.md", "b.md")
    with embedded(tmp_path / "data") as (client, _):
        run(client, folder, prune=True)
        shutil.rmtree(folder / ".graphtide")
        (folder / "a.md").unlink()
        assert run(client, folder, prune=True).deleted == ["a.md"]
    with pytest.raises(CommandError, match="set XDG_STATE_HOME"):
        state_folder()


def test_the_documents_of_the_graph_are_listed_once_in_a_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of the folder and the search for what to delete read one list, a request per 1,000."""
    first, _ = two_folders(tmp_path, (3, 0, 0))
    listings: list[str] = []
    with embedded(tmp_path / "data") as (client, _):
        run(client, first)
        (first / "a0.md").unlink()
        listed = listed_documents

        def counted(of: Client, graph: str) -> Iterator[Json]:
            listings.append(graph)
            return listed(of, graph)

        monkeypatch.setattr(sync_run, "listed_documents", counted)
        assert run(client, first, prune=True).deleted == ["a0.md"]
    assert listings == ["g"]
