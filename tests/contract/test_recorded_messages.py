"""Records of schema 1 as they lie on topics and in data folders, byte for byte: every version must read them.

When one of these fails, records that exist cannot be read any more: give the new shape a schema of its own, and go on
reading this one. What the code writes today may have more in it; it is not compared.
"""

from __future__ import annotations

import numpy as np
import pytest

from graph.records import DocumentInfo, Extraction, Fact, Mention, Unit
from streams.errors import Rejected
from streams.messages import (
    DeadLetter,
    DeltaNotice,
    DocumentMessage,
    ExtractionMessage,
    GivenEntity,
    GivenFact,
    decode_dead_letter,
    decode_document,
    decode_extraction,
    decode_notice,
    metadata_pairs,
)
from streams.ports import Delivered, Position, Record
from streams.upkeep import REPLY, REQUEST, Kind, Reply, Request, reply_in, request_in
from tests.support.records import plain

DOCUMENT = (
    b'{"schema":1,"text":"Ada knew Babbage.","title":"Title","source":"wire","occurred_at":"2024-05",'
    b'"metadata":{"tags":["a",null],"year":1911},'
    b'"entities":[{"name":"Ada","type":"person","description":"a mathematician"}],'
    b'"facts":[{"subject":"Ada","predicate":"knew","object":"Babbage","description":"since 1833","weight":0.5,'
    b'"valid_from":"1833","valid_to":"1852"}]}'
)
EXTRACTION = (
    b'{"schema":1,"graph":"g","doc_id":"d","revision":7,"accepted_ms":99,'
    b'"info":{"title":"T","source":"wire","occurred_at":"2024-05","metadata":{"year":1911}},'
    b'"units":[["000102030405060708090a0b0c0d0e0f","Ada knew Babbage.",1,18,'
    b'[["Ada","person","a mathematician"],["Babbage","person",""]],'
    b'[[0,"knew",1,"since 1833","Ada knew Babbage.",500,"1833","1852"]]]],'
    b'"gaps":[" ","\\n"],"dimensions":2,"vectors":"ADgAOAA8AAAAAAA8ALgAOA=="}'
)
DELETION = b'{"schema":1,"graph":"g","doc_id":"d","revision":8,"accepted_ms":99,"deleted":true}'
LETTER = (
    b'{"schema":1,"graph":"g","doc_id":"d","revision":7,"stage":"extract","reason":"no JSON","attempts":3,'
    b'"original":"/3s="}'
)
NOTICE = b'{"schema":1,"graph":"g","version":4,"nodes":[1,5],"parts":2,"replaced":true}'
REQUESTED = b'{"schema":1,"graph":"g","kind":"verify","id":"1"}'
REPLIED = (
    b'{"schema":1,"graph":"g","kind":"verify","id":"1","version":4,"stored":"aa","recounted":"ab",'
    b'"differences":["x"],"checked":{"labels":2},"failure":""}'
)


def extraction(*times: str) -> Extraction:
    """What EXTRACTION says."""
    ada, babbage, about, whole = (np.array(row, np.float16) for row in ((1, 0), (0, 1), (-0.5, 0.5), (0.5, 0.5)))
    mentions = (Mention("Ada", "person", "a mathematician", ada), Mention("Babbage", "person", "", babbage))
    fact = Fact(0, "knew", 1, "since 1833", "Ada knew Babbage.", 500, about, *times)
    unit = Unit(bytes(range(16)), "Ada knew Babbage.", 1, 18, whole, mentions, (fact,))
    return Extraction(
        "d", 7, DocumentInfo("T", "wire", "2024-05", metadata_pairs({"year": 1911})), (unit,), (" ", "\n")
    )


def test_recorded_documents_are_read() -> None:
    """With everything; and the least there is, which an early or a foreign publisher writes without a schema."""
    info = DocumentInfo("Title", "wire", "2024-05", metadata_pairs({"year": 1911, "tags": ["a", None]}))
    entities = (GivenEntity("Ada", "person", "a mathematician"),)
    facts = (GivenFact("Ada", "knew", "Babbage", "since 1833", 0.5, "1833", "1852"),)
    wanted = DocumentMessage("g", "d", "Ada knew Babbage.", info, entities, facts)
    assert decode_document("g|d", DOCUMENT) == wanted
    assert decode_document("g|d", b'{"text":"One."}') == DocumentMessage("g", "d", "One.")
    bare = DOCUMENT.replace(b',"valid_from":"1833","valid_to":"1852"', b"").replace(b',"weight":0.5', b"")
    assert decode_document("g|d", bare).facts == (GivenFact("Ada", "knew", "Babbage", "since 1833"),)


def test_recorded_extractions_are_read() -> None:
    """With times, without (older ones have none), without `accepted_ms`, with what a model calls it; and a deletion."""
    assert plain(decode_extraction(EXTRACTION)) == plain(ExtractionMessage("g", "d", 7, extraction("1833", "1852"), 99))
    older = EXTRACTION.replace(b',"1833","1852"', b"").replace(b'"accepted_ms":99,', b"")
    assert plain(decode_extraction(older)) == plain(ExtractionMessage("g", "d", 7, extraction()))
    called = EXTRACTION.replace(b'"gaps"', b'"headings":[["A friendship","Two who met."]],"gaps"')
    [one] = getattr(decode_extraction(called).extraction, "units", ())
    assert (one.title, one.description) == ("A friendship", "Two who met.")
    assert decode_extraction(DELETION) == ExtractionMessage("g", "d", 8, None, 99)


def test_recorded_letters_notices_and_requests_are_read() -> None:
    """A notice of an early version has neither parts nor a rebuild in it."""
    assert decode_dead_letter(LETTER) == DeadLetter("g", "d", 7, "extract", "no JSON", 3, b"\xff{")
    assert decode_notice(NOTICE) == DeltaNotice("g", 4, (1, 5), 2, True)
    assert decode_notice(NOTICE[: NOTICE.index(b',"parts"')] + b"}") == DeltaNotice("g", 4, (1, 5))
    asked = Delivered(Position(0, 0), 0, Record("g", REQUESTED, ((REQUEST, b"1"),)))
    assert request_in(asked) == Request("g", Kind.VERIFY, "1")
    told = Delivered(Position(0, 0), 0, Record("g", REPLIED, ((REPLY, b"1"),)))
    assert reply_in(told) == Reply("g", Kind.VERIFY, "1", 4, "aa", "ab", ("x",), {"labels": 2})


@pytest.mark.parametrize(
    "headings", [b'[["a","b"],["c","d"]]', b'[["a"]]', b'[["a",7]]', b'[["a\\u0000","b"]]', b"[7]"]
)
def test_extraction_with_headings_that_fit_no_unit_is_rejected(headings: bytes) -> None:
    """Two for one unit, half of one, a number, a NUL: nothing of that can be stored."""
    with pytest.raises(Rejected):
        decode_extraction(EXTRACTION.replace(b'"gaps"', b'"headings":' + headings + b',"gaps"'))


@pytest.mark.parametrize("count", [1, 3])
def test_extraction_with_another_number_of_times_is_rejected(count: int) -> None:
    """What no version wrote is not guessed at."""
    odd = EXTRACTION.replace(b',"1833","1852"', b',"1833"' * count)
    with pytest.raises(Rejected):
        decode_extraction(odd)
