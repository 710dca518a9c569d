"""Mode `auto`: its choice by question, its fallback, and the reason in its answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphtide.graph.retrieval.modes.auto import DOCUMENTS, FACT, PREFERRED, RELATION, SEVERAL, THEME, choose
from graphtide.graph.retrieval.modes.table import MODES, retrieve
from graphtide.graph.retrieval.types import Question
from graphtide.graph.view import LiveView
from tests.bench.auto_choice import KINDS, accuracy, labelled, table, taken
from tests.support.sample_view import sample_view


@pytest.fixture(scope="module")
def view() -> LiveView:
    """Return the bundled sample."""
    return sample_view()


@pytest.mark.thorough
def test_choice_is_right_for_most_of_the_labelled_questions(view: LiveView) -> None:
    """At least 90 % of the held-out questions are classified right, and most of each kind."""
    rows = labelled()
    assert len(rows) >= 60 and {row.kind for row in rows} == set(KINDS)
    counts = taken(view, [row for row in rows if row.part == "held"])
    print(table(counts))
    assert accuracy(counts) >= 0.9
    for kind in KINDS:
        of_kind = sum(times for (label, _), times in counts.items() if label == kind)
        assert counts[kind, kind] >= 0.7 * of_kind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who is the director of Kittiwake Station?", FACT),
        ("Who is the captain of the ship that supplies Kittiwake Station?", SEVERAL),
        ("How are Ida Moreau and Rosa Delgado related?", RELATION),
        ("How are Zebulon Pike and Xanthe Quill related?", RELATION),
        ("What are the main themes of these documents?", THEME),
        ("Give an overview of Ida Moreau.", FACT),
        ("Compare the articles about Lake Vigdis.", DOCUMENTS),
        ("", FACT),
        ("???", FACT),
        ("\ud800 of the of the of the", SEVERAL),
    ],
)
def test_choice_goes_by_what_is_asked(view: LiveView, question: str, kind: str) -> None:
    """A name in a question counts when it is written as a name, even if the graph does not know it."""
    choice = choose(view, question, MODES)
    assert choice.kind == kind
    assert choice.mode in MODES and choice.why.startswith(f"{kind}: ")


@pytest.mark.parametrize("kind", KINDS)
def test_choice_falls_back_when_a_mode_is_unavailable(view: LiveView, kind: str) -> None:
    """With `local` alone in the table it is chosen, and the reason names the better mode."""
    question = next(row.question for row in labelled() if row.kind == kind and row.part == "held")
    choice = choose(view, question, {"local"})
    assert choice.mode == "local"
    assert PREFERRED[choice.kind][0] == "local" or f"{PREFERRED[choice.kind][0]} is not available" in choice.why


def test_answer_of_auto_is_that_of_the_mode_it_took(view: LiveView) -> None:
    """Passages and parts are those of the chosen mode, which is named; the trace begins with the reason."""
    vector = np.asarray(view.chunks[0].vector, np.float32)
    for row in labelled()[::7]:
        question = Question(row.question, vector, mode="auto", explain=True)
        found = retrieve(view, question)
        plain = retrieve(view, replace(question, mode=found.mode))
        assert (found.passages, found.parts, found.mode) == (plain.passages, plain.parts, plain.mode)
        assert found.mode_reason and not plain.mode_reason and found.mode != "auto"
        assert found.trace is not None and plain.trace is not None
        assert found.trace.steps[0].name == "auto" and found.mode_reason in found.trace.steps[0].about
        assert found.trace.steps[1:] == plain.trace.steps
