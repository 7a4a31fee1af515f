"""How pages are filled and numbers written: templates, JSON and scripts within a page, values with few digits."""

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

_TURNS = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")
"""Characters of control of the direction of text, replaced one by one so that offsets of spans hold."""
_IDENTIFIER = re.compile(r"[A-Za-z]\w*(?:\.\d+)?")


def read_template(name: str) -> str:
    """The text of a file in templates/."""
    return files("tasks.reporting").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def settings(name: str) -> Any:
    """The content of a YAML file in templates/."""
    return yaml.safe_load(read_template(name))


def paragraph(name: str, **values: Any) -> str:
    """A paragraph of words.yaml."""
    text: str = settings("words.yaml")[name]
    return text.format(**values)


def words(name: str) -> str:
    """A name of a table in words: identifiers as in columns.yaml's ``names``, else with blanks for underscores."""
    names = settings("columns.yaml")["names"]
    return _IDENTIFIER.sub(lambda found: names.get(found[0], found[0].replace("_", " ")), name)


def render(template: str, *, style: str, script: str = "", **context: Any) -> str:
    """Fill a template; everything except its style, script and figures is escaped.

    Characters that turn the direction of text are shown as �: with them, people could read another text than a model.
    ``script`` is the only one that the page's content security policy allows.
    """
    digest = "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    found = _environment().get_template(template)
    return found.render(css=style, js=script, script_digest=digest, **context).translate(_TURNS)


def origin(rows: Mapping[str, str], citation: str) -> str:
    """What a page belongs to, by name, and how to cite it, as HTML; for a page that is made before this is known."""
    module: Any = _environment().get_template("widgets.html").module
    return str(module.origin(rows, citation))


def _environment() -> Environment:
    loader = PackageLoader("tasks.reporting")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def script_json(value: Any) -> str:
    """JSON that is safe inside a script element: it can neither end the element nor open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def number(value: float | None) -> str:
    """Three decimals below 10, one above; integers without decimals; a dash for a missing value."""
    if value is None or math.isnan(value):
        return "–"
    if 0 < abs(value) < 0.0005:
        return "<0.001" if value > 0 else ">−0.001"
    if float(value).is_integer() and abs(value) < 1e6:
        return fixed(value, 0)
    return fixed(value, 1 if abs(value) >= 10 else 3)


def percent(value: float | None) -> str:
    """A share in 0-1 as percent with one decimal, 0% and 100% without; a dash for a missing value."""
    if value is None or math.isnan(value):
        return "–"
    if 0 < abs(value) < 0.0005:
        return "<0.1%" if value > 0 else ">−0.1%"
    return fixed(100 * value, 0 if value in (-1, 0, 1) else 1) + "%"


def counted(number: int, noun: str) -> str:
    """A number of things that a regular noun names."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def signed(value: float, write: Callable[[float], str] = number) -> str:
    """A difference, with a plus sign where it is positive."""
    return f"+{write(value)}" if value >= 0.0005 else write(value)


def probability(p: float | None) -> str:
    """A p value with three decimals, never as 0; a dash for a missing one."""
    if p is None or math.isnan(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def decimals(values: list[float]) -> int:
    """Number of decimals with which a column was printed: the largest among its values, at most four."""
    return max((len(f"{value:.4f}".rstrip("0").partition(".")[2]) for value in values), default=0)


def fixed(value: float | None, places: int) -> str:
    """Value with ``places`` decimals; a dash for a missing value."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.{places}f}".replace("-", "−")
