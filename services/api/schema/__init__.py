"""The wire contract that HTTP and gRPC share: what a request may hold, and what every error means outside.

Not a transport: sockets and frameworks are in `services/api/http` and `services/api/grpc`. One request is judged by
the same
function whichever way it came, so the two protocols cannot drift apart.
"""
