"""The plan of a question by rules on its words alone, without a model.

Invariant: the plan depends on the question's text alone.
"""

from __future__ import annotations

from itertools import pairwise

from graphtide.infra.models.local.answers.questions.bounds import bound_of, denies_limit
from graphtide.infra.models.local.answers.questions.forms import (
    TASKS,
    VERSION,
    asks_for_changes,
    asks_for_definition,
    asks_for_function,
    asks_for_left,
    asks_for_permission,
    asks_how,
    attribute_asked,
    condition_keys,
    is_long_ago,
    order_asked,
    order_words,
    setting_keys,
    state_asked,
    trouble_keys,
    verb_of_who,
    versus_of,
)
from graphtide.infra.models.local.answers.questions.kinds import asks_for_present, asks_for_several, focus_keys, kind_of
from graphtide.infra.models.local.answers.questions.lexicon import (
    BECOMING,
    CAUSE_VERBS,
    CAUSES,
    CAUSING,
    CONDITIONS,
    CONTRACTED,
    IDENTIFIED,
    INDIRECT,
    LATEST,
    LATEST_WORDS,
    MODALS,
    NEGATIONS,
    POSSESSIVE,
    SENTENCE_END,
    SUPERLATIVES,
    TO_DO,
)
from graphtide.infra.models.local.answers.questions.limits import (
    attribute_of,
    bound_words,
    counted_noun,
    deed_of,
    options_of,
)
from graphtide.infra.models.local.answers.questions.terms import adjacent_pairs, date_keys, terms_of
from graphtide.infra.models.local.answers.questions.types import Bound, Kind, QuestionPlan
from graphtide.infra.models.local.answers.values.dates import days_in
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.words import (
    key_of,
    words_of,
)


def plan_of(question: str) -> QuestionPlan:
    """Return the plan of a question. Cost: linear in its length."""
    text = CONTRACTED.sub(r"\1 is", _direct(" ".join(question.replace("\u2019", "'").split())))
    words = words_of(text)
    asking = POSSESSIVE.sub(r"\1 the \3 of \2?", _asking(text))
    tokens = [word.text.lower() for word in words_of(asking)]
    kind, measures = kind_of(asking, tokens)
    options, alternatives = options_of(text)
    if options and not alternatives:
        kind = Kind.CHOICE
    if kind is Kind.PLACE and tokens[:1] in (["which"], ["what"]) and _compares(tokens):
        kind = Kind.THING  # "which room is the largest" asks for a row, as "which car" does
    dates, versions = tuple(days_in(text)), tuple(match[1] for match in VERSION.finditer(text))
    focus, how = focus_keys(tokens), asks_how(tokens)
    order, to_do = order_asked(tokens), has_phrase(asking, TO_DO) or asks_for_left(tokens)
    bound = bound_of(tokens) if kind in (Kind.PERSON, Kind.THING, Kind.LIST) else None
    versus = versus_of(tokens) if kind in (Kind.THING, Kind.LIST) else None
    conditions = condition_keys(tokens) if kind is Kind.YES_NO else frozenset()
    weak = _weak_keys(kind, tokens, bound) | trouble_keys(asking) | conditions
    weak |= frozenset(key_of(token) for token in tokens if token in LATEST_WORDS) | _named_by_kind(tokens)
    weak |= frozenset(map(key_of, (*(order_words(tokens) if order else ()), *(_REMAINING if to_do else ()))))
    if kind is Kind.YES_NO:
        tokens = _main_clause(tokens)
    terms = tuple(terms_of(words, text, focus, measures, weak, kind is Kind.YES_NO))
    return QuestionPlan(
        text,
        kind,
        terms,
        measures,
        dates,
        options,
        alternatives,
        asks_for_several(tokens, kind),
        asks_for_present(tokens),
        adjacent_pairs(words, text),
        date_keys(words) if dates else frozenset(),
        attribute_of(tokens) or attribute_asked(tokens),
        counted_noun(tokens),
        False if to_do else state_asked(tokens),
        order or next((SUPERLATIVES[token] for token in tokens if token in SUPERLATIVES), 0),
        _negates(kind, tokens) and not is_long_ago(tokens),
        bound,
        to_do,
        deed_of(tokens),
        kind is Kind.THING and asks_for_definition(tokens),
        kind is Kind.YES_NO and asks_for_permission(tokens),
        kind is Kind.YES_NO and "there" in tokens[1:2],
        conditions | setting_keys(tokens) if kind is Kind.YES_NO else frozenset(),
        versus,
        not {"was", "were", "did"}.isdisjoint(tokens[1:4]),
        who_verb=verb_of_who(tokens),
        future=not {"will", "shall"}.isdisjoint(tokens[1:4]),
        becomes=has_phrase(asking, BECOMING),
        latest=has_phrase(asking, LATEST),
        how=how,
        changes=bool(versions) or (not how and asks_for_changes(tokens, kind)),
        versions=versions,
        function=asks_for_function(tokens),
        ordered=order != 0,
    )


_REMAINING = ("left", "remain", "remains", *sorted(TASKS))


def _compares(tokens: list[str]) -> bool:
    bound = bound_of(tokens)
    return not SUPERLATIVES.keys().isdisjoint(tokens) or (bound is not None and not bound.dated)


def _negates(kind: Kind, tokens: list[str]) -> bool:
    """Return whether it asks for what is not so, or how many are not; a negation of a limit denies that alone."""
    selects = kind in (Kind.PERSON, Kind.THING, Kind.LIST) or (kind is Kind.QUANTITY and counted_noun(tokens) != "")
    if not selects or state_asked(tokens) is not None or NEGATIONS.isdisjoint(tokens):
        return False
    return not (_forbids(tokens) or denies_limit(tokens))


def _weak_keys(kind: Kind, tokens: list[str], bound: Bound | None) -> frozenset[str]:
    """Return the keys of words about the form of an answer, which need not have them: "why", "above", "oldest"."""
    words = set[str](bound_words(tokens)) if bound is not None and not bound.dated else set[str]()
    if kind is Kind.REASON:
        words |= CAUSES | CAUSING | CAUSE_VERBS
    if kind is Kind.DATE:
        words |= {"late", "early", "latest", "earliest", "soonest"} & set(tokens[:4])
    if kind is Kind.PLACE:
        words.add("whereabouts")
    if kind in (Kind.PERSON, Kind.THING, Kind.LIST):
        words |= {token for token in tokens if token in SUPERLATIVES}
    return frozenset(map(key_of, words))


def _named_by_kind(tokens: list[str]) -> frozenset[str]:
    """Return the keys of "address" and "number" beside the word that says which, "the booking number" or "the number of
    the booking": notes have "booking PL7" alone.
    """
    found = {second for first, second in pairwise(tokens) if first in IDENTIFIED.get(second, ())}
    for at, word in enumerate(tokens):
        owners = tokens[at + 2 : at + 2 + _MAX_OWNER_WORDS] if tokens[at + 1 : at + 2] == ["of"] else []
        if not IDENTIFIED.get(word, frozenset()).isdisjoint(owners):
            found.add(word)
    return frozenset(map(key_of, found))


_MAX_OWNER_WORDS = 4


def _forbids(tokens: list[str]) -> bool:
    """Return whether it asks for what is forbidden, which is stated as such: "which patient must not get"."""
    return any(first in MODALS and second == "not" for first, second in pairwise(tokens))


def _direct(text: str) -> str:
    """Return the question within an indirect one at the start of a text: "when …" of "could you tell me when …"."""
    frame = INDIRECT.match(text)
    return text[frame.end() :] if frame else text


def _main_clause(tokens: list[str]) -> list[str]:
    """Return the words before a condition: "may the lift be used when …"."""
    end = next((at for at, token in enumerate(tokens) if at > 2 and token in CONDITIONS), len(tokens))
    return tokens[:end]


def _asking(text: str) -> str:
    """Return the sentence that asks, the last one with a question mark, else the whole."""
    parts = [part.strip() for part in _sentences(text)]
    return next((part for part in reversed(parts) if part.endswith("?")), text)


def _sentences(text: str) -> list[str]:
    ends = [0, *(match.end() for match in SENTENCE_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]
