"""The checks of `graphtide doctor`: problems, their consequences and their remedies.

The doctor changes nothing. `local.py` checks this machine, `endpoints.py` and `cluster.py` the servers in the settings,
`running.py` a service that answers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One problem: what is wrong, its consequence and its remedy. Contains no secret."""

    about: str
    what: str
    why: str
    cure: str
    serious: bool = True
    """True when it prevents an operation; False for possible improvements."""
