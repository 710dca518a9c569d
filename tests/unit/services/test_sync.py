"""`sync` makes a graph follow a folder: the law, what it skips, and what an interruption leaves."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import graphtide
from graphtide.infra.documents import description
from graphtide.infra.files.reader import READER_VERSION
from graphtide.services.cli.sync import state
from graphtide.services.cli.sync.scan import scan_folder
from graphtide.services.cli.sync.state import load_state
from graphtide.services.cli.sync.tree import LocalTree, SourceUnavailableError
from graphtide.services.sdk.blocking import Database
from tests.support.seeds import seeds
from tests.support.syncing import embedded, run

NAMES = [f"{folder}{name}" for folder in ("", "sub/") for name in ("a.md", "b.txt", "c.csv", "d.jsonl", "e.html")]


def content(rng: random.Random, name: str) -> str:
    person, town = rng.choice(("Ana Ruiz", "Bo Lind", "Cy Moe")), rng.choice(("Lima", "Oslo", "Rome"))
    if name.endswith(".csv"):
        return "name,town\n" + "".join(f"{person} {n},{town}\n" for n in range(rng.randrange(1, 4)))
    if name.endswith(".jsonl"):
        count = rng.randrange(1, 4)
        return "".join(json.dumps({"id": n, "text": f"{person} moved to {town}."}) + "\n" for n in range(count))
    if name.endswith(".html"):
        return f"<h1>Page</h1><p>{person} lives in {town}.</p>"
    return f"# Notes\n\n{person} lives in {town}.\n\n- {person} owns a boat.\n"


def disturb(rng: random.Random, folder: Path) -> None:
    """Write, delete or rename one file."""
    path = folder / rng.choice(NAMES)
    action = rng.choice(("write", "write", "delete", "rename"))
    if action == "write" or not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content(rng, path.name))
    elif action == "delete":
        path.unlink()
    else:
        target = path.with_name(f"renamed-{rng.randrange(3)}{path.suffix}")
        path.replace(target)


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_folder_followed_through_random_changes_equals_a_fresh_sync(tmp_path: Path, seed: int) -> None:
    """Edits, deletions and renames in any order give the digest of one sync at the end; a second one does nothing."""
    print(f"seed {seed}")
    rng, folder = random.Random(seed), tmp_path / "notes"
    folder.mkdir()
    with embedded(tmp_path / "data") as (client, database):
        for _ in range(8):
            for _ in range(rng.randrange(1, 4)):
                disturb(rng, folder)
            if rng.random() < 0.2:
                shutil.rmtree(folder / ".graphtide", ignore_errors=True)  # the state may be lost at any time
            run(client, folder, "followed", prune=True, allow_empty=True)
        (folder / "last.md").write_text("# Last\n\nAna Ruiz lives in Rome.")
        run(client, folder, "followed", prune=True, allow_empty=True)
        run(client, folder, "fresh")
        known = set(json.loads(next((folder / ".graphtide").glob("*.json")).read_text())["documents"])
        assert known
        surplus = [doc_id for doc_id in _live(database, "followed") if doc_id not in _live(database, "fresh")]
        for doc_id in surplus:  # what was deleted while the state was lost: only the service's list would know it
            database.graph("followed").wait(database.graph("followed").delete(doc_id).token)
        assert database.graph("followed").digest().digest == database.graph("fresh").digest().digest
        client.published.clear()
        again = run(client, folder, "followed")
        assert not again.did_something and client.published == []


@pytest.mark.parametrize("is_state_lost", [False, True])
def test_files_in_which_a_later_version_finds_a_date_are_published_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_state_lost: bool
) -> None:
    """So a folder that was followed before an upgrade equals one that is synced after it; other files stay."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "letter.txt").write_text("Leeds, 12 May 2026\n\nAna Ruiz lives in Rome.\n")
    (folder / "list.txt").write_text("Bo Lind lives in Oslo.\n")
    with embedded(tmp_path / "data") as (client, database):
        with monkeypatch.context() as before:
            before.setattr(description, "stated_date", lambda _text: "")
            before.setattr(state, "READER_VERSION", READER_VERSION - 1)
            run(client, folder, "followed")
        assert database.graph("followed").document("letter.txt").occurred_at == ""
        if is_state_lost:
            shutil.rmtree(folder / ".graphtide")
        client.published.clear()
        run(client, folder, "followed")
        assert client.published == ["letter.txt"]
        run(client, folder, "fresh")
        dates = [database.graph(graph).document("letter.txt").occurred_at for graph in ("followed", "fresh")]
        assert dates == ["2026-05-12"] * 2
        assert database.graph("followed").digest().digest == database.graph("fresh").digest().digest


def _live(database: Database, graph: str) -> list[str]:
    names = [*NAMES, "last.md"]
    names += [f"{folder}renamed-{n}{suffix}" for folder in ("", "sub/") for n in range(3) for suffix in SUFFIXES]
    ids = [*names, *(f"{name}#{n}" for name in names if name.endswith(".jsonl") for n in range(4))]
    return [doc_id for doc_id in ids if _is_live(database, graph, doc_id)]


SUFFIXES = (".md", ".txt", ".csv", ".jsonl", ".html")


def _is_live(database: Database, graph: str, doc_id: str) -> bool:
    try:
        return database.graph(graph).document(doc_id).state == "applied"
    except graphtide.NotFound:
        return False


def test_each_change_is_counted_for_what_it_is(tmp_path: Path) -> None:
    """New, changed, renamed, deleted, unchanged, skipped: the summary, and what is published."""
    folder = tmp_path / "notes"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "x.md").write_text("hidden")
    (folder / ".gitignore").write_text("drafts/\n*.log.txt\n")
    (folder / "drafts").mkdir()
    (folder / "drafts" / "d.md").write_text("ignored")
    (folder / "photo.png").write_bytes(b"x")
    for name in ("a", "b", "c", "d"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nAna Ruiz bought a {name}.")
    with embedded(tmp_path / "data") as (client, _):
        assert run(client, folder, dry_run=True).summary() == "4 new, 0 changed, 0 deleted, 0 unchanged, 1 skipped"
        assert client.published == []
        first = run(client, folder)
        assert first.summary() == "4 new, 0 changed, 0 deleted, 0 unchanged, 1 skipped"
        assert "photo.png: no reader for .png" in f"{first.skipped[0].name}: {first.skipped[0].reason}"
        (folder / "a.md").write_text("# a\n\nAna Ruiz sold it.")
        (folder / "b.md").replace(folder / "moved.md")
        (folder / "c.md").unlink()
        client.published.clear()
        assert run(client, folder).summary() == "0 new, 1 changed, 1 renamed, 1 deleted, 1 unchanged, 1 skipped"
        assert sorted(client.published) == ["a.md", "moved.md"]


def test_lost_state_is_compared_with_the_service(tmp_path: Path) -> None:
    """Without the local state nothing that the service holds is published again."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nAna Ruiz lives in Rome.")
    with embedded(tmp_path / "data") as (client, _):
        run(client, folder)
        shutil.rmtree(folder / ".graphtide")
        client.published.clear()
        assert run(client, folder).unchanged == 1 and client.published == []


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


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize("has_state", [False, True])
def test_empty_folder_deletes_nothing_unless_asked(tmp_path: Path, prune: bool, has_state: bool) -> None:
    """A folder that is not mounted looks empty, and lacks the state, too."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("Ana Ruiz lives in Rome.")
    with embedded(tmp_path / "data") as (client, database):
        run(client, folder)
        (folder / "a.md").unlink()
        if not has_state:
            shutil.rmtree(folder / ".graphtide")
        if prune or has_state:
            with pytest.raises(SourceUnavailableError, match="mounted, or name --allow-empty"):
                run(client, folder, prune=prune)
        else:
            assert run(client, folder).deleted == []
        assert _live(database, "g") == ["a.md"]
        assert run(client, folder, prune=True, allow_empty=True).deleted == ["a.md"]
        assert run(client, folder, prune=True).deleted == []  # nothing of it is left: no error


def test_ignore_files_of_inner_folders_take_precedence(tmp_path: Path) -> None:
    """As in git: patterns are relative to their folder, and an inner one may include a file again."""
    (tmp_path / "sub").mkdir()
    (tmp_path / ".gitignore").write_text("*.txt\n")
    (tmp_path / "sub" / ".gitignore").write_text("!keep.txt\n/only-here.md\n")
    for name in ("a.txt", "only-here.md", "sub/keep.txt", "sub/b.txt", "sub/only-here.md"):
        (tmp_path / name).write_text("x")
    assert list(scan_folder(tmp_path).files) == ["only-here.md", "sub/keep.txt"]


def test_what_is_no_readable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe, and a file beyond the limit, are skipped with the reason, and neither is opened."""
    monkeypatch.setattr("graphtide.services.cli.sync.scan.MAX_FILE_BYTES", 10)
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "large.txt").write_text("x" * 11)
    (tmp_path / "small.txt").write_text("x" * 10)
    scan = scan_folder(tmp_path)
    assert set(scan.files) == {"small.txt"}
    assert {each.name for each in scan.skipped} == {"pipe.txt", "large.txt"}


def test_name_that_is_not_unicode_is_skipped_beside_ignore_rules(tmp_path: Path) -> None:
    """Such a name is skipped with the reason, or ignored by a rule that it matches; the other files are taken."""
    (tmp_path / ".gitignore").write_text("*.txt\n")
    for name in (b"\xff.md", b"\xfe.txt", b"a.md"):
        (tmp_path / os.fsdecode(name)).write_text("x")
    scan = scan_folder(tmp_path)
    assert list(scan.files) == ["a.md"]
    assert [each.name for each in scan.skipped] == ["\\udcff.md"]


def test_link_to_itself_is_skipped(tmp_path: Path) -> None:
    """One link that leads nowhere does not keep a folder from being followed."""
    (tmp_path / "loop.md").symlink_to("loop.md")
    (tmp_path / "a.md").write_text("x")
    scan = scan_folder(tmp_path)
    assert list(scan.files) == ["a.md"]
    assert [each.name for each in scan.skipped] == ["loop.md"]


def test_lines_of_gitignore_that_are_no_patterns_exclude_nothing(tmp_path: Path) -> None:
    """As in git: a lone negation, a lone backslash and an impossible range are ignored, and the other rules hold."""
    (tmp_path / ".gitignore").write_text("!\n\\\n[z-a]\na\\\n[[:x:]]\n*.txt\n")
    for name in ("a.md", "b.txt"):
        (tmp_path / name).write_text("text")
    assert list(scan_folder(tmp_path).files) == ["a.md"]


def test_rules_of_gitignore_match_in_linear_time(tmp_path: Path) -> None:
    """With backtracking, this rule and this name take longer than any test runs."""
    (tmp_path / ".gitignore").write_text("*a" * 30 + "b\n")
    name = "a" * 200 + ".md"
    (tmp_path / name).write_text("text")
    assert list(scan_folder(tmp_path).files) == [name]


def test_rule_of_gitignore_beyond_the_bound_keeps_the_documents(tmp_path: Path) -> None:
    """It leaves the folder unread, with the reason: its documents are not deleted."""
    inner = tmp_path / "notes"
    inner.mkdir()
    (inner / ".gitignore").write_text("a" * 2_000 + "\n")
    (inner / "a.md").write_text("text")
    found = scan_folder(tmp_path)
    assert (found.files, found.unread) == ({}, {"notes"})
    assert "a rule of more than 1,024 characters" in found.skipped[0].reason


class Killed(BaseException):
    """The process ends: no handler of the pass runs."""


def test_version_whose_reply_was_lost_is_not_taken_for_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the service accepted an edit, and the edit reverted: the next pass publishes the first version."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("Ana Ruiz lives in Rome.")
    with embedded(tmp_path / "data") as (client, database):
        run(client, folder)
        (folder / "a.md").write_text("Ana Ruiz lives in Oslo.")
        kept = {each: each.read_bytes() for each in (folder / ".graphtide").iterdir()}
        announced = _killed_after_publishing(client, folder, monkeypatch)
        for path, content in kept.items():  # the record of the pass that was killed was never written
            path.write_bytes(content)
        for path, content in announced.items():
            path.write_bytes(content)
        (folder / "a.md").write_text("Ana Ruiz lives in Rome.")
        assert run(client, folder).summary() == "0 new, 1 changed, 0 deleted, 0 unchanged, 0 skipped"
        assert database.graph("g").document("a.md").text == "Ana Ruiz lives in Rome."


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


def test_interrupted_edit_that_is_reverted_is_published_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the reply is awaited: which version the service has is not known, whatever the file is later."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("Ana Ruiz lives in Rome.")
    with embedded(tmp_path / "data") as (client, database):
        run(client, folder)
        (folder / "a.md").write_text("Ana Ruiz lives in Oslo.")
        _killed_after_publishing(client, folder, monkeypatch)
        (folder / "a.md").write_text("Ana Ruiz lives in Rome.")
        run(client, folder)
        assert database.graph("g").document("a.md").text == "Ana Ruiz lives in Rome."


def test_service_restored_from_a_backup_gets_the_later_versions_again(tmp_path: Path) -> None:
    """As many documents as before, one of them older: the folder's versions are published."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("Ana Ruiz lives in Rome.")
    (folder / "b.md").write_text("Bo Lind lives in Lima.")
    with embedded(tmp_path / "data") as (client, _):
        run(client, folder)
    shutil.copytree(tmp_path / "data", tmp_path / "backup")
    (folder / "a.md").write_text("Ana Ruiz lives in Oslo.")
    with embedded(tmp_path / "data") as (client, _):
        run(client, folder)
    with embedded(tmp_path / "backup") as (client, database):
        assert run(client, folder).summary() == "0 new, 1 changed, 0 deleted, 1 unchanged, 0 skipped"
        assert database.graph("g").document("a.md").text == "Ana Ruiz lives in Oslo."
        assert run(client, folder).summary() == "0 new, 0 changed, 0 deleted, 2 unchanged, 0 skipped"


@pytest.mark.parametrize("prune", [False, True])
def test_file_that_cannot_be_read_keeps_its_document_and_an_empty_one_does_not(tmp_path: Path, prune: bool) -> None:
    """A file that is half written has lost nothing; one that was emptied has."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("Ana Ruiz lives in Rome.")
    (folder / "b.html").write_text("<p>Bo Lind lives in Lima.</p>")
    (folder / "c.md").write_text("Cy Moe lives in Oslo.")
    with embedded(tmp_path / "data") as (client, database):
        run(client, folder)
        (folder / "a.md").write_bytes(b"\0\1\2")
        (folder / "c.md").write_text("")
        for _ in range(2):
            done = run(client, folder, prune=prune)
            assert sorted(each.name for each in done.skipped) == ["a.md", "c.md"]
            assert database.graph("g").document("a.md").text == "Ana Ruiz lives in Rome."
        assert not _is_live(database, "g", "c.md")
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


def test_folder_that_is_gone_is_not_created_again(tmp_path: Path) -> None:
    """Its name may be that of a mount, or belong to what is moved back."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("Ana Ruiz lives in Rome.")
    with embedded(tmp_path / "data") as (client, _):
        tree = LocalTree(folder)
        run(client, tree)
        shutil.rmtree(folder)
        with pytest.raises(SourceUnavailableError):
            run(client, tree)
    assert not folder.exists()


def test_files_exchanged_with_their_size_and_time_are_published(tmp_path: Path) -> None:
    """Archives restore the time of a file's content, not that of its entry in the folder."""
    first, second = tmp_path / "notes" / "a.md", tmp_path / "notes" / "b.md"
    first.parent.mkdir()
    first.write_text("Ana Ruiz lives in Rome.")
    second.write_text("Bo Lind lives in Lima..")
    for path in (first, second):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    with embedded(tmp_path / "data") as (client, _):
        state = load_state(LocalTree(first.parent), client.url, "g")
        run(client, first.parent)
        known = load_state(LocalTree(first.parent), client.url, "g")
        files = {file.name: file for file in scan_folder(first.parent).files.values()}
        known.files = {name: replace(each, mtime_ns=files[name].mtime_ns) for name, each in known.files.items()}
        assert state.files == {} and all(map(known.unchanged, files.values()))
        first.rename(tmp_path / "other.md")
        second.rename(first)
        (tmp_path / "other.md").rename(second)
        later = scan_folder(first.parent).files.values()
        assert [known.unchanged(each) for each in later] == [None, None]
        assert sorted(run(client, first.parent).changed) == ["a.md", "b.md"]


def test_links_to_folders_and_names_with_unusual_characters(tmp_path: Path) -> None:
    """A link to a folder is named; a name with a thin space, as of a screenshot, is an ordinary one."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("x")
    (tmp_path / "linked").symlink_to("real", target_is_directory=True)
    (tmp_path / "Screenshot 9.41\u202fAM.md").write_text("x")
    scan = scan_folder(tmp_path)
    assert sorted(scan.files) == ["Screenshot 9.41\u202fAM.md", "real/a.md"]
    assert [(each.name, "is a link to a folder" in each.reason) for each in scan.skipped] == [("linked", True)]


def test_first_rule_of_gitignore_holds_behind_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("secret.md\n", encoding="utf-8-sig")
    (tmp_path / "secret.md").write_text("x")
    assert scan_folder(tmp_path).files == {}


def test_one_file_in_the_place_of_which_two_copies_are_is_renamed_once(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("Ana Ruiz lives in Rome.")
    with embedded(tmp_path / "data") as (client, _):
        run(client, folder)
        (folder / "b.md").write_text("Ana Ruiz lives in Rome.")
        (folder / "a.md").rename(folder / "c.md")
        assert run(client, folder).summary() == "1 new, 0 changed, 1 renamed, 0 deleted, 0 unchanged, 0 skipped"
