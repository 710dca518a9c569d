"""Latency of /healthz during attacks and heavy requests: `make bench-hostile`, or some cases by name.

    probe.py     the process that measures /healthz
    raw.py       attacks without a credential, as bytes on connections
    clients.py   the attacks of `tests/support/hostile_clients.py`, with a credential
    heavy.py     heavy but legitimate requests, and a small document beside a large one
    __main__.py  the table

A case receives the service and works until it is cancelled, or returns figures of its own. The latencies of the same
service before the case starts are the baseline, so the load of the machine is visible in each line.
"""
