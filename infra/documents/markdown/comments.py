"""Comments of Obsidian: `%%hidden%%` in a line, and lines between `%%` and `%%`. Readers of the note see none.

Invariant: every line keeps its number, so that places in the text hold. Cost: linear in the text.
"""

from __future__ import annotations

import re

_MARK = "%%"
_IN_LINE = re.compile(r"(?<![\w%`])%%(?!%)([^%\n]|%(?!%)){0,2000}%%(?![%`])")
_OPENS = re.compile(r"[ \t>]{0,16}%%(?!%)")
_CLOSES = re.compile(r"(?<!%)%%[ \t]*$")
_FENCE = re.compile(r"[ \t>]{0,16}(`{3,}|~{3,})")


def without_comments(text: str) -> str:
    """Return the text with comments as empty lines. One that is not closed stays text, as do comments in code."""
    if _MARK not in text:
        return text
    lines = text.split("\n")
    last = max((at for at, line in enumerate(lines) if _CLOSES.search(line)), default=-1)
    fence, at = "", 0
    while at < len(lines):
        found = _FENCE.match(lines[at])
        if found and (not fence or found[1].startswith(fence)):
            fence = "" if fence else found[1]
        elif not fence and _MARK in lines[at]:
            lines[at] = _without_comments_in(lines[at])
            if at < last and _OPENS.match(lines[at]):
                at = _clear(lines, at)
        at += 1
    return "\n".join(lines)


def _clear(lines: list[str], at: int) -> int:
    """Empty the lines of the comment that begins at a line, and return its last one."""
    lines[at] = ""
    while True:
        at += 1
        closes = _CLOSES.search(lines[at])
        lines[at] = ""
        if closes:
            return at


def _without_comments_in(line: str) -> str:
    """Return a line without the comments that are not in code."""
    kept, end, backquotes = [], 0, 0
    for found in _IN_LINE.finditer(line):
        backquotes += line.count("`", end, found.start())
        kept.append(line[end : found.start()] + (found[0] if backquotes % 2 else ""))
        end = found.end()
    return "".join([*kept, line[end:]])
