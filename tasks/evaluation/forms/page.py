"""Renders a form as one HTML file with its style, script and data.

Texts of notes are untrusted. They are embedded as JSON in a script element that browsers do not execute, with every
``<`` escaped, and the form's script inserts them as text nodes only. A content security policy allows only the form's
script and style, by their hashes, so that a text that escaped both could neither run nor load anything.
"""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

_ENVIRONMENT = Environment(undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True)


def render_page(title: str, script: str, data: dict[str, Any]) -> str:
    """The HTML of a form. ``script`` is the file in ``assets`` that builds the page from ``data`` (any JSON)."""
    style, code = _asset("form.css"), _asset("common.js") + _asset(script)
    policy = (
        f"default-src 'none'; script-src '{_digest(code)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return _ENVIRONMENT.from_string(_asset("page.html")).render(
        title=title, policy=policy, style=Markup(style), code=Markup(code), data=Markup(embedded_json(data))
    )


def embedded_json(data: Any) -> str:
    """``data`` as ASCII JSON without ``<``, ``>`` and ``&``, which makes it safe inside a script element."""
    text = json.dumps(data, sort_keys=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
