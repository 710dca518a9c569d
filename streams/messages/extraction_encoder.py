"""Encoding of an extraction whose units arrive in slices, so that only one slice is in memory unencoded.

Invariant: the result is that of `ExtractionMessage.encode` for all units together, byte for byte, however they are
sliced.
"""

from __future__ import annotations

from base64 import b64encode
from collections import deque
from collections.abc import Sequence
from io import BytesIO

import numpy as np

from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.records import ChunkContribution, DocumentInfo, Extraction, Vector
from graphtide.streams.json_parts import dump, dump_in_parts
from graphtide.streams.messages.extractions import (
    YIELD_UNITS,
    ExtractionMessage,
    encode_head,
    encode_unit,
    unit_extras,
    unit_rows,
)
from graphtide.streams.messages.fields import info_fields, media_type_fields

BASE64_GROUP = 3
"""Bytes that base64 encodes together."""


class ExtractionEncoder:
    """The encoder of one extraction: see `UnitSink`. One slice alone is encoded at the end."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """See UnitSink.restart."""
        self.first: list[ChunkContribution] = []
        self._encoded = BytesIO()
        self._vectors: deque[bytes] = deque()
        self._rest = b""
        self._dimensions = self._count = 0
        self._headings: list[tuple[str, str]] = []
        self._places: list[tuple[int, str]] = []
        self._sources: list[tuple[int, str]] = []

    @property
    def is_sliced(self) -> bool:
        """Return whether more than one slice arrived."""
        return self._count > 0

    def take(self, units: Sequence[ChunkContribution]) -> None:
        """See UnitSink.take."""
        if not self.is_sliced and not self.first:
            self.first = list(units)
            return
        if self.first:
            self._encode(self.first)
            self.first = []
        self._encode(units)

    def whole(
        self, message: ExtractionMessage, info: DocumentInfo, gaps: tuple[str, ...], media_type: str
    ) -> ExtractionMessage:
        """Return the message with its extraction, of which no more than one slice arrived."""
        units = tuple(self.first)
        extraction = Extraction(message.doc_id, message.revision, info, units, gaps, media_type)
        return ExtractionMessage(message.graph, message.doc_id, message.revision, extraction, message.accepted_ms)

    def finish(self, message: ExtractionMessage, info: DocumentInfo, gaps: tuple[str, ...], media_type: str) -> bytes:
        """Return the encoded message, which has no extraction of its own. The encoder is empty afterwards."""
        if not self.is_sliced:
            return self.whole(message, info, gaps, media_type).encode()
        written = BytesIO()
        written.write(dump_in_parts(encode_head(message) | {"info": info_fields(info)})[:-1] + b',"units":[')
        written.write(self._encoded.getbuffer())
        self._encoded = BytesIO()
        written.write(b"]," + dump_in_parts({"gaps": gaps, "dimensions": self._dimensions})[1:-1] + b',"vectors":"')
        while self._vectors:
            written.write(self._vectors.popleft())
        written.write(b64encode(self._rest) + b'"')
        extra = unit_extras(self._headings, self._places, self._sources) | media_type_fields(media_type)
        written.write(b"," + dump_in_parts(extra)[1:] if extra else b"}")
        return written.getvalue()

    def _encode(self, units: Sequence[ChunkContribution]) -> None:
        rows = list[Vector]()
        for number, unit in enumerate(with_yields(units, YIELD_UNITS), self._count):
            self._encoded.write((b"," if number else b"") + dump(encode_unit(unit)))
            rows.extend(unit_rows(unit))
            self._headings.append((unit.title, unit.description))
            if place := unit.place.encode():
                self._places.append((number, place))
            if unit.source is not None:
                self._sources.append((number, unit.source))
        self._count += len(units)
        self._dimensions = len(rows[0])
        block = self._rest + np.stack(rows).tobytes()
        whole = len(block) - len(block) % BASE64_GROUP
        self._vectors.append(b64encode(block[:whole]))
        self._rest = block[whole:]
