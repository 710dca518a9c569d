"""`sync` and files that become unreadable later: their documents stay, and a watch names each of them once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from graphtide.infra.files.reader import READER_VERSION
from graphtide.services.cli.commands.sync import follow_once
from graphtide.services.cli.sync.skipped import SkippedSources
from graphtide.services.cli.sync.state import read_state, state_key
from graphtide.services.cli.sync.tree import LocalTree
from graphtide.services.cli.sync.types import SyncOptions
from tests.support.syncing import embedded, run

ROME, OSLO = "Ana Ruiz lives in Rome.", "Ana Ruiz lives in Oslo."


def grow(path: Path) -> None:
    path.write_text(ROME * 100)


def link_outside(path: Path) -> None:
    outside = path.parent.parent / "outside.md"
    outside.write_text(OSLO)
    path.unlink()
    path.symlink_to(outside)


def link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("missing.md")


def link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize("spoil", [grow, link_outside, link_to_nothing, link_to_itself, make_pipe])
def test_file_that_is_no_longer_read_keeps_its_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None], prune: bool
) -> None:
    """It is named in every pass, its document stays until the file is read again or deleted."""
    monkeypatch.setattr("graphtide.services.cli.sync.scan.MAX_FILE_BYTES", 1_000)
    folder = tmp_path / "notes"
    folder.mkdir()
    path = folder / "a.md"
    path.write_text(ROME)
    (folder / "b.md").write_text(OSLO)
    with embedded(tmp_path / "data") as (client, database):
        run(client, folder)
        spoil(path)
        for _ in range(2):
            done = run(client, folder, prune=prune)
            assert ([each.name for each in done.skipped], done.deleted) == (["a.md"], [])
            assert database.graph("g").document("a.md").text == ROME
        path.unlink()
        path.write_text(OSLO)
        assert run(client, folder, prune=prune).changed == ["a.md"]
        spoil(path)
        path.unlink()
        assert run(client, folder, prune=prune).deleted == ["a.md"]


def test_watch_names_what_is_newly_skipped_once_and_what_is_readable_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Old ones are not repeated with the next change, and a deleted file is not readable again."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "photo.png").write_bytes(b"x")
    for name in ("a.md", "b.md"):
        (folder / name).write_text(ROME)
    (folder / "c.jsonl").write_text('{"text": "Bo Lind lives in Lima."}\n')
    with embedded(tmp_path / "data") as (client, _):
        skipped, options = SkippedSources(), SyncOptions(LocalTree(folder), "g")

        def printed() -> list[str]:
            follow_once(client, options, False, skipped)
            return [line.strip() for line in capsys.readouterr().out.splitlines()]

        assert [line.partition(":")[0] for line in printed()][1:] == ["photo.png"]
        assert printed() == []
        (folder / "a.md").write_bytes(b"\0\1\2")
        first = printed()
        assert first[0].endswith("2 skipped:") and [line.partition(":")[0] for line in first[1:]] == ["a.md"]
        (folder / "b.md").write_text(OSLO)
        assert printed() == ["0 new, 1 changed, 0 deleted, 2 unchanged, 2 skipped"]
        (folder / "c.jsonl").write_text('{"text": "Bo Lind lives in Lima."}\n{"text": 1\n')
        assert [line.partition(": ")[0] for line in printed()[1:]] == ["c.jsonl:2"]
        (folder / "a.md").write_text(OSLO)
        (folder / "c.jsonl").write_text('{"text": "Bo Lind lives in Lima."}\n')
        (folder / "photo.png").unlink()
        assert printed()[1:] == ["a.md: is readable again", "c.jsonl: is readable again"]
        assert printed() == []


def test_watch_names_a_broken_line_once_wherever_it_moves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its content: another broken line, or a second equal one, is named, also one that takes the old number."""
    folder = tmp_path / "notes"
    folder.mkdir()
    good, broken, other = '{"text": "Bo Lind lives in Lima."}', '{"text": 1', '{"text": 2'
    with embedded(tmp_path / "data") as (client, _):
        skipped, options = SkippedSources(), SyncOptions(LocalTree(folder), "g")

        def named(*lines: str) -> list[str]:
            (folder / "c.jsonl").write_text("\n".join(lines) + "\n")
            follow_once(client, options, False, skipped)
            return [line.strip().partition(": ")[0] for line in capsys.readouterr().out.splitlines()][1:]

        assert named(good, broken) == ["c.jsonl:2"]
        assert named('{"text": "Ana Ruiz."}', good, broken) == []
        assert named("", "", good, broken + " ") == []
        assert named("", "", good, other, broken) == ["c.jsonl:4"]
        assert named(broken, other, broken) == ["c.jsonl:3"]
        assert named(broken, '{"id": "x", "text": "a"}', '{"id": "x", "text": "b"}') == ["c.jsonl:2"]
        assert named(broken, good, '{"id": "x", "text": "a"}', '{"id": "x", "text": "b"}') == []
        assert named(good) == ["c.jsonl"]  # is readable again
        state = LocalTree(folder).state_file(state_key(client.url, "g"))
        assert read_state(state).files


def test_record_without_contents_of_lines_is_read(tmp_path: Path) -> None:
    """As it was written before lines had an identity."""
    problems = [["c.jsonl:2", "is not a JSON object"], ["c.jsonl:4", "is not a JSON object", "ab"]]
    row = [1, 2, "digest", ["a"], problems]
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"reader": READER_VERSION, "files": {"c.jsonl": row}, "documents": {}}))
    known = read_state(path).files["c.jsonl"]
    assert [each[2] for each in known.problems] == ["", "ab"]


def test_json_of_a_watch_has_all_that_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program sees the state of every pass that is printed, and what is readable again."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "photo.png").write_bytes(b"x")
    (folder / "a.md").write_bytes(b"\0\1\2")
    with embedded(tmp_path / "data") as (client, _):
        skipped, options = SkippedSources(), SyncOptions(LocalTree(folder), "g")
        follow_once(client, options, True, skipped)
        (folder / "a.md").write_text(ROME)
        follow_once(client, options, True, skipped)
        first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert [each["name"] for each in first["skipped"]] == ["photo.png", "a.md"]
    assert ([each["name"] for each in second["skipped"]], second["readable_again"]) == (["photo.png"], ["a.md"])
