"""The gRPC face: the service of graphtide.proto over the application port, with reflection and health.

Not the rules of what a request may hold: `services/api/schema`, which HTTP asks too.
"""
