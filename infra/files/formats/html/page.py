"""HTML as Markdown: the content of a page without navigation and scripts, by Beautiful Soup and markdownify."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml
from bs4 import BeautifulSoup, Comment
from bs4.element import CData, NavigableString, PageElement, Tag
from bs4.exceptions import ParserRejectedMarkup
from markdownify import MarkdownConverter

from graphtide.infra.files.formats.html.nesting import check_nesting, ends_of, implied_ends, without_unknown_sections
from graphtide.infra.files.formats.html.tables import INTRODUCTION, simplify_tables
from graphtide.infra.files.types import UnreadableFileError

_NOT_CONTENT = (
    "script",
    "style",
    "noscript",
    "template",
    "nav",
    "footer",
    "button",
    "select",
    "datalist",
    "textarea",
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
    try:
        return _Page(without_unknown_sections(text), "html.parser")
    except ParserRejectedMarkup as error:
        raise UnreadableFileError(f"is not readable HTML ({error}); save it again from a browser") from error


class _Page(BeautifulSoup):
    """The tree of a page whose elements also end where the HTML standard lets their ends be left out."""

    def handle_starttag(self, name: str, *args: Any, **options: Any) -> Tag | None:
        self._close(implied_ends(name, self._open_names()))
        return super().handle_starttag(name, *args, **options)

    def handle_endtag(self, name: str, nsprefix: str | None = None) -> None:
        self.endData()
        if self.open_tag_counter.get(name):
            self._close(ends_of(name, self._open_names()))

    def _open_names(self) -> Iterator[str]:
        return (element.name for element in reversed(self.tagStack))

    def _close(self, count: int) -> None:
        if count:
            self.endData()
        for _ in range(count):
            self.popTag()


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
    simplify_tables(body)
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
        introduction = self.escape(str(el.get(INTRODUCTION) or ""), parent_tags)  # type: ignore[attr-defined]
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
    page = parse_page(content)
    for element in page.find_all(("script", "style", "head")):
        element.decompose()
    _flatten(page)
    text: str = MarkdownConverter(strip=list(_MARKS), escape_misc=False).convert_soup(page)
    return _BLANK_LINES.sub("\n\n", text)


def _content(page: BeautifulSoup) -> Tag:
    _remove(page.find_all(string=lambda each: isinstance(each, Comment)))
    _remove(page.find_all(_NOT_CONTENT))
    _remove(page.find_all(role=list(_FOOTERS)))
    links = page.find_all("a", href=_WITHIN_PAGE)
    _remove(link for link in links if link.get_text(strip=True) in _LINK_MARKS)
    if page.body is None and page.head is not None:
        page.head.decompose()
    return _main(page) or page.body or page


def _remove(elements: Iterable[PageElement]) -> None:
    """Take elements out of the page, the last of each parent first: their places among its children remain right.

    Cost: linear; an element that is taken out by itself is searched for among its siblings.
    """
    by_parent: dict[int, tuple[Tag, list[PageElement]]] = {}
    for element in elements:
        if (parent := element.parent) is not None:
            by_parent.setdefault(id(parent), (parent, []))[1].append(element)
    for parent, children in by_parent.values():
        places = {id(child): place for place, child in enumerate(parent.contents)}
        for child in sorted(children, key=lambda each: places[id(each)], reverse=True):
            child.extract(places[id(child)])


def _main(page: BeautifulSoup) -> Tag | None:
    """Return the headings of level 1 above the first `<main>`, and every `<main>` and `<article>`, None without one."""
    first = page.find("main")
    if first is None:
        return None
    content = page.new_tag("div")
    above = [heading for heading in first.find_all_previous("h1") if not heading.find_parent(_ASIDE)]
    content.extend([heading.extract() for heading in reversed(above)])
    parts = [part for part in page.find_all(("main", "article")) if not part.find_parent(_ASIDE)]
    content.extend([part.extract() for part in parts])
    return content


_ASIDE = ("main", "article", "aside")


def _flatten(body: Tag) -> None:
    """Leave the text alone of what is nested deeper than any text needs: the converter recurses once for each level.
    Cost: linear; to unwrap one element after another takes time that grows with the square of their number.
    """
    stack = [(body, 0)]
    deepest: list[Tag] = []
    while stack:
        element, depth = stack.pop()
        inner = [child for child in element.children if isinstance(child, Tag)]
        if depth < MAX_DEPTH:
            stack.extend((child, depth + 1) for child in inner)
        elif inner:
            deepest.append(element)
    for element in deepest:
        flat = element.copy_self()
        flat.append("".join(_words(element)))
        element.replace_with(flat)


def _words(element: Tag) -> Iterator[str]:
    """Yield the texts within an element, and spaces around those that begin a line or a cell."""
    stack: list[object] = list(reversed(element.contents))
    while stack:
        node = stack.pop()
        if isinstance(node, Tag):
            space = () if node.name in _INLINE else (" ",)
            stack.extend((*space, *reversed(node.contents), *space))
        elif type(node) in _TEXTS:
            yield str(node)


_TEXTS = (str, NavigableString, CData)
_INLINE_NAMES = """a abbr b bdi bdo big cite code data del dfn em font i ins kbd mark q s samp small span strike strong
sub sup time tt u var wbr"""
_INLINE = frozenset(_INLINE_NAMES.split())


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
