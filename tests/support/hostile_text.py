"""Markup that a hostile document may contain, and a pattern that finds markup which is in effect."""

from __future__ import annotations

import re

MARKUP = (
    *("[", "]", "(", ")", "<", ">", "!", ":", "/", "//", " ", ". ", ", ", ";", "1", "2", "[2]", "[9]", "[1, 3]", "\n"),
    *("[unsupported]", "[unsup", "ported]", "[cut off]", "[a](b)", "![a](", "http", "https://", "www.", "a", "x.y"),
)

LIVE = re.compile(
    r"\[[\d\s,;]*(?:unsupported|cut off)?\]|\]\(|\]:|<[A-Za-z/!?]|:(?=//)|\bwww\.\w",
    re.IGNORECASE,
)
"""A citation, a mark of the service, a link, an image, a definition of a link, a tag or an address."""

OWN = re.compile(r"\[[1-9]\]|\[unsupported\]")
"""The marks of the service."""


def live_in(answer: str) -> list[str]:
    """List the markup in effect in an answer without its own citations and marks."""
    return LIVE.findall(OWN.sub(" ", answer)) + re.findall(r"\](?:\(|:)", answer)
