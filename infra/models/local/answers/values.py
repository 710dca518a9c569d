"""Typed values in a text: quantities by the kind of their unit, dates, addresses, and words of place and reason.

Everything is decided on the words of a text, in one pass each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from graphtide.graph.retrieval.question_words import MONTHS
from graphtide.infra.models.local.answers.words import (
    NUMBER_WORDS,
    STOP_WORDS,
    Word,
    key_of,
    spaced,
    word_set,
    words_of,
)

Day = tuple[int, int, int]
"""A date as year, month and day, 0 for a part that is not named."""

CURRENCIES = word_set("euro euros eur pound pounds gbp dollar dollars usd cent cents chf franc francs kroner kronor")
_UNITS: dict[str, frozenset[str]] = {
    "money": CURRENCIES,
    "length": word_set(
        "mm cm km m metre metres meter meters kilometre kilometres kilometer kilometers centimetre centimetres "
        "millimetre millimetres mile miles feet foot inch inches yard yards"
    ),
    "area": word_set("m\u00b2 m2 km\u00b2 square hectare hectares ha acre acres"),
    "mass": word_set("kg g gram grams kilogram kilograms tonne tonnes ton tons mg lb lbs ounce ounces"),
    "duration": word_set(
        "second seconds minute minutes hour hours day days week weeks month months year years decade decades night "
        "nights fortnight fortnights quarter quarters s min h hrs hr mins secs yr yrs wk wks"
    ),
    "temperature": word_set("c f degree degrees celsius fahrenheit"),
    "share": word_set("percent pct cent"),
    "volume": word_set("litre litres liter liters l ml m\u00b3 gallon gallons"),
    "data": word_set("kb mb gb tb byte bytes bit bits"),
}
_SYMBOLS = {"money": "\u20ac\u00a3$", "share": "%", "temperature": "\u00b0"}
_COUNTS = word_set("none no nobody several dozen dozens hundred hundreds thousand thousands half twice once few")
_AMOUNTS = frozenset({"a", "an", "several", "few", "half"})
_PHONE_WORDS = word_set("phone telephone tel mobile extension ext number")
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
_PREPOSITIONS = word_set(
    "in at on under below beneath behind beside above near inside outside opposite between to from into by underside "
    "across off"
)
_WHERE = word_set("in at on under below beneath behind beside above near inside outside opposite")
_STANDING = word_set(
    "is are was were be hangs hang lies lie stands kept stored stays stay located found printed sit sits lives live "
    "goes go put moved hidden installed mounted built born meets meet held works work"
)
_STREETS = word_set("street road lane avenue square quay")
_FREQUENCIES = (
    "every", "each", "once", "twice", "times a", "times per", "daily", "weekly", "monthly", "quarterly", "yearly",
    "annually", "hourly", "always", "never", "rarely",
)  # fmt: skip
_REASONS = (
    "because", "due to", "so that", "as a result", "reason", "reasons", "cause", "caused", "causes", "owing",
    "therefore",
    "in order to", "for fear", "thanks to", "so",
)  # fmt: skip
_MONTH_NUMBERS = (
    {name: number for number, name in enumerate(MONTHS, 1)}
    | {name[:3]: number for number, name in enumerate(MONTHS, 1)}
    | {"sept": 9}
)
_SMALL_MONTHS = frozenset(_MONTH_NUMBERS) - {"may", "march", "mar", "dec", "sep", "jan"}
"""Months that are no other words in lower case: "30 april"."""
_GROUPED = re.compile(r"\d{1,3}(?:[,'\u2019]\d{3})+")
_MONTH_KEYS = frozenset(map(key_of, MONTHS))
_WITHIN = 4
_MIN_PHONE_DIGITS = 5
_SHORT_NUMBER = 2


def has_phrase(text: str, phrases: Sequence[str]) -> bool:
    """Return whether the text has one of the phrases, by whole words."""
    words = spaced(text)
    return any(f" {phrase} " in words for phrase in phrases)


def has_number(text: str) -> bool:
    return any(_is_number(word) or word.text.lower() in _COUNTS for word in words_of(text))


def has_count(text: str) -> bool:
    """Return whether the text has a number that is no part of a date or a time."""
    words = words_of(text)
    months = {at for at, word in enumerate(words) if word.capital and word.text.lower() in _MONTH_NUMBERS}
    dated = {near for at in months for near in range(at - 3, at + 3)}
    return any(
        word.text.lower() in _COUNTS
        or (_is_number(word) and at not in dated and (not _is_time(word) or word.text.isdigit()))
        for at, word in enumerate(words)
    )


def numbers_before(key: str, text: str) -> frozenset[str]:
    """Return the keys of the numbers in figures directly before a word: "64" of "64 kiosks", even beside a date."""
    pairs = pairwise(words_of(text))
    return frozenset(
        number.key for number, thing in pairs if thing.key == key and number.coded and number.key.isdecimal()
    )


def has_quantity(text: str, kinds: frozenset[str]) -> bool:
    """Return whether the text has a number with a unit of one of the kinds."""
    if ("phone" in kinds and _has_phone(text)) or ("frequency" in kinds and has_phrase(text, _FREQUENCIES)):
        return True
    accepted = frozenset().union(*(_UNITS.get(kind, frozenset()) for kind in kinds))
    symbols = "".join(_SYMBOLS.get(kind, "") for kind in kinds)
    words = words_of(text)
    for at, word in enumerate(words):
        if not _is_number(word) and (word.text.lower() not in _AMOUNTS or _is_rate(words, at)):
            continue
        end = word.start + len(word.text)
        unit = words[at + 1].text.lower() if at + 1 < len(words) else ""
        if unit.split("-")[0] in accepted or word.text.lstrip("0123456789.,").lower() in accepted - {""}:
            return True
        if _is_number(word) and _qualified_unit(text, words[at : at + 3]) in accepted:
            return True
        if "money" in kinds and (
            _is_sum(text, word)
            or _PENCE.fullmatch(word.text)
            or _FOR_EACH.match(text, end)
            or (_is_billed(text, word) and not _has_unit(words, at))
        ):
            return True
        if (
            symbols
            and _is_number(word)
            and any(s in text[max(0, word.start - 2) : word.start] + text[end : end + 3] for s in symbols)
        ):
            return True
    return False


def _is_billed(text: str, word: Word) -> bool:
    """Return whether a number is in the same clause after a word for a sum: "the invoice is 513"."""
    clause = re.split(r"[.;!?]\s", text[max(0, word.start - _MAX_CLAUSE) : word.start])[-1]
    return word.text.isdecimal() and not _YEAR.fullmatch(word.text) and _SUMS.search(clause) is not None


def _has_unit(words: Sequence[Word], at: int) -> bool:
    """Return whether a number counts what is after it, belongs to a date, or is a limit: "at most 400"."""
    following = words[at + 1].text.lower() if at + 1 < len(words) else ""
    before = words[at - 1].text.lower() if at else ""
    if following in _MONTH_NUMBERS or before in _MONTH_NUMBERS or before in ("most", "least", "than"):
        return True
    is_counted = following.endswith("s") and following not in STOP_WORDS
    return is_counted or any(following in units for units in _UNITS.values())


_MAX_CLAUSE = 60
_SUMS = re.compile(
    r"\b(?:invoices?|bills?|offers?|quotes?|quoted|prices?|fees?|rents?|costs?|paid|pays?|charges?|deposits?|wants?|asks?)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")


_FOR_EACH = re.compile(r" each\b| (?:an?|per|every) (?:month|week|hour|year|day|night|visit|head|person|piece|mile)\b")
"""The words after a sum without a currency: "912 a month"."""


def _qualified_unit(text: str, words: Sequence[Word]) -> str | None:
    """Return the unit in the plural after a number and one word more, as in "three working days"."""
    found = _QUALIFIED.fullmatch(text[words[0].start + len(words[0].text) : words[-1].start + len(words[-1].text)])
    return None if found is None or found[1].lower() in STOP_WORDS else found[2].lower()


_QUALIFIED = re.compile(r"\s([^\W\d_]{1,40})\s([^\W\d_]{3,40}s)")
_PENCE = re.compile(r"\d+(?:\.\d+)?p")


def _is_rate(words: Sequence[Word], at: int) -> bool:
    """Return whether it is the "a" of "£96 a night" or "35 pounds a year", which is no duration."""
    before = words[at - 1] if at else None
    return before is not None and (_is_number(before) or before.text.lower() in _ALL_UNITS)


_ALL_UNITS = frozenset().union(*_UNITS.values())


def _is_sum(text: str, word: Word) -> bool:
    """Return whether a number with separators of thousands counts nothing: no noun follows it."""
    end = word.start + len(word.text)
    following = next(iter(words_of(text[end : end + 40])), None)
    counts = (
        following is not None
        and text[end : end + following.start].isspace()
        and following.text.lower() not in STOP_WORDS
    )
    return bool(_GROUPED.fullmatch(word.text)) and not counts


def is_relative_date(text: str) -> bool:
    """Return whether the text names a day by its distance from another: "45 days after arrival"."""
    words = words_of(text)
    return any(
        (_is_number(words[at]) or words[at].text.lower() in ("a", "an"))
        and words[at + 1].text.lower() in _UNITS["duration"]
        and words[at + 2].text.lower() in ("after", "before", "from", "later", "earlier")
        for at in range(len(words) - 2)
    )  # fmt: skip


def anchor_keys(text: str) -> frozenset[str]:
    """Return the keys of the words after a distance in time: "open" of "four weeks before you open"."""
    words = words_of(text)
    return frozenset(
        word.key
        for at in range(len(words) - 2)
        if words[at].text.lower() in _UNITS["duration"] and words[at + 1].text.lower() in ("after", "before", "from")
        for word in words[at + 2 : at + 2 + _WITHIN]
    )


def recurs(text: str) -> bool:
    """Return whether all times of the text recur: it names weekdays in the plural, and no day or year."""
    times = [word for word in words_of(text) if _is_time(word)]
    plural = has_phrase(text, _RECURRING)
    return plural and all(":" in word.text or word.text.lower() in _RECURRING for word in times)


_RECURRING = ("weekdays", "weekends", *(f"{day}s" for day in sorted(_WEEKDAYS)))


def lasts_until(text: str) -> bool:
    """Return whether the text names the end of a period: "valid until 30 June"."""
    return has_phrase(text, ("until", "till")) and has_date(text)


def lasts_one(text: str) -> bool:
    """Return whether the text names a duration without a number: "for a fortnight", "takes half an hour"."""
    match = _ONE.search(text)
    return match is not None and match.group(1) in _UNITS["duration"]


_ONE = re.compile(r"\b(?:for|within|in|takes?|took|lasts?|lasted|about|only)\s(?:half\s)?an?\s([a-z]+)")


def column_measures(column: str, kinds: frozenset[str]) -> bool:
    """Return whether the name of a column states a unit of one of the kinds: `area (m²)`, `price_eur`."""
    words = {word.text.lower() for word in words_of(column.replace("_", " "))}
    if "phone" in kinds and words & _PHONE_WORDS:
        return True
    return any(words & _UNITS.get(kind, frozenset()) or set(column) & set(_SYMBOLS.get(kind, "")) for kind in kinds)


def has_date(text: str) -> bool:
    """Return whether the text names a day, month, year, weekday or time of day."""
    if any(_is_time(word) for word in words_of(text)) or _SHORT_DAY.search(text) or _ORDINAL_DAY.search(text):
        return True
    return any(word.text in _SMALL_MONTHS for word in words_of(text)) and bool(days_in(text))


def has_full_name(text: str) -> bool:
    """Return whether the text has two capitalised words in a row, as a first name and a surname are."""
    pairs = pairwise(words_of(text))
    return any(
        first.capital and second.capital and text[first.start + len(first.text) : second.start] == " "
        and first.text.lower() not in STOP_WORDS and second.text.lower() not in _MONTH_NUMBERS
        for first, second in pairs
    )  # fmt: skip


def is_calendar(key: str) -> bool:
    """Return whether a word is a year or a month: it names no thing that two texts could be about."""
    return (len(key) == 4 and key.isdecimal() and bool(_year(int(key)))) or key in _MONTH_KEYS


def has_place(text: str) -> bool:
    """Return whether the text has a preposition of place that no date or number follows."""
    words = words_of(text)
    return any(
        word.text.lower() in _PREPOSITIONS
        and not (at + 1 < len(words) and (_is_number(words[at + 1]) or _is_time(words[at + 1])))
        and not _is_condition([other.text.lower() for other in words[at : at + 3]])
        for at, word in enumerate(words)
    )


def stands_somewhere(text: str) -> bool:
    """Return whether the text says where something is: a verb of being, then a preposition of place."""
    words = [word.text.lower() for word in words_of(text)]
    for at, word in enumerate(words):
        if word in _STANDING and not _WHERE.isdisjoint(words[at + 1 : at + 2 + _WITHIN]):
            return not _is_condition(words[at + 1 : at + 4])
    return False


def _is_condition(words: Sequence[str]) -> bool:
    """Return whether words are "on leave" or "on parental leave", which is no place."""
    return words[:1] == ["on"] and not _CONDITIONS.isdisjoint(words[1:])


_CONDITIONS = frozenset({"leave", "holiday", "vacation", "call", "duty", "strike", "sale", "hold", "time"})


def has_reason(text: str) -> bool:
    return has_phrase(text, _REASONS)


def has_address(text: str) -> bool:
    """Return whether the text has a street, a name with a house number, or an e-mail address."""
    if "@" in text:
        return True
    words = words_of(text)
    if any(word.text.lower() in _STREETS for word in words):
        return True
    return any(
        first.capital and len(first.text) > 3 and first.text.lower() not in _MONTH_NUMBERS and _is_house(second)
        for first, second in pairwise(words)
    )


def has_version(text: str) -> bool:
    return any("." in word.text and word.text.replace(".", "").isdigit() for word in words_of(text))


def days_in(text: str) -> list[Day]:
    """Return the dates of the text that name at least a month."""
    return list(_days(words_of(text)))


def same_day(first: Day, second: Day) -> bool:
    """Return whether two dates agree in all parts that both name."""
    return all(not a or not b or a == b for a, b in zip(first, second, strict=True))


def _days(words: Sequence[Word]) -> Iterator[Day]:
    for at, word in enumerate(words):
        if (iso := _iso(word.text)) is not None:
            yield iso
            continue
        small = word.text in _SMALL_MONTHS
        month = _MONTH_NUMBERS.get(word.text.lower().rstrip("."), 0) if word.capital or small else 0
        if not month:
            continue
        before, after = _number_at(words, at - 1), _number_at(words, at + 1)
        if 1 <= before <= 31:
            yield _year(after), month, before
        elif 1 <= after <= 31:
            yield _year(_number_at(words, at + 2)), month, after
        elif _year(after):
            yield after, month, 0


def _iso(text: str) -> Day | None:
    """Return the day of a date in figures: year first with hyphens, or day first with full stops."""
    if (found := _FIGURES.fullmatch(text)) is None:
        return None
    year, month, day = map(int, found.group(1, 2, 3) if found[1] else found.group(6, 5, 4))
    return (year, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


_FIGURES = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})|([0-9]{1,2})[.]([0-9]{1,2})[.]([0-9]{4})")


def _number_at(words: Sequence[Word], at: int) -> int:
    if not 0 <= at < len(words):
        return 0
    digits = words[at].text.removesuffix("st").removesuffix("nd").removesuffix("rd").removesuffix("th")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 4 else 0


def _year(number: int) -> int:
    return number if 1000 <= number <= 2100 else 0


def _is_number(word: Word) -> bool:
    return word.text[0].isdigit() or word.text.lower() in NUMBER_WORDS


def _is_time(word: Word) -> bool:
    lower = word.text.lower()
    if lower in _TIMES or (word.capital and lower in _MONTH_NUMBERS) or _iso(word.text) is not None:
        return True
    if word.text.isdecimal():  # as int accepts it: superscripts are digits, too
        return len(word.text) == 4 and bool(_year(int(word.text)))
    return ":" in word.text and word.text.replace(":", "").isdigit()


def _is_house(word: Word) -> bool:
    digits = word.text.rstrip("abcdefgh")
    return digits.isdigit() and 1 <= len(digits) <= 3


def _has_phone(text: str) -> bool:
    run, groups, since_word = 0, 0, _WITHIN
    for word in words_of(text):
        digits = word.text.replace("-", "").replace("/", "")
        since_word = 0 if word.text.lower() in _PHONE_WORDS else since_word + 1
        if not digits.isdigit():
            run, groups = 0, 0
            continue
        run, groups = run + len(digits), groups + 1
        if since_word < _WITHIN and len(digits) > _SHORT_NUMBER:
            return True
        if run >= _MIN_PHONE_DIGITS and groups > 1 and len(digits) <= 7 and "." not in word.text:
            return True
    return False
