"""Reads a domain's words, and checks them against its network: a defect is one line that names the key.

``wording.yaml`` has the rules for building prompts from records, ``history.yaml`` words for what happens over visits.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field

from schemas.params.base import Section
from tasks.domains import in_use
from tasks.domains.in_use import data_of, domain_cache, domain_name

if TYPE_CHECKING:
    from tasks.network.graph import NetworkDefinition


class Phrases(Section):
    """Words of the domain in prompts that all domains share."""

    adjective: str  # of the domain's symptoms
    outside: str  # complaints outside the domain, as in "a complaint outside this region"
    conditions: str  # examples of health conditions
    wrong_value: str  # a listed symptom, and what a note says in its place
    wrong_descriptor: str  # the same for a descriptor
    odd_history: str  # what one would not ask a patient, with an infinitive
    odd_examination: str  # what one would not examine, with an infinitive
    contradiction: str  # a finding that contradicts a history


class PromptingRules(Section):
    """SimSUM, Section 2.2 and Table 2, as data. Keys of all mappings are column names of the record table."""

    subject: str  # of the network: "a Bayesian network of ..."
    phrases: Phrases
    claims: dict[str, dict[str, str]] = Field(default_factory=dict)  # symptom -> value -> what the patient has
    labels: dict[str, str]  # column -> name shown to the model
    definitions: dict[str, str]  # symptom -> what its name covers
    defined_for_writer: list[str] = Field(default_factory=list)  # defined where the patient has no symptom
    absent_value: dict[str, str]  # symptom -> the value that means it is absent
    mention_probability: dict[str, dict[str, float]]  # symptom -> value -> P(mentioned | value)
    overruling_causes: list[str] = Field(default_factory=list)  # strongest first
    further_causes: dict[str, list[str]] = Field(default_factory=dict)  # causes in Table 2 that are not parents
    conditions: list[str]  # underlying conditions, the only other variables in prompts
    descriptors: dict[str, dict[str, list[str]]] = Field(default_factory=dict)  # symptom -> cause -> descriptors

    @property
    def symptoms(self) -> tuple[str, ...]:
        """Column names of the symptoms, in the order of the rules."""
        return tuple(self.absent_value)

    @property
    def symptom_labels(self) -> dict[str, str]:
        """The symptoms' names in prompts by column, in the order of the rules."""
        return {symptom: self.labels[symptom] for symptom in self.symptoms}

    @property
    def condition_labels(self) -> tuple[str, ...]:
        """The underlying conditions' names in prompts, in the order of the rules."""
        return tuple(self.labels[condition] for condition in self.conditions)

    @property
    def symptom_by_label(self) -> dict[str, str]:
        """Column names of the symptoms by their name in prompts, in lower case."""
        return {label.lower(): symptom for symptom, label in self.symptom_labels.items()}

    def is_plain(self, symptom: str) -> bool:
        """Whether a symptom is present or not, without levels."""
        return len(self.mention_probability.get(symptom, ())) <= 2

    def explained(self, symptom: str) -> str:
        """A symptom's name as listed for a patient who has none, with its definition if the writer is given it."""
        label = self.labels[symptom]
        return f"{label}: {self.definitions[symptom]}" if symptom in self.defined_for_writer else label

    @property
    def glossary(self) -> dict[str, str]:
        """What each symptom covers, by the name shown to the model."""
        return {self.labels[symptom]: self.definitions[symptom] for symptom in self.symptoms}


class Counted(Section):
    """A phrase for a count of one, and one with {value} for more."""

    one: str
    more: str


class Trait(Section):
    """What a patient with a condition does, and what one without it does not do."""

    stated: str  # as in "smokes"
    denied: str  # as in "does not smoke"


class HistoryWords(Section):
    """Phrases by column of the table of visits. A domain without the file has none."""

    traits: dict[str, Trait] = Field(default_factory=dict)  # condition -> words instead of "has NAME"
    treatments: dict[str, dict[str, str]] = Field(default_factory=dict)  # treatment -> value -> what was done
    outcomes: dict[str, Counted] = Field(default_factory=dict)  # count -> what was decided

    def decided(self, values: Mapping[Any, object]) -> dict[str, str]:
        """The phrase of each treatment and outcome that has one, for the ``values`` of a visit; 0 decides nothing."""
        found = {name: phrases[str(values[name])] for name, phrases in self.treatments.items() if name in values}
        for name, worded in self.outcomes.items():
            if count := int(str(values.get(name) or 0)):
                found[name] = worded.one if count == 1 else worded.more.format(value=count)
        return found


def variables_of(domain: str, role: str) -> tuple[str, ...]:
    """Variables of a role (symptom, diagnosis, ...) in the network of a domain, in order."""
    return tuple(name for name, node in data_of(domain, "network")["variables"].items() if node["type"] == role)


@domain_cache(maxsize=4)
def rules_of(domain: str) -> PromptingRules:
    """Read ``wording.yaml`` of a domain."""
    return PromptingRules.model_validate(data_of(domain, "wording"))


def load_rules() -> PromptingRules:
    """`rules_of` the domain in use."""
    return rules_of(domain_name())


@domain_cache(maxsize=4)
def history_words(domain: str) -> HistoryWords:
    """Read ``history.yaml`` of a domain."""
    present = (in_use.FOLDER / domain / "history.yaml").is_file()
    return HistoryWords.model_validate(data_of(domain, "history") if present else {})


def wording_defects(wording: PromptingRules, network: "NetworkDefinition") -> Iterator[str]:
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
        yield from _foreign(f"descriptors.{symptom}", causes, network.variables, "variable")
        yield from _foreign("descriptors", [symptom], symptoms, "symptom")
    for symptom, further in wording.further_causes.items():
        yield from _foreign(f"further_causes.{symptom}", further, network.variables, "variable")
    yield from _foreign("defined_for_writer", wording.defined_for_writer, symptoms, "symptom")
    yield from _foreign("overruling_causes", wording.overruling_causes, network.variables, "variable")


def _names(key: str, found: Collection[str], expected: Collection[str], role: str) -> Iterator[str]:
    yield from _foreign(key, found, expected, role)
    yield from (f"key {key}: nothing for the {role} {name} of network.yaml" for name in expected if name not in found)


def _foreign(key: str, found: Collection[str], expected: Collection[str], role: str) -> Iterator[str]:
    known = ", ".join(expected) or "none"
    yield from (
        f"key {key}: {name} is no {role} of network.yaml, which has {known}" for name in found if name not in expected
    )


def _labels(labels: dict[str, str]) -> Iterator[str]:
    taken: dict[str, str] = {}
    for name, label in labels.items():
        if label.lower() in taken:
            yield f"key labels.{name}: {label!r} is the label of {taken[label.lower()]} as well; every label is unique"
        taken[label.lower()] = name


def _values(symptom: str, wording: PromptingRules, network: "NetworkDefinition") -> Iterator[str]:
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


def layout_defects(layout: dict[str, Any], network: "NetworkDefinition") -> Iterator[str]:
    """Lines on columns of the exported dataset that contradict the network."""
    yield from _names("columns", layout.get("columns", {}), network.variables, "variable")
    yield from _foreign("meanings", layout.get("meanings", {}), network.variables, "variable")


def history_defects(words: HistoryWords, network: "NetworkDefinition") -> Iterator[str]:
    """Lines on names and values of ``history.yaml`` that contradict the network, and on phrases without a place."""
    treatments = network.of_type("treatment")
    yield from _foreign("traits", words.traits, network.of_type("underlying condition"), "underlying condition")
    yield from _foreign("treatments", words.treatments, treatments, "treatment")
    yield from _foreign("outcomes", words.outcomes, [n for n in network.variables if not network.values(n)], "count")
    for name, phrases in words.treatments.items():
        values = network.values(name) if name in treatments else tuple(phrases)
        yield from (f"key treatments.{name}: unknown value {one!r}" for one in phrases if one not in values)
        yield from (f"key treatments.{name}: nothing for the value {one!r}" for one in values if one not in phrases)
    for name, counted in words.outcomes.items():
        if "{value}" not in counted.more:
            yield f"key outcomes.{name}.more: found {counted.more!r}; expected a phrase with {{value}}"
