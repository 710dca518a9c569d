"""Access control: credentials, one policy for HTTP and gRPC, and rate limits and quotas for each caller.

Read `policy.py` first, then `gate.py`, which both protocols call. Nothing here knows a protocol, a store or a document.
"""
