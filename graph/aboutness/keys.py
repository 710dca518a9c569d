"""Keys of a passage: the normalised names of what it is about.

They come from the title of its document and its innermost heading, each also without a qualifier in brackets ("Heat
(film)" is about "heat", too), and from its leading subject where the title does not identify the passage: the document
has no title, or several passages. Invariant: keys are a function of the passage and of its document's row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from graphtide.graph.records import DocumentRow
from graphtide.graph.resolution.normalisation import normalise
from graphtide.graph.view_state.tables import ViewChunk

MIN_STATEMENTS = 2
"""The number of statements that make a label the leading subject of a passage."""
MAX_KEY_CHARS = 120
"""The maximum length of a key: a longer title is a sentence, which no passage names."""
_QUALIFIER = re.compile(r"(?<!\s)\s*+\([^()]*+\)\s*+$")


def identity_of(document: DocumentRow | None) -> tuple[str, bool]:
    """Return what a passage's keys depend on in its document: the title, and whether it has several passages."""
    return (document.info.title, len(document.chunks) > 1) if document is not None else ("", False)


def passage_keys(chunk: ViewChunk, document: DocumentRow | None, subjects: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of a passage, sorted. `subjects` are the names of its statements' subjects, one per statement."""
    title, several = identity_of(document)
    keys = title_keys(title)
    for heading in chunk.place.headings[-1:]:
        keys |= title_keys(heading)
    if not title or several:
        keys |= _leading(Counter(subjects))
    return tuple(sorted(keys))


def title_keys(title: str) -> set[str]:
    """Return the keys of a title: its normalised form, and that without a qualifier in brackets at its end."""
    forms = (normalise(title), normalise(_QUALIFIER.sub("", title)))
    return {form for form in forms if form and len(form) <= MAX_KEY_CHARS}


def _leading(subjects: Counter[str]) -> set[str]:
    """Return the name that is the subject of at least half of the statements, if there are enough of them."""
    minimum = max(MIN_STATEMENTS, -(-subjects.total() // 2))
    return {name for name, count in subjects.items() if count >= minimum and len(name) <= MAX_KEY_CHARS}
