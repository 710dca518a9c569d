"""The remedies of the command line for graphs, documents and formats that do not exist."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from graphtide.infra.files.reader import FORMATS
from graphtide.services.cli.exit_codes import CommandError
from graphtide.services.cli.sources import find_documents
from graphtide.services.cli.sync.scan import scan_folder
from graphtide.services.cli.top_level.not_found import MAX_NAMED, remedy_for
from graphtide.services.cli.top_level.publishing import publish, sync_folder
from tests.support.syncing import embedded, run


def lines(count: int, has_ids: bool) -> str:
    return "".join(f'{{{f"{chr(34)}id{chr(34)}: {n}, " if has_ids else ""}"text": "Box {n}."}}\n' for n in range(count))


def test_unknown_graph_is_answered_by_the_similar_names_or_all(tmp_path: Path) -> None:
    """A slip of the pen finds the graph that was meant; a name like none lists what there is."""
    with embedded(tmp_path / "data") as (client, database):
        assert remedy_for(client, "notes", "") == ""
        for name in ("incidents", "tickets", "Minutes"):
            graph = database.graph(name)
            graph.wait(graph.add("a", "Ana Ruiz lives in Rome.").token)
        for wrong, meant in (("incident", "incidents"), ("tikcets", "tickets"), ("minutes", "Minutes")):
            assert remedy_for(client, wrong, "").startswith(f"did you mean {meant!r}")
        assert all(repr(name) in remedy_for(client, "zzz", "") for name in ("incidents", "tickets", "Minutes"))
        assert remedy_for(client, "tickets", "") == ""


@pytest.mark.parametrize("has_ids", [False, True])
@pytest.mark.parametrize("count", [2, MAX_NAMED + 3])
def test_file_that_became_many_documents_names_them(tmp_path: Path, count: int, has_ids: bool) -> None:
    """The ids of its records, and how many more there are; a document of another file is none of them."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "incidents.jsonl").write_text(lines(count, has_ids))
    (folder / "other.jsonl").write_text(lines(1, has_ids))
    with embedded(tmp_path / "data") as (client, _):
        ids = [each for each in run(client, folder).new if each.startswith("incidents")]
        remedy = remedy_for(client, "g", "incidents.jsonl")
        assert remedy.startswith(f"incidents.jsonl became {count} documents: ") and "other.jsonl" not in remedy
        assert sum(repr(each) in remedy for each in ids) == min(count, MAX_NAMED)
        assert ("and 3 more" in remedy) == (count > MAX_NAMED)
        assert remedy_for(client, "g", "missing.jsonl") == ""


def test_publish_and_sync_name_the_same_formats(tmp_path: Path) -> None:
    """In their help, and for a file that neither reads."""
    for command in (publish, sync_folder):
        assert FORMATS in " ".join((inspect.getdoc(command) or "").split())
    (tmp_path / "photo.png").write_bytes(b"x")
    with pytest.raises(CommandError) as refused:
        find_documents([str(tmp_path / "photo.png")], "stdin")
    assert str(refused.value).endswith(scan_folder(tmp_path).skipped[0].reason)
    with pytest.raises(CommandError) as refused:
        find_documents([str(tmp_path)], "stdin")
    assert FORMATS in str(refused.value)
