"""Reads ``history.yaml``, the words of a domain for what happens to a patient over several visits."""

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import FOLDER, data_of, domain_cache, domain_name


class Counted(Section):
    """A phrase for a count of one, and one with {value} for more."""

    one: str
    more: str


class HistoryWords(Section):
    """Phrases by column of the table of visits. A domain without the file has none."""

    traits: dict[str, str] = Field(default_factory=dict)  # condition -> what the patient does, instead of "has NAME"
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
    present = (FOLDER / domain / "history.yaml").is_file()
    return HistoryWords.model_validate(data_of(domain, "history") if present else {})


def load_history_words() -> HistoryWords:
    """`history_words` of the domain in use."""
    return history_words(domain_name())
