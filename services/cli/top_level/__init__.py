"""The main commands of `graphtide`: their options and their calls of the service."""
