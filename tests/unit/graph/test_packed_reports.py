"""Reports as a view packs them: what is read is what was packed, and content decides whether a report is valid."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide.graph.reports.fingerprint import CommunityFingerprints, fingerprint_of
from graphtide.graph.reports.packed import PackedReport
from graphtide.graph.reports.rows import ReportFinding, ReportRow
from tests.support.sample_view import sample_view

ANY_TEXT = st.text(st.characters(), max_size=40)
"""Lone surrogates included: a model may write one."""
TEXTS = st.lists(ANY_TEXT, max_size=3).map(tuple)
FINDINGS = st.builds(ReportFinding, ANY_TEXT, TEXTS, TEXTS)
REPORTS = st.builds(
    ReportRow,
    community=st.integers(1, 1 << 40),
    level=st.integers(0, 9),
    fingerprint=ANY_TEXT,
    version=st.integers(0, 1 << 50),
    title=ANY_TEXT,
    summary=ANY_TEXT,
    sources=TEXTS,
    findings=st.lists(FINDINGS, max_size=3).map(tuple),
    rating=st.floats(allow_nan=False),
)


@given(REPORTS)
def test_report_read_is_the_one_packed(report: ReportRow) -> None:
    assert PackedReport.of(report).row(report.community) == report


def test_share_that_changed_is_that_of_the_fingerprint() -> None:
    """The cases: an unchanged community, one that changed, an unknown one, and a fingerprint that cannot be read."""
    view = sample_view()
    contents = view.contents
    community = max(view.hierarchy.hierarchy().ids.tolist(), key=contents.entities)
    present = contents.fingerprint(community)
    assert present is not None
    for written in (present, replace(present, digest=present.digest ^ 1), fingerprint_of(["another"])):
        for asked in (community, -1):
            assert packed(written.encode()).changed(contents, asked) == contents.changed(asked, written)
    assert packed("").changed(contents, community) == 1.0


@pytest.mark.parametrize("written", ["", "0:0000000000000000:", fingerprint_of([]).encode()])
def test_report_of_no_content_is_not_that_of_an_unknown_community(written: str) -> None:
    assert packed(written).changed(CommunityFingerprints(), 1) == 1.0


def packed(fingerprint: str) -> PackedReport:
    return PackedReport.of(ReportRow(1, 0, fingerprint, 1, "Title", "Summary", ()))
