"""Marks for the programs that make pages of Markdown: attributes, includes, shortcodes, icons. Readers see none.

References to pages that another file defines (`[hooks][api.hooks]`) keep their text. Cost: linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.token import Token

_ATTRIBUTE = r"(?:[#.][\w:-]{1,80}|[\w:-]{1,40}=(?:\"[^\"{}\n]{0,300}\"|[^\s{}]{1,300}))"
_ATTRIBUTES = re.compile(
    rf"\{{:[\w-]{{1,40}}\}}|\{{:?[ \t]{{0,4}}{_ATTRIBUTE}(?:[ \t]{{1,4}}{_ATTRIBUTE}){{0,10}}[ \t]{{0,4}}\}}"
)
"""What MkDocs, kramdown, Pandoc and Docusaurus put after a link, code, emphasis or a heading: `{: .wide }`, `{#reset}`,
`{target="_blank"}`.
"""
_AFTER = frozenset({"link_close", "image", "code_inline", "strong_close", "em_close"})
_TAGS = re.compile(r"\{%[^{}\n]{0,300}%\}|\{\{[<%][^{}\n]{0,300}[%>]\}\}")
"""Tags of Jekyll and Hugo: `{% include toc.html %}`, `{{< note >}}`."""
_RAW = re.compile(r"\{%-?[ \t]{0,4}(?:end)?raw[ \t]{0,4}-?%\}")
_IMPORT = re.compile(r"import [^'\"\n]{1,200} from (?:'[^'\n]{1,200}'|\"[^\"\n]{1,200}\");?")
_ICON = re.compile(r":(?:material|octicons|fontawesome|simple)-[a-z0-9-]{1,80}:")
_CHECK = re.compile(r":(?:white_check_mark|heavy_check_mark|ballot_box_with_check):")
_PAGE = r"\[[\w .:/#@-]{0,200}\]"
_REFERENCE = re.compile(rf"\[([^\[\]\n]{{1,200}})\]{_PAGE}")
_REFERENCE_END = re.compile(rf"([^\[\]\n]{{0,200}})\]{_PAGE}")
_RANGE = re.compile(r"\w-\w.{0,20}")
"""Characters of a regular expression, which are no text of a link: `[A-Z][a-z]`."""
_ABBREVIATION = re.compile(r"\*\[([^\[\]\n]{1,60})\]:[ \t]")
_LIQUID_LINK = re.compile(r"\]\((?:\{\{[^{}\n]{0,200}\}\}|\{%[^{}\n]{0,200}%\})[^()\s]{0,200}\)")


def is_directive(line: str) -> bool:
    """Return whether a line has nothing but attributes, or instructions to the program that makes the page."""
    stripped = line.strip()
    return stripped[:1] in ("{", "i") and any(form.fullmatch(stripped) for form in (_ATTRIBUTES, _TAGS, _IMPORT))


def with_targets(line: str) -> str:
    """Return a line of Markdown with a plain target for each link whose target is in Liquid."""
    return _LIQUID_LINK.sub("](page)", line) if "]({" in line else line


def without_directives(text: str, before: str) -> str:
    """Return a text without attributes of the token `before` it, which is given by its type, and without tags, icons
    and the targets of references.
    """
    found = _ATTRIBUTES.match(text) if before in _AFTER else None
    text = text[found.end() :] if found else text
    text = without_tags(text) if "{" in text else text
    text = _CHECK.sub("\u2713", _ICON.sub("", text)) if ":" in text else text
    text = _ABBREVIATION.sub(r"\1: ", text) if text.startswith("*[") else text
    return _REFERENCE.sub(_referring, text) if "][" in text else text


def without_tags(text: str) -> str:
    """Return a text without tags of Jekyll and Hugo."""
    return _TAGS.sub("", text)


def without_raw(code: str) -> str:
    """Return code in a line without the tags that keep Jekyll from reading it."""
    return _RAW.sub("", code)


def _referring(found: re.Match[str]) -> str:
    return found[0] if _RANGE.fullmatch(found[1]) else found[1]


def close_references(children: Sequence[Token]) -> None:
    """Remove the marks of references whose text is code, or continues in the next line: [`Hook`][api.hook]."""
    opening: Token | None = None
    for token in children:
        if token.type != "text":
            continue
        found = _REFERENCE_END.match(token.content)
        if opening is not None and found:
            start = opening.content.rindex("[")
            opening.content = opening.content[:start] + opening.content[start + 1 :]
            token.content = found[1] + token.content[found.end() :]
        last = token.content.rfind("[")
        opening = token if last > token.content.rfind("]") else None if "]" in token.content else opening


def without_heading_attributes(heading: str) -> str:
    """Return a heading without the attributes at its end: `Reset {#reset}`."""
    text, brace, end = heading.rpartition("{")
    return text.rstrip() if brace and _ATTRIBUTES.fullmatch(brace + end) else heading
