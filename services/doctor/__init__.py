"""`graphtide doctor`: what is wrong, why it matters, and what cures it, found by looking and not by guessing.

Not a monitor, and no cure of its own: it changes nothing. `local.py` looks at this machine, `endpoints.py` and
`cluster.py` at what the settings name, `running.py` at a service that answers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One thing that is not as it should be. None of its words holds a secret."""

    about: str
    what: str
    why: str
    cure: str
    serious: bool = True
    """Whether something does not work for it. What only could be better is not."""
