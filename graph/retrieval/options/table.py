"""The settings of every mode, and the check of options against them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graphtide.graph.retrieval.darag.settings import DaRagSettings
from graphtide.graph.retrieval.dynagrag.settings import Dynagrag
from graphtide.graph.retrieval.nakg.settings import Nakg
from graphtide.graph.retrieval.options.fields import (
    InvalidOption,
    OptionField,
    Options,
    option_fields,
    options_json,
    read_value,
    settings_from,
)
from graphtide.graph.retrieval.options.settings import (
    BridgeSettings,
    GlobalDynamicSettings,
    GlobalSettings,
    LocalSettings,
    PairSettings,
    PipelineSettings,
    VectorSettings,
)
from graphtide.graph.retrieval.types import Question, Trace, TraceItem, TraceStep

SETTINGS: Mapping[str, type] = MappingProxyType(
    {
        "bridge": BridgeSettings,
        "da-rag": DaRagSettings,
        "dynagrag": Dynagrag,
        "global": GlobalSettings,
        "global-dynamic": GlobalDynamicSettings,
        "local": LocalSettings,
        "nakg": Nakg,
        "passages": PairSettings,
        "pipeline": PipelineSettings,
        "vector": VectorSettings,
    }
)
"""The settings dataclass of each mode. `auto` has none: the mode that it chooses has its own defaults."""

ModeOptions = Mapping[str, Options]
"""Options by mode, which replace the defaults of questions that give none."""


def options_of(mode: str) -> Mapping[str, OptionField]:
    """Return the options of a mode by name; none for an unknown one, and for `auto`."""
    settings = SETTINGS.get(mode)
    return option_fields(settings) if settings is not None else {}


def read_options(mode: str, given: Mapping[str, object]) -> Options:
    """Return checked options of a mode. Raises InvalidOption for an unknown name and for a value out of range."""
    known = options_of(mode)
    for name in given:
        if name not in known:
            raise InvalidOption(name, f"is no option of mode {mode!r}; {_remedy(mode, known)}")
    return tuple(sorted((name, read_value(known[name], value)) for name, value in given.items()))


def read_mode_options(given: Mapping[str, Mapping[str, object]]) -> ModeOptions:
    """Return checked options by mode. Raises ValueError, whose message names the mode and the option."""
    found: dict[str, Options] = {}
    for mode, options in given.items():
        if mode not in SETTINGS:
            raise ValueError(f"{mode!r} is no mode with options; use one of {', '.join(SETTINGS)}")
        try:
            found[mode] = read_options(mode, options)
        except InvalidOption as error:
            raise ValueError(f"{mode}.{error.name} {error}") from error
    return found


def _remedy(mode: str, known: Mapping[str, OptionField]) -> str:
    if mode == "auto":
        return "choose a mode to set its options"
    return f"known are {', '.join(known)}" if known else "it has none"


def with_defaults(options: Options, defaults: Options) -> Options:
    """Return the options of a question over those of the process."""
    return tuple(sorted({**dict(defaults), **dict(options)}.items())) if defaults else options


def with_options(trace: Trace, question: Question) -> Trace:
    """Return the trace with a first step that states the mode's options; the score is 1 for one that was given."""
    known = options_of(question.mode)
    if not known:
        return trace
    given = options_json(question.options)
    values = {name: each.default for name, each in known.items()} | given
    items = tuple(TraceItem(name, _text(values[name]), float(name in given), _numbers(values[name])) for name in known)
    about = f"Options of mode {question.mode}: score 1 for a given one, 0 for a default."
    return Trace((TraceStep("options", about, items), *trace.steps))


def _text(value: object) -> str:
    if isinstance(value, Mapping | tuple):
        return ", ".join(f"{name}: {number:g}" for name, number in dict(value).items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def _numbers(value: object) -> tuple[tuple[str, float], ...]:
    return (("value", float(value)),) if isinstance(value, int | float) else ()


__all__ = [
    "SETTINGS",
    "InvalidOption",
    "ModeOptions",
    "Options",
    "options_json",
    "options_of",
    "read_mode_options",
    "read_options",
    "settings_from",
    "with_defaults",
    "with_options",
]
