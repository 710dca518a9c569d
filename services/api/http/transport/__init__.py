"""The HTTP server: its configuration, limits on headers and connections, and addresses behind proxies."""
