"""The recorded extractions of the MuSiQue corpus, found again by the text of a passage or of a part of it.

A recording names what a passage states, not where, so the evidence is the sentence that contains the names. A statement
belongs to the part that `streams.extract.pipeline` assigns for facts of a publisher: where both ends are named, else
where one is, else the first part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.english.lexical.text import sentences_of
from tests.support.bench_data import Passage, bench_data, corpus

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recordings:
    """The recorded extraction of each part, by the part's text."""

    parts: dict[str, Json]

    @classmethod
    def load(cls) -> Recordings:
        """Load the recordings of the whole corpus; return none, with a message, when it is missing."""
        if not (bench_data() / "musique" / "corpus.jsonl").exists():
            print(f"no recordings: {bench_data() / 'musique' / 'corpus.jsonl'} is missing; set GRAPHTIDE_BENCH_DATA")
            return cls({})
        return cls.of(corpus())

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> Recordings:
        chunker = SemanticChunker()
        parts: dict[str, Json] = {}
        for passage in passages:
            texts = [part.text for part in chunker.split(passage.text)]
            parts.update(zip(texts, _recorded_replies(passage, texts), strict=True))
        return cls(parts)

    def find(self, text: str) -> Json | None:
        """Return the recording of the longest part that the text contains."""
        if text in self.parts:
            return self.parts[text]
        found = max((part for part in self.parts if part in text), key=len, default=None)
        return None if found is None else self.parts[found]


def _recorded_replies(passage: Passage, texts: Sequence[str]) -> list[Json]:
    folded = [text.casefold() for text in texts]
    sentences = [[text[sentence.start : sentence.end] for sentence in sentences_of(text)] for text in texts]
    replies: list[Json] = [{"entities": [], "relations": []} for _ in texts]
    for name in passage.entities:
        for place in _places(folded, name) or [0]:
            evidence = _sentence(sentences[place], (name,))
            replies[place]["entities"].append({"name": name, "type": "", "description": "", "evidence": evidence})
    for subject, predicate, object_ in passage.triples:
        ones, others = _places(folded, subject), _places(folded, object_)
        place = ([each for each in ones if each in others] or ones or others or [0])[0]
        stated = {"subject": subject, "predicate": predicate, "object": object_, "description": "", "strength": 1}
        evidence = _sentence(sentences[place], (subject, object_))
        replies[place]["relations"].append({**stated, "evidence": evidence, "valid_from": "", "valid_to": ""})
    return replies


def _places(folded: Sequence[str], name: str) -> list[int]:
    return [place for place, text in enumerate(folded) if name.casefold() in text]


def _sentence(sentences: Sequence[str], names: Sequence[str]) -> str:
    """Return the first sentence that contains most of the names."""
    return max(sentences, key=lambda each: sum(name.casefold() in each.casefold() for name in names))
