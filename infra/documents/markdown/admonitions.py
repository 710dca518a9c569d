"""Notes, warnings and tabs of MkDocs and Docusaurus, and links in Liquid, as the plain Markdown that CommonMark knows.

Invariant: every line keeps its number, so that places in the text hold. Cost: linear in the text.
"""

from __future__ import annotations

import re

from graphtide.infra.documents.markdown.directives import with_targets

_INDENTED = re.compile(r"(?:!!!|\?{3}\+?|={3}[!+]?)[ \t]+[\w\"]")
"""The line above an indented block: `!!! note`, `??? tip "Careful"`, `=== "pip"`."""
_FENCED = re.compile(r":{3,8}[ \t]*(?:[a-z]{2,20}\b.{0,200})?$")
"""The lines around a block: `:::tip` and `:::`."""
_FENCE = re.compile(r"[ \t]{0,16}(`{3,}|~{3,})")
_MARKS = ("!!!", "???", "===", ":::", "]({")
INDENT = "    "


def plain_markdown(text: str) -> str:
    """Return the text with the marks of such blocks as empty lines, and their indented content as plain text."""
    if not any(mark in text for mark in _MARKS):
        return text
    depth, fence, lines = 0, "", []
    for line in text.split("\n"):
        if line.strip():
            while depth and not line.startswith(INDENT * depth):
                depth -= 1
        own = line[len(INDENT) * depth :] if line.strip() else line
        found = _FENCE.match(own)
        if found and (not fence or found[1].startswith(fence)):
            fence = "" if fence else found[1]
        elif not fence and _INDENTED.match(own):
            depth, own = depth + 1, ""
        elif not fence and _FENCED.match(own.rstrip()):
            own = ""
        lines.append(own if fence else with_targets(own))
    return "\n".join(lines)
