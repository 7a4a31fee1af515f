"""Fills prompt files. A prompt file lies in the ``prompts/`` folder of the room that asks, or in a user's folder.

A file holds blocks headed ``[system]``, ``[user]`` or ``[assistant]`` on a line of their own; each becomes a message.
The last user message begins with a line ``Task: <name>``. Texts from other sources are put between tags
(``<note>`` ... ``</note>``), each tag on its own line.
"""

import json
import re
from functools import lru_cache
from typing import Any, Literal, cast

from jinja2 import Environment, StrictUndefined, Template, TemplateSyntaxError, meta, nodes

from schemas.errors import ParamsError
from tasks.llm.calls import Message
from tasks.llm.prompt_set import name_of, own_prompts, replaced, text_of

_ENVIRONMENT = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
_ENVIRONMENT.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)  # jinja's tojson escapes ' and °
_ENVIRONMENT.filters["quoted"] = lambda texts: " or ".join(
    part for part in (", ".join(f'"{text}"' for text in texts[:-1]), f'"{texts[-1]}"') if part
)
_GUIDANCE = frozenset({"comparison", "count", "definitions", "heading", "limit", "phrases", "rubric", "task"})
"""Fields with our own words of guidance, which a user's prompt may do without."""
_HEAD = re.compile(r"^\[(system|user|assistant)\]$", re.MULTILINE)


@lru_cache
def _blocks(name: str, source: str) -> tuple[tuple[str, Template], ...]:
    if found := problems(name, source):
        raise ParamsError(f"prompt {name}: {'; '.join(found)}")
    parts = _HEAD.split(source)
    return tuple(zip(parts[1::2], map(_ENVIRONMENT.from_string, parts[2::2]), strict=True))


def variables(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """Names of the fields that a prompt uses, and of those whose text it shows. Raises jinja2's TemplateSyntaxError."""
    tree = _ENVIRONMENT.parse(source)
    used = frozenset(meta.find_undeclared_variables(tree))
    shown = {name.name for output in tree.find_all(nodes.Output) for name in output.find_all(nodes.Name)}
    looped = {name.name for loop in tree.find_all(nodes.For) for name in loop.iter.find_all(nodes.Name)}
    looped |= {loop.iter.name for loop in tree.find_all(nodes.For) if isinstance(loop.iter, nodes.Name)}
    return used, frozenset((shown | looped) & used)


def problems(name: str, source: str) -> list[str]:
    """Why a text cannot be the prompt of that name: its form, unknown fields, and fields whose text it lacks."""
    parts = _HEAD.split(source)
    if parts[0].strip() or len(parts) < 3:
        return ["must begin with a line [system] or [user]"]
    own = own_prompts()[name]
    if source == own:
        return []
    try:
        (known, needed), (used, _) = variables(own), variables(source)
    except TemplateSyntaxError as error:
        return [f"line {error.lineno}: {error.message}"]
    unknown, lacking = sorted(used - known), sorted(needed - used - _GUIDANCE)
    found = [f"unknown field {', '.join(unknown)}; expected of {', '.join(sorted(known)) or 'none'}"] if unknown else []
    return found + ([f"lacks the field {', '.join(lacking)}"] if lacking else [])


def require_fillable() -> None:
    """Raises ParamsError that names each prompt of the user's folder that cannot be filled, and why."""
    found = {name: problems(name, text_of(name)) for name in replaced()}
    if said := [f"prompt {name}: {'; '.join(reasons)}" for name, reasons in found.items() if reasons]:
        raise ParamsError("; ".join(said))


def render(package: str, name: str, **fields: Any) -> tuple[Message, ...]:
    """Fill ``prompts/<name>.txt`` of ``package``, or the user's in its place, with ``fields``.

    Raises ParamsError for a user's prompt that asks for other fields. Blocks are split before filling, so no text in a
    field can start a message. A missing field is an error.
    """
    named = name_of(package, name)
    return tuple(
        Message(cast(Literal["system", "user", "assistant"], role), body.render(**fields).strip())
        for role, body in _blocks(named, text_of(named))
    )
