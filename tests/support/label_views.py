"""Labels of entities with their vectors, given or random, for tests of resolution."""

from __future__ import annotations

import random

import numpy as np

from graphtide.graph.resolution import LabelView, Resolver, normalise

DIMENSIONS = 32


def label_vector(seed: int, noise: float = 0.0, noise_seed: int = 0) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    centre = np.random.default_rng(seed).normal(size=DIMENSIONS)
    centre /= np.linalg.norm(centre)
    other = np.random.default_rng(noise_seed).normal(size=DIMENSIONS)
    vector = centre + noise * other / np.linalg.norm(other)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def label_view(name: str, seed: int | None = 1, noise: float = 0.0, type_: str = "") -> LabelView:
    return LabelView(normalise(name), type_, None if seed is None else label_vector(seed, noise, len(name)))


def resolved(*names: str, seed: int | None = 1) -> tuple[Resolver, list[set[str]]]:
    resolver = Resolver()
    resolver.update({i: label_view(name, seed) for i, name in enumerate(names)})
    found = {resolver.cluster_of(i) for i in range(len(names))}
    return resolver, sorted(({names[i] for i in c} for c in found), key=sorted)


# A pool in which names collide in every way the rules distinguish. The number is the real entity; its vectors are near.
POOL = [
    (name, thing)
    for thing, names in enumerate(
        [
            ["J. Brannock", "John Brannock", "John Quincy Brannock", "J. Q. Brannock", "Brannock", "Mr. Brannock"],
            ["James Brannock", "James T. Brannock", "Jim Brannock", "Brannock, James", "President James Brannock"],
            ["Houston", "Houston, Texas", "Houston, TX", "Houston Texas", "City of Houston"],
            ["Houston, British Columbia", "Houston, British Columbia, Canada"],
            ["U.S.", "US", "United States", "United States of America", "the United States", "USA"],
            ["Black Sea Economic Cooperation", "BSEC", "Black Sea Economic Co-operation"],
            ["Boston State Energy Committee", "Boston State Energy Committee (BSEC)"],
            ["World War II", "Second World War", "World War 2"],
            ["World War I", "First World War", "the First World War"],
            ["Chess Olympiad", "Chess Olympiads", "World Chess Olympiads", "36th Chess Olympiad"],
            ["Gatwick Airport", "London Gatwick Airport", "Gatwick"],
            ["he", "the city", "the film"],
            ["Damerdjog", "Damerjog"],
            ["1 January 2002", "January 1, 2002", "January 2002"],
            ["Census Bureau", "U.S. Census Bureau", "United States Census Bureau"],
        ]
    )
    for name in names
]

TYPES = ("", "", "", "person", "place")


def random_label_view(generator: random.Random) -> LabelView:
    name, thing = generator.choice(POOL)
    vector = (
        None
        if generator.random() < 0.1
        else label_vector(thing, generator.choice((0.0, 0.3, 0.6)), generator.randrange(99))
    )
    return LabelView(normalise(name), generator.choice(TYPES), vector)
