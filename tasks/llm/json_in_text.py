"""Finds the JSON that a reply holds: within prose and fences, with slips; of several values the last."""

import json
import re
from collections.abc import Collection
from typing import Any

import json_repair

from schemas.errors import repeated

MOST_REPAIRED = 20_000
"""Longest JSON with slips that is repaired, in characters: the repair library takes quadratic time."""

_IS_JSON = re.compile(r"""\{\s*(?:["'“”}\\]|[\w$]+\s*:)|\[\s*[\[{"\]]""")
"""The beginning of an object, and not of a set in prose; of a list that is not a citation such as ``[1]``."""


def json_in(text: str, fields: Collection[str] = (), list_field: str | None = None) -> Any:
    """The JSON value of ``text``. Raises ValueError for one that has a key twice, stops half way, or is not there.

    ``fields``: of the object that was asked for; the last object with one of them counts. ``list_field``: its one list,
    which is read alone too, and as objects one after the other.
    """
    try:
        return _loaded(text)
    except KeyTwice:
        raise
    except ValueError:
        pass  # not the whole text
    bodies = _bodies(text)
    if not bodies:
        raise ValueError("it holds no JSON object")
    named = re.compile(rf"""({"|".join(map(re.escape, fields)) or "(?!)"})['"“”]?\s*:""")
    asked_for = [(body, set(named.findall(body))) for body in bodies if body.startswith("{") and named.search(body)]
    if asked_for:
        last, found = asked_for[-1]
        if lacking := set().union(*(names for _, names in asked_for)) - found:
            raise ValueError(f"it holds several JSON objects, and the last one has no {min(lacking)}")
        return _value(last)
    bodies = [body for body in bodies if _IS_JSON.match(body)] or bodies
    if list_field and len(bodies) > 1 and all(body.startswith("{") for body in bodies):
        return [_value(body) for body in bodies]
    found = _value(bodies[-1])
    is_packed = not list_field and isinstance(found, list) and len(found) == 1
    return found[0] if is_packed else found


class KeyTwice(ValueError):
    """An object has a key twice."""


def _loaded(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if (twice := repeated(key for key, _ in pairs)) is not None:
        raise KeyTwice(f"the key {twice[:80]!r} is given twice")
    return dict(pairs)


def _value(body: str) -> Any:
    try:
        return _loaded(body)
    except KeyTwice:
        raise
    except ValueError as error:
        if len(body) > MOST_REPAIRED:
            reason = f"its JSON has slips, and its {len(body):,} characters are too many to repair"
            raise ValueError(f"{reason} (at most {MOST_REPAIRED:,})") from error
    if two := _TWO_NUMBERS.search(_STRING.sub('""', body)):
        raise ValueError(f"its JSON has two numbers where one is expected ({two[0][:40]})")
    objects, found = _objects(body), json.loads(json.dumps(json_repair.loads(body)))
    if objects > _count(found):
        raise ValueError("its JSON has slips by which two of its objects would be read as one")
    return found


_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_TWO_NUMBERS = re.compile(
    r":\s*+-?\d[\d.]*+(?:\s*+[,|/–-]|\s++(?:or|and|to)\b|(?=\s))\s*+\d[\d.]*+(?=\s*+[,}\]])", re.IGNORECASE
)
"""Numbers of which the repair library takes the first: ``1 or 0``, ``3, 4``, ``0|1``."""


def _count(value: Any) -> int:
    """The objects with a key in a value."""
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (isinstance(value, dict) and bool(value)) + sum(map(_count, below))


_TOKEN = re.compile(r"""([{,])\s*+(?:['“”]?(\w[\w -]*+)['“”]?|"(\w[\w -]*+)")\s*:|"(?:[^"\\]|\\.)*+"|[{}\[\]]""")


def _objects(body: str) -> int:
    """The objects with a key in JSON with slips. Raises KeyTwice, where the library would take the last."""
    keys: list[list[tuple[str, int]]] = []
    objects = 0
    for token in _TOKEN.finditer(body):
        objects += token[1] == "{"
        if token[0][0] in "{[":
            keys.append([])
        elif token[0] in ("}", "]"):
            _unique(keys.pop() if keys else [])
        if (key := token[2] or token[3]) and keys:
            keys[-1].append((key.strip(), 0))
    return objects


def _bodies(text: str) -> list[str]:
    """What outermost brackets enclose. A quote counts within them alone.

    Raises ValueError where a bracket or string is open at the end: a repair library closes it, so that a reply cut
    short would come out valid and incomplete.
    """
    found, start, depth, in_string, escaped = list[str](), 0, 0, False, False
    for at, character in enumerate(text):
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = depth > 0
        elif character == "{" or (character == "[" and (depth or _IS_JSON.match(text, at))):
            start, depth = (start, depth + 1) if depth else (at, 1)
        elif character in "}]" and depth:
            depth -= 1
            if not depth:
                found.append(text[start : at + 1])
    if depth:
        raise ValueError("its JSON stops half way")
    return found
