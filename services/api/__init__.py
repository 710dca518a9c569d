"""The network interfaces: HTTP and gRPC over one application port, with one schema."""
