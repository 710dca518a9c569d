"""The gRPC interface: the service of graphtide.proto over the application port, with reflection and health.

`services/api/schema` validates requests, for HTTP too.
"""
