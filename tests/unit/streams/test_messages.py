"""Message encoding: decoded messages equal the encoded ones, malformed ones are Rejected in a few words."""

from __future__ import annotations

import random

import numpy as np
import pytest

from graphtide.graph.records import DocumentInfo
from graphtide.streams.errors import Rejected
from graphtide.streams.messages import (
    DeadLetter,
    DeltaNotice,
    DocumentMessage,
    ExtractionMessage,
    GivenEntity,
    GivenFact,
    ReportRequest,
    decode_dead_letter,
    decode_document,
    decode_extraction,
    decode_notice,
    document_key,
    extraction_of,
    metadata_pairs,
    split_document_key,
)
from tests.support.extractions import random_extraction
from tests.support.records import plain

INFO = DocumentInfo(
    "Title \u202e", "wire", "2024-05", metadata_pairs({"a": [1, 2.5, None, {"é": "e\u0301"}], "b": True})
)


def test_document_message_comes_back_as_it_went_out() -> None:
    """With everything, with empty lists, and with None, which are three different things."""
    facts = (GivenFact("a", "b", "c", "d", 0.25),)
    for entities, given in (((GivenEntity("x", "y", "z"),), facts), ((), ()), (None, None)):
        message = DocumentMessage("g", "a|b/ü", "text \u200b", INFO, entities, given)
        assert decode_document(message.key, message.encode()) == message


@pytest.mark.parametrize("seed", range(3))
def test_extraction_message_comes_back_to_the_last_bit(seed: int) -> None:
    """Vectors included; and so does a deletion."""
    message = ExtractionMessage("g", "d", 7, random_extraction(random.Random(seed), "d", 7), 99)
    assert plain(decode_extraction(message.encode())) == plain(message)
    gone = ExtractionMessage("g", "d", 8, None, 99)
    assert decode_extraction(gone.encode()) == gone


def test_dead_letter_and_notice_come_back_as_they_went_out() -> None:
    """A dead letter keeps any bytes; a reason with a lone surrogate does not prevent its writing."""
    letter = DeadLetter("", "no bar", 3, "extract", "why", 1, bytes(range(256)))
    assert decode_dead_letter(letter.encode()) == letter
    odd = DeadLetter("g", "d", 3, "extract", "half \ud800", 1, b"")
    assert decode_dead_letter(odd.encode()).reason == "half \\ud800"
    odd = decode_dead_letter(
        b'{"graph":"\\ud800","doc_id":"d\\udfff","revision":3,"stage":"\\ud800","reason":"half \\ud800",'
        b'"attempts":1,"original":""}'
    )
    assert (odd.graph, odd.doc_id, odd.stage, odd.reason) == ("\\ud800", "d\\udfff", "\\ud800", "half \\ud800")
    assert decode_dead_letter(odd.encode()) == odd
    notice = DeltaNotice("g", 4, (1, 5))
    assert decode_notice(notice.encode()) == notice
    request = ReportRequest("g", (3, 7))
    assert decode_notice(request.encode()) == request
    assert request.encode() == b'{"schema":1,"graph":"g","version":0,"nodes":[],"wanted":[3,7]}'


def test_extraction_is_rejected_when_it_is_cut_or_its_vectors_are_not_vectors() -> None:
    """NaN, zeros, facts without a mention and every shorter prefix are Rejected, and no other error is raised."""
    extraction = random_extraction(random.Random(1), "d", 7)
    value = ExtractionMessage("g", "d", 7, extraction).encode()
    for length in range(0, len(value), 7):
        with pytest.raises(Rejected):
            decode_extraction(value[:length])
    for bad in (np.nan, 0.0, np.inf):
        extraction.units[0].vector[:] = bad
        with pytest.raises(Rejected, match="zero or not finite"):
            decode_extraction(ExtractionMessage("g", "d", 7, extraction).encode())


def test_reason_of_a_rejection_does_not_quote_the_document() -> None:
    """The repr of an encoding error would contain the whole text."""
    with pytest.raises(Rejected) as caught:
        decode_document("g|d", b'{"text":"' + b"secret " * 10_000 + b'\\ud800"}')
    assert len(str(caught.value)) < 300 and "secret secret" not in str(caught.value)


def test_extraction_of_names_the_revision_when_little_else_can_be_read() -> None:
    """The result is None when the ids are malformed, too."""
    assert extraction_of(b'{"schema":9,"graph":"g","doc_id":"d","revision":4}') == ("g", "d", 4)
    for value in (b"", b"[]", b'{"graph":"g"}', b'{"graph":"..","doc_id":"d","revision":4}', b"\xff"):
        assert extraction_of(value) is None


def test_document_key_can_be_taken_apart() -> None:
    """A document's id may hold bars and slashes; a graph's name is a folder's name and may not leave it."""
    assert split_document_key(document_key("g.1_-", "a|b/../c")) == ("g.1_-", "a|b/../c")
    for key in ("", "g", "|d", "g|", "..|d", ".g|d", "a/b|d", "g|\x07"):
        with pytest.raises(Rejected):
            split_document_key(key)
