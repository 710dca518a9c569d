"""`sync` after a kill, a lost reply, a restored service, a damaged file, or without its folder."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import graphtide
from graphtide.services.cli.sync.scan import scan_folder
from graphtide.services.cli.sync.state import load_state
from graphtide.services.cli.sync.tree import LocalTree, SourceUnavailableError
from graphtide.services.sdk.blocking import Database
from tests.support.syncing import embedded, run

ROME, OSLO = "Ana Ruiz lives in Rome.", "Ana Ruiz lives in Oslo."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one file."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(ROME)
    return notes


def text_of(database: Database, doc_id: str) -> str:
    """Return the text of a document in the graph, "" for one that was deleted."""
    try:
        return database.graph("g").document(doc_id).text
    except graphtide.NotFound:
        return ""


def test_interrupted_sync_is_continued_by_the_next(tmp_path: Path) -> None:
    """Documents accepted before Ctrl-C are not published again; the others are."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(210):
        (folder / f"{n:03}.txt").write_text(f"Box {n} is in room {n % 7}.")
    with embedded(tmp_path / "data") as (client, _):
        client.fail_after = 1
        with pytest.raises(KeyboardInterrupt):
            run(client, folder, wait=False)
        assert len(client.published) == 200
        client.fail_after = -1
        assert run(client, folder).unchanged == 200
        assert len(client.published) == len(set(client.published)) == 210


class Killed(BaseException):
    """The process ends: no handler of the pass runs."""


def test_version_whose_reply_was_lost_is_not_taken_for_the_one_before(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the service accepted an edit, and the edit reverted: the next pass publishes the first version."""
    with embedded(tmp_path / "data") as (client, database):
        run(client, folder)
        (folder / "a.md").write_text(OSLO)
        kept = {each: each.read_bytes() for each in (folder / ".graphtide").iterdir()}
        announced = _killed_after_publishing(client, folder, monkeypatch)
        for path, content in kept.items():  # the record of the pass that was killed was never written
            path.write_bytes(content)
        for path, content in announced.items():
            path.write_bytes(content)
        (folder / "a.md").write_text(ROME)
        assert run(client, folder).summary() == "0 new, 1 changed, 0 deleted, 0 unchanged, 0 skipped"
        assert text_of(database, "a.md") == ROME


def _killed_after_publishing(client: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[Path, bytes]:
    """Run a pass that ends when the service has accepted a batch, and return what it had announced before."""
    announced: dict[Path, bytes] = {}
    publish = client.publish

    def publish_and_die(graph: str, lines: bytes) -> Any:
        announced.update((each, each.read_bytes()) for each in (folder / ".graphtide").glob("*.sent"))
        publish(graph, lines)
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(client, "publish", publish_and_die)
        run(client, folder)
    return announced


def test_interrupted_edit_that_is_reverted_is_published_again(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the reply is awaited: which version the service has is not known, whatever the file is later."""
    with embedded(tmp_path / "data") as (client, database):
        run(client, folder)
        (folder / "a.md").write_text(OSLO)
        _killed_after_publishing(client, folder, monkeypatch)
        (folder / "a.md").write_text(ROME)
        run(client, folder)
        assert text_of(database, "a.md") == ROME


def test_service_restored_from_a_backup_gets_the_later_versions_again(tmp_path: Path, folder: Path) -> None:
    """As many documents as before, one of them older: the folder's versions are published."""
    (folder / "b.md").write_text("Bo Lind lives in Lima.")
    with embedded(tmp_path / "data") as (client, _):
        run(client, folder)
    shutil.copytree(tmp_path / "data", tmp_path / "backup")
    (folder / "a.md").write_text(OSLO)
    with embedded(tmp_path / "data") as (client, _):
        run(client, folder)
    with embedded(tmp_path / "backup") as (client, database):
        assert run(client, folder).summary() == "0 new, 1 changed, 0 deleted, 1 unchanged, 0 skipped"
        assert text_of(database, "a.md") == OSLO
        assert run(client, folder).summary() == "0 new, 0 changed, 0 deleted, 2 unchanged, 0 skipped"


@pytest.mark.parametrize("prune", [False, True])
def test_file_that_cannot_be_read_keeps_its_document_and_an_empty_one_does_not(
    tmp_path: Path, folder: Path, prune: bool
) -> None:
    """A file that is half written has lost nothing; one that was emptied has."""
    (folder / "b.html").write_text("<p>Bo Lind lives in Lima.</p>")
    (folder / "c.md").write_text("Cy Moe lives in Oslo.")
    with embedded(tmp_path / "data") as (client, database):
        run(client, folder)
        (folder / "a.md").write_bytes(b"\0\1\2")
        (folder / "c.md").write_text("")
        for _ in range(2):
            done = run(client, folder, prune=prune)
            assert sorted(each.name for each in done.skipped) == ["a.md", "c.md"]
            assert text_of(database, "a.md") == ROME
        assert text_of(database, "c.md") == ""
        (folder / "a.md").write_text("Ana Ruiz lives in Bonn.")
        assert run(client, folder, prune=prune).changed == ["a.md"]


def test_file_whose_reader_was_missing_is_read_once_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is the same, so its time and content do not tell that it can be read now."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.html").write_text("<p>Ana Ruiz lives in Rome.</p>")
    with embedded(tmp_path / "data") as (client, _):
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, "graphtide.infra.files.formats.html.page", None)
            assert "is missing; install" in run(client, folder).skipped[0].reason
        assert run(client, folder).new == ["a.html"]


def test_reader_that_fails_names_the_file_and_the_others_are_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged file may make a library raise anything."""

    def fail(_raw: bytes) -> str:
        raise AssertionError("unexpected")

    monkeypatch.setattr("graphtide.infra.files.reader.mail_to_text", fail)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.eml").write_text("From: Ana\n\nHello.")
    (folder / "b.md").write_text("Bo Lind lives in Lima.")
    with embedded(tmp_path / "data") as (client, _):
        done = run(client, folder)
    assert done.new == ["b.md"]
    assert [(each.name, "AssertionError" in each.reason) for each in done.skipped] == [("a.eml", True)]


def test_folder_that_is_gone_is_not_created_again(tmp_path: Path, folder: Path) -> None:
    """Its name may be that of a mount, or belong to what is moved back."""
    with embedded(tmp_path / "data") as (client, _):
        tree = LocalTree(folder)
        run(client, tree)
        shutil.rmtree(folder)
        with pytest.raises(SourceUnavailableError):
            run(client, tree)
    assert not folder.exists()


def test_files_exchanged_with_their_size_and_time_are_published(tmp_path: Path, folder: Path) -> None:
    """Archives restore the time of a file's content, not that of its entry in the folder."""
    first, second = folder / "a.md", folder / "b.md"
    second.write_text("Bo Lind lives in Lima..")
    for path in (first, second):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    with embedded(tmp_path / "data") as (client, _):
        run(client, folder)
        known = load_state(LocalTree(folder), client.url, "g")
        files = scan_folder(folder).files
        known.files = {name: replace(each, mtime_ns=files[name].mtime_ns) for name, each in known.files.items()}
        assert all(map(known.unchanged, files.values()))
        first.rename(tmp_path / "other.md")
        second.rename(first)
        (tmp_path / "other.md").rename(second)
        assert [known.unchanged(each) for each in scan_folder(folder).files.values()] == [None, None]
        assert sorted(run(client, folder).changed) == ["a.md", "b.md"]
