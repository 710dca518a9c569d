"""Lines of plain text that are nothing but a day, such as "3 March" in a diary: headings of the lines below them."""

from __future__ import annotations

import re

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_WEEKDAY = r"(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\.?"
_LINE = re.compile(
    rf"""[ \t]{{0,8}}(?:{_WEEKDAY},?[ ])?(?:the[ ])?(?:
      \d{{4}}[-/.]\d{{2}}[-/.]\d{{2}}
    | \d{{1,2}}[./-]\d{{1,2}}[./-]\d{{4}}
    | \d{{1,2}}/\d{{1,2}}/\d{{2}}
    | \d{{1,2}}(?:st|nd|rd|th|\.)?[ ]{_MONTH}(?:,?[ ]\d{{4}})?
    | {_MONTH}[ ]\d{{1,2}}(?:st|nd|rd|th)?(?:,?[ ]\d{{4}})?
    )(?:,?[ ]\(?{_WEEKDAY}\)?)?:?[ \t]{{0,8}}""",
    re.VERBOSE,
)
MIN_DAYS = 2
"""Days of a text that has entries: a single one may date a letter."""


def is_day_line(line: str) -> bool:
    """Return whether a line is a day and nothing else, perhaps with its weekday. Cost: bounded."""
    return _LINE.fullmatch(line) is not None
