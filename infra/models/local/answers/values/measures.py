"""Adjectives of comparison with what they measure: "oldest" and "youngest" are about an age.

Data: the words before the colon name the measure, as columns do; then those for more and, after the slash, for less of
it. A missing word costs recall, never correctness.
"""

from __future__ import annotations

from graphtide.infra.models.local.answers.words import keys_of

_COMPARATIVES = """
age: older / younger
weight mass weigh: heavier / lighter
temperature: hotter warmer / colder cooler
length duration: longer / shorter
height: taller / shorter
depth: deeper / shallower
width breadth: wider broader / narrower
thickness diameter: thicker / thinner
speed: faster quicker / slower
price cost: dearer / cheaper
size area: larger bigger / smaller
strength: stronger / weaker
noise: louder / quieter"""
_SUPERLATIVES = """
age date year: oldest / youngest
weight mass weigh: heaviest / lightest
temperature: hottest warmest / coldest coolest
length duration: longest / shortest
height: tallest / shortest
depth: deepest / shallowest
width breadth: widest broadest / narrowest
thickness diameter: thickest / thinnest
speed: fastest quickest / slowest
price cost: dearest / cheapest
size area: largest biggest / smallest
strength: strongest / weakest
noise: loudest / quietest"""


def _signs(lines: str) -> dict[str, int]:
    """Return 1 for each word for more, -1 for each word for less."""
    found: dict[str, int] = {}
    for line in lines.strip().splitlines():
        more, _, less = line.partition(": ")[2].partition(" / ")
        found |= dict.fromkeys(more.split(), 1) | dict.fromkeys(less.split(), -1)
    return found


def _measures() -> dict[str, frozenset[str]]:
    """Return the keys of what each word measures."""
    found: dict[str, frozenset[str]] = {}
    for line in (_COMPARATIVES + _SUPERLATIVES).strip().splitlines():
        names, _, words = line.partition(": ")
        for word in words.replace(" / ", " ").split():
            found[word] = found.get(word, frozenset()) | keys_of(names)
    return found


COMPARED, EXTREMES = _signs(_COMPARATIVES), _signs(_SUPERLATIVES)
MEASURED = _measures()
