"""Prompts as files, whose version changes with their words, and the insertion of material into them.

There is no template language: a prompt has a few names in braces that are filled once, never with anything from a
document. Invariant: a marked text cannot contain its own closing mark, whatever the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

NOTHING_FITS = "The documents found do not answer this."
"""The sentence that a model must write, word for word, when its material does not contain the answer."""
MAX_FINDINGS = 8
"""Maximum number of findings of a community report."""
MAX_SENTENCES = 12
"""Maximum number of sentences of an entity summary."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Words of a prompt. ``version`` is its file's name and a digest of its words: every change changes it."""

    version: str
    text: str


def load(name: str, given: Mapping[str, object]) -> Prompt:
    """Return the prompt of that name, with ``{key}`` replaced by the value for each of ``given``."""
    return filled(name, words_of(name), given)


def words_of(name: str) -> str:
    """Return the words of the built-in prompt of that name, nothing filled in."""
    return (files("graphtide.infra") / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def filled(name: str, text: str, given: Mapping[str, object]) -> Prompt:
    """Return the prompt of these words, with ``{key}`` replaced by the value for each of ``given``."""
    for key, value in given.items():
        text = text.replace("{" + key + "}", str(value))
    return Prompt(f"{name}-{sha256(text.encode()).hexdigest()[:8]}", text)


def code_for(texts: Sequence[str]) -> str:
    """Return twelve hexadecimal digits that occur in none of the texts. The same texts give the same code."""
    seed = "\0".join(texts).encode("utf-8", "replace")
    while True:
        seed = sha256(seed).digest()
        code = seed.hex()[:12]
        if not any(code in text for text in texts):
            return code
