"""Position of a model's quotation in its text: models change white space, quotation marks and dashes.

The match is not fuzzy: words must be the same, letter by letter. Invariant: the result is a slice of the text.
"""

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
    """A text in which quotations are looked up."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words: str | None = None
        self._places: list[int] = []

    def find(self, quotation: str) -> str | None:
        """Return the text's own words for ``quotation``, or None when it does not contain them. Blank: None. Linear."""
        words = _plain(quotation).split()
        if not words:
            return None
        if quotation in self._text:
            return quotation.strip()
        sought = " ".join(words)
        start = self._with_single_blanks().find(sought)
        return None if start < 0 else self._text[self._places[start] : self._places[start + len(sought) - 1] + 1]

    def _with_single_blanks(self) -> str:
        """Return the text with each run of blanks as one space; `_places` has the position of each character in it."""
        if self._words is None:
            plain = _plain(self._text)
            kept = [at for at, char in enumerate(plain) if not (char.isspace() and at and plain[at - 1].isspace())]
            self._places = kept
            self._words = "".join(" " if plain[at].isspace() else plain[at] for at in kept)
        return self._words


def _plain(text: str) -> str:
    """Return a text of the same length; half a surrogate pair becomes the character that was sent for it."""
    return text.encode("utf-8", "replace").decode().translate(_ALIKE)
