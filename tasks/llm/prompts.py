"""Fills prompt files. A prompt file lies in the ``prompts/`` folder of the room that asks.

A file holds blocks headed ``[system]``, ``[user]`` or ``[assistant]`` on a line of their own; each becomes a message.
The last user message begins with a line ``Task: <name>``. Texts from other sources are put between tags
(``<note>`` ... ``</note>``), each tag on its own line.
"""

import json
import re
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, cast

from jinja2 import Environment, StrictUndefined, Template

from tasks.llm.calls import Message

_ENVIRONMENT = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
_ENVIRONMENT.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)  # jinja's tojson escapes ' and °
_ENVIRONMENT.filters["quoted"] = lambda texts: " or ".join(
    part for part in (", ".join(f'"{text}"' for text in texts[:-1]), f'"{texts[-1]}"') if part
)
_HEAD = re.compile(r"^\[(system|user|assistant)\]$", re.MULTILINE)


@lru_cache
def _blocks(package: str, name: str) -> tuple[tuple[str, str], ...]:
    source = files(package).joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")
    parts = _HEAD.split(source)
    if parts[0].strip() or len(parts) < 3:
        raise ValueError(f"prompt {package}/prompts/{name}.txt must begin with a [system] or [user] line")
    return tuple(zip(parts[1::2], parts[2::2], strict=True))


@lru_cache
def _template(body: str) -> Template:
    return _ENVIRONMENT.from_string(body)


def render(package: str, name: str, **fields: Any) -> tuple[Message, ...]:
    """Fill ``prompts/<name>.txt`` of ``package`` with ``fields``.

    Blocks are split before filling, so no text in a field can start a message. A missing field is an error.
    """
    return tuple(
        Message(
            cast(Literal["system", "user", "assistant"], role),
            _template(body).render(**fields).strip(),
        )
        for role, body in _blocks(package, name)
    )
