"""The reader of plain text as people write it: wrapped paragraphs, lists, logs, labels, headings in capitals, mails.

Only what a reader would see without doubt counts as structure; everything else stays a paragraph. Cost: linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from graphtide.graph.text.place import PassageKind
from graphtide.infra.documents.blocks import Block, HeadingBlock, one_line, under_headings
from graphtide.infra.documents.day_lines import MIN_DAYS, is_day_line
from graphtide.infra.documents.first_line import is_title
from graphtide.infra.documents.line_breaks import are_authors
from graphtide.infra.documents.line_starts import entry_starts
from graphtide.infra.documents.mail_heads import (
    EARLIER_MAIL,
    QuotedHead,
    header_text,
    heads_in,
    is_marker,
    mail_headers,
    sender,
)

MAX_HEADING_CHARS = 72
_WRAPPED_CHARS, _MAX_HEADING_WORDS, _LINES_OF_TITLE = 45, 6, 8
_LINE = re.compile(r"[^\r\n\f]+")
_ITEM = re.compile(r"[ \t]{0,8}(?:[-*+\u2022\u2013\u2014]|\(?\d{1,3}[.)]|[a-z]\))[ \t]{1,8}(?=\S)")
_BULLET = re.compile(r"[ \t]{0,8}[-*+\u2022\u2013\u2014][ \t]+")
_NUMBER = re.compile(r"\d{1,2}[.)][ \t]{1,4}(?=\S)")
_LABEL = re.compile(r"[^\W\d_][\w'-]*(?:[ /&][\w'-]+){0,3}(?: \([^()]{1,30}\))?:(?:\s|$)")
_RULE = re.compile(r"[ \t]*(?:-{3,}|={3,}|_{3,}|\*{3,}|~{3,}|#{3,})[ \t]*")
_QUOTED = re.compile(r"[ \t]*>")
_WROTE = re.compile(
    r".{0,200}(?:wrote|schrieb|a \u00e9crit|escribi\u00f3):[ \t]*|Am .{0,100}schrieb [^:]{2,80}:[ \t]*"
    r"|-{2,} ?(?:Original|Forwarded) .{0,40}",
    re.IGNORECASE,
)
_YEAR_AT_END = re.compile(r"(?:^|[ ,])(?:19|20)\d\d$")
SIGNATURE = "-- "


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Mail:
    """The heading of what a mail's sender wrote, and those of the mails quoted so far, by depth.

    `is_quoted` tells that the mail is forwarded or answered by the one that the text is.
    """

    heading: str
    quoted: dict[int, str]
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class PlainDocument:
    """Blocks of a plain text; `title` and `headers` are those of a mail, else empty."""

    title: str
    headers: dict[str, str]
    blocks: tuple[Block, ...]


def read_plain(text: str) -> PlainDocument:
    """Return the blocks of the text."""
    groups = list(_groups(text))
    headers = mail_headers([line.text for line in groups[0]]) if groups else {}
    has_days = sum(is_day_line(line.text) for group in groups for line in group) >= MIN_DAYS
    found: list[Block | HeadingBlock] = []
    mail = _Mail(f"Mail from {sender(headers)}", {}) if headers else None
    if mail is not None:
        head = groups.pop(0)
        found.append(Block(header_text(headers), head[0].start, head[-1].end, PassageKind.TABLE))
        found.append(HeadingBlock(mail.heading, head[-1].end, head[-1].end, 0))
    elif groups and _begins_with_title(groups, has_days):
        first = groups[0].pop(0)
        text = one_line(first.text)
        # It remains a text, too: "Spare key under the flower pot" may be all that a line with a title's form states.
        found.extend((HeadingBlock(text, first.start, first.end, 1), Block(text, first.start, first.end)))
    found.extend(_read_mail(groups, mail, has_days) if mail else _read_groups(groups, None, has_days))
    return PlainDocument(headers.get("subject", ""), headers, tuple(under_headings(found, "")))


def _read_groups(groups: Iterable[list[_Line]], mail: _Mail | None, has_days: bool) -> Iterator[Block | HeadingBlock]:
    for group in filter(None, groups):
        for part in _by_day(group) if has_days else [group]:
            yield from _read_group(part, mail, has_days)


def _read_mail(groups: Sequence[list[_Line]], mail: _Mail, has_days: bool) -> Iterator[Block | HeadingBlock]:
    """Yield the blocks of a mail. What is below the head of a mail that it forwards or answers is of that sender."""
    for group in _joined(groups):
        heads = dict(heads_in([line.text for line in group]))
        for start, end in pairwise(sorted({0, *heads, len(group)})):
            first = start
            if head := heads.get(start):
                first += head.lines
                mail = _Mail(head.heading, {}, is_quoted=True)
                yield from _head_blocks(head, group[start:first])
            blocks = _read_groups([group[first:end]], mail, has_days)
            yield from map(_as_quotation, blocks) if mail.is_quoted else blocks


def _joined(groups: Sequence[list[_Line]]) -> Iterator[list[_Line]]:
    """Yield the groups of a mail; the empty line between a quotation and the line that introduces it is left out."""
    pending: list[_Line] = []
    for group in groups:
        introduced = pending and (
            is_marker(pending[-1].text) or (_QUOTED.match(group[0].text) and _attribution(pending[-2:]))
        )
        if pending and not introduced:
            yield pending
            pending = []
        pending.extend(group)
    if pending:
        yield pending


def _head_blocks(head: QuotedHead, lines: Sequence[_Line]) -> Iterator[Block | HeadingBlock]:
    """Yield the heading of a quoted mail, and its headers as the row of a table."""
    yield HeadingBlock(head.heading, lines[0].start, lines[0].start, 0)
    if head.headers:
        yield Block(header_text(head.headers), lines[0].start, lines[-1].end, PassageKind.TABLE)


def _as_quotation(block: Block | HeadingBlock) -> Block:
    """Return a block of a quoted mail: a quotation below the heading of the mail, also if it is a heading in it."""
    if isinstance(block, HeadingBlock):
        return Block(block.text, block.start, block.end, PassageKind.QUOTE)
    return replace(block, kind=PassageKind.QUOTE) if block.kind is PassageKind.TEXT else block


def _begins_with_title(groups: Sequence[Sequence[_Line]], has_days: bool) -> bool:
    """Return whether the first line is the title of the text, and neither an item nor a label. That of a diary may be
    its year, or end with it: "Diary 2023".
    """
    first = groups[0][0].text
    if has_days and (year := _YEAR_AT_END.search(first)):
        title = first[: year.start()].strip(" ,")
        return not title or is_title([title, *(line.text for line in groups[0][1:_LINES_OF_TITLE])], len(groups) > 1)
    if _ITEM.match(first) or _LABEL.match(first) or is_day_line(first) or _is_heading(groups[0][:2], underlined=False):
        return False
    return is_title([line.text for line in groups[0][:_LINES_OF_TITLE]], len(groups) > 1)


def _by_day(group: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Yield the lines with each line that is a day as the first of a part."""
    part: list[_Line] = []
    for line in group:
        if part and is_day_line(line.text):
            yield part
            part = []
        part.append(line)
    yield part


def _groups(text: str) -> Iterator[list[_Line]]:
    """Yield the runs of lines between empty lines."""
    group: list[_Line] = []
    end = 0
    for found in _LINE.finditer(text):
        if not found[0].strip():
            continue
        between = text[end : found.start()]
        if group and (between.replace("\r\n", "\n").count("\n") > 1 or "\f" in between):
            yield group
            group = []
        group.append(_Line(found[0].rstrip(), found.start(), found.end()))
        end = found.end()
    if group:
        yield group


def _read_group(group: list[_Line], mail: _Mail | None, has_days: bool) -> Iterator[Block | HeadingBlock]:
    """Yield the blocks of a run of lines, of a mail if there is one."""
    if mail is not None:
        yield from _read_mail_lines(group, mail, has_days)
        return
    quoted = next((at for at, line in enumerate(group) if _QUOTED.match(line.text)), None)
    if quoted is None or (quoted and not _WROTE.fullmatch(group[quoted - 1].text)):
        yield from _read_lines(group, has_days)
        return
    first = quoted - _attribution(group[:quoted])
    yield from _read_lines(group[:first], has_days)
    yield Block(_unquoted(group[first:]), group[first].start, group[-1].end, PassageKind.QUOTE)


def _read_mail_lines(group: Sequence[_Line], mail: _Mail, has_days: bool) -> Iterator[Block | HeadingBlock]:
    """Yield what the sender wrote, the quotations and the signature of a run of lines of a mail."""
    runs = [list(lines) for _, lines in groupby(group, key=lambda line: _QUOTED.match(line.text) is not None)]
    introduction: list[_Line] = []
    for at, run in enumerate(runs):
        if _QUOTED.match(run[0].text):
            yield from _quotations([*introduction, *run], mail)
            introduction = []
            continue
        own = len(run) - (_attribution(run) if at + 1 < len(runs) else 0)
        introduction = run[own:]
        signature = next((at for at, line in enumerate(run[:own]) if line.text == SIGNATURE.rstrip()), own)
        yield from _read_lines(run[:signature], has_days)
        if text := " ".join(line.text for line in run[signature + 1 : own]):
            yield Block(text, run[signature].start, run[own - 1].end, PassageKind.QUOTE)


def _read_lines(group: list[_Line], has_days: bool) -> Iterator[Block | HeadingBlock]:
    """Yield the headings and the paragraphs of lines without quotations."""
    if group and is_day_line(group[0].text) and has_days:
        yield HeadingBlock(one_line(group[0].text).rstrip(": "), group[0].start, group[0].end, 3)
        group = group[1:]
    lines = [line for line in group if not _RULE.fullmatch(line.text)]
    underlined = len(group) > 1 and len(lines) < len(group) and _RULE.fullmatch(group[1].text) is not None
    at = 0
    while at < len(lines) and (level := _is_heading(lines[at : at + 2], underlined)):
        yield HeadingBlock(one_line(lines[at].text).rstrip(": "), lines[at].start, lines[at].end, level)
        at, underlined = at + 1, False
    yield from _paragraphs(lines[at:])


def _attribution(lines: Sequence[_Line]) -> int:
    """Return how many of the last lines say who wrote the quotation below: two if the line was broken."""
    if lines and _WROTE.fullmatch(lines[-1].text):
        broken = len(lines) > 1 and lines[-2].text.startswith("On ") and not lines[-1].text.startswith("On ")
        return 2 if broken else 1
    return 0


def _quotations(group: Sequence[_Line], mail: _Mail) -> Iterator[Block]:
    """Yield the quotations of a run of lines of a mail, one for each depth. The lines that say who wrote one and when
    are the heading of all of that depth until the next such lines; a deeper one without them is an earlier mail.
    """
    runs = [(depth, list(lines)) for depth, lines in groupby(group, key=lambda line: _depth(line.text))]
    for at, (depth, lines) in enumerate(runs):
        following = runs[at + 1][0] if at + 1 < len(runs) else 0
        above = _attribution(_bare(lines)) if following > depth else 0
        if above:
            mail.quoted[following] = _quoted_mail(_unquoted(lines[-above:]))
        elif following > depth > 0:
            mail.quoted.pop(following, None)
        if depth:
            yield from _quotation(lines[: len(lines) - above], depth, mail)


def _quotation(lines: Sequence[_Line], depth: int, mail: _Mail) -> Iterator[Block]:
    """Yield the quotations of lines of one depth; the head of a mail among them begins another one."""
    heads = dict(heads_in([line.text for line in _bare(lines)]))
    for start, end in pairwise(sorted({0, *heads, len(lines)})):
        first = start
        if head := heads.get(start):
            first += head.lines
            mail.quoted[depth] = head.heading
        heading = (mail.quoted.get(depth) or (mail.heading if depth == 1 else EARLIER_MAIL),)
        if head and head.headers:
            yield Block(header_text(head.headers), lines[start].start, lines[first - 1].end, PassageKind.QUOTE, heading)
        if text := _unquoted(lines[first:end]):
            yield Block(text, lines[first].start, lines[end - 1].end, PassageKind.QUOTE, heading)


def _bare(lines: Sequence[_Line]) -> list[_Line]:
    """Return lines without the marks of a quotation."""
    return [_Line(_QUOTE_MARKS.sub("", line.text), line.start, line.end) for line in lines]


def _unquoted(lines: Sequence[_Line]) -> str:
    return one_line(" ".join(line.text for line in _bare(lines)))


_QUOTE_MARKS = re.compile(r"^[ \t>]+")


def _depth(text: str) -> int:
    """Return how often a line is quoted."""
    marks = _MARKS.match(text)
    return marks[0].count(">") if marks else 0


_MARKS = re.compile(r"(?:[ \t]{0,4}>){1,20}")


def _quoted_mail(line: str) -> str:
    """Return the heading of a quoted mail: of "On Tue, 13 May 2025 at 19:04, Ana Ruiz wrote:" name and date."""
    found = _ATTRIBUTION.match(one_line(line))
    return f"Mail from {found[2]}, {found[1]}" if found else one_line(line).rstrip(": ")


_ATTRIBUTION = re.compile(
    r"On (.{4,50}?\b(?:\d{4}|\d{1,2}:\d{2}(?: ?[AaPp][Mm])?)),? ([^\W\d][^,<>\d]{1,60}?)(?: <[^<>]{3,80}>)? wrote:?$"
)


def _is_heading(lines: Sequence[_Line], underlined: bool) -> int:
    """Return the level of the heading that the first line is, 0 for none, by that line and the one below it."""
    text = lines[0].text.strip()
    letters = [char for char in text.split("(")[0] if char.isalpha()]
    if _is_numbered_heading(lines):
        return 3
    if len(text) > MAX_HEADING_CHARS or not letters or _ITEM.match(text) or text.endswith((".", "!", "?", ";", ",")):
        return 0
    if underlined:
        return 1
    if all(char.isupper() for char in letters) and (len(letters) > 1 or len(lines) > 1):
        return 2
    heads_list = len(lines) > 1 and all(_ITEM.match(line.text) for line in lines[1:2])
    return 3 if heads_list and len(text.split()) <= 8 and not text.endswith(":") else 0


def _is_numbered_heading(lines: Sequence[_Line]) -> bool:
    """Return whether a short numbered line is directly above a sentence that is no item: "1. Rates"."""
    number = _NUMBER.match(lines[0].text)
    if number is None or len(lines) == 1 or len(lines[0].text) >= _WRAPPED_CHARS:
        return False
    text, following = lines[0].text[number.end() :], lines[1].text
    is_short = text[:1].isupper() and text[-1].isalnum() and len(text.split()) <= _MAX_HEADING_WORDS
    return is_short and following[:1].isupper() and not _ITEM.match(following) and not _LABEL.match(following)


def _paragraphs(lines: Sequence[_Line]) -> Iterator[Block]:
    """Yield the entries, items, labels and wrapped paragraphs of a run of lines. A line before a list introduces it."""
    pending: list[_Line] = []
    lead_in = ""
    texts = [line.text for line in lines]
    starts, authors = entry_starts(texts), are_authors(texts)
    for at, line in enumerate(lines):
        begins = at in starts or _ITEM.match(line.text)
        if pending and (begins or not _continues(pending[-1], line, bool(_ITEM.match(pending[0].text)), authors)):
            yield (block := _paragraph(pending, lead_in))
            lead_in = block.text if block.text.endswith(":") else lead_in
            pending = []
        pending.append(line)
    if pending:
        yield _paragraph(pending, lead_in)


def _continues(previous: _Line, line: _Line, in_item: bool, authors: bool) -> bool:
    """Return True if a line continues the paragraph of the line above it. `authors`: see `are_authors`."""
    if in_item and line.text[:1] in " \t":
        return True
    if authors or _LABEL.match(line.text):
        return False
    return len(previous.text) >= _WRAPPED_CHARS


def _paragraph(parts: Sequence[_Line], lead_in: str) -> Block:
    text = one_line(" ".join(line.text for line in parts))
    is_item = _ITEM.match(text) is not None
    text = _BULLET.sub("", text, count=1) if is_item else text
    return Block(text, parts[0].start, parts[-1].end, lead_in=lead_in if is_item else "")
