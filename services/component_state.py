"""The health state of one component of a process, and its text form in health reports.

Every health report uses this type: /readyz sends the text form, and `graphtide status` and the doctor parse it. The
invariant: parsing a state's text returns the same state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Condition(StrEnum):
    """The condition of a component. A process that is ready may contain components that are not healthy."""

    WELL = "well"
    """A dependency that works."""
    RUNNING = "running"
    """A task that runs."""
    DRAINING = "draining"
    """A process that shuts down and still answers."""
    DEGRADED = "degraded"
    """The component has a problem, starts, or is under maintenance: its message describes it."""


@dataclass(frozen=True, slots=True)
class ComponentState:
    """The condition of a component; a degraded one has a message, the others have none."""

    condition: Condition
    message: str = ""

    def __post_init__(self) -> None:
        if (self.condition is Condition.DEGRADED) != bool(self.message):
            raise ValueError(f"a degraded component needs a message, others have none: {self.condition}")

    @property
    def is_healthy(self) -> bool:
        return self.condition in (Condition.WELL, Condition.RUNNING)

    @property
    def text(self) -> str:
        """Return the state as health reports send it: the message, or the name of the condition."""
        return self.message or self.condition.value

    def __str__(self) -> str:
        return self.text


WELL, RUNNING, DRAINING = map(ComponentState, (Condition.WELL, Condition.RUNNING, Condition.DRAINING))
_FIXED = {state.text: state for state in (WELL, RUNNING, DRAINING)}


def degraded(message: str) -> ComponentState:
    """Return the state of a component whose problem or progress the message describes."""
    return ComponentState(Condition.DEGRADED, message)


def parse_state(text: str) -> ComponentState:
    """Return the state that a health report sent as `text`."""
    return _FIXED.get(text) or degraded(text or "no state reported")


def task_states(notes: Mapping[str, str]) -> dict[str, ComponentState]:
    """Return the states of tasks by name. `notes` holds the reason why a task waits, "" while it runs."""
    return {name: degraded(note) if note else RUNNING for name, note in notes.items()}
