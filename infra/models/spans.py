"""Where a model's quotation stands in the text it quotes from: models mend white space, quotation marks and dashes.

Not a fuzzy search: words must be the same, letter by letter. The invariant: what is found is a slice of the text.
"""

import re

_ALIKE = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2010": "-",
        "\u2011": "-",
        "\u2012": "-",
        "\u2013": "-",
        "\u2014": "-",
        "\u2212": "-",
        "\u00a0": " ",
        "\u202f": " ",
    }
)
"""One character for one, so that positions stay."""


class Quotable:
    """A text that quotations are looked up in."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._plain = _plain(text)

    def find(self, quotation: str) -> str | None:
        """The text's own words for ``quotation``, or None when it does not say them. Blank: None. Linear."""
        words = _plain(quotation).split()
        if not words:
            return None
        if quotation in self._text:
            return quotation.strip()
        found = re.search(r"\s+".join(map(re.escape, words)), self._plain)
        return None if found is None else self._text[found.start() : found.end()]


def _plain(text: str) -> str:
    """Of the same length; half a surrogate pair is what it was sent as."""
    return text.encode("utf-8", "replace").decode().translate(_ALIKE)
