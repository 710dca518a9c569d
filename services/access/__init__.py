"""Who may do what: credentials, one policy for HTTP and gRPC alike, and how much each caller may ask for.

Read `policy.py` first, then `gate.py`, which the two faces ask. Nothing here knows a protocol, a store or a document.
"""
