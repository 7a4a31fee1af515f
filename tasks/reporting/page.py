"""Puts the report page together: one HTML file that loads nothing from outside."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined


@lru_cache
def captions() -> dict[str, dict[str, str]]:
    """Title and caption of each metric table, by file stem."""
    loaded: dict[str, dict[str, str]] = yaml.safe_load(_read("captions.yaml"))
    return loaded


def render_page(*, notes: Sequence[Mapping[str, Any]], symptoms: Sequence[str], **context: Any) -> str:
    """Fill the template. Everything but our own CSS, script and drawings is escaped."""
    environment = Environment(
        loader=PackageLoader("tasks.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html").render(
        css=_read("report.css"),
        js=_read("report.js"),
        notes_json=script_json({"symptoms": list(symptoms), "notes": list(notes)}),
        symptoms=symptoms,
        note_count=len(notes),
        **context,
    )


def script_json(value: Any) -> str:
    """JSON that can stand in a script element: no text in it can end the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _read(name: str) -> str:
    return files("tasks.reporting").joinpath("templates", name).read_text(encoding="utf-8")
