"""The number that a cell begins with, and its unit; numbers of several units in one of them.

Invariant: numbers are compared only if they have the same unit, units of one measure, or none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FACTORS = {
    unit: (measure, factor)
    for measure, units in (
        ("mass", "mg=1e-6 g=1e-3 gram=1e-3 grams=1e-3 kg=1 kgs=1 kilo=1 kilos=1 kilogram=1 kilograms=1 t=1e3 tonne=1e3 "
                 "tonnes=1e3 ton=1e3 tons=1e3 lb=0.4536 lbs=0.4536 oz=0.02835 ounce=0.02835 ounces=0.02835"),
        ("length", "mm=1e-3 cm=1e-2 m=1 metre=1 metres=1 meter=1 meters=1 km=1e3 kilometre=1e3 kilometres=1e3 "
                   "kilometer=1e3 kilometers=1e3 mile=1609 miles=1609 ft=0.3048 foot=0.3048 feet=0.3048 inch=0.0254 "
                   "inches=0.0254 yard=0.9144 yards=0.9144"),
        ("duration", "s=1 sec=1 secs=1 second=1 seconds=1 min=60 mins=60 minute=60 minutes=60 h=3600 hr=3600 hrs=3600 "
                     "hour=3600 hours=3600 day=86400 days=86400 week=604800 weeks=604800 month=2629800 months=2629800 "
                     "year=31557600 years=31557600"),
        ("volume", "ml=1e-3 cl=1e-2 l=1 litre=1 litres=1 liter=1 liters=1"),
        ("data", "kb=1e-3 mb=1 gb=1e3 tb=1e6"),
        ("area", "m\u00b2=1 ha=1e4 hectare=1e4 hectares=1e4 km\u00b2=1e6 acre=4047 acres=4047"),
        ("share", "%=1 percent=1"), ("celsius", "\u00b0c=1"), ("fahrenheit", "\u00b0f=1"),
        ("pounds", "\u00a3=1 gbp=1"), ("euros", "\u20ac=1 eur=1 euro=1 euros=1"),
        ("dollars", "$=1 usd=1 dollar=1 dollars=1"), ("crowns", "kr=1 kroner=1 kronor=1 nok=1 sek=1 dkk=1"),
    )
    for unit, factor in ((name, float(value)) for name, _, value in (pair.partition("=") for pair in units.split()))
}  # fmt: skip
"""Each unit with its measure, and how many of the measure's common unit it is. "pounds" are money or a mass."""
_MULTIPLES = {"k": 1e3, "m": 1e6, "bn": 1e9}
"""Letters after a sum of money."""
_AMOUNT = re.compile(
    r"([-\u2212]?) ?([\u00a3\u20ac$]?) ?([-\u2212]?)(\d{1,3}(?:[,'\u2019]\d{3}){1,5}|\d{1,15})"
    r"(?:\.(\d{1,9})|,(\d{1,2}))?+(?![.,:/'\u2019-]?\d|[:/-]\w)"
    r"( ?)(%|\u00b0 ?[CF]?|[\u00a3\u20ac$]|[^\W\d_]{1,15}[\u00b2\u00b3]?)?"
)
_GROUPING = str.maketrans("", "", ",'\u2019")


@dataclass(frozen=True, slots=True)
class StatedAmount:
    """A number with the word or the sign of its unit in lower case, "" without one."""

    value: float
    unit: str = ""


def amount_of(text: str) -> StatedAmount | None:
    """Return the amount that a text begins with: "3.5 kg", "£1,200", "4,1%"; None for other beginnings, such as
    "3rd" and "10:30". A comma is a decimal one unless three digits follow.
    """
    match = _AMOUNT.match(text)
    if match is None:
        return None
    sign, currency, inner, whole, point, comma, space, unit = match.groups("")
    value = float(f"{whole.translate(_GROUPING)}.{point or comma or 0}") * (-1 if sign or inner else 1)
    unit = unit.lower().replace(" ", "")
    if currency and not space and unit in _MULTIPLES:
        return StatedAmount(value * _MULTIPLES[unit], currency)
    if unit and not space and unit.isalpha() and unit not in _FACTORS:
        return None
    return StatedAmount(value, currency or unit)


def comparable(amounts: Sequence[StatedAmount | None], unit: str = "") -> list[float | None]:
    """Return the numbers in the unit given, if all have one of its measure, else in that which they share; None for
    each if units differ that have nothing in common.
    """
    units = {amount.unit for amount in amounts if amount is not None and amount.unit}
    plain = [None if amount is None else amount.value for amount in amounts]
    known = {_FACTORS[one][0] for one in units if one in _FACTORS}
    base = _FACTORS.get(unit, ("", 1.0))
    if not known or (len(units) == 1 and base[0] not in known):
        return plain
    if len(known) > 1 or not units <= _FACTORS.keys():
        return [None] * len(amounts)
    if len(units) > 1 and any(amount is not None and not amount.unit for amount in amounts):
        return [None] * len(amounts)
    divisor = base[1] if base[0] in known else 1.0
    return [
        None if amount is None else amount.value * _FACTORS.get(amount.unit, base)[1] / divisor for amount in amounts
    ]


def is_unit(word: str) -> bool:
    """Return whether a word in lower case is a unit whose numbers are comparable with those of others."""
    return word in _FACTORS
