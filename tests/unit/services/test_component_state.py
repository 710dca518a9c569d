"""Health states of components: their text form, and what counts as healthy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide.services.application import Health
from graphtide.services.component_state import (
    DRAINING,
    RUNNING,
    WELL,
    ComponentState,
    Condition,
    degraded,
    parse_state,
    task_states,
)
from graphtide.services.health import in_outline

WORDS = [state.text for state in (WELL, RUNNING, DRAINING)]


@pytest.mark.parametrize("state", [WELL, RUNNING, DRAINING])
def test_state_without_a_message_is_sent_as_the_name_of_its_condition(state: ComponentState) -> None:
    """These are the words of every release: `well`, `running` and `draining`."""
    assert state.text == state.condition.value in ("well", "running", "draining")
    assert parse_state(state.text) == state


@given(st.text(min_size=1).filter(lambda text: text not in WORDS))
def test_message_is_sent_unchanged_and_read_back(message: str) -> None:
    """No message turns into the word of a healthy state."""
    state = degraded(message)
    assert state.text == message and not state.is_healthy
    assert parse_state(message) == state


def test_only_degraded_components_have_messages() -> None:
    """A healthy component with a problem, and a problem without a message, cannot be made."""
    for condition in set(Condition) - {Condition.DEGRADED}:
        with pytest.raises(ValueError, match="others have none"):
            ComponentState(condition, "unreachable")
    with pytest.raises(ValueError, match="needs a message"):
        degraded("")
    assert not parse_state("").is_healthy


def test_healthy_states_are_well_and_running() -> None:
    """A draining process gets no new work, so it is not healthy."""
    assert [state.is_healthy for state in (WELL, RUNNING, DRAINING, degraded("slow"))] == [True, True, False, False]


def test_task_runs_exactly_when_it_has_no_note() -> None:
    """The note is the reason why it waits."""
    assert task_states({"extract": "", "lag": "the broker is unreachable"}) == {
        "extract": RUNNING,
        "lag": degraded("the broker is unreachable"),
    }


def test_outline_names_conditions_and_no_messages() -> None:
    """Messages contain names of graphs, documents and addresses, which callers without a credential do not see."""
    health = Health(False, {"storage": WELL, "extract": RUNNING, "graph g": degraded("document 'd' is damaged")})
    outline = {"storage": WELL, "extract": RUNNING, "graph g": degraded("see its log")}
    assert in_outline(health) == Health(False, outline)
