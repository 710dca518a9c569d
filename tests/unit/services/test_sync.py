"""`sync` makes a graph follow a folder: the law, what it skips, and what an interruption leaves."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

import graphtide
from graphtide.infra.documents import description
from graphtide.infra.files.reader import READER_VERSION
from graphtide.services.cli.sync import state
from graphtide.services.cli.sync.scan import scan_folder
from graphtide.services.cli.sync.tree import SourceUnavailableError
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
            run(client, folder, "followed", prune=True, allow_empty=True, allow_other_folder=True)
        (folder / "last.md").write_text("# Last\n\nAna Ruiz lives in Rome.")
        run(client, folder, "followed", prune=True, allow_empty=True, allow_other_folder=True)
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
