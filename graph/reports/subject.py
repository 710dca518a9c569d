"""Sources of a community report, and the text of a report in a context. Read-only.

The size of the sources is bounded whatever the community's size. A small community gives its entities and the
statements among them. A large one of the finest level gives its most mentioned entities and the statements among these.
Any other gives the reports of its largest children (without a report, the child's own short context), and the
statements among the leading entities of these. Counts and canonical names decide order and ties, so equal communities
give equal sources whatever the order in which they were built.

After "GraphRAG: Improving global search via dynamic community selection" (reports of communities at every level of a
hierarchy). Deviation: a parent uses its children's reports only if its own content is too large, so that a report on a
small community comes from the documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from graphtide.graph.identity import relation_id
from graphtide.graph.reports.rows import ReportFinding, ReportRow
from graphtide.graph.text.quotation import neutralise
from graphtide.graph.view import LiveView
from graphtide.graph.view_state.adjacency import ViewEdge

MIN_SIZE = 3
"""Minimum number of entities of a community with a report."""
WHOLE = 40
"""Maximum number of entities up to which a community is read from the graph."""
CHILDREN = 12
LEADING = 3
"""Number of entities that represent each community of the finest level in its ancestors."""
PAIRS = 30
CITED = 3
"""Maximum number of chunks shown per statement."""
_MAX_CHARS = 400


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """One statement inside a community: its text, a sentence that states it, and that sentence's chunk.

    `chunks` are some of the chunks that state it, the sentence's chunk first; `count` is how often it is stated;
    `relation` is its id.
    """

    text: str
    sentence: str
    chunk_id: str
    count: int
    chunks: tuple[str, ...] = ()
    relation: str = ""


@dataclass(frozen=True, slots=True)
class ChildReport:
    """The report of a child community, or its leading entities and findings if there is no report."""

    title: str
    summary: str
    size: int
    findings: tuple[ReportFinding, ...]


@dataclass(frozen=True, slots=True)
class CommunityContext:
    """The input of a community's report, the most mentioned entities and the most frequent findings first.

    `fingerprint` identifies the whole content (`graph.reports.fingerprint`), including what is not shown here. `size`
    counts its entities.
    """

    community: int
    level: int
    fingerprint: str
    entities: tuple[str, ...]
    findings: tuple[ReportedFinding, ...]
    size: int
    children: tuple[ChildReport, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A written report. `rating` is the community's importance, 0 to 10."""

    title: str
    summary: str
    findings: tuple[ReportFinding, ...]
    rating: float


def members(view: LiveView, community: int) -> Iterator[int]:
    """Yield the entities of a community of any level, by node."""
    if view.hierarchy.level(community) == 0:
        yield from view.hierarchy.members(community).tolist()
        return
    for child in view.hierarchy.members(community).tolist():
        yield from members(view, child)


def community_context(view: LiveView, community: int, limit: int = 10) -> CommunityContext:
    """Read a community. Call under `view.lock.read()`. Raises KeyError when it no longer exists.

    Cost: its entities at the finest level, its children at any other, and the shown part of them.
    """
    level = view.hierarchy.level(community)
    size = view.contents.entities(community)
    stored = view.contents.fingerprint(community)
    fingerprint = stored.encode() if stored else ""
    whole = size <= WHOLE or level == 0
    children = () if whole else _children(view, community)
    nodes = nsmallest(WHOLE, members(view, community) if whole else _leading(view, community), key=_by_mentions(view))
    leading = nsmallest(limit, (_rank(view, number) for number in _inside(view, nodes)))
    findings = tuple(_finding(view, number) for *_, number in leading)
    names = tuple(view.entities[node].name for node in nodes[:limit])
    return CommunityContext(community, level, fingerprint, names, findings, size, children)


def extractive_report(subject: CommunityContext, limit: int = 8) -> Report:
    """Return the extractive report: titled by its first entities, each finding a sentence of a document, or a
    statement.

    All its text comes from the sources. The rating is log2 of the size, at most 10.
    """
    groups = [child.findings for child in subject.children] + [tuple(_quoted(subject.findings))]
    turns = [each for place in range(limit) for findings in groups for each in findings[place : place + 1]]
    by_text: dict[str, ReportFinding] = {}
    for turn in turns:
        by_text.setdefault(turn.text, turn)
    findings = tuple(by_text.values())[:limit]
    named = dict.fromkeys(child.title.split(", ")[0] for child in subject.children)
    title = ", ".join(list(dict.fromkeys([*named, *subject.entities]))[:3])
    rating = min(10.0, float(subject.size.bit_length()))
    return Report(title, " ".join(finding.text for finding in findings[:3]), findings, rating)


def row(subject: CommunityContext, report: Report, version: int) -> ReportRow:
    """Return the stored row of a report."""
    sources = tuple(dict.fromkeys(chunk for finding in report.findings for chunk in finding.chunks))
    return ReportRow(
        subject.community,
        subject.level,
        subject.fingerprint,
        version,
        report.title,
        report.summary,
        sources,
        report.findings,
        report.rating,
    )


def render_report(report: Report | ReportRow, sources: Sequence[str]) -> str:
    """Return a report as text for the generator: each finding with the numbers of its chunks among `sources` (from 1).

    A finding without a chunk among them is left out. A summary that adds to the findings precedes them, and cites all
    their chunks.
    """
    numbers = {chunk: number for number, chunk in enumerate(sources, 1)}
    lines, cited = [], dict[int, None]()
    for finding in report.findings:
        named = [numbers[chunk] for chunk in finding.chunks if chunk in numbers]
        if named:
            cited.update(dict.fromkeys(named))
            lines.append(f"{neutralise(finding.text)} {''.join(f'[{number}]' for number in named)}")
    quoted = " ".join(finding.text for finding in report.findings)
    if lines and report.summary and report.summary not in quoted and all(chunk in numbers for chunk in _all(report)):
        lines.insert(0, f"{neutralise(report.summary)} {''.join(f'[{number}]' for number in list(cited)[:8])}")
    return "\n".join(lines)


def _all(report: Report | ReportRow) -> Iterator[str]:
    return (chunk for finding in report.findings for chunk in finding.chunks)


def _by_mentions(view: LiveView) -> Callable[[int], tuple[int, str, str]]:
    def key(node: int) -> tuple[int, str, str]:
        entity = view.entities[node]
        return -entity.mentions, entity.name, entity.id

    return key


def _largest(view: LiveView, community: int) -> list[int]:
    """Return the largest children. Cost: the children."""
    under = view.hierarchy.members(community).tolist()
    return nsmallest(
        CHILDREN, under, key=lambda community: (-view.contents.entities(community), view.contents.digest(community))
    )


def _leading(view: LiveView, community: int) -> list[int]:
    """Return the most mentioned entities of the largest children: statements among these connect the children."""
    if view.hierarchy.level(community) == 0:
        return nsmallest(LEADING, view.hierarchy.members(community).tolist(), key=_by_mentions(view))
    return [node for child in _largest(view, community) for node in _leading(view, child)]


def _inside(view: LiveView, nodes: Sequence[int]) -> set[int]:
    """Return the statements of the heaviest edges among some entities. Cost: the smaller end of each pair, and its
    statements.

    A hub's statements are not read in full: a statement with another entity is found from that entity's side.
    """
    among = set(nodes)
    pairs: list[tuple[int, list[str], int, int]] = [
        (-edge.weight, sorted((view.entity_id(u), view.entity_id(v))), u, v)
        for u in nodes
        for v, edge in _edges(view, u, among)
        if u < v
    ]
    found: set[int] = set()
    for _, _, u, v in nsmallest(PAIRS, pairs):
        few, other = (u, v) if _degree(view, u) <= _degree(view, v) else (v, u)
        found.update(number for number in view.statements_of(few) if other in view.ends(number))
    return found


def _degree(view: LiveView, node: int) -> int:
    return sum(len(view.labels[label].statements) for label in view.entities[node].labels)


def _edges(view: LiveView, node: int, among: set[int]) -> Iterator[tuple[int, ViewEdge]]:
    ends = view.neighbours.get(node, {})
    few: Iterable[int] = ends if len(ends) < len(among) else among
    return ((end, ends[end]) for end in few if end in ends and end in among)


def _rank(view: LiveView, number: int) -> tuple[int, str, str, int]:
    """Return the sort key of a statement: how often it is stated, its text, and its first chunk by name."""
    statement = view.statements[number]
    return -statement.count, _text(view, number), min(view.chunks[chunk].chunk_id for chunk in statement.chunks), number


def _text(view: LiveView, number: int) -> str:
    subject, object_ = view.ends(number)
    return f"{view.entities[subject].name} {view.statements[number].predicate} {view.entities[object_].name}"[
        :_MAX_CHARS
    ]


def _finding(view: LiveView, number: int) -> ReportedFinding:
    """Return a statement with the first sentence (by chunk id) that supports it."""
    statement = view.statements[number]
    ends = [view.entities[node] for node in view.ends(number)]
    chunks = nsmallest(CITED, statement.chunks, key=lambda chunk: view.chunks[chunk].chunk_id)
    sentence = next((row.sentence for row in view.chunks[chunks[0]].evidence.of(number)), "")
    ids = tuple(view.chunks[chunk].chunk_id for chunk in chunks)
    relation = relation_id(ends[0].id, statement.predicate, ends[1].id)
    return ReportedFinding(_text(view, number), sentence[:_MAX_CHARS], ids[0], statement.count, ids, relation)


def _quoted(findings: Sequence[ReportedFinding]) -> list[ReportFinding]:
    """Return one finding per sentence: statements of the same sentence are merged."""
    by_sentence: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for finding in findings:
        chunks, relations = by_sentence.setdefault(finding.sentence or f"{finding.text}.", ({}, {}))
        # The sentence is in the first chunk; a statement without one cites all of its chunks.
        chunks.update(dict.fromkeys(finding.chunks[:1] if finding.sentence else finding.chunks))
        relations[finding.relation] = None
    return [ReportFinding(text, tuple(chunks), tuple(relations)) for text, (chunks, relations) in by_sentence.items()]


def _children(view: LiveView, community: int) -> tuple[ChildReport, ...]:
    """Return the largest children that have a report or statements."""
    children = (_child(view, child) for child in _largest(view, community))
    return tuple(child for child in children if child.findings)


def _child(view: LiveView, community: int) -> ChildReport:
    report = view.reports.report(view, community)
    size = view.contents.entities(community)
    if report is not None:
        return ChildReport(report.title, report.summary, size, report.findings)
    short = extractive_report(community_context(view, community, limit=5), limit=3)
    return ChildReport(short.title, short.summary, size, short.findings)
