"""Calendars and address books: a document of labelled lines for each entry, whatever its position."""

from __future__ import annotations

import pytest

from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError

HEAD, END = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//A//EN\n", "END:VCALENDAR\n"
TRIP = """\
BEGIN:VEVENT
UID:1@school
DTSTART;TZID=Europe/Berlin:20260604T081500
DTEND;TZID=Europe/Berlin:20260604T170000
SUMMARY:Zoo trip
LOCATION:School gym
ORGANIZER;CN=Mr Lindgren:mailto:lindgren@school.example
ATTENDEE;CN=Ana Ruiz:mailto:ana@home.example
ATTENDEE:mailto:bo@home.example
DESCRIPTION:Packed lunch\\, rain jacket\\nNo dogs.
END:VEVENT
"""
FAIR = "BEGIN:VEVENT\nUID:2@school\nDTSTART;VALUE=DATE:20261103\nDTEND;VALUE=DATE:20261106\nSUMMARY:Fair\nEND:VEVENT\n"
CHOIR = (
    "BEGIN:VEVENT\nUID:3@school\nDTSTART:20260105T180000Z\nSUMMARY:Choir\n"
    "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;UNTIL=20260701T000000Z\nEND:VEVENT\n"
)
TASK = "BEGIN:VTODO\nUID:4@school\nSUMMARY:Order buses\nDUE;VALUE=DATE:20260501\nSTATUS:COMPLETED\nEND:VTODO\n"
STAN = """\
BEGIN:VCARD
VERSION:3.0
UID:c1
FN:Mirela Stan
N:Stan;Mirela;;;
ORG:Institute of Ornithology;Owls
TITLE:Project lead
TEL;TYPE=CELL:+49 151 555 0143
TEL;TYPE=WORK:+49 30 555 0100
EMAIL:mirela@birds.example
ADR;TYPE=HOME:;;Rheingasse 8;Basel;;4058;Switzerland
BDAY:19840219
NOTE:Allergic to nuts
END:VCARD
"""
MALIK = "BEGIN:VCARD\nVERSION:4.0\nFN:Tariq Malik\nEND:VCARD\n"


def read(text: str, name: str) -> dict[str, FileDocument]:
    return {one.key: one for one in read_bytes(text.encode(), name) if isinstance(one, FileDocument)}


def calendar(*entries: str) -> str:
    return HEAD + "".join(entries) + END


def test_an_event_is_a_document_of_what_it_states() -> None:
    [trip] = read(calendar(TRIP), "a.ics").values()
    assert (trip.key, trip.title, trip.occurred_at, trip.has_id) == ("1@school", "Zoo trip", "2026-06-04", True)
    assert trip.text == (
        "event: Zoo trip\ndate: 2026-06-04\ntime: 08:15 to 17:00 (Europe/Berlin)\nplace: School gym\n"
        "organiser: Mr Lindgren\nattendees: Ana Ruiz, bo@home.example\n\nPacked lunch, rain jacket\nNo dogs."
    )


def test_whole_days_repetitions_and_tasks_are_stated_in_words() -> None:
    found = read(calendar(FAIR, CHOIR, TASK), "a.ics")
    assert found["2@school"].text == "event: Fair\ndate: 2026-11-03\nuntil: 2026-11-05"
    assert "time: 18:00 (UTC)\nrepeats: every 2 weeks on Monday, until 2026-07-01" in found["3@school"].text
    assert found["4@school"].text == "task: Order buses\ndue: 2026-05-01\nstatus: done"


def test_a_changed_occurrence_is_an_entry_of_its_own() -> None:
    moved = CHOIR.replace(
        "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;UNTIL=20260701T000000Z", "RECURRENCE-ID:20260119T180000Z"
    )
    assert set(read(calendar(CHOIR, moved), "a.ics")) == {"3@school", "3@school@20260119T180000Z"}


def test_order_changes_nothing_and_a_second_entry_with_an_id_is_named() -> None:
    assert read(calendar(TRIP, FAIR, CHOIR), "a.ics") == read(calendar(CHOIR, TRIP, FAIR), "a.ics")
    found = list(read_bytes(calendar(TRIP, TRIP.replace("Zoo", "Sea")).encode(), "a.ics"))
    assert isinstance(found[0], RecordProblem) and isinstance(found[1], FileDocument)
    assert (found[0].line, found[1].title) == (1, "Sea trip")


def test_a_card_is_a_document_of_what_it_states() -> None:
    [stan, malik] = read(STAN + MALIK, "a.vcf").values()
    assert (stan.key, stan.title, stan.has_id, malik.has_id) == ("c1", "Mirela Stan", True, False)
    assert stan.text == (
        "name: Mirela Stan\norganisation: Institute of Ornithology, Owls\nrole: Project lead\n"
        "mobile phone: +49 151 555 0143\nwork phone: +49 30 555 0100\nemail: mirela@birds.example\n"
        "address: Rheingasse 8, Basel, 4058, Switzerland\nbirthday: 1984-02-19\n\nAllergic to nuts"
    )


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("", "a.ics", "no event"),
        ("hello", "a.ics", "not a readable"),
        (calendar(), "a.ics", "no event"),
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\n", "a.ics", "no event|not a readable"),
        ("hello", "a.vcf", "not a readable"),
        ("", "a.vcf", "no card"),
        (calendar(TRIP), "a.vcf", "no card"),
    ],
)
def test_other_texts_are_refused_with_the_reason(text: str, name: str, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        list(read_bytes(text.encode(), name))


def test_of_a_property_that_is_there_twice_one_value_counts_and_all_texts_are_kept() -> None:
    """Also of an event within another one, which no calendar has."""
    twice = FAIR.replace("SUMMARY:Fair", "SUMMARY:Fair\nSUMMARY:Feast\nDESCRIPTION:Big.\nDESCRIPTION:Loud.")
    [fair] = read(calendar(twice), "a.ics").values()
    assert fair.title == "Fair" and fair.text.endswith("Big.\n\nLoud.")
    nested = "BEGIN:VEVENT\nSUMMARY:x\n" * 10_000 + "END:VEVENT\n" * 10_000
    assert isinstance(next(read_bytes(nested.encode(), "a.ics")), FileDocument | RecordProblem)


def test_escapes_of_a_card_are_characters() -> None:
    """Icalendar knows no property of a card, so it leaves them in the values."""
    card = MALIK.replace("END:", "TITLE:Handyman\\, Mondays\nNOTE:Ring\\; never text.\\nC:\\\\keys\nEND:")
    [one] = read(card, "a.vcf").values()
    assert one.text == "name: Tariq Malik\nrole: Handyman, Mondays\n\nRing; never text.\nC:\\keys"


def test_a_backslash_is_a_character_in_old_cards() -> None:
    notes = "NOTE:C:\\network\\new\nNOTE:D:\\nails\n"
    [one] = read(f"BEGIN:VCARD\nVERSION:2.1\nFN:B\\no\n{notes}END:VCARD\n", "a.vcf").values()
    assert one.text == "name: B\\no\n\nC:\\network\\new\n\nD:\\nails"


def test_a_long_line_is_named_by_its_beginning() -> None:
    with pytest.raises(UnreadableFileError) as found:
        list(read_bytes(b"hello " * 10_000, "a.vcf"))
    assert len(str(found.value)) < 300


def test_an_id_that_cannot_be_one_is_replaced_by_a_digest() -> None:
    long, odd = (FAIR.replace("2@school", uid) for uid in ("u" * 300, "a\x7fb"))
    for text in (calendar(long), calendar(odd)):
        [(key, fair)] = read(text, "a.ics").items()
        assert len(key) == 16 and not fair.has_id


def test_of_several_rules_the_first_is_stated() -> None:
    twice = CHOIR.replace("RRULE:", "RRULE:FREQ=DAILY\nRRULE:")
    assert "repeats: every day" in read(calendar(twice), "a.ics")["3@school"].text


def test_the_day_before_the_first_one_is_named() -> None:
    first = FAIR.replace("20261103", "00010101").replace("20261106", "00010101")
    found = list(read_bytes(calendar(first, TRIP).encode(), "a.ics"))
    assert isinstance(found[0], RecordProblem) and "cannot be read" in found[0].reason
    assert isinstance(found[1], FileDocument)


@pytest.mark.parametrize("wrong", ["DTSTART:tomorrow", "RRULE:FREQ=NEVER", "DUE:0", "ORGANIZER;CN:x"])
def test_a_wrong_value_costs_its_entry_at_most(wrong: str) -> None:
    broken = FAIR.replace("UID:2@school", f"UID:2@school\n{wrong}")
    found = list(read_bytes(calendar(broken, TRIP).encode(), "a.ics"))
    assert len(found) == 2 and any(isinstance(one, FileDocument) and one.key == "1@school" for one in found)
