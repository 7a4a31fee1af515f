"""The forms of all measures, found by their folders, on which people check what was asked or judged."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from tasks.measures.declared import Forms
from tasks.people.forms import Returned

_FORM = "tasks.measures.*.form"
"""The modules with a form, each its ``RETURNED``, and ``EVALUATED`` where an evaluation has it too."""
_MODULES: Mapping[str, Any] = {
    file.parent.name: import_module(_FORM.replace("*", file.parent.name))
    for file in sorted(Path(__file__).parent.glob("*/form.py"))
}
RETURNED: tuple[Returned, ...] = tuple(one for module in _MODULES.values() for one in module.RETURNED)
EVALUATED: Mapping[str, Forms] = {
    name: module.EVALUATED for name, module in _MODULES.items() if hasattr(module, "EVALUATED")
}
"""By the name of the measure."""
