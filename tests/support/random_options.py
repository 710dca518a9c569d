"""Random options of a mode, within their ranges, the ends of a range more often than what lies between."""

from __future__ import annotations

import random
from collections.abc import Iterator

from graphtide.graph.retrieval.options.fields import OptionField
from graphtide.graph.retrieval.options.table import Options, options_of, read_options


def random_options(rng: random.Random, mode: str) -> Options:
    """Return random values for about half of a mode's options."""
    known = options_of(mode)
    return read_options(mode, {name: random_value(rng, each) for name, each in known.items() if rng.random() < 0.5})


def random_value(rng: random.Random, known: OptionField) -> object:
    """Return a value inside the range of an option."""
    return rng.choice([*end_values(known), *end_values(known), _inside(rng, known)])


def end_values(known: OptionField) -> list[object]:
    """Return the ends of an option's range, or all of its values."""
    if known.kind is bool:
        return [False, True]
    if known.choices:
        return list(known.choices)
    ends: list[object] = [known.minimum, known.maximum]
    return ends if known.kind in (int, float) else [{"knows": end} for end in ends]


def outside_values(known: OptionField) -> Iterator[object]:
    """Yield values that an option refuses."""
    yield None
    yield []
    yield "many" if not known.choices else "none of them"
    if known.minimum is not None and known.maximum is not None:
        beyond = (known.minimum - 1, known.maximum + 1, 10**400, float("inf"), float("nan"))
        yield from beyond if known.kind in (int, float) else ({"knows": number} for number in beyond)
    if known.kind is int:
        yield known.default + 0.5
        yield True


def _inside(rng: random.Random, known: OptionField) -> object:
    if known.kind is int and known.minimum is not None and known.maximum is not None:
        return rng.randint(int(known.minimum), int(known.maximum))
    return known.default if known.kind in (float, int, bool) or known.choices else {"is near": 2.0, "knows": 0.5}
