"""Limits of single requests. Every number is a setting of the same name.

Overload and quotas are limited elsewhere. The invariant: memory holds nothing that a caller sends beyond these limits.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of single requests: sizes in bytes of UTF-8, lengths in characters, times in seconds."""

    max_body_bytes: int = 8 << 20
    max_batch_documents: int = 1000
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
    body_grace_s: float = 10.0
    min_body_bytes_per_s: int = 1024
    max_arriving_bytes: int = 256 << 20
    max_event_streams: int = 256
    max_event_streams_per_caller: int = 32

    @property
    def max_document_values(self) -> int:
        """Return the maximum number of JSON values in a document with lists and metadata at their limits."""
        return 64 + 9 * self.max_facts + 5 * self.max_entities + self.max_metadata_bytes // 2

    @property
    def max_question_values(self) -> int:
        """Return the maximum number of JSON values in a question."""
        return 64 + 4 * self.max_filter_values + self.max_metadata_bytes // 2

    @classmethod
    def of(cls, settings: object) -> RequestLimits:
        """Return the limits from the settings of the same names."""
        return cls(**{each.name: getattr(settings, each.name) for each in fields(cls)})
