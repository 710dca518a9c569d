"""When a relation held, and which later document ended it: read from what is live, never stored.

    predicates.py  which predicates admit one object (or one subject) at a time
    timeline.py    what rival claims do to one another: pure, on spans of time
    reading.py     the claims of a live view, and when its statements held

Under the law of the graph a contradiction is no event that happens to the graph on a document's arrival: it is a
property of the live documents together. So nothing here is kept: delete or edit the later document, and the earlier
one's relation stands again. Neither does anything here enter the digest.
"""
