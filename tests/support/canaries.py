"""Canaries: random words put into documents, and the search for their traces in raw bytes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from graphtide.graph.records import Vector

MIN_BYTES = 8
"""Shorter forms would be found by chance."""


@dataclass(frozen=True, slots=True)
class Canary:
    """A word that occurs nowhere else. `kind` names the part of a document that contains it."""

    kind: str
    word: str

    def forms(self) -> Iterator[tuple[str, bytes]]:
        """Yield every encoding in which a file may hold the word: charsets, cases, escapes, shifted base64."""
        for word in {self.word, self.word.casefold(), self.word.upper()}:
            yield "utf-8", word.encode()
            yield "utf-16-le", word.encode("utf-16-le")
            yield "utf-16-be", word.encode("utf-16-be")
            yield "json", json.dumps(word)[1:-1].encode()
            yield "hex", word.encode().hex().encode()
            for text in (word.encode(), json.dumps(word)[1:-1].encode()):
                for shift in range(3):
                    coded = base64.b64encode(bytes(shift) + text)
                    yield f"base64+{shift}", coded[4 if shift else 0 : len(coded) - 4]


def canary(rng: Random, kind: str) -> Canary:
    """Return a pronounceable word of twenty letters with an accent in it: its escapes differ from the plain form."""
    syllables = ["".join((rng.choice("bdfgklmnprstvz"), rng.choice("aeiou"))) for _ in range(10)]
    return Canary(kind, "".join(syllables).capitalize())


def traces(folder: Path, canaries: Iterable[Canary], vectors: Mapping[str, Iterable[Vector]]) -> list[str]:
    """Name each file below the folder that holds a canary in any form, or a vector as float16 or float32."""
    found = []
    sought = [
        (f"{each.kind} {form}", data) for each in canaries for form, data in each.forms() if len(data) >= MIN_BYTES
    ]
    for name, rows in vectors.items():
        for row in rows:
            for kind in (np.float16, np.float32):
                data = np.asarray(row).astype(kind).tobytes()
                sought += [(f"vector of {name}", data), (f"vector of {name} in base64", base64.b64encode(data)[:-8])]
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            found += [f"{path.name}: {label}" for label, data in sought if data in content]
    return found
