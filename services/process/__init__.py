"""Server processes: set-up, HTTP and gRPC servers, background tasks, shutdown."""
