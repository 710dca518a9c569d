"""Numbers in a text, by the kind of their unit: sums of money, lengths, durations, telephone numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from graphtide.infra.models.local.answers.values.dates import DURATIONS, MONTH_NUMBERS, is_time
from graphtide.infra.models.local.answers.values.phrases import has_phrase
from graphtide.infra.models.local.answers.words import STOP_WORDS, Word, is_number, word_set, words_of

CURRENCIES = word_set(
    "euro euros eur pound pounds gbp dollar dollars usd cent cents chf franc francs kroner kronor kr nok sek dkk"
)
MONEY, PHONE = frozenset({"money"}), frozenset({"phone"})
"""The kinds of a quantity that only has these units."""
_UNITS: dict[str, frozenset[str]] = {
    "money": CURRENCIES,
    "length": word_set(
        "mm cm km m metre metres meter meters kilometre kilometres kilometer kilometers centimetre centimetres "
        "millimetre millimetres mile miles feet foot inch inches yard yards"
    ),
    "area": word_set("m\u00b2 m2 km\u00b2 square hectare hectares ha acre acres"),
    "mass": word_set("kg g gram grams kilogram kilograms tonne tonnes ton tons mg lb lbs ounce ounces"),
    "duration": DURATIONS,
    "temperature": word_set("c f degree degrees celsius fahrenheit"),
    "share": word_set("percent pct cent"),
    "volume": word_set("litre litres liter liters l ml m\u00b3 gallon gallons"),
    "data": word_set("kb mb gb tb byte bytes bit bits"),
}
_ALL_UNITS = frozenset().union(*_UNITS.values())
_SYMBOLS = {"money": "\u20ac\u00a3$", "share": "%", "temperature": "\u00b0"}
_COUNTS = word_set("none no nobody several dozen dozens hundred hundreds thousand thousands half twice once few")
_AMOUNTS = frozenset({"a", "an", "several", "few", "half"})
_FREQUENCIES = (
    "every", "each", "once", "twice", "times a", "times per", "daily", "weekly", "monthly", "quarterly", "yearly",
    "annually", "hourly", "always", "never", "rarely", "nightly", "fortnightly", "interval", "intervals", "per day",
    "per week", "per month", "per year",
)  # fmt: skip
_BEFORE_YEARS = frozenset({"in", "In", "since", "Since", "until", "from", "of", "before", "after"})
_GROUPED = re.compile(r"\d{1,3}(?:[,'\u2019]\d{3})+")


def has_number(text: str) -> bool:
    return any(is_number(word) or word.text.lower() in _COUNTS for word in words_of(text))


def has_count(text: str) -> bool:
    """Return whether the text has a number that is no part of a date or a time."""
    words = words_of(text)
    months = {at for at, word in enumerate(words) if word.capital and word.text.lower() in MONTH_NUMBERS}
    dated = {near for at in months for near in range(at - 3, at + 3)}
    dated |= {
        at for at in range(1, len(words)) if _YEAR.fullmatch(words[at].text) and words[at - 1].text in _BEFORE_YEARS
    }
    return any(
        word.text.lower() in _COUNTS
        or (is_number(word) and at not in dated and (not is_time(word) or word.text.isdigit()))
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
        if not is_number(word) and (word.text.lower() not in _AMOUNTS or _is_rate(words, at)):
            continue
        end = word.start + len(word.text)
        unit = words[at + 1].text.lower() if at + 1 < len(words) else ""
        if unit.split("-")[0] in accepted or word.text.lstrip("0123456789.,").lower() in accepted - {""}:
            return True
        if is_number(word) and _qualified_unit(text, words[at : at + 3]) in accepted:
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
            and is_number(word)
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
    if following in MONTH_NUMBERS or before in MONTH_NUMBERS or before in ("most", "least", "than"):
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
    return before is not None and (is_number(before) or before.text.lower() in _ALL_UNITS)


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


_PHONE_WORDS = word_set("phone telephone tel mobile extension ext number")
_PHONE_REACH = 4
"""Words from "phone" to its number."""
_MIN_PHONE_DIGITS = 5
_SHORT_NUMBER = 2


def _has_phone(text: str) -> bool:
    run, groups, since_word = 0, 0, _PHONE_REACH
    for word in words_of(text):
        digits = word.text.replace("-", "").replace("/", "")
        since_word = 0 if word.text.lower() in _PHONE_WORDS else since_word + 1
        if not digits.isdigit():
            run, groups = 0, 0
            continue
        run, groups = run + len(digits), groups + 1
        if since_word < _PHONE_REACH and len(digits) > _SHORT_NUMBER:
            return True
        if run >= _MIN_PHONE_DIGITS and groups > 1 and len(digits) <= 7 and "." not in word.text:
            return True
    return False
