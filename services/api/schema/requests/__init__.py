"""Requests of HTTP and gRPC: strict parsing of JSON, validation of fields, conversion to the application's types."""
