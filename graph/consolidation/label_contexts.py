"""Contexts of labels: a few statements about a label, chosen so that the choice is a function of the live set.

The statements with the smallest hash values are chosen (bottom-k sampling, Cohen 1997): of n statements about a label,
the next one changes the choice with probability k/n, so a judge is asked again a number of times that is logarithmic
in n.
"""

from __future__ import annotations

import heapq
from hashlib import blake2b

from graphtide.graph.consolidation.state import LabelState, Tables
from graphtide.graph.resolution.synonyms.questions import Context

CONTEXT_SIZE = 4
MAX_STATEMENT_CHARS = 200


def label_context(tables: Tables, label: LabelState) -> Context:
    """Return up to `CONTEXT_SIZE` statements about a label, as text. Cost: the statements about it."""
    texts = {statement_text(tables, number) for number in label.statements}
    return tuple(heapq.nsmallest(CONTEXT_SIZE, texts, key=_rank))


def statement_text(tables: Tables, number: int) -> str:
    """Return a statement as one line, cut to `MAX_STATEMENT_CHARS`."""
    subject, predicate, object_ = tables.statements[number].key
    text = f"{tables.labels[subject].name} {predicate} {tables.labels[object_].name}"
    return text[:MAX_STATEMENT_CHARS]


def _rank(text: str) -> tuple[bytes, str]:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), text
