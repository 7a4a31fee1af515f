"""Separates returned files of the current form from those of older notes, which belong to an earlier lineage."""

import json
from collections.abc import Mapping


def split_by_form(files: Mapping[str, str], form: str) -> tuple[dict[str, str], dict[str, str]]:
    """Returned files (name -> text) of the form with id ``form``, and the form ids of the others by file name.

    A file without a form id counts as current, so that reading it names what is wrong with it.
    """
    ids = {name: _form_of(text) for name, text in files.items()}
    older = {name: found for name, found in ids.items() if found not in (None, form)}
    return {name: text for name, text in files.items() if name not in older}, {n: str(i) for n, i in older.items()}


def _form_of(text: str) -> str | None:
    try:
        found = json.loads(text)["form"]
    except (ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None
