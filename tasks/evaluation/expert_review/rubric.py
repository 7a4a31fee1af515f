"""Rating instructions as data, possible penalties, and the consistency score (SimSUM, Appendix E.1.1)."""

import json
from collections.abc import Collection, Mapping
from importlib.resources import files
from typing import Any

import yaml

from schemas.tables.review import SCALES
from tasks.domains.in_use import domain_cache
from tasks.domains.rules import load_rules

Part = dict[str, Any]
"""``{part, title, rule, items}``. An item is ``{item, label}`` and allows one penalty."""


@domain_cache(maxsize=1)
def rubric() -> dict[str, Any]:
    """``rubric.yaml`` in the words of the domain: scales in the order of `SCALES`, meanings from 5 down to 1."""
    text = files(__package__).joinpath("rubric.yaml").read_text(encoding="utf-8")
    phrases = load_rules().phrases
    filled = text.replace("{adjective}", phrases.adjective).replace("{outside}", phrases.outside)
    loaded: dict[str, Any] = yaml.safe_load(filled)
    assert tuple(loaded["scales"]) == SCALES, "rubric.yaml must have the scales of schemas.tables.review, in order"
    return loaded


def note_type(kind: str) -> str:
    """Type of a prompt in the rating instructions: type_1 has symptoms of the domain, type_2 has none."""
    return "type_1" if kind == "symptoms" else "type_2"


def penalty_parts(prompt: Mapping[str, Any], conditions: Collection[str], labels: Mapping[str, str]) -> list[Part]:
    """The parts of a prompt (a row of PROMPTS) for which penalties can be given; empty parts are left out.

    ``conditions`` are all conditions named in prompts of the lineage; ``labels`` maps conditions and symptoms to their
    names in prompts.
    """
    given = json.loads(prompt["conditions"])
    others = [_item(name, labels) for name in sorted(set(conditions) - set(given))]
    other = {"item": "other", "label": rubric()["other_condition"]}
    if note_type(prompt["kind"]) == "type_1":
        values, descriptors = json.loads(prompt["values"]), json.loads(prompt["descriptors"])
        mention = [_symptom_to_mention(name, values, descriptors, labels) for name in json.loads(prompt["mention"])]
        avoid = [_item(name, labels) for name in json.loads(prompt["avoid"])]
        parts = {
            "1A": mention,
            "1B": avoid,
            "1C": [*others, other] if given else [],
            "1D": _instructions("diagnosis", *(["further_symptom"] if mention else []), "sex_or_age"),
        }
    else:
        parts = {
            "2A": [_item(name, labels) for name in json.loads(prompt["values"])],
            "2B": [*others, other] if given else others,
            "2C": _instructions("diagnosis", "sex_or_age"),
        }
    return [{"part": name, **rubric()["parts"][name], "items": items} for name, items in parts.items() if items]


def _label(name: str, labels: Mapping[str, str]) -> str:
    return labels.get(name, name.replace("_", " "))


def _item(name: str, labels: Mapping[str, str]) -> dict[str, str]:
    return {"item": name, "label": _label(name, labels)}


def _symptom_to_mention(
    name: str, values: Mapping[str, str], descriptors: Mapping[str, str | None], labels: Mapping[str, str]
) -> dict[str, str]:
    content = ", ".join(part for part in (values[name], descriptors.get(name)) if part)
    return {"item": name, "label": f"{_label(name, labels)}: {content}"}


def _instructions(*names: str) -> list[dict[str, str]]:
    return [{"item": name, "label": rubric()["instructions"][name]} for name in names]


def consistency_score(penalties: int) -> int:
    """5 for no penalty, 4 for one, 3 for two, 2 for three, 1 for more (Appendix E.1.1)."""
    return max(5 - penalties, 1)
