"""Checks the files of a domain against its network; one line for each defect, with the key."""

from collections.abc import Iterator, Sequence
from typing import Any

from tasks.domains.rules import Network, PromptingRules


def wording_defects(wording: PromptingRules, network: Network) -> Iterator[str]:
    """Lines on names and values of ``wording`` that contradict the network."""
    symptoms, conditions = network.of_type("symptom"), network.of_type("underlying condition")
    yield from _names("absent_value", wording.absent_value, symptoms, "symptom")
    yield from _names("conditions", wording.conditions, conditions, "underlying condition")
    yield from _names("labels", wording.labels, (*symptoms, *conditions), "symptom or underlying condition")
    yield from _names("definitions", wording.definitions, symptoms, "symptom")
    yield from _names("mention_probability", wording.mention_probability, symptoms, "symptom")
    yield from _labels(wording.labels)
    for symptom in symptoms:
        yield from _values(symptom, wording, network)
    for symptom, causes in wording.descriptors.items():
        yield from _unknown(f"descriptors.{symptom}", causes, network.variables)
        yield from _unknown("descriptors", [symptom], symptoms)
    for symptom, further in wording.further_causes.items():
        yield from _unknown(f"further_causes.{symptom}", further, network.variables)
    yield from _unknown("overruling_causes", wording.overruling_causes, network.variables)


def _names(key: str, found: Sequence[str] | dict[str, Any], expected: Sequence[str], role: str) -> Iterator[str]:
    yield from (f"key {key}: {name} is no {role} of network.yaml; remove it" for name in found if name not in expected)
    yield from (f"key {key}: nothing for the {role} {name} of network.yaml" for name in expected if name not in found)


def _unknown(key: str, names: Sequence[str] | dict[str, Any], known: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"key {key}: unknown variable {name!r}; network.yaml has {', '.join(known)}"


def _labels(labels: dict[str, str]) -> Iterator[str]:
    taken: dict[str, str] = {}
    for name, label in labels.items():
        if label.lower() in taken:
            yield f"key labels.{name}: {label!r} is the label of {taken[label.lower()]} as well; every label is unique"
        taken[label.lower()] = name


def _values(symptom: str, wording: PromptingRules, network: Network) -> Iterator[str]:
    values = network.values(symptom)
    absent = wording.absent_value.get(symptom, values[0])
    if absent != values[0]:
        yield f"key absent_value.{symptom}: found {absent!r}; expected the first value of network.yaml, {values[0]!r}"
    probabilities = wording.mention_probability.get(symptom, {})
    if probabilities and set(probabilities) != set(values):
        yield f"key mention_probability.{symptom}: has {', '.join(probabilities)}; expected {', '.join(values)}"
    for value, probability in probabilities.items():
        if not 0 <= probability <= 1:
            yield f"key mention_probability.{symptom}.{value}: found {probability}; expected 0 to 1"
    worded = wording.claims.get(symptom, {})
    if unknown := set(worded) - set(values):
        yield f"key claims.{symptom}: unknown value {sorted(unknown)[0]!r}; network.yaml has {', '.join(values)}"
    if len(values) > 2 and set(worded) != set(values):
        yield f"key claims.{symptom}: has {', '.join(worded) or 'nothing'}; needs a wording for {', '.join(values)}"


def layout_defects(layout: dict[str, Any], network: Network) -> Iterator[str]:
    """Lines on columns of the exported dataset that contradict the network."""
    yield from _names("columns", layout.get("columns", {}), network.variables, "variable")
    yield from _unknown("meanings", layout.get("meanings", {}), network.variables)
