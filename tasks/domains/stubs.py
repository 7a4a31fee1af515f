"""Writes the files of a domain from its network, with words and probabilities that work until they are edited."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import ascii_letters
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

FEVER = ("high", "low")
"""Levels of a symptom named fever by which the words that all domains share are used."""
_HEAD = re.compile(r"^=== (\S+)\n", re.MULTILINE)


def _flow(value: Any) -> str:
    """A mapping or list as YAML on one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True).strip()


_ENVIRONMENT = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
_ENVIRONMENT.filters["flow"] = _flow
_ENVIRONMENT.filters["zipped"] = lambda values, names: dict(zip(names, values, strict=True))
_ENVIRONMENT.filters["each"] = lambda names, value: dict.fromkeys(names, value)


def stub_files(name: str, variables: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The files of domain ``name`` by path, but for network.yaml, whose ``variables`` these are.

    `vignette domain check` finds no defect in them. Expects a network with a symptom.
    """
    described = [_described(key, node, variables) for key, node in variables.items()]
    symptoms = _lettered(_of(described, "symptom"))
    fever = any(one["name"] == "fever" and set(one["levels"]) == set(FEVER) for one in symptoms)
    own = [one for one in symptoms if not (fever and one["name"] == "fever")]
    constant = [one["name"] for one in _of(described, "underlying condition", "non-clinical") if one["values"]]
    labelled = [*symptoms, *_of(described, "underlying condition")]
    text = _ENVIRONMENT.from_string(Path(__file__).with_name("stubs.txt").read_text(encoding="utf-8")).render(
        name=name,
        variables=list(variables),
        labels={one["name"]: one["label"] for one in labelled},
        symptoms=symptoms,
        names=[one["name"] for one in symptoms],
        own=own,
        fever=fever,
        described=[one for one in own if one["causes"] and not one["levels"]],
        absent={one["name"]: one["absent"] for one in symptoms},
        letters={one["letter"]: one["name"] for one in symptoms},
        conditions=_of(described, "underlying condition"),
        diagnoses=_of(described, "diagnosis"),
        treatments=[one for one in _of(described, "treatment") if one["values"]],
        counts=[one for one in described if not one["values"]],
        constant=constant,
        redrawn=[key for key in variables if key not in constant],
    )
    parts = _HEAD.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _of(described: Iterable[dict[str, Any]], *types: str) -> list[dict[str, Any]]:
    return [one for one in described if one["type"] in types]


def _described(name: str, node: Mapping[str, Any], variables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What the stubs say of a variable; ``values`` is empty for a count."""
    label, values = name.replace("_", " "), [] if node["values"] == "count" else [str(one) for one in node["values"]]
    causes = [one for one in node.get("parents", ()) if variables[one]["type"] in ("diagnosis", "underlying condition")]
    levels = values[1:] if len(values) > 2 else []
    return {
        "name": name,
        "type": node["type"],
        "label": label,
        "values": values,
        "levels": levels,
        "absent": values[0] if values else None,
        "causes": causes,
        "claims": {one: f"a {one} {label}" if one in levels else f"no {label}" for one in values},
        "mentioned": {one: 0.7 if one == values[0] else 0.95 for one in values},
        "done": {one: f"{label}: {one}" for one in values},
    }


def _lettered(symptoms: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The symptoms with a letter each, one of its name where possible."""
    taken: set[str] = set()
    for one in symptoms:
        one["letter"] = next(c for c in f"{one['name']}{ascii_letters}" if c.isalpha() and c not in taken)
        taken.add(one["letter"])
    return symptoms
