"""Decoders of other systems' records: CloudEvents, Debezium envelopes, schema registries, and their mapping."""
