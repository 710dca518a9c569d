"""Options as fields of settings dataclasses: declaration, checked reading, and settings built from given values.

Invariant: `Options` are canonical, sorted by name with values of their field's type, so that equal options are equal.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, cast, get_type_hints

Weights = tuple[tuple[str, float], ...]
"""Numbers by name, sorted by name; an object in JSON."""
OptionValue = bool | int | float | str | Weights
Options = tuple[tuple[str, OptionValue], ...]
"""The given options by name, sorted by name."""

T = TypeVar("T")

MAX_WEIGHTS = 100
MAX_NAME_CHARS = 256
_DECLARED = "option"


class InvalidOption(ValueError):  # noqa: N818 - named for what is wrong, as elsewhere
    """An option that its mode does not have, or a value outside its range; `name` is the option's."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True, slots=True)
class _Declaration:
    name: str
    minimum: float | None
    maximum: float | None
    about: str


@dataclass(frozen=True, slots=True)
class OptionField:
    """An option of a mode. `minimum` and `maximum` are inclusive, for weights of each number; None for other types."""

    name: str
    kind: Any
    default: Any
    minimum: float | None
    maximum: float | None
    about: str

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the values of an option that is an enumeration; none for other types."""
        is_choice = isinstance(self.kind, type) and issubclass(self.kind, StrEnum)
        return tuple(each.value for each in self.kind) if is_choice else ()


def option(
    default: object, about: str, minimum: float | None = None, maximum: float | None = None, name: str = ""
) -> Any:
    """Declare a field as an option that a question may set. `name` differs from the field's where that is no word of
    the method's source.
    """
    return field(default=default, metadata={_DECLARED: _Declaration(name, minimum, maximum, about)})


@cache
def option_fields(settings: type) -> Mapping[str, OptionField]:
    """Return the options of a settings dataclass by name, those of nested dataclasses included."""
    return MappingProxyType({each.name: each for each in _fields(settings)})


def _fields(settings: type) -> Iterator[OptionField]:
    hints = get_type_hints(settings)
    for each in fields(settings):
        declared = each.metadata.get(_DECLARED)
        if is_dataclass(hints[each.name]):
            yield from _fields(hints[each.name])
        elif declared is not None:
            name = declared.name or each.name
            yield OptionField(name, hints[each.name], each.default, declared.minimum, declared.maximum, declared.about)


def read_value(known: OptionField, value: object) -> OptionValue:
    """Return a JSON value as that of an option. Raises InvalidOption."""
    if known.kind is bool:
        if not isinstance(value, bool):
            raise InvalidOption(known.name, f"must be true or false, not {_shown(value)}")
        return value
    if known.choices:
        if value not in known.choices:
            raise InvalidOption(known.name, f"must be one of {', '.join(known.choices)}, not {_shown(value)}")
        return str(value)
    if known.kind in (int, float):
        return _number(known, value)
    return _weights(known, value)


def _number(known: OptionField, value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -math.inf < value < math.inf:
        raise InvalidOption(known.name, f"must be a number, not {_shown(value)}")
    if known.kind is int and value != int(value):
        raise InvalidOption(known.name, f"must be a whole number, not {_shown(value)}")
    minimum, maximum = known.minimum, known.maximum
    if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
        raise InvalidOption(known.name, f"must be from {minimum:g} to {maximum:g}, not {_shown(value)}")
    return int(value) if known.kind is int else float(value)


def _weights(known: OptionField, value: object) -> Weights:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidOption(known.name, f"must be an object of numbers by name, not {_shown(value)}")
    if len(value) > MAX_WEIGHTS:
        raise InvalidOption(known.name, f"has {len(value)} entries; give at most {MAX_WEIGHTS}")
    if any(not 1 <= len(name) <= MAX_NAME_CHARS for name in value):
        raise InvalidOption(known.name, f"has a name that is empty or longer than {MAX_NAME_CHARS} characters")
    return tuple(sorted((name, float(_number(known, number))) for name, number in value.items()))


def _shown(value: object) -> str:
    """Return the start of a value, of any depth and size."""
    try:
        return reprlib.repr(value)[:40]
    except ValueError:  # Python converts no integers of more than 4,300 digits
        return "an integer of too many digits"


@cache
def _default(settings: Hashable) -> Any:
    return settings()  # type: ignore[operator]  # a dataclass


def settings_from(settings: type[T], options: Options) -> T:
    """Return the settings with the given options; options that the dataclass lacks are ignored."""
    default: T = _default(cast(Hashable, settings))
    return _built(settings, dict(options)) if options else default


def _built(settings: type[T], given: Mapping[str, Any]) -> T:
    hints, values = get_type_hints(settings), dict[str, Any]()
    for each in fields(settings):  # type: ignore[arg-type]
        declared = each.metadata.get(_DECLARED)
        if is_dataclass(hints[each.name]):
            values[each.name] = _built(hints[each.name], given)
        elif declared is not None and (name := declared.name or each.name) in given:
            kind = hints[each.name]
            is_choice = isinstance(kind, type) and issubclass(kind, StrEnum)
            values[each.name] = kind(given[name]) if is_choice else given[name]
    return settings(**values)


def options_json(options: Options) -> dict[str, object]:
    """Return options as a JSON object."""
    return {name: dict(value) if isinstance(value, tuple) else value for name, value in options}


def options_from_json(body: Mapping[str, Any]) -> Options:
    """Return the options of `options_json`, which were checked before they were written."""
    rows = (
        (name, tuple(sorted(value.items())) if isinstance(value, Mapping) else value) for name, value in body.items()
    )
    return tuple(sorted(rows, key=lambda row: row[0]))
