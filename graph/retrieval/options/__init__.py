"""Options of the modes: the parameters of a method that a question may set.

    fields.py     declares an option as a field of a mode's settings dataclass: name, range, default and meaning
    settings.py   the settings of the modes that have no module for them
    table.py      the settings of every mode; the check of given options, and their defaults
    schema.py     JSON Schema, and the table in docs/options.md

A name, a range or a default is written once, at its field; HTTP, gRPC, Python, the command line, `graphtide.toml`, the
OpenAPI document and the page of the documentation are derived from it.
"""
