"""How much one caller may ask for at once. Every number is a setting of the same name.

Not a quota: the application says itself when it is overloaded. The invariant: nothing a caller sends is held in
memory beyond these bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Sizes in bytes of UTF-8, lengths in characters, times in seconds."""

    max_body_bytes: int = 8 << 20
    max_batch: int = 1000
    max_batch_bytes: int = 64 << 20
    max_facts: int = 5000
    max_entities: int = 5000
    max_name_chars: int = 512
    max_description_chars: int = 8192
    max_metadata_bytes: int = 64 << 10
    max_question_chars: int = 8192
    max_top_k: int = 100
    max_filter_values: int = 1000
    max_in_flight: int = 256
    query_timeout_s: float = 30.0
    body_timeout_s: float = 60.0

    @property
    def max_document_values(self) -> int:
        """The most values in the JSON of a document, its lists as long and its metadata as crowded as they may be."""
        return 64 + 9 * self.max_facts + 5 * self.max_entities + self.max_metadata_bytes // 2

    @property
    def max_question_values(self) -> int:
        """The same of a question."""
        return 64 + 4 * self.max_filter_values + self.max_metadata_bytes // 2

    @classmethod
    def of(cls, settings: object) -> RequestLimits:
        """The limits among the settings: they have the same names there."""
        return cls(**{each.name: getattr(settings, each.name) for each in fields(cls)})
