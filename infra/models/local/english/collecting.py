"""Collection of what a text mentions and states, as distinct entities and relations.

A name has one type in a text: the first credible one. The context of a name of unknown kind may show that it is a
person's. Nothing is read here.
"""

from graphtide.infra.models.local.english.lexical.naming import NAME, PERSON, TERM, could_be_person
from graphtide.infra.models.local.english.lexical.text import TextSentence
from graphtide.infra.models.local.english.lexical.words import PERSON_VERBS, ROLES
from graphtide.infra.models.local.english.statements import ReadStatement
from graphtide.streams.model_ports import ExtractedEntity, ExtractedRelation, ExtractionResult

_MAX_EVIDENCE_CHARS = 1_000
_MAX_DESCRIPTION_CHARS = 240
_MAX_REPEATED_TERMS = 12
_VAGUE = frozenset((NAME, TERM, ""))


class StatementCollector:
    """The entities and relations of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._types: dict[str, str] = {}
        self._descriptions: dict[str, str] = {}
        self._relations: dict[tuple[str, str, str], ExtractedRelation] = {}
        self._terms: dict[str, list[TextSentence]] = {}

    def add(self, name: str, kind: str, evidence: str) -> None:
        """Add an entity, or a better type of a known one."""
        if self._types.get(name, TERM) in _VAGUE and (name not in self._types or kind not in _VAGUE or kind == NAME):
            self._types[name] = kind
        described = " ".join(evidence[: _MAX_DESCRIPTION_CHARS * 2].split())[:_MAX_DESCRIPTION_CHARS]
        self._descriptions.setdefault(name, described)

    def repeat(self, term: str, sentence: TextSentence) -> None:
        """Count a noun phrase that is not an entity yet."""
        self._terms.setdefault(term, []).append(sentence)

    def relate(self, statement: ReadStatement, evidence: str) -> None:
        """Add a relation with both of its ends."""
        for end in (statement.subject, statement.object):
            self.add(end.name, end.type, evidence)
        self._type_by_context(statement)
        subject, target = statement.subject.name, statement.object.name
        self._relations.setdefault(
            (subject, statement.predicate, target),
            ExtractedRelation(
                subject=subject,
                predicate=statement.predicate,
                object=target,
                description=f"{subject} {statement.predicate} {target}",
                weight=statement.weight,
                evidence=evidence if len(evidence) <= _MAX_EVIDENCE_CHARS else "",
                valid_from=statement.valid_from,
                valid_to=statement.valid_to,
            ),
        )

    def _type_by_context(self, statement: ReadStatement) -> None:
        """Type a name as a person's when the statement says what only a person is or does."""
        subject, words = statement.subject, statement.predicate.split()
        if self._types[subject.name] != NAME or not words or not could_be_person(subject.name):
            return
        copula = words[0] in ("is", "was")
        is_role = copula and (_role(words[1:]) or _role(statement.object.name.split()))
        if is_role or words[-1 if copula else 0] in PERSON_VERBS:
            self._types[subject.name] = PERSON

    def result(self) -> ExtractionResult:
        """Return the entities and relations, with the noun phrases that the text repeats."""
        repeated = [(term, where) for term, where in self._terms.items() if len(where) > 1]
        repeated.sort(key=lambda pair: (-len(pair[1]), pair[0]))
        for term, where in repeated[:_MAX_REPEATED_TERMS]:
            self.add(term, TERM, self._text[where[0].start : where[0].end])
        entities = tuple(
            ExtractedEntity(name, kind, self._descriptions[name]) for name, kind in self._types.items() if name
        )
        return ExtractionResult(entities, tuple(self._relations.values()))


def _role(words: list[str]) -> bool:
    """Return whether a phrase such as "director of" or "Norwegian physicist" ends in a person's role."""
    nouns = [word.lower() for word in words if word not in ("of", "at", "for", "in")]
    return bool(nouns) and nouns[-1] in ROLES
