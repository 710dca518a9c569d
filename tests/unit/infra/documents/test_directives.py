"""Marks of Markdown for the programs that make pages of it: no text of the document."""

from __future__ import annotations

import pytest

from graphtide.infra.documents.markdown.reader import read_markdown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('See [the page](http://a.org){:target="_blank" }. Then', ["See the page. Then"]),
        ("[Get it](x){ .button .wide } now", ["Get it now"]),
        ("`code`{.python} and **bold**{: #b }", ["code and bold"]),
        ("{: .note }\nMind the gap.", ["Mind the gap."]),
        ("Mind the gap.\n{: .note }", ["Mind the gap."]),
        ("{% include toc.html %}\n\nText", ["Text"]),
        ("{{< note >}}\nText\n{{< /note >}}", ["Text"]),
        ("import Tabs from '@theme/Tabs';\n\nText", ["Text"]),
        ("![064](../slides/064.png)\n\n![Map of the harbour](map.png)", ["Map of the harbour"]),
        ("TOC:\n{:toc}", ["TOC:"]),
        ('Since {% include badge.html v="3" %}it works {{< new-in 0.1 />}}.', ["Since it works ."]),
        ("See [the docs]({{ '/docs/a' | relative_url }}) and [this]({% link b.md %}).", ["See the docs and this."]),
        ("```\n[a]({{ b c }})\n```", ["[a]({{ b c }})"]),
        ("Use `{% raw %}{{ a }}{% endraw %}`.", ["Use {{ a }}."]),
        (
            "The [mode][config.mode], the [`hook`][api.hook] and the [long\nname][long_name] are set.",
            ["The mode, the hook and the long name are set."],
        ),
        ("It matches [A-Z][a-z] and [x], then `a[i][j]`.", ["It matches [A-Z][a-z] and [x], then a[i][j]."]),
        (":material-run: Run it :heavy_check_mark:", ["Run it \u2713"]),
        ("*[HTML]: Markup language", ["HTML: Markup language"]),
        ("mode\n: (string) The mode.", ["mode: (string) The mode."]),
        ("The set {a=1} of {{ name }}", ["The set {a=1} of {{ name }}"]),
        ("import the file from the menu", ["import the file from the menu"]),
        ("```\n{% raw %}\n```", ["{% raw %}"]),
    ],
)
def test_mark_is_no_text(text: str, expected: list[str]) -> None:
    assert [block.text for block in read_markdown(text).blocks] == expected


@pytest.mark.parametrize(
    ("heading", "expected"),
    [("Reset {#reset}", "Reset"), ("Reset {: .wide #reset}", "Reset"), ("The set {1, 2}", "The set {1, 2}")],
)
def test_heading_has_no_attributes(heading: str, expected: str) -> None:
    assert read_markdown(f"# {heading}\n\nText").title == expected


def test_layout_of_a_page_says_nothing_about_it() -> None:
    """Its fields and pictures are kept as metadata."""
    document = read_markdown("---\nlayout: page\nimage: img/a.png\nauthor: Ana\n---\nText")
    assert [block.text for block in document.blocks] == ["author: Ana", "Text"]
    assert set(document.front_matter.metadata) == {"layout", "image", "author"}
    assert [block.text for block in read_markdown("---\nlayout: page\n---\nText").blocks] == ["Text"]
