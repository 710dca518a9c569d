"""Class names: each public name means one thing over the four folders of the package."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("graph", "streams", "infra", "services")
TOP_LEVEL_CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)
SAME_MEANING = {
    "Community": "a community; also the class of its stored node, which has the name of the label",
    "Database": "the interface of a database in Python, and its blocking twin, which users import from graphtide.sync",
    "Graph": "the interface of a graph in Python, and its blocking twin",
    "GraphtideRetriever": "the retriever over a graph, by the interface of LangChain, and by that of LlamaIndex",
    "Report": "the report about a community; also the class of its stored node, which has the name of the label",
    "SameAs": "labels that mean the same; also the class of the stored relationship, which has the name of its type",
}
"""Names that occur more than once, and what each means everywhere."""


def test_public_class_names_are_unique() -> None:
    """A reader who looks up a class by its name finds one definition."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.py"):
            if "_pb2" not in file.name:
                for name in TOP_LEVEL_CLASS.findall(file.read_text(encoding="utf-8")):
                    places[name].append(str(file.relative_to(ROOT)))
    repeated = {name: files for name, files in places.items() if len(files) > 1}
    assert repeated.keys() == SAME_MEANING.keys(), repeated
