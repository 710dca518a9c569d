"""The fields of front matter as readers write them: lists, mappings and wiki links without the marks of YAML."""

from __future__ import annotations

import re
from typing import Any

from graphtide.infra.documents.markdown.inline import is_name, wiki_name, wiki_text

_WIKI = re.compile(r"!?\[\[([^\[\]\n]{1,300})\]\]")


def readable(value: Any) -> str:
    """Return a value as "a, b" for a list, "name: Ana" for a mapping, and with the text of its wiki links."""
    value = _linked(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text}" for key, inner in value.items() if (text := readable(inner)))
    if isinstance(value, list):
        return ", ".join(filter(None, map(readable, value)))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else _WIKI.sub(lambda link: wiki_text(link[1]), str(value))


def linked_names(value: Any) -> list[str]:
    """Return the targets of the wiki links in a value."""
    value = _linked(value)
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [name for each in inner for name in linked_names(each)]
    links = _WIKI.findall(value) if isinstance(value, str) else ()
    return [name for link in links if is_name(name := wiki_name(link))]


def _linked(value: Any) -> Any:
    """Return `[[Ana]]` as a text: without quotes YAML reads a list in a list."""
    match value:
        case [[str(inner)]]:
            return f"[[{inner}]]"
        case _:
            return value
