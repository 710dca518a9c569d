"""The journal of an evaluation after crashes, and its lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphtide.services.evaluation.journal import EvaluationJournal
from graphtide.streams.errors import Broken
from graphtide.streams.usage import ModelUsage


def test_journal_keeps_whole_lines_when_the_last_is_cut_anywhere(tmp_path: Path) -> None:
    """The rest of a cut line is removed, so the next record is whole."""
    path = tmp_path / "journal"
    with EvaluationJournal(path) as journal:
        journal.record("a", "judging", {"text": "é"}, ModelUsage(1, 2, 3, 4))
        journal.charge("judging", ModelUsage(1, 1, 0, 0))
        whole = path.read_bytes()
        journal.record("b", "judging", {"text": "b"}, ModelUsage(1))
    line = path.read_bytes()[len(whole) :]
    for cut in range(len(line)):
        path.write_bytes(whole + line[:cut])
        with EvaluationJournal(path) as journal:
            assert (journal.find("a"), journal.find("b")) == ({"text": "é"}, None)
            assert journal.spent == {"judging": ModelUsage(2, 3, 3, 4)}
        assert path.read_bytes() == whole


def test_journal_refuses_a_second_process_and_other_files(tmp_path: Path) -> None:
    """A file that is not a journal is left as it is."""
    with EvaluationJournal(tmp_path / "journal"), pytest.raises(Broken, match="in use"):
        EvaluationJournal(tmp_path / "journal")
    other = tmp_path / "notes"
    other.write_text("My diary\n")
    with pytest.raises(Broken, match="line 1"):
        EvaluationJournal(other)
    assert other.read_text() == "My diary\n"
