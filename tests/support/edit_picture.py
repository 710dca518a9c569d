"""The picture of an edit in the README, `docs/edit.svg`, drawn from the session that docs/tutorial.md shows.

Invariant: every command, file line and output in the picture is a line of that page, which a test compares with a run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "edit.svg"
QUERY = 'graphtide query --graph notes "Who is responsible for the roof?"'
NOTE = "notes/2026-03-02-minutes.md"
WIDTH, MARGIN, LINE = 760, 20, 24
STYLE = """
 text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328 }
 .page { fill: #ffffff; stroke: #d0d7de }
 .box { fill: #f6f8fa; stroke: #d0d7de }
 .label { fill: #59636e; font: 13px Helvetica, Arial, sans-serif }
 .old { fill: #b3261e }
 .new { fill: #116329 }
 .strong { font-weight: bold }
 @media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .page { fill: #0d1117; stroke: #3d444d }
  .box { fill: #151b23; stroke: #3d444d }
  .label { fill: #9198a1 }
  .old { fill: #ff938a }
  .new { fill: #56d364 }
 }
"""


@dataclass(frozen=True, slots=True)
class PictureLine:
    """A line of text, and its classes in the style sheet."""

    text: str
    classes: str = ""


def picture(page: str) -> str:
    """Return the SVG of the edit in the tutorial `page`."""
    before, after = (
        _answer(found) for found in re.findall(rf"{re.escape(QUERY)}\n```\n\n```text\n(.*?)\n```", page, re.S)
    )
    old, new = _edit(page)
    [summary] = re.findall(r"^(0 new, 1 changed, .*)$", page, re.MULTILINE)
    parts = [
        ("before: " + NOTE, [PictureLine(f"- {old}.", "old")]),
        ("", [PictureLine("$ " + QUERY), PictureLine(before[0], "old strong"), PictureLine(before[1])]),
        ("the file is edited and saved; the running graphtide sync --watch reports", [PictureLine(summary)]),
        ("after: " + NOTE, [PictureLine(f"- {new}.", "new")]),
        ("", [PictureLine("$ " + QUERY), PictureLine(after[0], "new strong"), PictureLine(after[1])]),
    ]
    return _drawn(parts)


def _answer(output: str) -> tuple[str, str]:
    """Return the first line of an answer, and that of its first citation."""
    lines = output.splitlines()
    return lines[0], next(line for line in lines[1:] if line.startswith("["))


def _edit(page: str) -> tuple[str, str]:
    """Return the sentence before and after the edit."""
    [(old, new)] = re.findall(rf"^sed -i 's/([^/]+)/([^/]+)/' {re.escape(NOTE)}$", page, re.MULTILINE)
    return old, new


def _drawn(parts: list[tuple[str, list[PictureLine]]]) -> str:
    shapes, y = [], MARGIN
    for label, lines in parts:
        if label:
            y += LINE - 6
            shapes.append(f'<text class="label" x="{MARGIN}" y="{y}">{escape(label)}</text>')
            y += 8
        height = LINE * len(lines) + 12
        shapes.append(f'<rect class="box" x="{MARGIN}" y="{y}" width="{WIDTH - 2 * MARGIN}" height="{height}" rx="6"/>')
        for number, line in enumerate(lines, start=1):
            classes = f' class="{line.classes}"' if line.classes else ""
            place = f'x="{MARGIN + 12}" y="{y + LINE * number}"'
            shapes.append(f"<text{classes} {place}>{escape(line.text)}</text>")
        y += height + 8
    height = y + MARGIN - 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">'
    title = "<title>An edit of a note, and the same question before and after it</title>"
    frame = f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="10"/>'
    return "\n".join([head, title, f"<style>{STYLE}</style>", frame, *shapes, "</svg>", ""])
