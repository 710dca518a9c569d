"""Cost and coverage of global search on fifty multi-hop questions: `make bench-global`; writes docs/retrieval.md.

`global` and `global-dynamic` at the same level over the MuSiQue corpus, exact indexes, MiniLM vectors, extractive
reports. Coverage is the share of a question's supporting documents that the read reports cite. Tokens are those sent:
prompts of rating and of answering parts, as the service groups them. Raters: the question's neighbourhood, without a
model; one that knows which communities have an entity of a supporting document; and the one of the tests' endpoint, by
shared words. A real model lies between the last two. It asserts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from graphtide.graph.retrieval.global_search.dynamic import Selection, by_neighbourhood
from graphtide.graph.retrieval.global_search.reports import ReportView
from graphtide.graph.retrieval.global_search.static import retrieve_global
from graphtide.graph.retrieval.scoring.links import entities_of
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView
from graphtide.infra.models.openai.rater import PROMPT
from graphtide.infra.models.prompts.graph_prompts import ANSWER_PART, prompts_by_graph
from graphtide.infra.models.prompts.templates import load
from graphtide.services.query.context import build_context
from graphtide.services.query.generate import grouped
from graphtide.services.query.retrieve import rated_together
from tests.bench.retrieval import PAGE, markdown
from tests.bench.retrieval_graph import DIMENSIONS, Shipped, build, copies, extractions
from tests.support.bench_data import MultiHop, corpus, questions
from tests.support.marked_page import write_part

BEGIN, END = "<!-- bench-global: begin -->", "<!-- bench-global: end -->"
MARKS = 20
"""Tokens of the marks around a text of a prompt, about."""

Rate = Callable[[MultiHop, ReportView], int]


@dataclass(frozen=True, slots=True)
class Spent:
    """Reports read, tokens of rating and of answering, and the covered share of the supporting documents."""

    reports: int
    rating: int
    answering: int
    covered: float


def main() -> None:
    shipped, asked = Shipped.read(), questions()
    view = build(copies(extractions(corpus(), shipped), 1), lambda: ExactIndex(DIMENSIONS))
    vectors = [shipped.vectors[shipped.rows[one.question]] for one in asked]
    given = [(one, Question(one.question, vector)) for one, vector in zip(asked, vectors, strict=True)]
    everything = retrieve_global(view, given[0][1])
    tokens = answering(view, everything)
    rows = {
        "`global`": [Spent(len(everything.parts), 0, tokens, covered(everything, one)) for one in asked],
        "`global-dynamic`, no model": [selected(view, one, question, None) for one, question in given],
    }
    raters: dict[str, Rate] = {"knows what is relevant": by_gold(view), "shared words": by_words}
    for name, rate in raters.items():
        rows[f"`global-dynamic`, {name}"] = [selected(view, one, question, rate) for one, question in given]
    lines = list(markdown(table(rows)))
    print("\n".join(lines))
    write_part(PAGE, BEGIN, END, "\n".join(["\n", *lines, "\n"]))


def selected(view: LiveView, one: MultiHop, question: Question, rate: Rate | None) -> Spent:
    """Return what the selection reads with a rater, or with the neighbourhood's ratings, which cost no tokens."""
    selection, rating = Selection(question), 0
    asked = selection.begin(view)
    near = by_neighbourhood(selection.ranks(view))
    while asked:
        if rate is None:
            asked = selection.rate(view, [near(each.community) for each in asked])
        else:
            rating += rating_tokens(question.text, asked)
            asked = selection.rate(view, [rate(one, each) for each in asked])
    found = selection.finish(view)
    return Spent(len(found.parts), rating, answering(view, found), covered(found, one))


def rating_tokens(question: str, asked: Sequence[ReportView]) -> int:
    """Return the tokens of one round of rating, as the service divides it into calls."""
    texts = [each.text for each in asked]
    prompt = count_tokens(load(PROMPT, {}).text) + count_tokens(question)
    return prompt * len(rated_together(texts)) + sum(count_tokens(text) + MARKS for text in texts)


def answering(view: LiveView, found: RetrievalResult) -> int:
    """Return the tokens of the answers by part: a prompt for each group of reports, and the reports."""
    groups = grouped(build_context(view, found).parts) if found.parts else ()
    prompt = count_tokens(prompts_by_graph(None, ANSWER_PART).of("").text) + MARKS
    return sum(prompt + count_tokens(group.title) + count_tokens(group.text) for group in groups)


def covered(found: RetrievalResult, one: MultiHop) -> float:
    """Return the share of the supporting documents among the sources of the parts."""
    cited = {source.split("#")[0] for part in found.parts for source in part.sources}
    return len(cited & one.supporting) / len(one.supporting)


def by_gold(view: LiveView) -> Rate:
    """Return a rating by whether a community has an entity of a supporting document."""

    @cache
    def relevant(one: MultiHop) -> set[int]:
        chunks = (chunk for doc_id in one.supporting for chunk in view.documents[doc_id].chunks)
        nodes = set().union(*(entities_of(view, chunk) for chunk in chunks))
        return {view.hierarchy.community(node, level) for node in nodes for level in range(3)}

    return lambda one, report: 5 * (report.community in relevant(one))


def by_words(one: MultiHop, report: ReportView) -> int:
    """Rate as the tests' endpoint does: by the question's longer words."""
    asked, text = (set(re.findall(r"\w{4,}", some.lower())) for some in (one.question, report.text))
    return min(5, 2 * len(asked & text))


def table(rows: Mapping[str, Sequence[Spent]]) -> list[list[str]]:
    """Return a row for each variant, with means per question and the change to the first."""
    found = [["mode, rater", "reports read", "tokens: rating", "answering", "all", "gold covered", "of `global`'s"]]
    base = next(iter(rows.values()))
    total = float(np.mean([one.rating + one.answering for one in base]))
    cover = float(np.mean([one.covered for one in base]))
    for name, spent in rows.items():
        reports, rating, rest, share = (
            float(np.mean([getattr(one, field) for one in spent]))
            for field in ("reports", "rating", "answering", "covered")
        )
        change = "" if spent is base else f" ({(rating + rest) / total - 1:+.0%})"
        row = [name, f"{reports:,.0f}", f"{rating:,.0f}", f"{rest:,.0f}", f"{rating + rest:,.0f}{change}"]
        found.append([*row, f"{share:.3f}", f"{share / cover:.1%}"])
    return found


if __name__ == "__main__":
    main()
