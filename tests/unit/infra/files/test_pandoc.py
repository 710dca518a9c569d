"""Files that pandoc reads, with the real program: readable text with places, or a reason and a remedy."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from graphtide.infra.documents.markdown.reader import read_markdown
from graphtide.infra.files.formats import pandoc
from graphtide.infra.files.formats.pandoc import pandoc_path
from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import FileDocument, UnreadableFileError
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.streams.model_ports import MARKDOWN

RST = """\
=======
Caching
=======

:author: Ana Ruiz
:date: 2026-01-05

Flags
=====

See :ref:`the policy <pol>` first. Use the cache:

.. code-block:: python

   x = cache.get("k")

.. warning:: It is slow.

.. toctree::
   first
   second

.. list-table::
   :header-rows: 1

   * - Flag
     - Meaning
   * - ``-v``
     - verbose
"""
ASCIIDOC = """\
= Caching
Ana Ruiz
v1.2, 2026-01-05

== Flags

See the policy first. Use the cache:

----
x = cache.get("k")
----

WARNING: It is slow.

|===
|Flag |Meaning

|`-v`
|verbose
|===
"""
ORG = """\
#+TITLE: Caching
#+AUTHOR: Ana Ruiz
#+DATE: 2026-01-05
* Flags
See the policy first. Use the cache:
#+BEGIN_SRC python
x = cache.get("k")
#+END_SRC
It is slow.
| Flag | Meaning |
|------+---------|
| =-v= | verbose |
"""
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Decay fit\n", "The half-life is **5.3** years."]},
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": ["print(fit())"]},
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def passages(raw: bytes, name: str) -> list[tuple[str, tuple[str, ...], str]]:
    """Return the text, the headings and the kind of each passage."""
    [one] = read_bytes(raw, name)
    assert isinstance(one, FileDocument) and one.media_type == MARKDOWN
    found = SemanticChunker().split(one.text, one.media_type)
    return [(passage.text, passage.place.headings, str(passage.place.kind)) for passage in found]


def written(markdown: str, suffix: str, folder: Path) -> bytes:
    """Return the text as a file of another format, by pandoc."""
    program = pandoc_path()
    assert program is not None
    file = folder / f"x{suffix}"
    subprocess.run([program, "-f", "markdown", "-s", "-o", str(file)], input=markdown.encode(), check=True)
    return file.read_bytes()


@pytest.mark.parametrize(("name", "text"), [("a.rst", RST), ("a.adoc", ASCIIDOC), ("a.org", ORG)])
def test_markup_has_title_author_date_code_and_tables(name: str, text: str) -> None:
    """The words of a reference stay without its target, those of a warning without the word "Warning"."""
    assert passages(text.encode(), name) == [
        ("author: Ana Ruiz; date: 2026-01-05", (), "table"),
        ("See the policy first. Use the cache:", ("Flags",), ""),
        ('x = cache.get("k")', ("Flags",), "code"),
        ("It is slow.", ("Flags",), ""),
        ("Flag: -v; Meaning: verbose", ("Flags",), "table"),
    ]


def test_notebook_is_its_text_and_its_code() -> None:
    """A cell of code is code, which no extractor reads."""
    assert passages(json.dumps(NOTEBOOK).encode(), "fit.ipynb") == [
        ("The half-life is 5.3 years.", (), ""),
        ("print(fit())", (), "code"),
    ]


@pytest.mark.parametrize("suffix", [".odt", ".pptx", ".epub", ".rtf", ".tex", ".typ", ".textile"])
def test_format_keeps_headings_and_paragraphs(suffix: str, tmp_path: Path) -> None:
    """The text of a file that pandoc wrote, below its heading."""
    found = passages(written("## Costs\n\nThe pump costs 310 euros.\n", suffix, tmp_path), f"x{suffix}")
    assert ("The pump costs 310 euros.", ("Costs",), "") in found or found == [("The pump costs 310 euros.", (), "")]


def test_other_files_are_not_included(tmp_path: Path) -> None:
    """A hostile file names others: nothing of them arrives."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the password is swordfish")
    text = f"Before.\n\n.. include:: {secret}\n\n.. csv-table::\n   :file: {secret}\n\nAfter.\n"
    try:
        assert "swordfish" not in str(passages(text.encode(), "a.rst"))
    except UnreadableFileError as error:
        assert "swordfish" not in str(error)


@pytest.mark.parametrize(
    ("name", "raw", "reason"),
    [
        ("bad.odt", b"PK nonsense", "not a readable .odt file .*save it again"),
        ("bad.ipynb", b"\x00\x01 nonsense", "contains binary data.*convert it to text"),
        ("empty.rst", b"\n", "is empty"),
        ("large.rst", b"x" * (pandoc.MAX_INPUT_BYTES + 1), "larger than 16 MiB; split it"),
    ],
)
def test_unreadable_file_is_named_with_reason_and_remedy(name: str, raw: bytes, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        list(read_bytes(raw, name))


def test_deeply_nested_lists_are_read() -> None:
    """Equal ones, whose elements Beautiful Soup compares one inside the other: they once ended `sync`."""
    items = "".join(f"{'*' * depth} same\n" for depth in range(1, 501))
    [document] = read_bytes(items.encode(), "a.adoc")
    assert isinstance(document, FileDocument) and document.text.count("same") == 500


def test_time_and_memory_of_the_program_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that needs more of either is named."""
    text = ("Para with *emphasis* and more words here.\n\n" * 30_000).encode()
    with monkeypatch.context() as changed, pytest.raises(UnreadableFileError, match="Heap exhausted"):
        changed.setattr(pandoc, "MAX_HEAP", "64m")
        list(read_bytes(text, "a.rst"))
    monkeypatch.setattr(pandoc, "TIMEOUT_S", 0.0)
    with pytest.raises(UnreadableFileError, match="takes pandoc more than 0 s to read; split it"):
        list(read_bytes(text, "a.rst"))


def test_missing_program_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pandoc, "pandoc_path", lambda: None)
    with pytest.raises(UnreadableFileError, match=r"pandoc is missing; install graphtide\[pandoc\]"):
        list(read_bytes(b"Text.", "a.rst"))
    monkeypatch.setattr(pandoc, "pandoc_path", lambda: str(tmp_path / "none"))
    with pytest.raises(UnreadableFileError, match=r"does not start .*install graphtide\[pandoc\]"):
        list(read_bytes(b"Text.", "a.rst"))


def test_table_without_a_head_has_no_names_of_columns() -> None:
    """Its first row is a row."""
    rst = (
        "+---+-----+\n| a | one |\n+---+-----+\n| b | two |\n+---+-----+\n\n=== ===\nKey Val\n=== ===\nx   1\n=== ===\n"
    )
    [one] = read_bytes(rst.encode(), "t.rst")
    assert isinstance(one, FileDocument)
    assert [block.text for block in read_markdown(one.text).blocks] == ["a; one", "b; two", "Key: x; Val: 1"]


TASKS = b"""\
* Garden
** TODO Order apple tree
   DEADLINE: <2026-10-20 Tue>
** DONE Repair gate
   CLOSED: [2026-04-02 Thu 10:15]
   With new hinges.
"""


def test_tasks_of_org_are_items_with_their_dates() -> None:
    [document] = read_bytes(TASKS, "todo.org")
    assert isinstance(document, FileDocument)
    assert "- [ ] Order apple tree (deadline 2026-10-20 Tue)" in document.text
    assert "- [x] Repair gate (closed 2026-04-02 Thu 10:15)" in document.text
    assert "With new hinges." in document.text and "TODO" not in document.text
