"""Types of the arguments of the Python interface, checked before a call does anything.

The invariant: an argument of another type than the signature has is refused with `Invalid` that names it, in the form
of the service's own errors, whichever way the graphs are reached.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from typing import ParamSpec, TypeVar

import numpy as np

from graphtide.services.api.schema.requests.fields import json_name
from graphtide.streams.errors import Invalid

P = ParamSpec("P")
Result = TypeVar("Result")


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


_TEXT: tuple[Callable[[object], bool], str] = (lambda value: isinstance(value, str)), "a string"
_OBJECT: tuple[Callable[[object], bool], str] = (lambda value: isinstance(value, Mapping)), "an object"
_FUNCTION: tuple[Callable[[object], bool], str] = callable, "a function"
_CHECKS: dict[str, tuple[Callable[[object], bool], str]] = {
    "str": _TEXT,
    "str | int": ((lambda value: isinstance(value, str) or _is_whole(value)), "a string or an integer"),
    "str | Path": ((lambda value: isinstance(value, str | PathLike)), "a path"),
    "int": (_is_whole, "an integer"),
    "float": ((lambda value: isinstance(value, Real) and not isinstance(value, bool)), "a number"),
    "bool": ((lambda value: isinstance(value, bool | np.bool_)), "true or false"),
    "Mapping[str, Any]": _OBJECT,
    "Mapping[str, object]": _OBJECT,
    "Sequence[Mapping[str, Any]]": (_is_list, "a list"),
    "Sequence[Document]": (_is_list, "a list"),
    "Sequence[str]": (_is_list, "a list"),
    "Progress": _FUNCTION,
    "Extracting": _FUNCTION,
    "Embedding": _FUNCTION,
    "Answering": _FUNCTION,
    "PassageScoring": _FUNCTION,
}
"""Checks by annotation. None is the empty text of an optional parameter. The call itself checks other annotations."""

_FIELDS = {"doc_id": "id", "entity_id": "entity"}
"""Names of fields in errors where they are not those of the parameters."""


def check_arguments(method: Callable[..., object]) -> Callable[..., None]:
    """Return the check of a function's arguments. It raises Invalid for a wrong type, TypeError as a call does."""
    signature = inspect.signature(method)
    bound = {each.name: each for each in signature.parameters.values()}

    def check(*arguments: object, **options: object) -> None:
        for name, value in signature.bind(*arguments, **options).arguments.items():
            _check(bound[name], value)

    return check


def checked(function: Callable[P, Result]) -> Callable[P, Result]:
    """Return the function with a check of its arguments. Raises Invalid when it is called."""
    check = check_arguments(function)

    @wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> Result:
        check(*arguments, **options)
        return function(*arguments, **options)

    return call


def _check(parameter: inspect.Parameter, value: object) -> None:
    annotation = str(parameter.annotation)
    is_allowed, name = _CHECKS.get(annotation.removesuffix(" | None"), (None, ""))
    if is_allowed is None or (value is None and annotation.endswith(" | None")):
        return
    is_omitted = value is None and parameter.default == ""
    if not is_omitted and not is_allowed(value):
        raise Invalid(_FIELDS.get(parameter.name, parameter.name), f"must be {name}, not {json_name(value)}")
