"""Word documents (.docx) as Markdown: headings, lists and tables by mammoth, which gives HTML."""

from __future__ import annotations

import io

import mammoth
from bs4 import BeautifulSoup

from graphtide.infra.files.formats.html.page import markdown_of
from graphtide.infra.files.formats.package import check_package
from graphtide.infra.files.types import UnreadableFileError

_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Quote'] => blockquote > p:fresh
"""


def docx_to_markdown(raw: bytes) -> str:
    """Return the document as Markdown. Raises UnreadableFileError."""
    try:
        check_package(raw)
        converted = mammoth.convert_to_html(io.BytesIO(raw), style_map=_STYLES, ignore_empty_paragraphs=True)
    except UnreadableFileError:
        raise
    except Exception as error:  # mammoth raises errors of the packages that read its parts
        raise UnreadableFileError(f"is not a readable .docx file ({error}); save it again with Word") from error
    page = BeautifulSoup(converted.value, "html.parser")
    for image in page.find_all("img"):
        image.decompose()
    if not page.get_text(strip=True):
        raise UnreadableFileError("contains no text")
    return markdown_of(page)
