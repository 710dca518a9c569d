"""Validity of relations: when a relation held, and which later document ended it; derived on reading, never stored.

    predicates.py  the predicates that admit one object (or one subject) at a time
    timeline.py    the effect of rival claims on each other: pure, on intervals of time
    intervals.py   the claims of a live view, and the validity of its statements

Because incremental must equal rebuilt, a contradiction is not an event on a document's arrival: it is a property of all
live documents. So nothing here is stored: after the later document is deleted or edited, the earlier one's relation is
valid again. Nothing here enters the digest.
"""
