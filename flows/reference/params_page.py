"""The page of all params: name, type, default, limits and meaning, from the pydantic sections."""

import json
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from flows.reference.markdown import code, table
from flows.reference.source import field_comments
from flows.reference.types import in_words
from schemas.params import Params

_HEAD = ("param", "type", "default", "description")


def params_page() -> str:
    """One section per section of params.yaml, subsections flattened to dotted names."""
    parts = ["# Params\n", "All settings of `params.yaml`. An unknown key or a wrong type is an error.\n"]
    top = [row for row in _rows(Params, "") if "." not in row[0]]
    parts.append(table(_HEAD, top))
    for name, field in Params.model_fields.items():
        if section := _section(field.annotation):
            parts.append(f"## {name}\n\n{(section.__doc__ or '').strip()}\n")
            key = "" if _is_section(field.annotation) else ".<name>"
            parts.append(table(_HEAD, _rows(section, f"{name}{key}.")))
    return "\n".join(parts)


def _rows(section: type[BaseModel], prefix: str, given: object = None) -> Iterator[tuple[str, str, str, str]]:
    """Rows of a section's fields; ``given`` is the section that its own section has by default."""
    meaning = field_comments(section)
    for name, field in section.model_fields.items():
        inner, default = _section(field.annotation), getattr(given, name, _default(field))
        if not inner:
            yield code(prefix + name), type_name(field), _shown(default), meaning.get(name, "")
        elif prefix:
            key = "" if _is_section(field.annotation) else ".<name>"
            yield from _rows(inner, f"{prefix}{name}{key}.", default)


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _section(annotation: Any) -> type[BaseModel] | None:
    """The section that a field holds, directly or as values of a mapping."""
    if _is_section(annotation):
        return annotation
    return next((part for part in get_args(annotation) if _is_section(part)), None)


def type_name(field: FieldInfo) -> str:
    """The type as in params.yaml with its limits, such as ``integer >= 1`` or ``plain or json or null``."""
    limits = ", ".join(f"{sign} {value}" for sign, value in _limits(field))
    return f"{in_words(field.annotation)} {limits}".strip()


def _limits(field: FieldInfo) -> Iterator[tuple[str, float]]:
    signs = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
    for limit in field.metadata:
        for name, sign in signs.items():
            if getattr(limit, name, None) is not None:
                yield sign, getattr(limit, name)


def _default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)


def _shown(default: object) -> str:
    return "required" if default is PydanticUndefined else code(json.dumps(default, ensure_ascii=False))
