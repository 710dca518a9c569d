"""Compound questions: "which rack did we buy, and for how much" asks for two things.

Invariant: the parts depend on the words of the question alone, and each is a question of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphtide.infra.models.local.answers.questions.lexicon import AUXILIARIES, HOW, SENTENCE_END
from graphtide.infra.models.local.answers.units import Unit
from graphtide.infra.models.local.answers.words import ARTICLES, STOP_WORDS, word_set, words_of
from graphtide.infra.models.local.english.lexical.verbs import VERBS

_WH = r"(?:what|how|who|whom|whose|when|where|why|which)"
_PREPOSITION = r"(?:(?:for|from|by|at|to|in|on|with|of|until|till|since) )?"
_AND = re.compile(rf",? and (?={_PREPOSITION}{_WH}\b)", re.IGNORECASE)
_OPENS = re.compile(rf"^{_PREPOSITION}{_WH}\b", re.IGNORECASE)
_MAX_CHARS = 400
"""Length up to which a question is divided: a longer one is a text that has a question."""
_AUXILIARY = re.compile(rf"\b(?:{'|'.join(sorted(AUXILIARIES))})\b", re.IGNORECASE)
_PRONOUNS = word_set("it he she they him her them one ones that this those these its his their there")


@dataclass(frozen=True, slots=True)
class Part:
    """A question that a compound one consists of. `subject` and `deeds` are the keys of the nouns and of the verbs that
    it has from the other part, which its answer has to be about; `by_pronoun` if a pronoun is in their place.
    """

    text: str
    subject: frozenset[str] = frozenset()
    deeds: frozenset[str] = frozenset()
    by_pronoun: bool = False


def parts_of(question: str) -> tuple[Part, ...]:
    """Return the two questions of a compound one; none of any other.

    A part without a subject of its own, or with a pronoun in place of it, repeats the words of the first one after a
    colon: "for how much: rack did we buy". Cost: linear in its length.
    """
    text = " ".join(question.split())
    if len(text) > _MAX_CHARS:
        return ()
    cuts = [match for match in _AND.finditer(text) if _asks(text[: match.start()])]
    if len(cuts) != 1:
        return ()
    first, second = text[: cuts[0].start()], text[cuts[0].end() :].rstrip(" ?.")
    if _lacks_verb(first):
        shared = _AUXILIARY.search(second)
        return (Part(f"{first} {second[shared.start() :]}?"), Part(_opening(second))) if shared else ()
    if _is_complete(second):
        return Part(f"{first}?"), Part(_opening(second))
    topic = _topic(first)
    if not topic:
        return ()
    words = [word for word in words_of(topic) if word.text.lower() not in STOP_WORDS]
    deeds = frozenset(word.key for word in words if word.text in VERBS)
    subject = frozenset(word.key for word in words) - deeds
    by_pronoun = not _PRONOUNS.isdisjoint(word.text.lower() for word in words_of(second))
    return Part(f"{first}?"), Part(_opening(f"{second}: {topic}"), subject, deeds, by_pronoun)


def is_about(part: Part, unit: Unit, answered: Sequence[Unit]) -> bool:
    """Return whether a unit is about what a part is about, given the units that answer the whole question: it names a
    noun of it; or it is in a document of theirs, and has not only the verb ("Bo washed the van", for the towels). What
    a pronoun of the question means is named, or meant by a pronoun of the unit.
    """
    if not (part.subject or part.deeds) or any(unit is other for other in answered):
        return True
    before = unit.before.keys if unit.before is not None and unit.before.block == unit.block else frozenset[str]()
    if part.subject & (unit.keys | unit.columns | unit.title_keys | unit.head_keys | unit.lead_keys | before):
        return True
    if part.by_pronoun:
        return unit.dangling
    return part.deeds.isdisjoint(unit.keys) and any(unit.doc_id == other.doc_id for other in answered)


def _opening(part: str) -> str:
    return f"{part[:1].upper()}{part[1:]}?"


def _lacks_verb(first: str) -> bool:
    """Return whether a first part is a question word alone, or one with a noun: "which freezer", "on what day"."""
    words = [word.text.lower() for word in words_of(_last_sentence(first))]
    at = next((at for at, word in enumerate(words[:2]) if re.fullmatch(_WH, word)), None)
    if at is None:
        return False
    rest = words[at + 1 :]
    if words[at : at + 1] == ["how"] and rest and rest[0] in HOW:
        rest = rest[1:]
    elif rest and words[at] not in ("which", "what", "whose"):
        return False
    return len(rest) <= _MAX_NOUNS and not any(word in STOP_WORDS or word in VERBS for word in rest)


_MAX_NOUNS = 2


def _last_sentence(text: str) -> str:
    return SENTENCE_END.split(text)[-1].strip()


def _asks(text: str) -> bool:
    """Return whether the last sentence of a text opens with a question word or an auxiliary."""
    sentence = _last_sentence(text).rpartition(": ")[2]
    first = next((word.text.lower() for word in words_of(sentence)), "")
    return _OPENS.match(sentence) is not None or first in AUXILIARIES


def _topic(first: str) -> str:
    """Return the words of the first part without its question word and auxiliary: what the second part is about."""
    tokens = _last_sentence(first).split()
    while tokens and (tokens[0].lower().strip(",'s") in _LEADING or tokens[0].lower() in _LEADING):
        tokens.pop(0)
    return " ".join(tokens)


_LEADING = (
    word_set(
        "what how who whom whose when where why which what's who's where's when's how's for from by at to in on with"
    )
    | AUXILIARIES
    | HOW.keys()
    | ARTICLES
)


def _is_complete(second: str) -> bool:
    """Return whether a part names what it is about: it has a content word besides its verb, and no pronoun."""
    words = [word.text.lower() for word in words_of(second)]
    if not _PRONOUNS.isdisjoint(words):
        return False
    content = [word for word in words if word not in STOP_WORDS and word not in HOW]
    return len(content) >= _MIN_CONTENT


_MIN_CONTENT = 3
