"""The parts of a prompt that penalties are given for, with their maxima (SimSUM, Appendix E.1.1)."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from tasks.evaluation.expert_review.rubric import rubric

Part = dict[str, Any]
"""``{part, title, rule, items}``; an item is ``{item, label}`` and can get one penalty: the maximum is their number."""


def note_type(kind: str) -> str:
    """The rating instructions' type of a prompt: type_1 asks for respiratory symptoms, type_2 has none."""
    return "type_1" if kind == "symptoms" else "type_2"


def penalty_parts(prompt: Mapping[str, Any], conditions: Collection[str], labels: Mapping[str, str]) -> list[Part]:
    """Parts of one row of the prompts table that can get penalties; a part that the prompt lacks is left out.

    ``conditions`` are all conditions that prompts of the lineage name, ``labels`` their and the symptoms' wording.
    """
    given = json.loads(prompt["conditions"])
    others = [_item(name, labels) for name in sorted(set(conditions) - set(given))]
    other = {"item": "other", "label": rubric()["other_condition"]}
    if note_type(prompt["kind"]) == "type_1":
        values, descriptors = json.loads(prompt["values"]), json.loads(prompt["descriptors"])
        mention = [_asked(name, values, descriptors, labels) for name in json.loads(prompt["mention"])]
        avoid = [_item(name, labels) for name in json.loads(prompt["avoid"])]
        parts = {
            "1A": mention,
            "1B": avoid,
            "1C": [*others, other] if given else [],
            "1D": _instructions("diagnosis", "further_symptom", "sex_or_age"),
        }
    else:
        parts = {
            "2A": [_item(name, labels) for name in json.loads(prompt["values"])],
            "2B": [*others, other] if given else others,
            "2C": _instructions("diagnosis", "sex_or_age"),
        }
    return [{"part": name, **rubric()["parts"][name], "items": items} for name, items in parts.items() if items]


def _item(name: str, labels: Mapping[str, str]) -> dict[str, str]:
    return {"item": name, "label": labels.get(name, name.replace("_", " "))}


def _asked(
    name: str, values: Mapping[str, str], descriptors: Mapping[str, str | None], labels: Mapping[str, str]
) -> dict[str, str]:
    told = ", ".join(part for part in (values[name], descriptors.get(name)) if part)
    return {"item": name, "label": f"{labels.get(name, name.replace('_', ' '))}: {told}"}


def _instructions(*names: str) -> list[dict[str, str]]:
    return [{"item": name, "label": rubric()["instructions"][name]} for name in names]
