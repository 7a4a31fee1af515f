"""Reads ``history.yaml``, the words of a domain for what happens to a patient over several visits."""

from collections.abc import Iterator

from pydantic import Field

from schemas.params.base import Section
from tasks.domains import in_use
from tasks.domains.in_use import data_of, domain_cache, domain_name
from tasks.domains.rules import Network


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

    def decided(self, values: dict[str, object]) -> dict[str, str]:
        """The phrase of each treatment and outcome that has one, for the ``values`` of a visit; 0 decides nothing."""
        found = {name: phrases[str(values[name])] for name, phrases in self.treatments.items() if name in values}
        for name, worded in self.outcomes.items():
            if count := int(str(values.get(name) or 0)):
                found[name] = worded.one if count == 1 else worded.more.format(value=count)
        return found


@domain_cache(maxsize=4)
def history_words(domain: str) -> HistoryWords:
    """Read ``history.yaml`` of a domain."""
    present = (in_use.FOLDER / domain / "history.yaml").is_file()
    return HistoryWords.model_validate(data_of(domain, "history") if present else {})


def load_history_words() -> HistoryWords:
    """`history_words` of the domain in use."""
    return history_words(domain_name())


def history_defects(words: HistoryWords, network: Network) -> Iterator[str]:
    """Lines on names and values of ``history.yaml`` that contradict the network, and on phrases without a place."""
    expected = {"traits": network.of_type("underlying condition"), "treatments": network.of_type("treatment")}
    for key, known in {**expected, "outcomes": tuple(n for n in network.variables if not network.values(n))}.items():
        role = {"traits": "underlying condition", "treatments": "treatment", "outcomes": "count"}[key]
        for name in getattr(words, key):
            if name not in known:
                yield f"key {key}: {name} is no {role} of network.yaml, which has {', '.join(known) or 'none'}"
    for name, phrases in words.treatments.items():
        values = network.values(name) if name in expected["treatments"] else tuple(phrases)
        yield from (f"key treatments.{name}: unknown value {one!r}" for one in phrases if one not in values)
        yield from (f"key treatments.{name}: nothing for the value {one!r}" for one in values if one not in phrases)
    for name, counted in words.outcomes.items():
        if "{value}" not in counted.more:
            yield f"key outcomes.{name}.more: found {counted.more!r}; expected a phrase with {{value}}"
