"""Renders the report page: one HTML file without external resources."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render_page(*, notes: Sequence[Mapping[str, Any]], variables: Mapping[str, Sequence[str]], **context: Any) -> str:
    """Fill the template. Everything except the page's CSS, script and figures is escaped.

    ``variables``: names of the record's variables by type, in display order; symptoms are highlighted in the notes.
    """
    environment = Environment(
        loader=PackageLoader("tasks.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    symptoms = list(variables.get("symptom", ()))
    shown = {"symptoms": symptoms, "variables": {kind: list(names) for kind, names in variables.items()}}
    script = read_template("tables.js") + read_template("report.js")
    return environment.get_template("report.html").render(
        css=read_template("report.css"),
        js=script,
        script_digest=script_digest(script),
        notes_json=script_json(shown | {"notes": list(notes)}),
        symptoms=symptoms,
        kinds=sorted({note["kind"] for note in notes}),
        note_count=len(notes),
        **context,
    )


def script_json(value: Any) -> str:
    """JSON that is safe inside a script element: it can neither end the element nor open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def script_digest(text: str) -> str:
    """Source expression of an allowed script in the content security policy; all other scripts are blocked."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def read_template(name: str) -> str:
    """The text of a file in templates/."""
    return files("tasks.reporting").joinpath("templates", name).read_text(encoding="utf-8")
