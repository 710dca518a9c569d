"""The cluster runtime: the same stages, each in separate processes, on a broker and a graph database.

`roles` composes each process, `wiring.py` builds its adapters, `remote_application.py` is the application of a
process that only forwards. The stages are in `streams` and do not depend on this package.
"""
