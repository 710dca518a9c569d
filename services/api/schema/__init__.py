"""The wire contract that HTTP and gRPC share: validation of requests, formats of responses, statuses of errors.

The transports are in `services/api/http` and `services/api/grpc`. One function validates each kind of request for both
protocols, so they cannot diverge.
"""
