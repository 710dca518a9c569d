"""Questions of the command line: their stream and their filters."""
