"""Further formats as Markdown, by pandoc: reStructuredText, AsciiDoc, Org, OpenDocument, slides, notebooks, books.

pandoc is a program: that of the package pypandoc-binary, or else one on the PATH. It runs once for each file, without
access to other files (`--sandbox`), with bounded memory and time. Cost: a tenth of a second, and 6 s a megabyte.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from functools import cache

from bs4 import BeautifulSoup
from bs4.element import Tag

from graphtide.infra.files.encoding import decode_text
from graphtide.infra.files.formats.html.page import page_to_markdown, parse_page
from graphtide.infra.files.formats.package import check_package
from graphtide.infra.files.types import MissingReaderError, UnreadableFileError

INSTALL_PANDOC = "install graphtide[pandoc] to read it"
TIMEOUT_S = 120.0
MAX_HEAP = "1g"
MAX_INPUT_BYTES = 16 << 20
_PACKED = frozenset({"odt", "pptx", "epub"})
_MAX_REASON_CHARS = 200
_NO_CONTENT = "title, div.title, header p, header div.author, div.toctree"
"""Elements without content: the words "Note" and "Warning", what the head repeats, a title for pages without one, and
the files of Sphinx's table of contents.
"""
_PLANNING = b"#+OPTIONS: p:t\n"
"""Lets Org show when something is due or was done."""
_TARGET = re.compile(r"\s{0,3}<[^<>]{0,300}>$")


def pandoc_to_markdown(raw: bytes, suffix: str, reader: str) -> str:
    """Return the file as Markdown, its title, author and date as front matter; `reader` is pandoc's name of its format.
    Raises UnreadableFileError.
    """
    if reader in _PACKED:
        _check_archive(raw, suffix)
    elif len(raw) > MAX_INPUT_BYTES:
        raise UnreadableFileError(f"is larger than {MAX_INPUT_BYTES >> 20} MiB; split it")
    else:
        raw = decode_text(raw).encode()  # pandoc reads UTF-8 without a byte order mark
    page = parse_page(_converted(_PLANNING + raw if reader == "org" else raw, suffix, reader))
    for element in page.select(_NO_CONTENT):
        element.decompose()
    for role in page.select("code.interpreted-text"):  # Sphinx: :ref:`the policy <policy>`
        role.replace_with(_TARGET.sub("", role.get_text()))
    for date in page.select("meta[name='dcterms.date']"):
        date["name"] = "date"
    for word in page.select(_TASK_WORDS):
        _check_item(page, word)
    for table in page.find_all("table"):
        _keep_first_row(page, table)
    for part in page.select("tbody, tfoot"):  # AsciiDoc's last row is a foot, above which a rule would be drawn
        part.unwrap()
    return page_to_markdown(page)


def _check_item(page: BeautifulSoup, word: Tag) -> None:
    """Put an item of a checklist below the headline of an Org task, with its dates: "Order apple tree (DEADLINE:
    2026-10-20)".
    """
    headline = word.parent
    if headline is None:
        return
    done = "done" in (word.get("class") or ())
    word.decompose()
    dates = []
    while isinstance(label := _next_element(headline), Tag) and label.name == "strong" and _PLANNED.match(label.text):
        date = _next_element(label)
        if not isinstance(date, Tag) or date.name != "em":
            break
        found = _ORG_DATE.search(date.text)
        dates.append(f"{label.text.strip().lower().rstrip(':')} {found[0] if found else date.text}")
        date.decompose()
        label.decompose()
    box = page.new_tag("input", type="checkbox")
    if done:
        box["checked"] = ""
    item, items = page.new_tag("li"), page.new_tag("ul")
    text = " ".join(headline.get_text().split())
    item.extend([box, f"{text} ({', '.join(dates)})" if dates else text])
    items.append(item)
    headline.insert_after(items)


def _next_element(element: Tag) -> Tag | None:
    return next((each for each in element.next_siblings if isinstance(each, Tag)), None)


_TASK_WORDS = "span.todo, span.done"
_PLANNED = re.compile(r"(?:DEADLINE|SCHEDULED|CLOSED):")
_ORG_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?: [A-Z][a-z]{1,8})?(?: \d{1,2}:\d{2})?")


def _keep_first_row(page: BeautifulSoup, table: Tag) -> None:
    """Give a table without a head an empty one: its first row would be taken for the names of the columns."""
    first = None if table.find("thead") else table.find("tr")
    if isinstance(first, Tag):
        head = page.new_tag("tr")
        for _ in first.find_all(("td", "th"), recursive=False):
            head.append(page.new_tag("th"))
        first.insert_before(head)


@cache
def pandoc_path() -> str | None:
    """Return the path of the program, None if it is not installed."""
    try:
        import pypandoc

        return str(pypandoc.get_pandoc_path())
    except (ImportError, OSError):
        return shutil.which("pandoc")


def _check_archive(raw: bytes, suffix: str) -> None:
    try:
        check_package(raw)
    except zipfile.BadZipFile as error:
        raise UnreadableFileError(f"is not a readable {suffix} file ({error}); save it again") from error


def _converted(raw: bytes, suffix: str, reader: str) -> str:
    program = pandoc_path()
    if program is None:
        raise MissingReaderError(f"is a {suffix} file, and pandoc is missing; {INSTALL_PANDOC}")
    heap = ("+RTS", f"-M{MAX_HEAP}", "-RTS")
    options = ("--sandbox", "--standalone", "--wrap=none", "--to=html5")
    command = [program, *heap, *options, f"--from={reader}"]
    try:
        done = subprocess.run(command, input=raw, capture_output=True, timeout=TIMEOUT_S, check=False)  # noqa: S603 -- no shell
    except subprocess.TimeoutExpired as error:
        raise MissingReaderError(f"takes pandoc more than {TIMEOUT_S:.0f} s to read; split it") from error
    except OSError as error:
        raise MissingReaderError(f"needs {program}, which does not start ({error}); {INSTALL_PANDOC}") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        reason = next((line for line in lines if not line.startswith("[")), f"exit code {done.returncode}")
        remedy = INSTALL_PANDOC if reason.startswith("Unknown") else "save it again"  # an option, or a format
        raise UnreadableFileError(f"is not a readable {suffix} file ({reason[:_MAX_REASON_CHARS]}); {remedy}")
    return done.stdout.decode(errors="replace")
