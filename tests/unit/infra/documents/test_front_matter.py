"""Front matter of a stranger: the work is linear in its length, whatever it nests or repeats."""

from __future__ import annotations

import pytest
import yaml

from graphtide.infra.documents.description import describe
from graphtide.infra.documents.markdown import front_matter
from graphtide.infra.documents.markdown.front_matter import MAX_DEPTH, read_front_matter
from graphtide.infra.documents.markdown.reader import read_markdown
from graphtide.streams.model_ports import MARKDOWN
from tests.support.growth import grows_linearly

YAML = (
    *("[", "{", "{a: ", "[a,", "- ", "? ", "- ? ", "a: b\n", "- a\n"),
    *("? k\n: v\n", "&a ", "*a ", "!t ", '"', "|\n", "<<: ", "[]", "a: [b]\n"),
)
TOML = ("a.", "[", "[[a]]\n", "a=[", "a={b=", "a=1\n", '"a".', "# c\n")


@pytest.mark.parametrize("part", YAML)
def test_yaml_takes_work_in_proportion_to_its_length(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted with the loader in Python, which uses libyaml's algorithms: lines in C cannot be counted."""
    monkeypatch.setattr(front_matter, "_LOADER", yaml.SafeLoader)
    grows_linearly(lambda text: read_front_matter(f"---\n{text}\n---\n"), part)


@pytest.mark.parametrize("part", TOML)
def test_toml_takes_work_in_proportion_to_its_length(part: str) -> None:
    """Dotted keys, too: their reader compares each with all of its prefixes."""
    grows_linearly(lambda text: read_front_matter(f"+++\n{text}\n+++\n"), part)


def test_fields_are_read_up_to_the_greatest_depth() -> None:
    """Nesting that notes have is kept; deeper nesting and aliases are no front matter in YAML."""
    found = read_front_matter("---\ntitle: A note\ndate: 2026-03-01\nteam: {names: [Ana, Bo]}\n---\ntext")
    assert (found.title, found.occurred_at, found.metadata) == (
        "A note",
        "2026-03-01",
        {"team": {"names": ["Ana", "Bo"]}},
    )
    deep = "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)
    for block in (f"title: x\nmore: {deep}", "title: &t x\nmore: *t"):
        assert read_front_matter(f"---\n{block}\n---\n").end == 0


def test_number_too_long_for_json_is_no_number() -> None:
    """Python writes no decimal number of more than 4,300 digits; a hexadecimal one has no such limit."""
    number = "0x" + "f" * 6_000
    assert describe(f"---\na: {number}\n---\n", MARKDOWN).metadata == (("a", f'"{number}"'),)
    assert describe(f"+++\na = {number}\n+++\n", MARKDOWN).metadata == ()


@pytest.mark.parametrize("block", ['+++\n"a\\u0000b" = "c\\u0000"\n+++\n', '---\n"a\\0b": "c\\0"\n---\n'])
def test_nul_characters_of_fields_are_dropped(block: str) -> None:
    """In keys, too: neither can be stored."""
    assert describe(block, MARKDOWN).metadata == (("ab", '"c"'),)


@pytest.mark.parametrize(
    ("block", "text", "mentions"),
    [
        ("authors: {name: Jane Doe, org: Mill}", "authors: name: Jane Doe, org: Mill", ()),
        ("authors:\n- name: Jane Doe\n- name: Bo", "authors: name: Jane Doe, name: Bo", ()),
        ("related: [[Bo Lind]]", "related: Bo Lind", ("Bo Lind",)),
        ('up: "[[People/Ana Ruiz|Ana]]"', "up: Ana", ("Ana Ruiz",)),
        ('up: ["[[Ana]]", "[[Bo#Phone]]"]', "up: Ana, Bo: Phone", ("Ana", "Bo")),
        ("up: [[Ana]], [[Bo]]", "up: Ana, Bo", ("Ana", "Bo")),
        ("tags: [a, [b, c]]\ndraft: false\nnone:", "tags: a, b, c; draft: false", ()),
    ],
)
def test_fields_are_written_as_readers_write_them(block: str, text: str, mentions: tuple[str, ...]) -> None:
    """Neither as objects of Python nor with the marks of wiki links."""
    first = read_markdown(f"---\n{block}\n---\nText").blocks[0]
    assert (first.text, first.mentions) == (text, mentions)
