"""Mode `auto`: the choice of a mode for a question, by its words and by the entities it names, and the reason.

Rules, no model, nothing learned. In this order: documents compared with each other; the whole corpus; how two named
entities are related; a question whose answer takes several steps, or several entities at once; one fact. If the
preferred mode is not available, the next best is taken. Invariant: the choice depends on the question and on the
entities of the graph it names, not on the rest of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, replace

from graphtide.graph.retrieval.entity_linking import LinkedEntity, link_entities
from graphtide.graph.retrieval.question_words import is_corpus_question
from graphtide.graph.retrieval.scoring.terms import words
from graphtide.graph.retrieval.types import RetrievalResult, Trace, TraceStep
from graphtide.graph.view import LiveView

FACT, SEVERAL, RELATION, THEME, DOCUMENTS = "one fact", "several hops", "relation", "theme", "documents compared"
PREFERRED: dict[str, tuple[str, ...]] = {
    FACT: ("local",),
    SEVERAL: ("passages", "local"),
    RELATION: ("bridge", "local"),
    THEME: ("global-dynamic", "global", "local"),
    DOCUMENTS: ("nakg", "passages", "local"),
}
"""Modes for each kind of question, the best first."""

_COMPARES = re.compile(
    r"\b(compar\w+|contrast\w*|differ\w*|similar\w*|disagree\w*|agree|contradict\w*|versus|vs|overlap\w*|in common|"
    r"consistent|conflict\w*|alike)\b"
)
_PAPERS = re.compile(
    r"\b(documents?|articles?|papers?|reports?|texts?|sources?|notes?|letters?|chapters?|versions?|files?|passages?|"
    r"records?|editions?|accounts?|stories|publications?|posts?|emails?|memos?|transcripts?)\b"
)
_CORPUS = re.compile(
    r"\b(?:across|throughout|in|of|over|from|through) "
    r"(?:(?:across|throughout|in|of|over|from|through|all of|all the|all|the whole|the entire|the|this|these|our) )*+"
    r"((?:corpus|dataset|data ?set|collection|documents|articles|reports|texts|archive|knowledge base|graph|sources|"
    r"notes)\b)?"
)
"""Match a run of prepositions and determiners as a whole, whatever follows it, so that no search starts inside it
again.
"""
_THEMES = re.compile(
    r"\b((main|major|key|common|central|recurring|dominant|overall|general|broad|principal|most important|biggest|top) "
    r"(\w+ )?(themes?|topics?|subjects?|trends?|patterns?|ideas?|findings?|insights?|areas?|concerns?|challenges?|"
    r"points?|issues?|storylines?|developments?|events?|actors?|kinds?|groups?|threads?|lessons?|conclusions?)|"
    r"big picture|high[- ]level|catch me up|bird'?s[- ]eye|at a glance|what is (all )?this (all )?about|"
    r"(themes?|topics?|trends?) (are|is|emerge|appear|recur|dominate|"
    r"stand\sout"
    r")|overview|summar(y|ise|ize))\b"
)
_RELATES = re.compile(
    r"\b(relat(ed|es?|ion|ions|ionship|ionships)|connect(ed|s|ion|ions)?|link(ed|s|age)?|ties?|tied|associat\w+|"
    r"path (from|between)|to do with|know each other|bridges?|leads? from|common (link|ground)|share|shared|"
    r"come together|via)\b"
)
_BETWEEN = re.compile(r"\bbetween\b.")
_AND = re.compile(r"\band\b")
_BOTH = re.compile(r"\b(both|either|or)\b")
_COMPARATIVE = re.compile(
    r"\b(older|younger|earlier|later|first|more|less|larger|smaller|longer|shorter|taller|higher|lower|farther|same)\b"
)
_COMPARED = re.compile(r"\b(than|or|and|as)\b")
_STEP = re.compile(
    r"\b(whose|who (?!is\b|was\b|are\b|were\b|did\b)|that (?!is\b)|which (?!is\b|was\b)|where the|of the|by the|"
    r"in the|from the|to the|with the|for the|when the|after the|before the)\b|\b\w+['\u2019]s\b"
)
_INNER = re.compile(r"\b(the|a|an) [\w' -]{2,60}?\b(who|that|which|whose|where)\b")
_CAPITALISED = re.compile(r"(?<![.?!] )(?<!^)\b[A-Z][\w'\u2019-]*(?: (?:of |the |de |van |von )?[A-Z][\w'\u2019-]*)*")
_STEPS = 2


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """The chosen mode, the kind of question, and the reason in plain words."""

    mode: str
    kind: str
    why: str


def choose(view: LiveView, question: str, modes: Container[str]) -> ModeChoice:
    """Return the mode for a question among the available ones. Call under `view.lock.read()`. Cost: the question's
    words.
    """
    named = [entity for entity in link_entities(view, question) if entity.proper]
    kind, why = _kind(question, named)
    wanted = PREFERRED[kind]
    mode = next((mode for mode in wanted if mode in modes), "local")
    instead = "" if mode == wanted[0] else f" ({wanted[0]} is not available)"
    return ModeChoice(mode, kind, f"{kind}: {why}; so {mode}{instead}")


def with_choice(retrieved: RetrievalResult, choice: ModeChoice) -> RetrievalResult:
    """Return the chosen mode's result with the reason of the choice."""
    trace = retrieved.trace
    if trace is not None:
        trace = Trace((TraceStep("auto", f"{choice.why}."), *trace.steps))
    return replace(retrieved, mode_reason=choice.why, trace=trace)


def _kind(question: str, named: list[LinkedEntity]) -> tuple[str, str]:
    """Return the kind of question, and the reason."""
    text = " ".join(question.lower().split())
    things = [entity.mention for entity in named]
    corpus = _corpus_phrase(text)
    if _COMPARES.search(text) and _PAPERS.search(text) and not corpus:
        return DOCUMENTS, "it asks how documents compare"
    if is_corpus_question(question):
        return THEME, "it asks about everything and names nothing"
    theme = _phrase(_THEMES, text)
    if (corpus and theme) or (not things and (theme or corpus) and not _INNER.search(text)):
        phrases = " and ".join(f"\u201c{phrase}\u201d" for phrase in (corpus, theme) if phrase)
        return THEME, f"it says {phrases}"
    return _of_things(question, text, things)


def _of_things(question: str, text: str, things: list[str]) -> tuple[str, str]:
    """Return the same for a question about particular things: how many there are, and how they are related."""
    others = _CAPITALISED.findall(question)
    several = things if len(things) > 1 else others
    if len(several) > 1 and (_RELATES.search(text) or _followed(_BETWEEN, _AND, text)):
        return RELATION, f"it asks how {_listed(several)} are related"
    if len(several) > 1 and (_BOTH.search(text) or _followed(_COMPARATIVE, _COMPARED, text)):
        return SEVERAL, f"it needs something about each of {_listed(several)}"
    steps = len(_STEP.findall(text)) + 2 * bool(_INNER.search(text))
    if steps >= _STEPS:
        return SEVERAL, f"its answer takes steps: {len(words(question))} words with {steps} turns to something else"
    return FACT, f"it asks one thing{f' about {_listed(things[:1])}' if things else ''}"


def _phrase(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[0] if found else ""


def _corpus_phrase(text: str) -> str:
    """Return the phrase that names the whole corpus, "" without one."""
    return next((found[0] for found in _CORPUS.finditer(text) if found[1]), "")


def _followed(first: re.Pattern[str], second: re.Pattern[str], text: str) -> bool:
    """Return whether a match of `second` follows one of `first`: two searches, where one pattern would be quadratic."""
    found = first.search(text)
    return found is not None and second.search(text, found.end()) is not None


def _listed(names: list[str]) -> str:
    return " and ".join(names[:2])
