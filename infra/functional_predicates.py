"""Reader of the file of functional predicates, which admit one value at a time. Read once, at start."""

from __future__ import annotations

import tomllib
from pathlib import Path

from graphtide.graph.validity.predicates import DEFAULT, FunctionalPredicates, parse_families
from graphtide.streams.errors import Broken


def load_functional_predicates(file: str) -> FunctionalPredicates:
    """Return the families of a TOML file, or the default families without one. Raises Broken for an unreadable file."""
    if not file:
        return DEFAULT
    try:
        return parse_families(tomllib.loads(Path(file).read_text(encoding="utf-8")))
    except OSError as error:
        raise Broken(
            f"GRAPHTIDE_FUNCTIONAL_PREDICATES_FILE names {file}, which cannot be read ({error.strerror})"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError) as error:
        raise Broken(f"GRAPHTIDE_FUNCTIONAL_PREDICATES_FILE names {file}, which is invalid: {error}") from error
