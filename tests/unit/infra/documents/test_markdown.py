"""Markdown as blocks: no markup in a text, headings as context, rows with their columns, links as mentions."""

from __future__ import annotations

import re
import time
from itertools import count

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphtide.graph.text.place import PassageKind
from graphtide.infra.documents.blocks import Block
from graphtide.infra.documents.markdown.reader import read_markdown
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.streams.model_ports import MARKDOWN

NOTE = """\
---
title: Boiler house
date: 2025-03-05
author: Ana Ruiz
tags: [ops, heat]
---

# Boilers

The **old** boiler is from [Kessel AG](https://kessel.example), see [[People/Bo Lind|Bo]].

## To do

Before winter we must:

- [x] order the *valve*
- [ ] call Bo
  - after Monday

| code | room | kW |
| ---- | ---- | --: |
| B1 | `K-01` | 24 |
| B2 |  | 48 |

> Quoted words of the maker.

```sh
boilerctl --reset
```

## Empty section
"""


def blocks(text: str) -> tuple[Block, ...]:
    return read_markdown(text).blocks


def test_every_kind_of_block_is_readable_text_under_its_headings() -> None:
    """The text of a note, block by block, as a reader would say it."""
    read = read_markdown(NOTE)
    assert read.title == "Boiler house"
    assert (read.front_matter.occurred_at, dict(read.front_matter.metadata)) == (
        "2025-03-05",
        {"author": "Ana Ruiz", "tags": ["ops", "heat"]},
    )
    assert [(block.text, block.headings) for block in read.blocks] == [
        ("title: Boiler house; author: Ana Ruiz; tags: ops, heat; date: 2025-03-05", ()),
        ("The old boiler is from Kessel AG, see Bo.", ("Boilers",)),
        ("Before winter we must:", ("Boilers", "To do")),
        ("Done: order the valve", ("Boilers", "To do")),
        ("To do: call Bo", ("Boilers", "To do")),
        ("To do: call Bo: after Monday", ("Boilers", "To do")),
        ("code: B1; room: K-01; kW: 24", ("Boilers", "To do")),
        ("code: B2; kW: 48", ("Boilers", "To do")),
        ("Quoted words of the maker.", ("Boilers", "To do")),
        ("boilerctl --reset", ("Boilers", "To do")),
        ("Empty section", ("Boilers",)),
    ]
    kinds = {block.text: block.kind for block in read.blocks}
    assert kinds["boilerctl --reset"] is PassageKind.CODE
    assert kinds["code: B2; kW: 48"] is PassageKind.TABLE


def test_links_are_mentions_of_what_they_name() -> None:
    """A wiki link names its target, an ordinary link its text; an address is not a name."""
    text = "See [[People/Bo Lind|Bo]], [Kessel AG](k.md), [here](x.md), <https://a.example> and [[Ana Ruiz#Phone]]."
    [block] = blocks(text)
    assert block.mentions == ("Bo Lind", "Kessel AG", "Ana Ruiz")
    assert block.text == "See Bo, Kessel AG, here, https://a.example and Ana Ruiz: Phone."


def test_list_keeps_the_sentence_that_introduces_it() -> None:
    """A passage that contains items without the introduction has it as context."""
    items = "\n".join(f"- item number {n} of a list that is far too long for one passage" for n in range(60))
    passages = SemanticChunker().split(f"# A\n\nThe parts are:\n\n{items}\n", MARKDOWN)
    assert len(passages) > 2
    assert [passage.place.lead_in for passage in passages] == ["", *["The parts are:"] * (len(passages) - 1)]
    assert {passage.place.headings for passage in passages} == {()}  # the only heading is the title


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Attendees**\n\nAna", [("Ana", ("Attendees",))]),
        ("Owner: Ana\n**Due:** Monday", [("Owner: Ana", ()), ("Due: Monday", ())]),
        ("A sentence that is wrapped\nonto two lines.", [("A sentence that is wrapped onto two lines.", ())]),
        ("~~Tuesday~~ Wednesday", [("Wednesday", ())]),
        ("- ~~buy milk~~", [("Struck out: buy milk", ())]),
        ("A sentence above a rule.\n---\nMore.", [("A sentence above a rule.", ()), ("More.", ())]),
        ("- Pumps\n  - P1 is broken", [("Pumps", ()), ("Pumps: P1 is broken", ())]),
        ("3. third\n4. fourth", [("3. third", ()), ("4. fourth", ())]),
        ("<div>Old <b>HTML</b> &amp; more</div>", [("Old HTML & more", ())]),
        ("a&nbsp;b &amp; c <!-- not this -->", [("a b & c", ())]),
        ("# Only a title", [("Only a title", ())]),
        ("> [!note] Mind the gap", [("Mind the gap", ())]),
        ("---\ntitle: One: two\n---\ntext", [("text", ())]),
        ("---\n\nA rule, no front matter.", [("A rule, no front matter.", ())]),
    ],
)
def test_common_forms(text: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    """Forms that people use in notes."""
    assert [(block.text, block.headings) for block in blocks(text)] == expected


def test_large_table_has_one_row_per_passage_and_a_small_one_is_whole() -> None:
    """A small table answers questions about all of its rows; a row of a large one is found by itself."""

    def table(rows: int) -> str:
        return "| name | town |\n| --- | --- |\n" + "".join(f"| N{n} | Town {n} |\n" for n in range(rows))

    [small] = SemanticChunker().split(table(5), MARKDOWN)
    assert small.place.row == 1 and small.text.count("name: ") == 5
    large = SemanticChunker().split(table(200), MARKDOWN)
    assert [passage.place.row for passage in large] == list(range(1, 201))


def test_pages_are_counted_from_form_feeds() -> None:
    """A paragraph over a page break is one paragraph, on the page where it begins."""
    passages = SemanticChunker().split("# T\n\nOne.\n\nTwo runs\fon here.\n\nThree.", MARKDOWN)
    assert [(passage.text, passage.place.page) for passage in passages] == [
        ("One.\n\nTwo runs on here.", 1),
        ("Three.", 2),
    ]


def test_last_lines_of_a_page_are_on_it() -> None:
    """Lines that are passages of their own end where the page does, and are not on the next one."""
    text = "# Regatta\n\nDate: 27 June\nEntry fee: 18 pounds\nChief umpire: Dr Helena Ross\n\fPage two.\n\f"
    found = [(passage.text, passage.place.page) for passage in SemanticChunker().split(text, MARKDOWN)]
    assert [page for text, page in found if "umpire" in text] == [1]
    assert found[-1] == ("Page two.", 2)


BLOCKS = ("# ", "## h", "- ", "  - ", "1. ", "> ", "|", "| a | b |", "| --- | --- |", "---", "```", "~~~", "\n", "\n\n")
MARKS = (
    "*",
    "**",
    "[[",
    "]]",
    "[",
    "](",
    ")",
    "`",
    "<b>",
    "<!--",
    "\t",
    "\f",
    "\r\n",
    "a: b",
    "word ",
    "é",
    "&amp;",
    "[x] ",
)
_NUMBERED = re.compile(r"word\d+\.")
PIECES = st.sampled_from(BLOCKS + MARKS)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
@example("# word \n# ")
@example("# word \n# word \na: b")
@example("# word \n## word \n")
def test_any_text_has_ordered_spans_and_loses_no_word(text: str) -> None:
    """Spans are in order and within the text, and every word is in a passage, in the headings of one or in the title.

    A text of nothing but a title has a passage, so that the document is found.
    """
    numbers = count()
    text = re.sub("word", lambda word: f"word{next(numbers)}.", text)
    passages = SemanticChunker(40).split(text, MARKDOWN)
    ends = [0, *(passage.end for passage in passages)]
    assert all(end <= passage.start <= passage.end <= len(text) for end, passage in zip(ends, passages, strict=False))
    assert all(passage.text.strip() for passage in passages)
    assert passages == SemanticChunker(40).split(text, MARKDOWN)
    if not any(mark in text for mark in ("<", "---", "[", "|", "```", "~~~")):  # a fence names a language
        parts = [SemanticChunker(40).describe(text, MARKDOWN).title]
        parts.extend(part for passage in passages for part in (passage.text, *passage.place.headings))
        words = set(_NUMBERED.findall(" ".join(parts)))
        assert words >= set(_NUMBERED.findall(text))
        assert passages or not words


HOSTILE = (
    "[",
    "[[",
    "*a ",
    "> ",
    "- ",
    "`a",
    "<",
    "<!--",
    "| a ",
    "|-",
    "![",
    "**a",
    "[a](",
    "\\",
    "&",
    "_a_",
    "# a\n",
)


@pytest.mark.thorough
@pytest.mark.parametrize("unit", HOSTILE)
def test_reading_time_grows_linearly_with_hostile_text(unit: str) -> None:
    """Four times the text takes at most eight times the time, with a floor against noise."""

    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.thread_time()
        read_markdown(text)
        return time.thread_time() - start

    few = min(seconds(5_000) for _ in range(3))
    many = min(seconds(20_000) for _ in range(2))
    assert many <= 8 * few + 0.05


def test_code_has_the_paragraph_above_it_as_its_context() -> None:
    """The end of a long one; nothing below a heading."""
    text = f"# A\n\n{'Word ' * 100}ends.\n\n```sh\none\n```\n\n## B\n\n```sh\ntwo\n```\n"
    code = [block for block in blocks(text) if block.kind is PassageKind.CODE]
    assert [block.text for block in code] == ["one", "two"]
    assert [len(block.lead_in) for block in code] == [300, 0] and code[0].lead_in.endswith("Word ends.")


def test_marks_of_notes_are_no_text() -> None:
    """Those of MkDocs and Docusaurus, nested ones and tabs with code; the same characters elsewhere stay."""
    text = (
        '!!! note\n    Hooks are early.\n\n    ??? tip "Careful"\n        Use *it*.\n\nPlain.\n\n'
        '=== "pip"\n\n    ```sh\n    pip install x\n    === y\n    ```\n\n:::warning\nIt is slow.\n:::\n\n'
        "!!!\n\nSee ::: here.\n\n```\n!!! note\n    z\n```\n\nTitle\n===\n"
    )
    document = read_markdown(text)
    assert [block.text for block in document.blocks] == [
        "Hooks are early.",
        "Use it.",
        "Plain.",
        "pip install x\n=== y",
        "It is slow.",
        "!!!",
        "See ::: here.",
        "!!! note\n    z",
    ]
    assert document.title == "Title"
    for block in document.blocks[:4]:
        assert block.text.split()[-1].rstrip(".*") in text[block.start : block.end]
