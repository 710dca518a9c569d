"""One file per process: settings, adapters, run, close."""
