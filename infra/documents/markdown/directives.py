"""Marks for the programs that make pages of Markdown: attributes, includes, shortcodes and imports. Readers see none.

Cost: linear in the text.
"""

from __future__ import annotations

import re

_ATTRIBUTE = r"(?:[#.][\w:-]{1,80}|[\w:-]{1,40}=(?:\"[^\"{}\n]{0,300}\"|[^\s{}]{1,300}))"
_ATTRIBUTES = re.compile(rf"\{{:?[ \t]{{0,4}}{_ATTRIBUTE}(?:[ \t]{{1,4}}{_ATTRIBUTE}){{0,10}}[ \t]{{0,4}}\}}")
"""What MkDocs, kramdown, Pandoc and Docusaurus put after a link, code, emphasis or a heading: `{: .wide }`, `{#reset}`,
`{target="_blank"}`.
"""
_AFTER = frozenset({"link_close", "image", "code_inline", "strong_close", "em_close"})
_LINES = (
    re.compile(r"\{%[^{}\n]{0,300}%\}"),
    re.compile(r"\{\{[<%][^{}\n]{0,300}[%>]\}\}"),
    re.compile(r"import [^'\"\n]{1,200} from (?:'[^'\n]{1,200}'|\"[^\"\n]{1,200}\");?"),
)
"""Lines for Jekyll, Hugo and MDX: `{% include toc.html %}`, `{{< note >}}`, `import Tabs from '@theme/Tabs';`."""


def is_directive(line: str) -> bool:
    """Return whether a line has nothing but attributes, or instructions to the program that makes the page."""
    stripped = line.strip()
    return stripped[:1] in ("{", "i") and any(form.fullmatch(stripped) for form in (_ATTRIBUTES, *_LINES))


def without_attributes(text: str, before: str) -> str:
    """Return a text without the attributes of the token `before` it, which is given by its type."""
    found = _ATTRIBUTES.match(text) if before in _AFTER else None
    return text[found.end() :] if found else text


def without_heading_attributes(heading: str) -> str:
    """Return a heading without the attributes at its end: `Reset {#reset}`."""
    text, brace, end = heading.rpartition("{")
    return text.rstrip() if brace and _ATTRIBUTES.fullmatch(brace + end) else heading
