"""The cluster runtime: the same stages, each in processes of its own, on a broker and a graph database.

`roles.py` says what each process is made of, `wiring.py` builds the adapters under it, `remote.py` is the application
of a process that only forwards. Not the stages: those are in `streams`, and know of none of this.
"""
