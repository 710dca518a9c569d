"""Reporter of communities on a language model: the material of a call, and the checks of its answer.

It does not judge truth. Invariants: a finding names statements that were shown, and has their chunks as sources; a
finding that names none is left out; a report without any valid finding is replaced by the extractive one.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphtide.graph.reports.rows import ReportFinding
from graphtide.graph.reports.subject import CommunityContext, Report, extractive_report
from graphtide.graph.text.quotation import without_citations
from graphtide.infra.models.openai.chat import Message, OpenAIChat
from graphtide.infra.models.prompts.graph_prompts import REPORT, ByGraph, prompts_by_graph
from graphtide.infra.models.prompts.templates import MAX_FINDINGS, code_for
from graphtide.infra.models.replies.json_replies import number_of, object_of
from graphtide.infra.models.replies.schemas import Schema
from graphtide.infra.models.usage.counters import Tally
from graphtide.streams.errors import Rejected
from graphtide.streams.usage import Stage, payer

SCHEMA = Schema(
    "community_report",
    {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "summary": {"type": "string"},
            "rating": {"type": "number"},
            "findings": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string"},
                        "sources": {"type": "array", "items": {"type": "integer"}},
                    },
                    "required": ["text", "sources"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["title", "summary", "rating", "findings"],
        "additionalProperties": False,
    },
)
_TITLE_CHARS, _SUMMARY_CHARS, _FINDING_CHARS = 200, 2_000, 800
_MAX_RATING = 10.0


class OpenAIReporter:
    """The `Reporter` on a language model. The owner of `chat` closes it.

    A graph with a prompt of its own is reported by it: that of the payer on whose behalf it is called. `name` contains
    the prompt's version, so that a memo separates the reports of two prompts.
    """

    def __init__(self, chat: OpenAIChat, tally: Tally | None = None, prompts: ByGraph | None = None) -> None:
        self._chat = chat
        self._tally = tally or Tally()
        self._prompts = prompts or prompts_by_graph(None, REPORT)

    @property
    def name(self) -> str:
        return f"openai/{self._chat.model} {self._prompts.of(payer().graph).version}"

    async def report(self, subject: CommunityContext) -> Report:
        """See `Reporter.report`. One call; none for a community without statements."""
        text, numbered = _shown(subject)
        if not numbered:
            return extractive_report(subject)
        code = code_for([text])
        asked = f"<community-{code}>\n{text}\n</community-{code}>"
        messages = [Message("system", self._prompts.of(payer().graph).text), Message("user", asked)]
        try:
            reply = await self._chat.complete(messages, SCHEMA, Stage.SUMMARIZE)
        except Rejected:
            return extractive_report(subject)
        report = _read(reply.text, numbered)
        if report is None:
            self._tally.dropped("report")
            return extractive_report(subject)
        return report


def shown(subject: CommunityContext) -> str:
    """Return the community as the model reads it. Bounded: see `graphtide.graph.reports.subject`."""
    return _shown(subject)[0]


def _shown(subject: CommunityContext) -> tuple[str, Mapping[int, ReportFinding]]:
    """Return the community as the model reads it, and the finding of each number in it."""
    numbered: dict[int, ReportFinding] = {}
    lines = [f"Entities ({subject.size} in all): {', '.join(subject.entities)}"]
    for stated in subject.findings:
        numbered[len(numbered) + 1] = ReportFinding(stated.text, stated.chunks, (stated.relation,))
        quoted = f" \u2014 {stated.sentence}" if stated.sentence else ""
        lines.append(f"[{len(numbered)}] {without_citations(stated.text + quoted)}")
    for child in subject.children:
        lines.append(f"\nPart with {child.size} entities: {child.title}")
        if child.summary not in " ".join(stated.text for stated in child.findings):
            lines.append(without_citations(child.summary))
        for finding in child.findings[:MAX_FINDINGS]:
            numbered[len(numbered) + 1] = finding
            lines.append(f"[{len(numbered)}] {without_citations(finding.text)}")
    return "\n".join(lines), numbered


def _read(text: str, numbered: Mapping[int, ReportFinding]) -> Report | None:
    """Return the valid part of the report; None when nothing is left of it."""
    body = object_of(text)
    rows = body.get("findings")
    found = [_finding(row, numbered) for row in rows[:MAX_FINDINGS]] if isinstance(rows, list) else []
    findings = tuple(finding for finding in found if finding is not None)
    title, summary = _line(body.get("title"), _TITLE_CHARS), _line(body.get("summary"), _SUMMARY_CHARS)
    if not findings or not title:
        return None
    return Report(title, summary, findings, number_of(body.get("rating"), 0.0, _MAX_RATING) or 0.0)


def _finding(row: object, numbered: Mapping[int, ReportFinding]) -> ReportFinding | None:
    if not isinstance(row, dict):
        return None
    text, sources = _line(row.get("text"), _FINDING_CHARS), row.get("sources")
    named = [numbered[n] for n in sources if isinstance(n, int) and n in numbered] if isinstance(sources, list) else []
    if not text or not named:
        return None
    chunks = dict.fromkeys(chunk for finding in named for chunk in finding.chunks)
    relations = dict.fromkeys(relation for finding in named for relation in finding.relations)
    return ReportFinding(text, tuple(chunks), tuple(relations))


def _line(value: object, max_chars: int) -> str:
    return " ".join(value.split())[:max_chars] if isinstance(value, str) else ""
