"""The forms of all measures, found by their folders, on which people check what was asked or judged."""

from importlib import import_module
from pathlib import Path

from tasks.people.forms import Returned

_FORM = "tasks.measures.*.form"
"""The modules with forms, each its ``RETURNED``."""
RETURNED: tuple[Returned, ...] = tuple(
    one
    for file in sorted(Path(__file__).parent.glob("*/form.py"))
    for one in import_module(_FORM.replace("*", file.parent.name)).RETURNED
)
