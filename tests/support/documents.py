"""Small real files of each format, made in the test: Word, PDF, mail."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
    'officeDocument" Target="word/document.xml"/></Relationships>'
)
_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def word_file(paragraphs: Sequence[tuple[str, str]], table: Sequence[Sequence[str]] = ()) -> bytes:
    """Return a .docx file of (style, text) paragraphs, such as ("Heading1", "Levels"), and a table at the end."""

    def paragraph(style: str, text: str) -> str:
        return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'

    cells = (["<w:tc>" + paragraph("Normal", cell) + "</w:tc>" for cell in row] for row in table)
    rows = "".join(f"<w:tr>{''.join(row)}</w:tr>" for row in cells)
    body = "".join(paragraph(*each) for each in paragraphs) + (f"<w:tbl>{rows}</w:tbl>" if rows else "")
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/></w:style>' for n in (1, 2)
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("[Content_Types].xml", _TYPES)
        file.writestr("_rels/.rels", _RELATIONS)
        file.writestr("word/styles.xml", f'<w:styles xmlns:w="{_NAMESPACE}">{styles}</w:styles>')
        file.writestr("word/document.xml", f'<w:document xmlns:w="{_NAMESPACE}"><w:body>{body}</w:body></w:document>')
    return packed.getvalue()


def pdf_file(pages: Sequence[Sequence[tuple[int, str]]]) -> bytes:
    """Return a PDF file whose pages are lines of (font size, text); a page without lines has no text layer."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        drawn = ["BT"]
        height = 780
        for size, text in lines:
            shown = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
            drawn.append(f"/F1 {size} Tf 1 0 0 1 50 {height} Tm ({shown}) Tj")
            height -= size + 4
        content = "\n".join([*drawn, "ET"])
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        resources = "<< /Font << /F1 3 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(objects)} 0 R"
            f" /Resources {resources} >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    return _packed(objects)


def _packed(objects: Sequence[str]) -> bytes:
    out = io.BytesIO(b"")
    out.write(b"%PDF-1.4\n")
    starts = []
    for number, body in enumerate(objects, start=1):
        starts.append(out.tell())
        out.write(f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1"))
    table = out.tell()
    rows = "".join(f"{start:010d} 00000 n \n" for start in starts)
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}".encode())
    out.write(f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n".encode())
    return out.getvalue()
