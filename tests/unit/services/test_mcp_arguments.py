"""Arguments of tools: a call that is wrong everywhere is refused with few errors."""

from __future__ import annotations

from typing import Any, get_origin

import pytest
from pydantic import ValidationError

from graphtide.services.api.mcp.arguments import MAX_UNKNOWN
from graphtide.services.api.mcp.tools import TOOLS, AgentTool


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_wrong_arguments_are_refused_with_few_errors(tool: AgentTool) -> None:
    """Thousands of unknown arguments are one error, and so are thousands of wrong items of a list."""
    fields = tool.arguments.model_fields
    lists: dict[str, Any] = {name: [1] * 5000 for name, field in fields.items() if get_origin(field.annotation) is list}
    for wrong in (lists | {"unknown": 1}, {f"unknown{n}": 1 for n in range(5000)}):
        with pytest.raises(ValidationError) as refused:
            tool.arguments.model_validate(wrong)
        assert refused.value.error_count() <= len(fields) + MAX_UNKNOWN


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_description_of_a_tool_is_made_once(tool: AgentTool) -> None:
    """Its JSON Schema costs a millisecond, in the event loop, and a client asks for all of them in each session."""
    from graphtide.services.api.mcp.server import _described  # imports the protocol, for half a second

    assert _described(tool) is _described(tool)
    assert _described(tool).input_schema == tool.arguments.model_json_schema()
