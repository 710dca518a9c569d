"""Captions (.vtt, .srt), such as transcripts of meetings, as Markdown: paragraphs with their speakers, by webvtt-py.

A heading at each fifth minute gives the place in the recording. Cost: linear.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterable, Iterator

import webvtt

from graphtide.infra.files.types import UnreadableFileError

HEADING_S = 300
PAUSE_S = 4
PARAGRAPH_WORDS = 60
"""The number of words from which on the end of a sentence ends a paragraph."""
_SPEAKER = re.compile(r"([^\W\d_][\w.'\u2019-]{0,40}(?: [^\W\d_][\w.'\u2019()-]{0,40}){0,3}):\s+")
_STYLE = re.compile(r"\{\\[^{}\n]{0,60}\}")
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\*_`<[|{"})
_MARKUP_START = re.compile(r"(?=[-+#>=~!:])|(?<=\d)(?=[.)])")
_ENDS = (".", "?", "!", "\u2026")


def captions_to_markdown(text: str, suffix: str) -> str:
    """Return the captions as paragraphs. Raises UnreadableFileError."""
    try:
        captions = webvtt.from_buffer(io.StringIO(text), format=suffix.removeprefix("."))
    except (webvtt.errors.MalformedFileError, webvtt.errors.MalformedCaptionError, ValueError, IndexError) as error:
        raise UnreadableFileError(f"is not a readable {suffix} file ({error}); export it again") from error
    found = "\n\n".join(_blocks(_spoken(captions.captions)))
    if not found:
        raise UnreadableFileError("contains no captions")
    return found + "\n"


def _spoken(captions: Iterable[webvtt.Caption]) -> Iterator[tuple[float, float, str, str]]:
    """Yield start and end in seconds, speaker and text of each caption, without a line of the one before that it still
    shows: above a new line, or alone without a pause.
    """
    last, voice, before = "", "", ""
    for caption in captions:
        start, end = caption.start_in_seconds, caption.end_in_seconds
        lines = [line for line in map(_plain, caption.text.split("\n")) if line]
        if lines[:1] == [last] and (len(lines) > 1 or (voice, before) == (caption.voice or "", caption.start)):
            del lines[0]
        last, voice, before = lines[-1] if lines else last, caption.voice or "", caption.end
        if not lines:
            continue
        text, speaker = " ".join(lines), voice
        if not speaker and (label := _SPEAKER.match(text)):
            speaker, text = label[1], text[label.end() :]
        yield start, end, speaker, text


def _plain(line: str) -> str:
    return " ".join(html.unescape(_STYLE.sub("", line)).split())


def _blocks(spoken: Iterable[tuple[float, float, str, str]]) -> Iterator[str]:
    """Yield headings and paragraphs: another speaker, a pause and a new heading begin one. The first five minutes have
    no heading, which would be taken for the title.
    """
    speaker, words, ended, heading = "", list[str](), 0.0, -1
    for start, end, by, text in spoken:
        heading = int(start // HEADING_S) if heading < 0 else heading
        is_later = int(start // HEADING_S) != heading
        whole = len(words) >= PARAGRAPH_WORDS and words[-1].endswith(_ENDS)
        if words and ((by and by != speaker) or is_later or whole or start - ended >= PAUSE_S):
            yield _paragraph(speaker, words)
            words = []
        if is_later:
            heading = int(start // HEADING_S)
            yield f"## {_clock(heading * HEADING_S)}"
        speaker, ended = by or speaker, end
        words.extend(text.split())
    if words:
        yield _paragraph(speaker, words)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _paragraph(speaker: str, words: list[str]) -> str:
    text = " ".join(([f"{speaker}:"] if speaker else []) + words).translate(_MARKS)
    return _MARKUP_START.sub(r"\\", text[:12], count=1) + text[12:] if text[:1] in "-+#>=~!:0123456789" else text
