"""Captions as transcripts: who speaks, and in which five minutes of the recording."""

from __future__ import annotations

import pytest

from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import FileDocument, UnreadableFileError
from graphtide.infra.models.local.chunker import SemanticChunker

MEETING = """\
WEBVTT

NOTE exported

1
00:00:01.000 --> 00:00:03.500 align:start
<v Ana Ruiz>We ship on <b>3 May</b>.

2
00:00:03.500 --> 00:00:05.000
<v Ana Ruiz>All of it.

3
00:00:05.500 --> 00:00:06.000
<v Bo Lind>Is 1 < 2 &amp; *fine*?

4
00:05:06.000 --> 00:05:07.000
Zed Okafor: The tests run
on Friday.
"""


def document(text: str, name: str) -> FileDocument:
    [one] = read_bytes(text.encode(), name)
    assert isinstance(one, FileDocument)
    return one


def passages(text: str, name: str) -> list[tuple[str, tuple[str, ...]]]:
    one = document(text, name)
    return [(each.text, each.place.headings) for each in SemanticChunker().split(one.text, one.media_type)]


def test_meeting_has_speakers_and_places() -> None:
    """Captions of one speaker are a paragraph; a prefix names a speaker, too. The name of the file is the title."""
    assert passages(MEETING, "2025-03-04 Weekly.vtt") == [
        ("Ana Ruiz: We ship on 3 May. All of it.\n\nBo Lind: Is 1 < 2 & *fine*?", ()),
        ("Zed Okafor: The tests run on Friday.", ("0:05:00",)),
    ]
    one = document(MEETING, "2025-03-04 Weekly.vtt")
    assert (one.title, one.occurred_at) == ("2025 03 04 Weekly", "2025-03-04")


def test_lines_that_roll_up_are_said_once() -> None:
    """A live caption repeats the line before it."""
    lines = ["one two", "one two\nthree four", "three four", "three four\nfive"]
    text = "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n + 1},000\n{line}\n\n" for n, line in enumerate(lines, start=1))
    assert passages(text, "talk.srt") == [("one two three four five", ())]


def test_what_two_say_is_said_twice() -> None:
    text = "WEBVTT\n\n" + "".join(
        f"00:0{n}.000 --> 00:0{n + 1}.000\n<v {by}>Yes.\n\n" for n, by in enumerate(("A", "B"))
    )
    assert "A: Yes.\n\nB: Yes." in document(text.replace("00:0", "00:00:0"), "talk.vtt").text


def test_pause_and_length_end_a_paragraph() -> None:
    """A long one ends with a sentence."""
    early = "".join(f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},900\nWord {'word ' * 8}ends.\n\n" for n in range(1, 15))
    late = "99\n00:00:20,000 --> 00:00:21,000\n{\\an8}After a <i>pause</i>.\n"
    found = document(early + late, "talk.srt").text.strip().split("\n\n")
    assert [len(paragraph.split()) for paragraph in found] == [60, 60, 20, 3]


@pytest.mark.parametrize(
    "spoken", ["- Yes", "1. Yes", "# Yes", "> Yes", "+ Yes", "=== Yes", "| Yes | No |", "!!! Yes", "[[Yes]]"]
)
def test_text_is_never_markup(spoken: str) -> None:
    text = f"1\n00:00:01,000 --> 00:00:02,000\nBefore:\n\n2\n00:00:09,000 --> 00:00:10,000\n{spoken}\n"
    assert passages(text, "talk.srt") == [(f"Before:\n\n{spoken}", ())]


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [("", "a.vtt", "not a readable"), ("WEBVTT\n", "a.vtt", "no captions"), ("hello", "a.srt", "not a readable")],
)
def test_other_text_is_named_with_the_reason(text: str, name: str, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        document(text, name)
