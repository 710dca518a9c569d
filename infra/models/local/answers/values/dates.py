"""Days, months, years and times of day in a text, and periods between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from graphtide.graph.retrieval.question_words import MONTHS
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.words import Word, is_number, key_of, word_set, words_of

Day = tuple[int, int, int]
"""A date as year, month and day, 0 for a part that is not named."""
DURATIONS = word_set(
    "second seconds minute minutes hour hours day days week weeks month months year years decade decades night "
    "nights fortnight fortnights quarter quarters s min h hrs hr mins secs yr yrs wk wks"
)
_WEEKDAYS = word_set("monday tuesday wednesday thursday friday saturday sunday")
_SHORT_DAY = re.compile(r"\b(?:Mon|Tues?|Weds?|Thu(?:rs?)?|Fri|Sat|Sun)\b\.?(?=,?\s\d|[;:]|$)")
_ORDINAL_DAY = re.compile(
    r"\b(?:[12]?\d|3[01])(?:st|nd|rd|th)\b(?=\s?(?:[),.;:!?]|$)|\s(?:and|or|to|until|till|at|with|because|by)\b)"
)
"""A day without its month: "on the 24th", not the third floor."""
_TIMES = _WEEKDAYS | word_set(
    "spring summer autumn winter easter christmas noon midnight yesterday tomorrow tonight o'clock mondays tuesdays "
    "wednesdays thursdays fridays saturdays sundays am pm"
)
MONTH_NUMBERS = (
    {name: number for number, name in enumerate(MONTHS, 1)}
    | {name[:3]: number for number, name in enumerate(MONTHS, 1)}
    | {"sept": 9}
)
_SMALL_MONTHS = frozenset(MONTH_NUMBERS) - {"may", "march", "mar", "dec", "sep", "jan"}
"""Months that are no other words in lower case: "30 april"."""
_MONTH_KEYS = frozenset(map(key_of, MONTHS))


def has_date(text: str) -> bool:
    """Return whether the text names a day, month, year, weekday or time of day."""
    if any(is_time(word) for word in words_of(text)) or _SHORT_DAY.search(text) or _ORDINAL_DAY.search(text):
        return True
    return any(word.text in _SMALL_MONTHS for word in words_of(text)) and bool(days_in(text))


def is_relative_date(text: str) -> bool:
    """Return whether the text names a day by its distance from another: "45 days after arrival"."""
    words = words_of(text)
    return any(
        (is_number(words[at]) or words[at].text.lower() in ("a", "an"))
        and words[at + 1].text.lower() in DURATIONS
        and words[at + 2].text.lower() in ("after", "before", "from", "later", "earlier")
        for at in range(len(words) - 2)
    )  # fmt: skip


_ANCHOR_WORDS = 4


def anchor_keys(text: str) -> frozenset[str]:
    """Return the keys of the words after a distance in time: "open" of "four weeks before you open"."""
    words = words_of(text)
    return frozenset(
        word.key
        for at in range(len(words) - 2)
        if words[at].text.lower() in DURATIONS and words[at + 1].text.lower() in ("after", "before", "from")
        for word in words[at + 2 : at + 2 + _ANCHOR_WORDS]
    )


def recurs(text: str) -> bool:
    """Return whether all times of the text recur: it names weekdays in the plural, and no day or year."""
    times = [word for word in words_of(text) if is_time(word)]
    plural = has_phrase(text, _RECURRING)
    return plural and all(":" in word.text or word.text.lower() in _RECURRING for word in times)


_RECURRING = ("weekdays", "weekends", *(f"{day}s" for day in sorted(_WEEKDAYS)))


def lasts_until(text: str) -> bool:
    """Return whether the text names the end of a period: "valid until 30 June"."""
    return has_phrase(text, ("until", "till")) and has_date(text)


def is_calendar(key: str) -> bool:
    """Return whether a word is a year or a month: it names no thing that two texts could be about."""
    return (len(key) == 4 and key.isdecimal() and bool(_year(int(key)))) or key in _MONTH_KEYS


def days_in(text: str) -> list[Day]:
    """Return the dates of the text that name at least a month."""
    return list(_days(words_of(text)))


def month_spans(text: str) -> list[frozenset[int]]:
    """Return the months of each period of the text: November to March of "from 1 November to 15 March". A period that
    ends before it begins is of the next year.
    """
    found = []
    for match in _SPAN.finditer(text):
        first, last = (MONTH_NUMBERS[match[name].lower()] for name in ("first", "last"))
        found.append(frozenset((first + distance - 1) % 12 + 1 for distance in range((last - first) % 12 + 1)))
    return found


_MONTH_NAME = "|".join(sorted((name.capitalize() for name in MONTH_NUMBERS), key=len, reverse=True))
_SPAN = re.compile(
    rf"\b(?P<first>{_MONTH_NAME})\b(?: \d{{1,2}})?(?:st|nd|rd|th)?"
    r"(?: ?[-\u2013\u2014] ?| (?:to|until|till|through|up to) )"
    r"(?:the )?(?:end of )?(?:\d{1,2}(?:st|nd|rd|th)? )?(?:of )?"
    rf"(?P<last>{_MONTH_NAME})\b"
)


def months_named(words: Sequence[Word]) -> list[int]:
    """Return the months among the words; "may" and "march" are none in lower case."""
    names = (word.text.lower() for word in words if word.capital or word.text in _SMALL_MONTHS)
    return [MONTH_NUMBERS[name] for name in names if name in MONTH_NUMBERS]


def number_of(day: Day) -> int:
    """Return a day as one number, in the order of time: 20260428."""
    return day[0] * 10_000 + day[1] * 100 + day[2]


def same_day(first: Day, second: Day) -> bool:
    """Return whether two dates agree in all parts that both name."""
    return all(not a or not b or a == b for a, b in zip(first, second, strict=True))


def _days(words: Sequence[Word]) -> Iterator[Day]:
    for at, word in enumerate(words):
        if (iso := day_in_figures(word.text)) is not None:
            yield iso
            continue
        small = word.text in _SMALL_MONTHS
        month = MONTH_NUMBERS.get(word.text.lower().rstrip("."), 0) if word.capital or small else 0
        if not month:
            continue
        before, after = _number_at(words, at - 1), _number_at(words, at + 1)
        if 1 <= before <= 31:
            yield _year(after), month, before
        elif 1 <= after <= 31:
            yield _year(_number_at(words, at + 2)), month, after
        elif _year(after):
            yield after, month, 0


def day_in_figures(text: str) -> Day | None:
    """Return the day of a date in figures, None for another text: year first ("2026-04-28"), or day first with full
    stops or slashes ("28.04.2026", "28/04/2026"). The month is first where the second number cannot be one.
    """
    if (found := _FIGURES.fullmatch(text)) is None:
        return None
    year, month, day = map(int, found.group(1, 2, 3) if found[1] else found.group(6, 5, 4))
    if not found[1] and day <= 12 < month:  # "04/28/2026"
        month, day = day, month
    return (year, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


_FIGURES = re.compile(r"([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})|([0-9]{1,2})[./]([0-9]{1,2})[./]([0-9]{4})")


def _number_at(words: Sequence[Word], at: int) -> int:
    if not 0 <= at < len(words):
        return 0
    digits = words[at].text.removesuffix("st").removesuffix("nd").removesuffix("rd").removesuffix("th")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 4 else 0


def _year(number: int) -> int:
    return number if 1000 <= number <= 2100 else 0


def is_time(word: Word) -> bool:
    """Return whether a word is a time of day, a weekday, a month, a season or a year."""
    lower = word.text.lower()
    if lower in _TIMES or (word.capital and lower in MONTH_NUMBERS) or day_in_figures(word.text) is not None:
        return True
    if word.text.isdecimal():  # as int accepts it: superscripts are digits, too
        return len(word.text) == 4 and bool(_year(int(word.text)))
    return ":" in word.text and word.text.replace(":", "").isdigit()
