"""HTML as Markdown: the content of a page without navigation and scripts, by Beautiful Soup and markdownify."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml
from bs4 import BeautifulSoup, Comment
from bs4.element import NavigableString, Tag
from markdownify import MarkdownConverter

from graphtide.infra.files.formats.nesting import check_nesting

_NOT_CONTENT = (
    "script",
    "style",
    "noscript",
    "template",
    "nav",
    "footer",
    "form",
    "button",
    "svg",
    "iframe",
    "img",
    "colgroup",
)
_DATES = ("date", "article:published_time", "dcterms.date", "dc.date", "last-modified", "last-reviewed", "revised")
_FIELDS = ("author", *_DATES)
_SITE = re.compile(r"\s{1,4}[|\u2013\u2014\u00b7]\s{1,4}[^|\u2013\u2014\u00b7]{0,100}$")
_BLANK_LINES = re.compile(r"\n{3,}")
_FOOTERS = ("contentinfo", "navigation", "banner", "search")
_WITHIN_PAGE, _LINK_MARKS = re.compile(r"\A#"), ("", "\u00b6", "#", "\u00a7", "\U0001f517")
"""The link to itself that a heading has in pages of Sphinx, MkDocs and others: its mark is no text."""
_BOXES = "li div.checkbox-on, li div.checkbox-off"
"""The boxes of checklists in pages that Notion exports."""
_MARKS = ("strong", "b", "em", "i", "a", "img", "code")
MAX_DEPTH = 200


def html_to_markdown(text: str) -> str:
    """Return the page as Markdown; its title, author and date become front matter. Raises UnreadableFileError."""
    return page_to_markdown(parse_page(text))


def parse_page(text: str) -> BeautifulSoup:
    """Return the tree of a page. Raises UnreadableFileError for one whose elements are nested too deeply."""
    check_nesting(text)
    return BeautifulSoup(text, "html.parser")


def page_to_markdown(page: BeautifulSoup) -> str:
    """Return the page as Markdown, see `html_to_markdown`. The tree is changed."""
    front = dict(_front_matter(page))
    body = _content(page)
    markdown = markdown_of(body)
    header = f"---\n{yaml.safe_dump(front, allow_unicode=True, sort_keys=False)}---\n\n" if front else ""
    return header + markdown


def markdown_of(body: Tag) -> str:
    """Return the content of an element as Markdown, without what is not content. What a reader sees is never markup:
    `<name>` and "1." at the start of a paragraph are escaped.
    """
    _flatten(body)
    _introduce_tables(body)
    for box in body.select(_BOXES):
        box.name, box["type"] = "input", "checkbox"
        if "checkbox-on" in (box.get("class") or ()):
            box["checked"] = ""
    converter = _Converter(heading_style="ATX", bullets="-", table_infer_header=True, autolinks=False, escape_misc=True)
    markdown: str = converter.convert_soup(body)
    return _BLANK_LINES.sub("\n\n", markdown).strip() + "\n"


class _Converter(MarkdownConverter):
    """Converts definitions to the form that the reader of Markdown knows: the terms in a line, ": " and the definition,
    whose further blocks follow without an indentation, which would make code of them; and the boxes of checklists.
    """

    def convert_table(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        table: str = super().convert_table(el, text, parent_tags)  # type: ignore[misc]  # not in the stubs
        introduction = self.escape(str(el.get(_INTRODUCTION) or ""), parent_tags)  # type: ignore[attr-defined]
        return f"\n\n{introduction}{table}" if introduction else table

    def convert_input(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if el.get("type") != "checkbox" or "li" not in parent_tags:
            return text
        return "[x] " if el.has_attr("checked") else "[ ] "

    def convert_dt(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        before, term = el.find_previous_sibling(), " ".join(text.split())
        if "_inline" in parent_tags:
            return f" {term} "
        return f", {term}" if isinstance(before, Tag) and before.name == "dt" else f"\n\n{term}"

    def convert_dd(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if "_inline" in parent_tags:
            return f" {text.strip()} "
        return f"\n: {text.strip()}\n\n" if text.strip() else "\n\n"


def mail_text(content: str) -> str:
    """Return the body of an HTML mail as text without marks of emphasis, links and pictures.

    Raises UnreadableFileError.
    """
    check_nesting(content)
    page = BeautifulSoup(content, "html.parser")
    for element in page.find_all(("script", "style", "head")):
        element.decompose()
    _flatten(page)
    text: str = MarkdownConverter(strip=list(_MARKS), escape_misc=False).convert_soup(page)
    return _BLANK_LINES.sub("\n\n", text)


def _content(page: BeautifulSoup) -> Tag:
    for comment in page.find_all(string=lambda each: isinstance(each, Comment)):
        comment.extract()
    for element in page.find_all(_NOT_CONTENT):
        element.decompose()
    for element in page.find_all(role=list(_FOOTERS)):
        element.decompose()
    for link in page.find_all("a", href=_WITHIN_PAGE):
        if link.get_text(strip=True) in _LINK_MARKS:
            link.decompose()
    return page.find("main") or page.body or page


def _introduce_tables(body: Tag) -> None:
    """Take the captions out of their tables, where they would take the place of the header, and note their texts. One
    that was not closed has the rows, too.
    """
    for table in body.find_all("table"):
        table.attrs.pop(_INTRODUCTION, None)
        caption = table.find("caption", recursive=False)
        if not isinstance(caption, Tag):
            continue
        row = caption.find("tr")
        own: list[NavigableString] = []
        for node in caption.descendants:
            if node is row:
                break
            if isinstance(node, NavigableString):
                own.append(node)
        text = " ".join("".join(map(str, own)).split())
        if row is None:
            caption.extract()
        else:
            for string in own:
                string.extract()
            caption.unwrap()
        if text:
            table[_INTRODUCTION] = text if text.endswith(_ENDS) else f"{text}:"


_INTRODUCTION = "data-graphtide-introduction"
_ENDS = (".", ":", "!", "?")


def _flatten(body: Tag) -> None:
    """Unwrap elements that are nested deeper than any text needs: the converter recurses once for each level."""
    stack = [(body, 0)]
    deep: list[Tag] = []
    while stack:
        element, depth = stack.pop()
        if depth > MAX_DEPTH:
            deep.append(element)
        stack.extend((child, depth + 1) for child in element.children if isinstance(child, Tag))
    for element in deep:
        element.unwrap()


def _front_matter(page: BeautifulSoup) -> Iterator[tuple[str, str]]:
    if page.title and (title := page.title.get_text(" ", strip=True)):
        yield "title", _SITE.sub("", title)
    known = {str(each.get("name") or each.get("property") or "").lower(): each for each in page.find_all("meta")}
    dated = False
    for name in _FIELDS:
        value = str(known[name].get("content") or "").strip() if name in known else ""
        if not value:
            continue
        if name in _DATES and not dated:
            dated = True
            yield "date", value[:10] if re.match(r"\d{4}-\d\d-\d\d", value) else value
        if name not in {"date", "article:published_time"}:
            yield name, value
