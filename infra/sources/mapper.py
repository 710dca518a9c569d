"""Conversion of an envelope to the changes of documents that it means, by a mapping.

A document is a function of its row alone, so that the documents of a table are those of its present rows, whatever
changes led to them. A row whose text is blank has no document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphtide.graph.records import DocumentInfo
from graphtide.graph.text.dates import date_span
from graphtide.infra.sources.envelopes import UPDATE, Envelope
from graphtide.infra.sources.logical_types import iso
from graphtide.infra.sources.mapping import UNITS, SourceMapping
from graphtide.infra.sources.templates import Fields, Template, as_text
from graphtide.streams.errors import Rejected
from graphtide.streams.messages import DocumentMessage, document_key, metadata_pairs, split_document_key
from graphtide.streams.sources.types import SourceChange

_MAGNITUDES = ((100_000_000_000, "s"), (100_000_000_000_000, "ms"), (100_000_000_000_000_000, "us"))
"""The unit of a time without one: below 10^11 seconds, and so on. Each is right from 1973 on, and for 3,000 years."""
_NULL_IDENTITY = (
    "the field {!r}, which identifies the document, is null: use columns of the primary key in id and graph, or run"
    " ALTER TABLE ... REPLICA IDENTITY FULL"
)

_PLACEHOLDERS = frozenset(("", "0", "false", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00:00Z"))
"""The values that Debezium gives a column whose value before a change is unknown: null, or its type's zero."""

Identity = tuple[str, str]


def changes(mapping: SourceMapping, envelope: Envelope, default_id: str = "") -> Sequence[SourceChange]:
    """Return the changes of documents: none, one, or a deletion and a document if the row has moved to another id.

    `default_id` is the document id if the mapping has no template for it. Raises Rejected.
    """
    action = mapping.action(envelope.operation)
    if action == "ignore":
        return ()
    if action == "reject":
        raise Rejected(_refusal(envelope.operation))
    if action == "delete" or envelope.after is None:
        _check_known(mapping, envelope)
        row = {**(envelope.before or {}), **(envelope.after or {}), **(envelope.key or {})}
        identity = _identity(mapping, Fields(row, envelope.attributes), default_id)
        return (_change(identity, None, envelope),)
    fields = Fields({**(envelope.key or {}), **envelope.after}, envelope.attributes)
    identity = _identity(mapping, fields, default_id)
    document = None if _is_deleted(mapping, fields) else document_of(mapping, fields, identity)
    moved = [_change(before, None, envelope) for before in _previous(mapping, envelope, default_id, identity)]
    return (*moved, _change(identity, document, envelope))


def document_of(mapping: SourceMapping, fields: Fields, identity: Identity) -> DocumentMessage | None:
    """Return the document of a row; None if its text is blank. Raises Rejected."""
    templates = mapping.templates
    if templates.text.is_blank(fields):
        return None
    info = DocumentInfo(
        _clean(templates.title.render(fields), "title"),
        _clean(templates.source.render(fields), "source"),
        _date(templates.occurred_at, fields, mapping.occurred_at_unit),
        _metadata(mapping, fields),
    )
    text = _clean(templates.text.render(fields), "text")
    return DocumentMessage(*identity, text, info, media_type=mapping.media_type)


def _change(identity: Identity, document: DocumentMessage | None, envelope: Envelope) -> SourceChange:
    return SourceChange(*identity, document, envelope.version, envelope.is_snapshot)


def _identity(mapping: SourceMapping, fields: Fields, default_id: str) -> Identity:
    """Return graph and document id. Raises Rejected if a field of them is null."""
    templates = mapping.templates
    for path in (*templates.graph.paths, *templates.id.paths):
        if as_text(fields.value(path)) == "":
            raise Rejected(_NULL_IDENTITY.format(path))
    doc_id = templates.id.render(fields) or default_id
    if not doc_id:
        raise Rejected("the record has no key: set id in the mapping, such as id = '{id}'")
    return split_document_key(document_key(templates.graph.render(fields), doc_id))


def _previous(mapping: SourceMapping, envelope: Envelope, default_id: str, identity: Identity) -> Sequence[Identity]:
    """Return the identity before an update, if it is another one. Raises Rejected if it cannot be known."""
    if not envelope.is_row or envelope.operation != UPDATE:
        return ()
    if not _columns_outside_key(mapping, envelope):
        return ()
    _check_known(mapping, envelope)
    found = _identity(mapping, Fields({**(envelope.before or {})}, envelope.attributes), default_id)
    return () if found == identity else (found,)


def _columns_outside_key(mapping: SourceMapping, envelope: Envelope) -> Sequence[str]:
    """Return the columns in graph and id that the record's key does not contain."""
    paths = (*mapping.templates.graph.paths, *mapping.templates.id.paths)
    columns = {path.removesuffix("?").split(".")[0] for path in paths if not path.startswith("@")}
    return sorted(columns - (envelope.key or {}).keys())


def _check_known(mapping: SourceMapping, envelope: Envelope) -> None:
    """Raise Rejected if the document's identity before a change cannot be known.

    Without REPLICA IDENTITY FULL, the row before a change is absent, or has null, an empty text or zero in each column
    that is not of the key.
    """
    if not envelope.is_row:
        return
    before = envelope.before or {}
    unknown = [
        column for column in _columns_outside_key(mapping, envelope) if as_text(before.get(column)) in _PLACEHOLDERS
    ]
    if unknown:
        raise Rejected(
            f"the change does not contain {', '.join(unknown)} of the row before it, which identifies the document: use"
            " columns of the primary key in id and graph, or run ALTER TABLE ... REPLICA IDENTITY FULL"
        )


def _is_deleted(mapping: SourceMapping, fields: Fields) -> bool:
    if not mapping.delete_when:
        return False
    value = fields.value(mapping.delete_when)
    return as_text(value).strip().lower() not in ("", "false", "0", "f", "n", "no")


def _refusal(operation: str) -> str:
    if operation == "t":
        return (
            "TRUNCATE does not name the rows that it deletes, so their documents remain: delete the graph's documents"
            " of this table, or set operations.t = 'ignore' in the mapping. Use DELETE instead of TRUNCATE, or keep"
            " skipped.operations = t, Debezium's default"
        )
    return f"the mapping rejects the operation {operation[:20]!r}: set operations in the sources file, or skip it there"


def _metadata(mapping: SourceMapping, fields: Fields) -> tuple[tuple[str, str], ...]:
    found: dict[str, object] = {}
    for name, each in mapping.metadata_templates.items():
        value = fields.value(each) if isinstance(each, str) else each.render(fields)
        if value is not None and value != "":
            found[name] = _ordered(value)
    try:
        return metadata_pairs(found)
    except (ValueError, TypeError, RecursionError) as error:
        raise Rejected(f"the metadata cannot be stored: {str(error)[:200]}") from error


def _ordered(value: object) -> object:
    """Return the value with sorted keys: their order has no meaning, so it must not change the digest."""
    if isinstance(value, Mapping):
        return {str(key): _ordered(value[key]) for key in sorted(value, key=str)}
    return [_ordered(inner) for inner in value] if isinstance(value, list) else value


def _date(template: Template, fields: Fields, unit: str) -> str:
    if not template.text:
        return ""
    value: object = template.render(fields)
    [path] = template.paths if len(template.paths) == 1 else [""]
    if path and template.text == f"{{{path}}}":
        value = fields.value(path)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _moment(value, unit)
    text = as_text(value)
    if text and date_span(text) is None:
        raise Rejected(
            f"occurred_at is {text[:40]!r}, which is not an ISO date: map a date column, or a number with"
            " occurred_at_unit"
        )
    return text


def _moment(value: float, unit: str) -> str:
    from datetime import UTC, datetime

    unit = unit or next((name for bound, name in _MAGNITUDES if abs(value) < bound), "ns")
    try:
        moment = datetime.fromtimestamp(value * UNITS[unit], UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise Rejected(f"occurred_at is {str(value)[:40]}, which is no time in {unit}: set occurred_at_unit") from error
    return moment.date().isoformat() if unit == "d" else iso(moment)


def _clean(text: str, name: str) -> str:
    if "\0" in text:
        raise Rejected(f"the {name} contains a NUL character: remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Rejected(f"the {name} contains a lone surrogate: send valid Unicode") from None
    return text.strip()  # a null field leaves blanks at an end
