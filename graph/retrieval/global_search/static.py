"""Mode `global`: every report of one level of the hierarchy, answered separately and combined.

"GraphRAG: Improving global search via dynamic community selection", "Static vs. dynamic global search": map-reduce over
the reports of a predetermined level. The map and reduce steps are the answer stage's (`Synthesis.BY_PART`); this module
finds the reports. Levels count from the finest, 0; the source counts from the root. Deviation: a community whose
children of the level are all too small for a report is read itself.
"""

from __future__ import annotations

from graphtide.graph.retrieval.global_search.reports import ReportScope, covering, handed_out, level_of
from graphtide.graph.retrieval.types import Question, RetrievalResult, TraceItem, TraceStep
from graphtide.graph.view import LiveView


def retrieve_global(view: LiveView, question: Question) -> RetrievalResult:
    """Return all reports of the level, the most important first. Call under `view.lock.read()`. Cost: the level's
    reports.

    `question.level` chooses the level. Raises ValueError for an unknown level.
    """
    level = level_of(view, question)
    if not any(map(str.isalnum, question.text)):
        return handed_out(view, question, "global", (), ())
    found = covering(view, view.hierarchy.roots(), level, ReportScope.of(view, question.filters))
    found.sort(key=lambda report: (-report.rating, -report.size, view.contents.digest(report.community)))
    items = tuple(
        TraceItem("", report.part.title, report.rating, (("entities", float(report.size)),)) for report in found
    )
    step = TraceStep("reports", f"All reports of level {level}, by the importance of their communities.", items)
    return handed_out(view, question, "global", [report.part for report in found], (step,))
