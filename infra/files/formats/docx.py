"""Word documents (.docx) as Markdown: headings, lists and tables by mammoth, which gives HTML."""

from __future__ import annotations

import io
import zipfile

import mammoth
from bs4 import BeautifulSoup

from graphtide.infra.files.formats.html import markdown_of
from graphtide.infra.files.types import UnreadableFileError

MAX_UNPACKED_BYTES = 256 << 20
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Quote'] => blockquote > p:fresh
"""


def docx_to_markdown(raw: bytes) -> str:
    """Return the document as Markdown. Raises UnreadableFileError."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as packed:
            if sum(part.file_size for part in packed.infolist()) > MAX_UNPACKED_BYTES:
                raise UnreadableFileError("unpacks to more than 256 MiB; split the document")
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
