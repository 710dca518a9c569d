"""Aboutness of passages: an index from normalised names to the passages that are about the named thing.

keys.py     the names of what one passage is about: title, heading, leading subject
index.py    the index, kept current by the view, delta by delta
"""

from graphtide.graph.aboutness.index import AboutnessIndex
from graphtide.graph.aboutness.keys import identity_of, title_keys

__all__ = ["AboutnessIndex", "identity_of", "title_keys"]
