"""The description of the HTTP interface: OpenAPI models and the page at /docs."""
