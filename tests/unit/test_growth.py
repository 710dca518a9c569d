"""Work of functions that read external text: linear in its length, whatever the text is.

Work is counted as executed lines of Python, so a busy machine changes nothing. tests/unit/test_patterns.py tests the
growth of patterns, which run inside one such line.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from graphtide.graph.resolution import normalise
from graphtide.graph.text.quotation import neutralise
from graphtide.infra.models.replies import extraction_parser as extraction_answer
from graphtide.infra.models.replies.citation_checker import CitationChecker, cited_sentences, renumbered
from graphtide.infra.models.replies.quote_matching import Quotable
from tests.support.growth import grows_linearly

HOSTILE = {
    "open brackets": "[ ",
    "blanks": " ",
    "numbers": "[1] ",
    "unfinished numbers": "[1, ",
    "ends": ". ",
    "ends and brackets": ". [1] [",
    "capitals": "A. ",
    "breaks": "\n\n",
    "quotes": "\" '",
}


def _checked_in_pieces(text: str) -> None:
    answer = CitationChecker(3)
    for start in range(0, len(text), 100):
        answer.take(text[start : start + 100])
    answer.end()


def _quoted(text: str) -> None:
    Quotable(text).find(text.replace(" ", "  ") + "y")


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "cited_sentences": cited_sentences,
    "renumbered": lambda text: renumbered(text, (1, 2)),
    "normalise": normalise,
    "neutralise": neutralise,
    "quotation": _quoted,
    "extraction": lambda text: extraction_answer.read(
        json.dumps({"entities": [], "relations": [], "title": text}), text
    ),
    "checked answer": lambda text: CitationChecker(3).take(text),
}


@pytest.mark.parametrize("part", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_function_takes_work_in_proportion_to_any_text(function: Callable[[str], object], part: str) -> None:
    """Twice the text runs at most twice the lines, plus a constant."""
    grows_linearly(function, part)
