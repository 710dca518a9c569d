"""Commands that follow a service."""
