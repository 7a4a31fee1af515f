"""Describes a kind of reply to a model: as a JSON schema where the endpoint takes one, in words where it does not."""

import inspect
import json
from typing import Any

from tasks.llm.calls import Reply


def response_format(reply: type[Reply]) -> dict[str, Any]:
    """The ``response_format`` of a request, strict as OpenAI's structured outputs want it."""
    schema = {"name": reply.__name__, "strict": True, "schema": _strict(reply.model_json_schema())}
    return {"type": "json_schema", "json_schema": schema}


def instruction(reply: type[Reply]) -> str:
    """A paragraph that asks for JSON that fits ``reply``."""
    what = inspect.cleandoc(reply.__doc__ or "").partition("\n\n")[0]
    schema = json.dumps(_strict(reply.model_json_schema()), ensure_ascii=False)
    return (
        f"Reply with one JSON object and nothing else. What it holds: {what}\nIt must fit this JSON schema:\n{schema}"
    )


def _strict(node: Any) -> Any:
    """The schema with every object closed, all properties required, and no defaults, as strict mode demands."""
    if isinstance(node, list):
        return [_strict(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: (
            {name: _strict(child) for name, child in value.items()}
            if key in ("properties", "$defs")
            else _strict(value)
        )
        for key, value in node.items()
        if key not in ("default", "title")
    }
    if "properties" in kept:
        kept |= {"additionalProperties": False, "required": list(kept["properties"])}
    return kept
